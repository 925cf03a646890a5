"""Shares of repaired, unordered and repeated arrivals, from counters and records of retransmissions, against the frames that the receiver got."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rocelab.des.engine import DesEngine
from rocelab.model import RunOutcome
from rocelab.paper import irn_trace
from rocelab.paper.results import Results
from rocelab.papers import irn
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.points import Point

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "scenarios" / "irn" / "authors_incast.toml"
_ENHANCED_PACKET = 6  # pcapng block type
_BTH = 14 + 20 + 8  # behind Ethernet, IPv4 and UDP
_PSNS = 1 << 24


def _run(case: str, out: Path) -> RunOutcome:
    scenario = read_scenario(SCENARIO, ("workload.incast.total=9MB", "workload.incast.fan_in=20"))
    return DesEngine().execute(plan_of(scenario, f"irn,rto_restart={case}", 1), out, pcap=True)


def _arrivals(outcome: RunOutcome, folder: Path) -> dict[int, list[int]]:
    """PSNs by the receiver's queue pair, in order, of the frames that left its switch for it."""
    receiver = next(h for h in outcome.plan.hosts if h.name == "h1")
    switch = next(p.switch for p in outcome.plan.ports if p.peer == receiver.name)
    data, at = next(folder.rglob(f"{switch}.pcapng")).read_bytes(), 0
    by_port: dict[int, dict[int, list[int]]] = {}
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == _ENHANCED_PACKET:
            port, _, _, captured = struct.unpack_from("<IIII", data, at + 8)
            frame = data[at + 28 : at + 28 + captured]
            if frame[30:34] == bytes(map(int, receiver.ipv4.split("."))):
                qpn, psn = (int.from_bytes(frame[_BTH + i + 1 : _BTH + i + 4]) for i in (4, 8))
                by_port.setdefault(port, {}).setdefault(qpn, []).append(psn)
        at += length
    return max(by_port.values(), key=lambda came: sum(map(len, came.values())))  # they came by several


def _by_order(psns: Iterable[int]) -> dict[str, int]:
    """As the authors' trace was counted."""
    found = dict.fromkeys(irn_trace.NAMES, 0)
    first, *_ = psns = list(psns)
    packets = [(psn - first + _PSNS // 2) % _PSNS for psn in psns]
    expected = min(packets)
    highest, above = expected - 1, set[int]()
    for packet in packets:
        if packet < expected or packet in above:
            found["duplicates"] += 1
            continue
        found["out_of_order"] += packet != expected
        found["repaired"] += packet < highest
        highest = max(highest, packet)
        above.add(packet)
        while expected in above:
            above.remove(expected)
            expected += 1
    return found


@pytest.mark.parametrize("case", ["any-ack", "progress"])
def test_shares_are_those_of_the_frames_that_arrived(case: str, tmp_path: Path) -> None:
    outcome = _run(case, tmp_path)
    came = _arrivals(outcome, tmp_path)
    total = sum(map(len, came.values()))
    counted = [_by_order(psns) for psns in came.values()]
    assert len(came) == 20 and total > 8_700
    ours = irn_trace.measure(outcome).values
    for name in irn_trace.NAMES:
        theirs = 100 * sum(c[name] for c in counted) / total
        # A message's lost tail is sent again with nothing behind it: 20 flows have one packet or a few.
        assert ours[case, name] == pytest.approx(theirs, abs=0.3 if name == "repaired" else 1e-9)
        assert theirs > 5 or name == "duplicates"


class _Made:
    """In the place of a PointStore: the same shares for every run of a rule."""

    def __init__(self, shares: Mapping[str, tuple[float, float, float]]) -> None:
        self.shares = shares

    def __contains__(self, point: Point) -> bool:
        return True

    def run(self, point: Point) -> dict[str, Any]:
        case = point.label.rpartition("=")[2]
        values = [[case, name, share] for name, share in zip(irn_trace.NAMES, self.shares[case])]
        return {"found": {"values": values, "notes": {}}}

    def flows(self, point: Point) -> dict[str, Any]:
        return {}

    arrays = flows


def test_the_authors_shares_stand_beside_ours() -> None:
    (experiment,) = (e for e in irn.EXPERIMENTS if e.name == irn_trace.EXPERIMENT)
    points = {experiment.name: experiment.points(full=False)}
    made = _Made({"any-ack": (36.4, 55.3, 0.036), "progress": (45.4, 64.3, 4.5)})
    found = irn_trace.claims(Results(points, made))
    assert [(c.case, c.quantity, c.expected, c.only, c.verdict) for c in found] == [
        ("any-ack", "repaired", 35.633, pytest.approx(36.4), "holds"),
        ("any-ack", "out_of_order", 59.362, pytest.approx(55.3), "holds"),
        ("any-ack", "duplicates", 0.0078, pytest.approx(0.036), "missed"),
        ("progress", "repaired", 35.633, pytest.approx(45.4), "missed"),
        ("progress", "out_of_order", 59.362, pytest.approx(64.3), "holds"),
        ("progress", "duplicates", 0.0078, pytest.approx(4.5), "missed"),
    ]
    assert irn_trace.claims(Results({}, made)) == []
