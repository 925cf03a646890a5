"""Hosts with two NICs: each is a device, a network interface and an address of its own, to programs that know nothing of rocelab."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from kept_hosts import Hosts, kept_hosts
from live_runs import HERE, ROCELAB, ROOT, command, live
from rocelab.live.commands import on_host

pytestmark = live

# By host and NIC: the n-th host of rail switch r is 10.0.r.n.
_IPS = {"h1": ("10.0.0.1", "10.0.1.1"), "h2": ("10.0.0.2", "10.0.1.2")}
_WIRE_GBPS = 40 * 1024 / (1024 + 16 + 20 + 8 + 12 + 14 + 24)  # about: RETH in the first frame alone


@pytest.fixture(scope="module", params=["roce", "irn"])
def hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    with kept_hosts(HERE / "several_nics.toml", request.param) as kept:
        yield kept


def _said(hosts: Hosts, host: str, *words: str, status: int = 0) -> str:
    argv, environment = on_host(hosts.kept, host, words)
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def _gbps(text: str) -> float:
    """The average of perftest's last line, with --report_gbits."""
    return float(re.findall(r"^ *\d+ +\d+ +[\d.]+ +([\d.]+) ", text, re.MULTILINE)[-1])


def _bandwidths(hosts: Hosts, folder: Path, devices: tuple[str, ...]) -> list[float]:
    """Of ib_write_bw from h2 to h1 on each of the devices, all at the same time."""
    with ExitStack() as stack:
        servers, clients = [], []
        for i, device in enumerate(devices):
            words = [
                "ib_write_bw",
                "-d",
                device,
                "-F",
                "-x",
                "1",
                "-n",
                "400",
                "--report_gbits",
                "-p",
                str(18515 + i),
            ]
            server = stack.enter_context(hosts.program("h1", words, folder / f"server{i}"))
            hosts.wait_for_listener("h1", 18515 + i, server)
            servers.append((server, words))
        for i, (_, words) in enumerate(servers):
            nic = int(devices[i].removeprefix("rocelab"))
            client = hosts.program("h2", [*words, _IPS["h1"][nic]], folder / f"client{i}")
            clients.append(stack.enter_context(client))
        for i, client in enumerate(clients):
            assert client.wait(200) == 0, (folder / f"client{i}").read_text()
        for server, _ in servers:
            assert server.wait(60) == 0
    return [_gbps((folder / f"client{i}").read_text()) for i in range(len(devices))]


def test_each_nic_is_a_device_with_its_own_gid_and_interface(hosts: Hosts) -> None:
    listed = [line.split() for line in _said(hosts, "h2", "ibv_devices").splitlines()[2:]]
    assert [device for device, _ in listed] == ["rocelab0", "rocelab1"]
    assert len({guid for _, guid in listed}) == 2
    for nic, ip in enumerate(_IPS["h2"]):
        info = _said(hosts, "h2", "ibv_devinfo", "-v", "-d", f"rocelab{nic}")
        assert re.search(rf"GID\[ +1\]:\s+::ffff:{re.escape(ip)}", info), info
        assert "PORT_ACTIVE" in info
    assert "wasn't found" in _said(hosts, "h2", "ibv_devinfo", "-d", "rocelab2", status=255)


def test_sysfs_and_the_rdma_tool_show_all_of_them(hosts: Hosts) -> None:
    links = json.loads(_said(hosts, "h1", "rdma", "-j", "link", "show"))
    assert [(row["ifname"], row["netdev"], row["state"]) for row in links] == [
        ("rocelab0", "h1-eth0", "ACTIVE"),
        ("rocelab1", "h1-eth1", "ACTIVE"),
    ]
    assert _said(hosts, "h1", "sh", "-c", "ls /sys/class/infiniband").split() == ["rocelab0", "rocelab1"]
    net = "cat /sys/class/net/h1-eth1/device/infiniband/rocelab1/ports/1/gids/1"
    assert _said(hosts, "h1", "sh", "-c", net).strip().endswith("ffff:0a00:0101")


def test_each_interface_answers_from_its_own_address(hosts: Hosts) -> None:
    for source in _IPS["h1"]:
        for target in _IPS["h2"]:
            assert " 0% packet loss" in _said(hosts, "h1", "ping", "-c", "2", "-I", source, target)
    for nic, ip in enumerate(_IPS["h2"]):
        assert f"dev h1-eth{nic} " in _said(hosts, "h1", "ip", "route", "get", ip), "by the NIC of its number"


def test_writes_run_on_each_device_and_on_both_at_once(hosts: Hosts, tmp_path: Path) -> None:
    for devices in (("rocelab0",), ("rocelab1",), ("rocelab0", "rocelab1")):
        for gbps in _bandwidths(hosts, tmp_path, devices):
            assert gbps == pytest.approx(36.5, rel=0.03), f"{devices}: each has a link of its own"


