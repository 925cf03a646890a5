"""What programs read of the device without libibverbs, and IPv6: on hosts of a kept topology, in lock step through Open vSwitch."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from kept_hosts import Hosts, kept_hosts
from live_runs import ROCELAB, SCENARIOS, live
from rocelab.live.commands import on_host

pytestmark = live

# As Mellanox's show_gids and ibdev2netdev go through sysfs: by the shell's globs, ls and cat.
_SHOW_GIDS = r"""
for d in $(ls /sys/class/infiniband/); do
  for p in $(ls /sys/class/infiniband/$d/ports/); do
    for g in $(ls /sys/class/infiniband/$d/ports/$p/gids/); do
      gid=$(cat /sys/class/infiniband/$d/ports/$p/gids/$g)
      echo $d $p $g $gid $(cat /sys/class/infiniband/$d/ports/$p/gid_attrs/{types,ndevs}/$g)
    done
  done
done
for n in /sys/class/net/*; do
  [ -f $n/device/resource ] || continue
  for d in /sys/class/infiniband/*; do
    cmp -s $n/device/resource $d/device/resource && echo ${d##*/} port 1 "==>" ${n##*/} "($(cat $d/ports/1/state))"
  done
done
cd /sys/class/infiniband/rocelab0/ports/1 && cat rate pkeys/0 && grep -r . counters | sort
"""


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with kept_hosts(SCENARIOS / "pingpong.toml", "roce") as kept:
        yield kept


def _said(hosts: Hosts, host: str, *words: str) -> str:
    argv, environment = on_host(hosts.kept, host, words)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _write(hosts: Hosts, folder: Path, *options: str) -> str:
    """The client's output of a few WRITEs."""
    words = ["ib_write_bw", "-d", "rocelab0", "-F", "-n", "100", *options]
    with hosts.program("h1", words, folder / "server") as server:
        hosts.wait_for_listener("h1", 18515, server)
        with hosts.program("h2", [*words, "10.0.0.1"], folder / "client") as client:
            assert client.wait(120) == 0, (folder / "client").read_text()
        assert server.wait(60) == 0
    return (folder / "client").read_text()


def test_scripts_find_gids_interface_and_port(hosts: Hosts) -> None:
    lines = _said(hosts, "h2", "bash", "-c", _SHOW_GIDS).splitlines()
    gids = [line for line in lines if line.startswith("rocelab0 1 ")]
    assert re.fullmatch(r"rocelab0 1 0 fe80(:0000){3}(:[0-9a-f]{4}){4} RoCE v2 h2-eth0", gids[0])
    assert gids[1:] == [
        "rocelab0 1 1 0000:0000:0000:0000:0000:ffff:0a00:0002 RoCE v2 h2-eth0",
        "rocelab0 1 2 fd00:0000:0000:0000:0000:0000:0a00:0002 RoCE v2 h2-eth0",
    ]
    assert "rocelab0 port 1 ==> h2-eth0 (4: ACTIVE)" in lines
    assert lines[lines.index("rocelab0 port 1 ==> h2-eth0 (4: ACTIVE)") + 1 :][:2] == [
        "40 Gb/sec (4X FDR10)",
        "0xffff",
    ]


def test_counters_in_sysfs_are_those_of_the_nic(hosts: Hosts, tmp_path: Path) -> None:
    def counter(host: str, path: str) -> int:
        return int(_said(hosts, host, "cat", f"/sys/class/infiniband/rocelab0/ports/1/{path}"))

    before = counter("h2", "counters/port_xmit_packets")
    _write(hosts, tmp_path, "-x", "1", "-s", "65536")
    sent = counter("h2", "counters/port_xmit_packets") - before
    assert sent >= 100 * 64, "a packet for each 1024 bytes"
    stat = json.loads(
        subprocess.run(
            [str(ROCELAB), "stat", "--run", hosts.kept.directory.run_id, "--json"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    nics = [counters for name, counters in stat["nics"].items() if name.startswith("h2.")]
    assert counter("h2", "counters/port_xmit_packets") == sum(c["tx_packets"] for c in nics)
    assert counter("h2", "counters/port_xmit_data") == sum(c["tx_bytes"] for c in nics) // 4
    assert counter("h1", "hw_counters/rx_write_requests") > 0


def test_rdma_answers_link_dev_and_statistic(hosts: Hosts) -> None:
    (link,) = json.loads(_said(hosts, "h1", "rdma", "link", "show", "-j"))
    assert link.pop("netdev_index") > 0
    assert link == {
        "ifindex": 0,
        "ifname": "rocelab0",
        "port": 1,
        "state": "ACTIVE",
        "physical_state": "LINK_UP",
        "netdev": "h1-eth0",
    }
    assert _said(hosts, "h1", "sh", "-c", "rdma link").strip() == (
        "link rocelab0/1 state ACTIVE physical_state LINK_UP netdev h1-eth0"
    )
    (dev,) = json.loads(_said(hosts, "h1", "rdma", "-j", "-p", "dev", "show", "rocelab0"))
    assert dev["node_guid"] == _said(hosts, "h1", "cat", "/sys/class/infiniband/rocelab0/node_guid").strip()
    (statistic,) = json.loads(_said(hosts, "h1", "rdma", "statistic", "show", "link", "rocelab0/1", "-j"))
    assert statistic["port"] == 1 and "rx_write_requests" in statistic


@pytest.mark.skipif(shutil.which("ibstat") is None, reason="needs infiniband-diags")
def test_ibstat_shows_the_port(hosts: Hosts) -> None:
    text = _said(hosts, "h1", "ibstat", "rocelab0", "1")
    for line in ("State: Active", "Physical state: LinkUp", "Rate: 40", "Link layer: Ethernet"):
        assert line in text


def test_writes_over_ipv6_by_gid_2(hosts: Hosts, tmp_path: Path) -> None:
    text = _write(hosts, tmp_path, "-x", "2", "-s", "4096")
    assert re.search(r"GID: 253:00(:00){10}:10:00:00:02", text), text
    assert re.search(r"^ 4096 +100 ", text, re.MULTILINE)


@pytest.mark.parametrize("address", ["fd00::10.0.0.1", "fd00::a00:1"])
def test_rping_connects_over_ipv6(hosts: Hosts, tmp_path: Path, address: str) -> None:
    with hosts.program(
        "h1", ["rping", "-s", "-a", "fd00::a00:1", "-C", "5", "-V"], tmp_path / "server"
    ) as server:
        with hosts.program(
            "h2", ["rping", "-c", "-a", address, "-C", "5", "-v", "-V"], tmp_path / "client"
        ) as client:
            assert client.wait(60) == 0, (tmp_path / "client").read_text()
        server.wait(60)
    assert (tmp_path / "client").read_text().count("ping data") == 5


def test_tcp_reaches_the_ipv6_address(hosts: Hosts) -> None:
    assert "1 received" in _said(hosts, "h2", "ping", "-c", "1", "-W", "5", "fd00::10.0.0.1")
