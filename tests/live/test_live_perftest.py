"""perftest, unmodified, on Mininet hosts through Open vSwitch: it prints the figures of the emulated network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from live_runs import SCENARIOS, live, server_and_client, topology

pytestmark = live

_GBPS = 40.0
_WIRE = 24  # FCS, preamble and gap
_MTU = 1024
# Headers of the packets of a long WRITE: Ethernet, IPv4, UDP, BTH, ICRC; IRN repeats the RETH.
_HEADERS = {"roce": 58, "irn": 58 + 16}
_IPV6 = 20  # bytes longer than IPv4's header


@pytest.fixture(scope="module", params=["roce", "irn"])
def kept(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with topology(SCENARIOS / "pingpong.toml", "--label", request.param) as run_id:
        yield run_id, request.param


def _client_says(run_id: str, *program: str, gid: int = 1) -> list[str]:
    """The columns of the client's result line."""
    argv = [*program, "-d", "rocelab0", "-x", str(gid)]
    _, said = server_and_client(run_id, argv, [*argv, "10.0.0.1"], refused="Couldn't connect")
    rows = [line.split() for line in said.splitlines() if line.strip()[:1].isdigit()]
    assert rows, said
    return rows[-1]


def test_bandwidth_is_the_payloads_share_of_the_wire_and_the_same_every_time(kept: tuple[str, str]) -> None:
    run_id, label = kept
    program = ("ib_write_bw", "-s", "65536", "-n", "1000", "--report_gbits")
    # Columns: bytes, iterations, peak, average, message rate. When the client begins in experiment time depends on its TCP
    # exchange with the server, and with it the last digit.
    first, second = (float(_client_says(run_id, *program)[3]) for _ in range(2))
    assert first == pytest.approx(_GBPS * _MTU / (_MTU + _HEADERS[label] + _WIRE), rel=0.01)
    assert first == pytest.approx(second, abs=0.011)


def test_full_packets_over_ipv6_pass_the_switch(kept: tuple[str, str]) -> None:
    """GID index 0. The frames are longer than those from which the switch's headroom is computed."""
    run_id, label = kept
    average = float(
        _client_says(run_id, "ib_write_bw", "-s", "65536", "-n", "200", "--report_gbits", gid=0)[3]
    )
    assert average == pytest.approx(_GBPS * _MTU / (_MTU + _HEADERS[label] + _IPV6 + _WIRE), rel=0.01)


def test_latency_is_that_of_the_path(kept: tuple[str, str]) -> None:
    run_id, _ = kept
    row = _client_says(run_id, "ib_write_lat", "-s", "8", "-n", "1000")
    typical = float(row[4])  # bytes, iterations, minimum, maximum, typical, average
    assert typical == pytest.approx(4.06, rel=0.02)
