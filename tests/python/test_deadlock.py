"""Finding routing deadlocks in traces: pauses made by hand, and the ring that comes with rocelab, with and without Escape."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rocelab import deadlock, frames
from rocelab.des.engine import DesEngine
from rocelab.model import TRACE_DTYPE
from rocelab.scenario import make_plans, plan_of, read_scenario
from rocelab.summary import run_summary

RING = Path(__file__).resolve().parents[2] / "scenarios" / "escape" / "ring_deadlock.toml"
_MS = 1_000_000_000


def outcome(pauses: dict[str, list[tuple[float, float | None]]], ring: int = 3) -> Any:
    """Switches s1.. in a ring; port 1 of each leads to the next. `pauses`: of that port, in ms; None: to the end, which is 20 ms."""
    names = [f"s{i + 1}" for i in range(ring)]
    ports = []
    for i, name in enumerate(names):
        to, back = names[(i + 1) % ring], names[i - 1]
        ports.append(
            SimpleNamespace(switch=name, port_id=0, interface=f"{name}-eth1", peer="h", peer_is_host=True)
        )
        ports.append(
            SimpleNamespace(
                switch=name, port_id=1, interface=f"{name}-eth2", peer=f"{to}-eth3", peer_is_host=False
            )
        )
        ports.append(
            SimpleNamespace(
                switch=name, port_id=2, interface=f"{name}-eth3", peer=f"{back}-eth2", peer_is_host=False
            )
        )
    events = {}
    for name in names:
        records = []
        for begin, end in pauses.get(name, []):
            records.append((begin, "paused"))
            if end is not None:
                records.append((end, "resumed"))
        array = np.zeros(len(records), dtype=TRACE_DTYPE)
        for row, (ms, kind) in zip(array, sorted(records)):
            row["time_ps"], row["kind"], row["port"], row["mark"] = ms * _MS, frames.KINDS.index(kind), 1, 3
        events[name] = array
    switches = tuple(SimpleNamespace(name=n) for n in names)
    plan = SimpleNamespace(ports=tuple(ports), switches=switches)
    return SimpleNamespace(plan=plan, events=events, end_ps=20 * _MS, port_counters={})


def test_a_circle_that_lasts_is_a_deadlock() -> None:
    found = deadlock.find(outcome({"s1": [(1, None)], "s2": [(2, None)], "s3": [(1, 1.5), (3, None)]}))
    assert found is not None
    assert found.since_ps == 3 * _MS and found.until_ps == 20 * _MS and found.tc == 3
    assert found.interfaces == ("s1-eth2", "s2-eth2", "s3-eth2")
    assert str(found).startswith("routing deadlock: s1-eth2 -> s2-eth2 -> s3-eth2 -> s1-eth2")


@pytest.mark.parametrize(
    "pauses",
    [
        {},
        {"s1": [(1, None)], "s2": [(2, None)]},  # no circle
        {"s1": [(1, 2.5)], "s2": [(2, 3.5)], "s3": [(3, 4.5)]},  # never all for a millisecond
        {"s1": [(1, None)], "s2": [(1, None)], "s3": [(m, m + 0.9) for m in range(1, 20)]},  # one goes on
    ],
)
def test_pauses_that_are_no_circle_or_do_not_last_are_none(pauses: Any) -> None:
    assert deadlock.find(outcome(pauses)) is None


def with_escapes(paused: Any, interface: str, frames_at_ms: list[float], size: int = 1102) -> Any:
    """Data arrives over s1-eth2 at s2, whose port 2 is the other end."""
    arrived = np.zeros(len(frames_at_ms), dtype=TRACE_DTYPE)
    for row, ms in zip(arrived, frames_at_ms):
        row["time_ps"], row["kind"], row["port"], row["bytes"] = ms * _MS, frames.KINDS.index("hop"), 2, size
    paused.events["s2"] = np.sort(np.concatenate((paused.events["s2"], arrived)), order="time_ps")
    paused.port_counters = {interface: {"escaped_frames": len(frames_at_ms)}}
    return paused


def test_a_circle_that_frames_escape_from_is_none() -> None:
    every_ms = [2 + 0.9 * i for i in range(20)]
    pauses: dict[str, list[tuple[float, float | None]]] = {s: [(2, None)] for s in ("s1", "s2", "s3")}
    assert deadlock.find(with_escapes(outcome(pauses), "s1-eth2", every_ms)) is None
    short = deadlock.find(with_escapes(outcome(pauses), "s1-eth2", every_ms, size=84))
    assert short is not None, "feedback is not stopped by the data's pause, and is no progress"
    stopped = deadlock.find(with_escapes(outcome(pauses), "s1-eth2", every_ms[:5]))
    assert stopped is not None and stopped.since_ps == round(every_ms[4] * _MS), "the last that got out"
    assert deadlock.find(with_escapes(outcome(pauses), "s1-eth2", [2.0, 10.0]), 11 * _MS) is None


def test_a_run_that_goes_on_only_by_escaping_frames_says_so() -> None:
    """The ring of PFC alone, in which every half millisecond a frame comes over a paused link."""
    overrides = ('transport=["roce+pfc"]', "seeds=[1]", 'engine.limit="20ms"')
    (plan,) = make_plans(read_scenario(RING.with_name("ring.toml"), overrides))
    dead = DesEngine().execute(plan)
    found = deadlock.find(dead)
    assert found is not None
    ports = {p.interface: p for p in plan.ports}
    far = ports[ports[found.interfaces[0]].peer]
    arrived = np.zeros(40, dtype=TRACE_DTYPE)
    arrived["time_ps"], arrived["port"] = np.arange(1, 41) * (_MS // 2), far.port_id
    arrived["kind"], arrived["bytes"] = frames.KINDS.index("hop"), 1102
    events = dict(dead.events)
    events[far.switch] = np.sort(np.concatenate((events[far.switch], arrived)), order="time_ps")
    counters = {name: dict(c) for name, c in dead.port_counters.items()}
    counters[found.interfaces[0]]["escaped_frames"] = 40
    slow = deadlock.explain(
        replace(dead, error="not finished after 20 ms", events=events, port_counters=counters)
    )
    assert slow.error is not None and "deadlock" not in slow.error
    assert slow.error.endswith("ms, which only frames that escape get through")


def test_the_ring_deadlocks_with_pfc_alone_and_not_with_escape() -> None:
    plans = {p.label: p for p in make_plans(read_scenario(RING, ()))}
    alone = DesEngine().execute(plans["roce+pfc"])
    assert alone.error is not None and "routing deadlock: s1-eth2 -> s2-eth3 -> s3-eth3" in alone.error
    escaped = DesEngine().execute(plans["roce+pfc+escape"])
    assert escaped.error is None
    summary = run_summary(escaped)
    assert summary["escaped_frames"] > 1000 > run_summary(alone)["escaped_frames"] == 0
    assert summary["pfc_depth"] == 6, "round the ring of five, and on to a host"
    assert deadlock.find(escaped) is None
    both = DesEngine().execute(plans["roce+pfc+rocc+escape"])
    assert (
        both.error is None and both.end_ps < escaped.end_ps / 2
    ), "congestion control ends what Escape gets through"
    counters = escaped.port_counters.values()
    assert sum(c["drops"] for c in counters) == 0 < sum(c["escaped_frames"] for c in counters)
    assert all(c["out_of_sequence"] == 0 for c in escaped.nic_counters.values()), "in order"


def test_loop_breaker_ends_each_deadlock_at_one_queue_and_what_it_drops_comes_again() -> None:
    (plan,) = make_plans(read_scenario(RING, ('transport=["roce+pfc+loopbreaker"]',)))
    broken = DesEngine().execute(plan)
    assert broken.error is None and all(f.placed_ps is not None for f in broken.flows)
    counters = broken.port_counters.values()
    drops = sum(c["drops"] for c in counters)
    assert drops == sum(c["drops_loop_breaker"] for c in counters) > 0
    assert sum(c["lossless_drops"] for c in counters) == 0, "they are deliberate"
    records = frames.by_node(broken, frames.switches(plan)).values()
    times = np.sort(np.concatenate([r["time_ps"][r["kind"] == frames.KINDS.index("loop")] for r in records]))
    assert len(times) == sum(c["loops_broken"] for c in counters)
    assert (np.diff(times) > _MS).all(), "the next is found an interval later, not by a second master"


def test_frames_that_escape_are_seen_in_the_files_of_a_run() -> None:
    """Ports of the ring wait for one another for milliseconds, while tokens take frames out of their queues."""
    scenario = read_scenario(RING.with_name("pool.toml"))
    outcome = DesEngine().execute(plan_of(scenario, "roce+pfc+escape,tokens=2", 1))
    assert outcome.error is None
    still = deadlock._find(outcome, _MS, None)
    assert still is not None, "a circle of pauses alone"
    escapes = deadlock._Escapes(outcome)
    moved = [escapes.over(interface, still.tc) for interface in still.interfaces]
    assert any(((times > still.since_ps) & (times < still.until_ps)).any() for times in moved)
    assert deadlock.find(outcome) is None
    kinds = {frames.KINDS[k] for records in outcome.events.values() for k in np.unique(records["kind"])}
    assert "deliver" not in kinds, "which event files do not hold"
