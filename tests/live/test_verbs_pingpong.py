"""Unmodified verbs programs on the hosts of a kept topology: Mininet, patched Open vSwitch, lock step. `./rocelab up`, `exec`, `down` as a user calls them.

Needs root and what `./rocelab setup` makes. The topology is its own and is taken down at the end.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/release/irn_provider/verbs/librocelab_verbs.so"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces"),
    pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} is not built"),
]

# scenarios/pingpong.toml: two links of 40 Gb/s and 2 us, path MTU 1024.
PS_PER_BYTE = 200
LINK_PS = 2_000_000
MTU = 1024


@dataclass(frozen=True)
class Topology:
    run_id: str
    mode: str

    def command(self, host: str, *argv: str) -> list[str]:
        return [str(ROOT / "rocelab"), "exec", "--run", self.run_id, "--host", host, "--", *argv]

    def call(self, host: str, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(host, *argv), capture_output=True, text=True, timeout=120)


def rocelab(*argv: str) -> str:
    done = subprocess.run([str(ROOT / "rocelab"), *argv], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, f"rocelab {argv}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", params=["roce", "irn"])
def topology(request: pytest.FixtureRequest) -> Iterator[Topology]:
    text = rocelab("up", str(ROOT / "scenarios/pingpong.toml"), "--label", request.param)
    found = re.search(r"^(\w+): .*pingpong\.toml", text, re.MULTILINE)
    assert found, text
    try:
        yield Topology(found[1], request.param)
    finally:
        rocelab("down", "--run", found[1])


def wire_ps(topology: Topology, payload: int) -> int:
    """Serialisation of a SEND's frame: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, in IRN mode recv_WQE_SN and offset 8; FCS, preamble and gap 24."""
    headers = 58 + (8 if topology.mode == "irn" else 0)
    return (max(60, headers + (payload + 3) // 4 * 4) + 24) * PS_PER_BYTE


def round_trip_us(topology: Topology, size: int) -> float:
    """Two times: all frames, both links, and the last frame once more at the switch."""
    packets = (size + MTU - 1) // MTU
    last = wire_ps(topology, size - (packets - 1) * MTU)
    return 2 * ((packets - 1) * wire_ps(topology, MTU) + 2 * last + 2 * LINK_PS) / 1e6


def wait_until_listening(topology: Topology, host: str, port: int) -> None:
    for _ in range(50):
        if f":{port} " in topology.call(host, "ss", "-ltn").stdout:
            return
        time.sleep(0.2)
    raise AssertionError(f"nobody listens on port {port} of {host}")


def ping_pong(topology: Topology, *options: str) -> float:
    """Microseconds per iteration as the client prints them; h1 serves."""
    program = ["ibv_rc_pingpong", "-g", "1", *options]
    server = subprocess.Popen(
        topology.command("h1", *program), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        wait_until_listening(topology, "h1", 18515)
        client = topology.call("h2", *program, "10.0.0.1")
        output, _ = server.communicate(timeout=60)
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait()
    assert client.returncode == 0, client.stdout + client.stderr
    assert server.returncode == 0, output
    found = re.search(r"= ([0-9.]+) usec/iter", client.stdout)
    assert found, client.stdout
    return float(found[1])


@pytest.mark.parametrize("size", [1, 64, 1024, 4096, 65536, 1 << 20])
def test_ping_pong_prints_the_times_of_the_path(topology: Topology, size: int) -> None:
    want = round_trip_us(topology, size)
    iterations = "1000" if size <= 65536 else "100"
    assert ping_pong(topology, "-n", iterations, "-s", str(size)) == pytest.approx(want, rel=0.02)


def test_ping_pong_prints_the_same_every_time(topology: Topology) -> None:
    """gettimeofday has 1 us, so the last digit of the mean may move with the microsecond in which the run began."""
    times = [ping_pong(topology, "-n", "1000", "-c") for _ in range(3)]
    assert max(times) - min(times) <= 0.0101


def test_ping_pong_waits_for_events(topology: Topology) -> None:
    assert ping_pong(topology, "-e", "-n", "1000") == pytest.approx(round_trip_us(topology, 4096), rel=0.02)


def test_devinfo_shows_the_address_of_the_host(topology: Topology) -> None:
    info = topology.call("h2", "ibv_devinfo", "-v")
    assert info.returncode == 0, info.stderr
    assert "hca_id:\trocelab0" in info.stdout
    assert "::ffff:10.0.0.2, RoCE v2" in info.stdout
    mac = topology.call("h2", "cat", "/sys/class/net/h2-eth0/address").stdout.strip().split(":")
    guid = f"{int(mac[0], 16) ^ 2:02x}{mac[1]}:{mac[2]}ff:fe{mac[3]}:{mac[4]}{mac[5]}"
    assert f"node_guid:\t\t\t{guid}" in info.stdout


def test_management_traffic_passes_beside_it(topology: Topology) -> None:
    assert topology.call("h1", "ping", "-c", "1", "-W", "5", "10.0.0.2").returncode == 0