def test_counters_are_those_of_each_nic(hosts: Hosts, tmp_path: Path) -> None:
    def sent() -> list[int]:
        nics = json.loads(command("stat", "h2", "--run", hosts.kept.directory.run_id, "--json").stdout)[
            "nics"
        ]
        return [
            sum(c["tx_packets"] for name, c in nics.items() if name.startswith(f"h2.{nic}."))
            for nic in (0, 1)
        ]

    before = sent()
    _bandwidths(hosts, tmp_path, ("rocelab1",))
    after = sent()
    assert after[0] == before[0] and after[1] >= before[1] + 400 * 64
    path = "/sys/class/infiniband/rocelab1/ports/1/hw_counters/tx_packets"
    assert int(_said(hosts, "h2", "cat", path)) == after[1]


def test_ucx_uses_both_devices(hosts: Hosts, tmp_path: Path) -> None:
    both = ("env", "UCX_TLS=rc_v", "UCX_NET_DEVICES=rocelab0:1,rocelab1:1")
    words = [*both, "ucx_perftest", "-t", "tag_bw", "-s", "1048576", "-n", "100", "-w", "10"]

    def sent() -> list[int]:
        files = "/sys/class/infiniband/rocelab[01]/ports/1/counters/port_xmit_packets"
        return [int(n) for n in _said(hosts, "h2", "sh", "-c", f"cat {files}").split()]

    before = sent()
    with hosts.program("h1", words, tmp_path / "server") as server:
        hosts.wait_for_listener("h1", 13337, server)
        with hosts.program("h2", [*words, "10.0.0.1"], tmp_path / "client") as client:
            assert client.wait(200) == 0, (tmp_path / "client").read_text()
    moved = [b - a for a, b in zip(before, sent())]
    assert min(moved) > 0.3 * max(moved) and sum(moved) > 100 * 1024, f"packets by device: {moved}"


@pytest.mark.parametrize("nic", [0, 1])
def test_rdma_cm_binds_by_address_to_the_right_device(hosts: Hosts, tmp_path: Path, nic: int) -> None:
    """A server at any address serves both; a client finds the NIC of its server's number."""
    sent = []
    for _ in range(2):
        nics = json.loads(command("stat", "h2", "--run", hosts.kept.directory.run_id, "--json").stdout)[
            "nics"
        ]
        sent.append(
            [sum(c["tx_packets"] for n, c in nics.items() if n.startswith(f"h2.{i}.")) for i in (0, 1)]
        )
        if len(sent) == 2:
            break
        with hosts.program("h1", ["rping", "-s", "-C", "10"], tmp_path / "server") as server:
            for _ in range(50):
                ask = ["rping", "-c", "-a", _IPS["h1"][nic], "-C", "10", "-v"]
                with hosts.program("h2", ask, tmp_path / "client") as client:
                    if client.wait(60) == 0:
                        break
            assert server.wait(60) == 0
        assert "ping data: rdma-ping-9" in (tmp_path / "client").read_text()
    moved = [b - a for a, b in zip(*sent)]
    assert moved[nic] > 20 and moved[1 - nic] == 0, moved


def test_a_capture_of_a_host_has_the_ports_of_its_nics(hosts: Hosts) -> None:
    run = [str(ROCELAB), "capture", "h1", "-w", "/dev/null", "--run", hosts.kept.directory.run_id]
    refused = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert "not a regular file" in refused.stderr
    unknown = subprocess.run(
        [str(ROCELAB), "exec", "--run", hosts.kept.directory.run_id, "--host", "h3", "--", "true"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert "no host h3: this topology has h1, h2" in unknown.stderr


def test_a_foreign_device_takes_no_host_with_several_nics(hosts: Hosts) -> None:
    plug = [str(ROCELAB), "plug", "--run", hosts.kept.directory.run_id, "--host", "h1", "--tap", "t0"]
    done = subprocess.run(plug, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode != 0 and "h1 has 2 NICs" in done.stderr + done.stdout


def test_a_peer_in_another_plane_is_refused_with_a_line(tmp_path: Path) -> None:
    """Two planes of a switch each: NIC 1 of h2 has no way to NIC 0 of h1."""
    with kept_hosts(HERE / "planes.toml", "roce") as hosts:
        words = ["ib_write_bw", "-F", "-x", "1", "-n", "10"]
        with hosts.program("h1", [*words, "-d", "rocelab0"], tmp_path / "server") as server:
            hosts.wait_for_listener("h1", 18515, server)
            ask = [*words, "-d", "rocelab1", "10.0.0.1"]
            with hosts.program("h2", ask, tmp_path / "client") as client:
                assert client.wait(120) != 0
        assert "no link leads from this NIC to it" in (tmp_path / "client").read_text()
        for nic in (0, 1):
            listed = _said(hosts, "h2", "ibv_devinfo", "-d", f"rocelab{nic}")
            assert "PORT_ACTIVE" in listed
        assert " 0% packet loss" in _said(hosts, "h1", "ping", "-c", "2", "10.0.1.2")
        crossed = _said(hosts, "h1", "ping", "-c", "1", "-W", "1", "-I", "10.0.0.1", "10.0.1.2", status=1)
        assert "100% packet loss" in crossed
