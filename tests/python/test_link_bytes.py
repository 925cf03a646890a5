"""What the bytes of links were for: counters of NICs and switches against captures of everything that switches have sent."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rocelab import link_bytes, results
from rocelab.model import RunOutcome

ROOT = Path(__file__).resolve().parents[2]
_ON_WIRE = 24
# One switch, so that its captures have every link: what hosts send comes in, what they receive goes out.
STAR = """
extends = "{root}/scenarios/quick.toml"
title = "Each kind of control traffic"
transport = ["irn", "roce+pfc", "roce+pfc+dcqcn", "roce+pfc+rocc", "irn+hpcc"]

[[workload]]
name = "incast"
kind = "incast"
receiver = "h3"
size = "500KB"

[[workload]]
name = "reads"
kind = "list"
[[workload.flow]]
op = "read"
src = "h1"
dst = "h2"
size = "200KB"
"""
RING = """
extends = "{root}/scenarios/escape/ring.toml"
transport = ["roce+pfc+escape+announce"]
seeds = [1]

[engine]
limit = "6ms"
"""


def frames_of(path: Path) -> Iterator[tuple[bytes, int, bool]]:
    """(bytes, length, outbound) of a pcapng file, whose frames may be cut short."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        block, length = struct.unpack_from("<II", data, at)
        if block == 6:
            captured, whole = struct.unpack_from("<II", data, at + 20)
            options = at + 28 + (captured + 3) // 4 * 4
            code, size, flags = struct.unpack_from("<HHI", data, options)
            assert (code, size) == (2, 4), "epb_flags has the direction"
            yield data[at + 28 : at + 28 + captured], whole, flags & 3 == 2
        at += length


def kind_of(frame: bytes) -> tuple[str, int]:
    """By the frame's own bytes, and the bytes of INT in it."""
    (ether_type,) = struct.unpack_from(">H", frame, 12)
    if ether_type == 0x8808:
        return {0x0101: "pfc", 0x0102: "escape_token"}[struct.unpack_from(">H", frame, 14)[0]], 0
    assert ether_type == 0x0800
    if frame[14 + 9] != 17:
        return "feedback", 0
    assert struct.unpack_from(">H", frame, 36) == (4791,)
    at, stamped, announced = 42, 0, False
    while frame[at] & 0xE0 == 0xE0:  # parts of the shim
        part, size = frame[at] & 0x1F, 4 + 4 * frame[at + 1]
        stamped += size if part == 2 else 0
        announced |= part == 5
        at += size
    opcode = frame[at]
    if announced:
        return "escape_announcement", 0
    if opcode == 0x81:
        return "cnp", 0
    if opcode in (0x0C, 0xCC):
        return "request", 0
    if opcode in (0x11, 0xD1, 0xD9):
        return "ack", 0
    return ("nack" if opcode in (0xD8, 0xDA) else "data"), stamped


def captured(folder: Path, outcome: RunOutcome, outbound: bool) -> tuple[Counter[str], Counter[str]]:
    """Frames and bytes by kind, as they are on the wire."""
    frames: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for switch in outcome.plan.switches:
        for frame, length, out in frames_of(folder / "pcap" / outcome.plan.name / f"{switch.name}.pcapng"):
            if out == outbound:
                kind, stamped = kind_of(frame)
                frames[kind] += 1
                sizes[kind] += length + _ON_WIRE - stamped
                sizes["int"] += stamped
    return frames, +sizes


def of_switches(outcome: RunOutcome) -> RunOutcome:
    return replace(outcome, nic_counters={})


def of_nics(outcome: RunOutcome) -> RunOutcome:
    return replace(outcome, port_counters={})


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> results.Result:
    folder = tmp_path_factory.mktemp("star")
    (folder / "star.toml").write_text(STAR.format(root=ROOT))
    return results.run(folder / "star.toml", "des", out=folder / "out", pcap=True)


def test_counters_are_what_the_capture_of_each_switch_has(star: results.Result) -> None:
    assert star.complete and star.folder is not None
    seen: set[str] = set()
    for outcome in star.outcomes:
        frames, sizes = captured(star.folder, outcome, outbound=True)
        counted = link_bytes.by_kind(of_switches(outcome))
        assert {kind: row["bytes"] for kind, row in counted.items()} == dict(sizes), outcome.plan.label
        assert {kind: row["frames"] for kind, row in counted.items() if kind != "int"} == dict(frames)
        seen |= set(counted)
    assert seen == {"data", "int", "request", "ack", "nack", "cnp", "feedback", "pfc"}


def test_what_hosts_sent_is_what_came_in_but_for_frames_on_their_way(star: results.Result) -> None:
    assert star.folder is not None
    for outcome in star.outcomes:
        frames, _ = captured(star.folder, outcome, outbound=False)
        counted = link_bytes.by_kind(of_nics(outcome))
        assert set(counted) == set(frames)
        for kind, row in counted.items():
            assert 0 <= row["frames"] - frames[kind] <= 2, (outcome.plan.label, kind)


def test_shares_are_of_all_bytes_and_the_frame_has_them(star: results.Result) -> None:
    frame = star.link_bytes
    assert list(frame.columns) == list(star.columns("link_bytes").index)
    assert frame.groupby("run")["share"].sum().tolist() == pytest.approx([1.0] * len(star.outcomes))
    shares = frame.set_index(["label", "kind"])["share"]
    # 1,024 bytes of payload a frame, and a frame of 84 bytes for each: IRN acknowledges every packet.
    assert 0.05 < shares["irn", "ack"] + shares["irn", "nack"] < 0.09
    assert shares["roce+pfc", "ack"] < 0.01 and ("roce+pfc", "nack") not in shares
    assert star.report is not None and "INT in data frames" in star.report.read_text()


def test_escapes_tokens_and_announcements_are_in_the_capture_too(tmp_path: Path) -> None:
    (tmp_path / "ring.toml").write_text(RING.format(root=ROOT))
    result = results.run(tmp_path / "ring.toml", "des", out=tmp_path / "out", pcap=True)
    assert result.folder is not None
    (outcome,) = result.outcomes
    frames, _ = captured(result.folder, outcome, outbound=True)
    counted = link_bytes.by_kind(of_switches(outcome))
    assert {kind: row["frames"] for kind, row in counted.items()} == dict(frames)
    assert frames["escape_token"] > 100 and frames["escape_announcement"] > 100 and frames["pfc"] > 100
