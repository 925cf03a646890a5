"""perftest, unmodified, on Mininet hosts through Open vSwitch: it prints the figures of the emulated network."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import program_table
import pytest
from kept_hosts import PATIENCE, Hosts, kept_hosts
from live_runs import SCENARIOS, command, live

pytestmark = live

_GBPS = 40.0
_WIRE = 24  # FCS, preamble and gap
_MTU = 1024
# Headers of the packets of a long WRITE: Ethernet, IPv4, UDP, BTH, ICRC; IRN repeats the RETH.
_HEADERS = {"roce": 58, "irn": 58 + 16}
_IPV6 = 20  # bytes longer than IPv4's header
_BANDWIDTH = ["ib_write_bw", "-s", "65536", "-n", "1000", "--report_gbits"]
# Columns of bandwidth: bytes, iterations, peak, average, message rate. Of latency: bytes, iterations, minimum, maximum, typical,
# average, deviation, 99 %, 99.9 %. When the server enters the first exchange is up to the wall's clock: the extremes, and by them the
# averages, are not compared.
_AVERAGE, _TYPICAL = 3, 4
_SAME = {"ib_write_bw": (0, 1, 2, 3, 4), "ib_write_lat": (0, 1, 4, 7)}


@pytest.fixture(scope="module", params=["roce", "irn"])
def hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    with kept_hosts(SCENARIOS / "pingpong.toml", request.param) as hosts:
        yield hosts


def _result(said: str) -> list[str]:
    """The columns of a client's result line."""
    rows = [line.split() for line in said.splitlines() if line.strip()[:1].isdigit()]
    assert rows, said
    return rows[-1]


def _columns(hosts: Hosts, folder: Path, *program: str) -> list[str]:
    said = hosts.serve_and_ask(program_table.commands(program), folder)
    assert said.statuses == (0, 0), said.server + said.client
    return _result(said.client)


def test_bandwidth_is_the_payloads_share_of_the_wire(hosts: Hosts, tmp_path: Path) -> None:
    average = float(_columns(hosts, tmp_path, *_BANDWIDTH)[_AVERAGE])
    assert average == pytest.approx(_GBPS * _MTU / (_MTU + _HEADERS[hosts.label] + _WIRE), rel=0.01)


def test_full_packets_over_ipv6_pass_the_switch(hosts: Hosts, tmp_path: Path) -> None:
    """GID index 0. The frames are longer than those from which the switch's headroom is computed."""
    average = float(_columns(hosts, tmp_path, *_BANDWIDTH, "-x", "0")[_AVERAGE])
    assert average == pytest.approx(_GBPS * _MTU / (_MTU + _HEADERS[hosts.label] + _IPV6 + _WIRE), rel=0.01)


def test_latency_is_that_of_the_path(hosts: Hosts, tmp_path: Path) -> None:
    typical = float(_columns(hosts, tmp_path, "ib_write_lat", "-s", "8", "-n", "1000")[_TYPICAL])
    assert typical == pytest.approx(4.06, rel=0.02)


def test_a_program_that_polls_memory_needs_no_name(hosts: Hosts, tmp_path: Path) -> None:
    """It is found by what it does, and by what it contains."""
    commands = program_table.commands(["ib_write_lat", "-s", "8", "-n", "200"])
    copy = shutil.copy(str(shutil.which("ib_write_lat")), tmp_path / "my_latency")
    server, client = ([copy, *words[1:]] for words in (commands.server, commands.client))
    said = hosts.serve_and_ask(replace(commands, server=server, client=client), tmp_path)
    assert said.statuses == (0, 0), said.server + said.client
    assert float(_result(said.client)[_TYPICAL]) == pytest.approx(4.06, rel=0.02)


@pytest.mark.parametrize(
    "program", [_BANDWIDTH, ["ib_write_lat", "-s", "8", "-n", "200"]], ids=lambda p: p[0]
)
def test_ten_runs_print_the_same_digits(hosts: Hosts, program: list[str], tmp_path: Path) -> None:
    runs = [_columns(hosts, tmp_path, *program) for _ in range(10)]
    compared = [[columns[i] for i in _SAME[program[0]]] for columns in runs]
    assert compared == [compared[0]] * 10, runs


@pytest.mark.parametrize("label", ["roce+pfc", "irn"])
def test_two_clients_share_their_receiver(label: str, tmp_path: Path) -> None:
    """From two hosts to two servers on a third one. Time begins when all four programs wait, so the two measure at the same time."""
    settings = (f'transport=["{label}"]', "topology.hosts=3", "nic.vfs=2")
    words = [word for setting in settings for word in ("--set", setting)]
    with kept_hosts(SCENARIOS / "pingpong.toml", label, "--programs", "4", *words) as hosts:
        shares = _both(hosts, tmp_path)
        alone = float(_columns(hosts, tmp_path, *_BANDWIDTH)[_AVERAGE])
    assert shares == pytest.approx([alone / 2] * 2, rel=0.01)
    assert sum(shares) == pytest.approx(alone, rel=0.01)
    mode = label.split("+")[0]
    assert alone == pytest.approx(_GBPS * _MTU / (_MTU + _HEADERS[mode] + _WIRE), rel=0.01)


@pytest.mark.parametrize("traffic_class", ["96", "136"])
def test_two_clients_lose_nothing_in_a_lossless_class_of_their_choice(
    traffic_class: str, tmp_path: Path
) -> None:
    """DSCP 24 is class 3 and 34 class 4, for the NIC that is paused and for the switch that pauses it."""
    settings = ('transport=["roce+pfc"]', "topology.hosts=3", "switch.lossless_classes=[3, 4]")
    words = [word for setting in settings for word in ("--set", setting)]
    with kept_hosts(SCENARIOS / "pingpong.toml", "roce+pfc", "--programs", "4", *words) as hosts:
        shares = _both(hosts, tmp_path, "-n", "300", "--tclass", traffic_class)
        counters = _switch_counters(hosts)
    expected = _GBPS * _MTU / (_MTU + _HEADERS["roce"] + _WIRE) / 2
    assert shares == pytest.approx([expected] * 2, rel=0.01)
    assert counters["drops"] == 0
    assert {tc for tc in range(8) if counters[f"xoff_sent_prio{tc}"] > 0} == {int(traffic_class) // 32}


def _switch_counters(hosts: Hosts) -> Counter[str]:
    """Of all ports of all switches together."""
    done = command("stat", "--run", hosts.kept.directory.run_id, "--json")
    total: Counter[str] = Counter()
    for port in json.loads(done.stdout)["ports"].values():
        total.update(port)
    return total


def _both(hosts: Hosts, folder: Path, *options: str) -> list[float]:
    """The averages of clients on h2 and h3."""
    with ExitStack() as stack:
        running = []
        both = {
            host: program_table.commands([*_BANDWIDTH, *options, "-p", str(port)])
            for host, port in (("h2", 18516), ("h3", 18517))
        }
        for host, commands in both.items():
            server = stack.enter_context(hosts.program("h1", commands.server, folder / f"server.{host}"))
            hosts.wait_for_listener("h1", int(commands.server[-1]), server)
            running.append(server)
        for host, commands in both.items():
            running.append(
                stack.enter_context(hosts.program(host, commands.client, folder / f"client.{host}"))
            )
        assert [process.wait(PATIENCE) for process in running] == [0] * 4
    return [float(_result((folder / f"client.{host}").read_text())[_AVERAGE]) for host in both]
