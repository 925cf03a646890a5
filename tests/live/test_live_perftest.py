"""perftest, unmodified, on Mininet hosts through Open vSwitch: it prints the figures of the emulated network."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest
from live_runs import ROCELAB, ROOT, SCENARIOS, live, topology

pytestmark = live

_GBPS = 40.0
_WIRE = 24  # FCS, preamble and gap
_MTU = 1024
# Headers of the packets of a long WRITE: Ethernet, IPv4, UDP, BTH, ICRC; IRN repeats the RETH.
_HEADERS = {"roce": 58, "irn": 58 + 16}


@pytest.fixture(scope="module", params=["roce", "irn"])
def kept(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with topology(SCENARIOS / "pingpong.toml", "--label", request.param) as run_id:
        yield run_id, request.param


def _client_says(run_id: str, *program: str) -> list[str]:
    """The columns of the client's result line."""
    words = [str(ROCELAB), "exec", "--run", run_id, "--host"]
    argv = [*program, "-d", "rocelab0", "-x", "1"]
    server = subprocess.Popen(
        [*words, "h1", "--", *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
    )
    try:
        end = time.monotonic() + 60
        while True:
            client = subprocess.run(
                [*words, "h2", "--", *argv, "10.0.0.1"],
                capture_output=True,
                text=True,
                timeout=120,
                cwd=ROOT,
            )
            if "Couldn't connect" not in client.stdout + client.stderr or time.monotonic() > end:
                break
        said = server.communicate(timeout=60)[0]
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
    assert client.returncode == server.returncode == 0, f"{said}\n{client.stdout}{client.stderr}"
    rows = [line.split() for line in client.stdout.splitlines() if line.strip()[:1].isdigit()]
    assert rows, client.stdout
    return rows[-1]


def test_bandwidth_is_the_payloads_share_of_the_wire_and_the_same_every_time(kept: tuple[str, str]) -> None:
    run_id, label = kept
    program = ("ib_write_bw", "-s", "65536", "-n", "1000", "--report_gbits")
    # Columns: bytes, iterations, peak, average, message rate. When the client begins in experiment time depends on its TCP
    # exchange with the server, and with it the last digit.
    first, second = (float(_client_says(run_id, *program)[3]) for _ in range(2))
    assert first == pytest.approx(_GBPS * _MTU / (_MTU + _HEADERS[label] + _WIRE), rel=0.01)
    assert first == pytest.approx(second, abs=0.011)


def test_latency_is_that_of_the_path(kept: tuple[str, str]) -> None:
    run_id, _ = kept
    row = _client_says(run_id, "ib_write_lat", "-s", "8", "-n", "1000")
    typical = float(row[4])  # bytes, iterations, minimum, maximum, typical, average
    assert typical == pytest.approx(4.06, rel=0.02)
