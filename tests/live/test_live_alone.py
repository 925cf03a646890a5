"""On an idle network every time is known beforehand, and captures show frames no faster than their links are."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_runs import SCENARIOS, live, run

pytestmark = live

_LINK_OVERHEAD = 24  # FCS, preamble and gap: bytes that a capture does not hold
_INTERFACE, _PACKET = 1, 6  # pcapng block types
_IF_NAME, _IF_SPEED, _EPB_FLAGS = 2, 8, 2
_OUTBOUND = 2


@pytest.mark.parametrize("op", ["send", "write", "read"])
@pytest.mark.parametrize("size", ["1B", "64KB", "3MB"])
def test_a_lone_flow_takes_the_predicted_time_to_the_picosecond(tmp_path: Path, op: str, size: str) -> None:
    flow = ["workload.send.flow.0.size=" + size, "workload.send.flow.0.op=" + op]
    result = run(SCENARIOS / "pingpong.toml", tmp_path, *flow)
    assert result.complete, result.errors()
    assert [o.plan.mode for o in result.outcomes] == ["roce", "irn"]
    for outcome in result.outcomes:
        (record,), (plan,) = outcome.flows, outcome.plan.flows
        assert record.verified and record.bytes == plan.size
        assert record.placed_ps - record.posted_ps == plan.alone_ps, outcome.plan.mode


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pcap")
    result = run(SCENARIOS / "quick.toml", folder, pcap=True)
    assert result.complete, result.errors()
    found = sorted((folder / "pcap").glob("*/s1.pcapng"))
    assert [p.parent.name for p in found] == ["irn+pfc-seed1", "irn-seed1", "roce+pfc-seed1", "roce-seed1"]
    return found


def test_no_link_carries_frames_faster_than_its_rate(captures: list[Path]) -> None:
    """Between departures on one link: at least the frames' time on the wire, over any ten frames in a row."""
    for path in captures:
        departures: dict[str, list[tuple[int, int]]] = defaultdict(list)
        speeds = {}
        for name, speed, time_ps, length, direction in _packets(path):
            speeds[name] = speed
            if direction == _OUTBOUND:
                departures[name].append((time_ps, length))
        assert speeds and set(speeds.values()) == {40_000_000_000}
        assert len(departures["s1-eth3"]) > 900
        for name, frames in departures.items():
            assert frames == sorted(frames, key=lambda f: f[0])
            _check_rate(f"{path.parent.name} {name}", frames, speeds[name])


def _check_rate(where: str, frames: list[tuple[int, int]], speed: int) -> None:
    wire_ps = [(length + _LINK_OVERHEAD) * 8 * 10**12 // speed for _, length in frames]
    for first in range(len(frames) - 1):
        last = min(first + 9, len(frames) - 1)
        elapsed = frames[last][0] - frames[first][0]
        # a stamp is a departure's beginning or its end, the same for all: one of the two sums bounds the time between
        needed = min(sum(wire_ps[first:last]), sum(wire_ps[first + 1 : last + 1]))
        assert (
            elapsed >= needed
        ), f"{where}: frames {first}..{last} in {elapsed} ps, the link needs {needed} ps"


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_shows_the_captures_as_roce(captures: list[Path]) -> None:
    for path in captures:
        done = subprocess.run(
            [
                "tshark",
                "-r",
                str(path),
                "-T",
                "fields",
                "-e",
                "_ws.col.Protocol",
                "-e",
                "_ws.malformed",
                "-e",
                "infiniband.bth.opcode",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert "appears to" not in done.stderr and "rror" not in done.stderr, done.stderr
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert len(rows) == sum(1 for _ in _packets(path))
        assert not [row for row in rows if row[1]], "malformed"
        roce = [row for row in rows if row[2]]
        assert len(roce) > 1900
        others = {row[0] for row in rows if not row[2]}
        assert others <= {"MAC CTRL"}, others  # PFC
        assert bool(others) == ("roce+pfc" in path.parent.name)


def _packets(path: Path) -> Iterator[tuple[str, int, int, int, int]]:
    """(interface, bits per second, time in ps, length, direction) of each packet of a pcapng file in picoseconds."""
    data = path.read_bytes()
    interfaces: list[tuple[str, int]] = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        at += length
        if kind == _INTERFACE:
            options = _options(body[8:])
            interfaces.append((options[_IF_NAME].decode(), int.from_bytes(options[_IF_SPEED], "little")))
        elif kind == _PACKET:
            interface, high, low, kept, original = struct.unpack_from("<5I", body)
            flags = _options(body[20 + (kept + 3) // 4 * 4 :]).get(_EPB_FLAGS, b"\0\0\0\0")
            yield (*interfaces[interface], high << 32 | low, original, flags[0] & 3)


def _options(data: bytes) -> dict[int, bytes]:
    found = {}
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found
