"""How pauses spread: chains made by hand, and a parking lot in which they really do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rocelab import frames, pauses
from rocelab.des.engine import DesEngine
from rocelab.model import TRACE_DTYPE
from rocelab.scenario import plan_of, read_scenario
from rocelab.summary import run_summary

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
_US = 1_000_000


def line(events: dict[str, list[tuple[float, str, int]]]) -> Any:
    """Switches s1 .. s3 in a line: port 1 of each leads to the next one's port 0; s1's port 0 and s3's port 1 to hosts. Events: microseconds, kind, port."""
    ports = []
    for i in (1, 2, 3):
        before, after = f"s{i - 1}-eth2" if i > 1 else "h1", f"s{i + 1}-eth1" if i < 3 else "h2"
        for number, peer in enumerate((before, after)):
            interface = f"s{i}-eth{number + 1}"
            ports.append(
                SimpleNamespace(
                    switch=f"s{i}",
                    port_id=number,
                    interface=interface,
                    peer=peer,
                    peer_is_host=peer[0] == "h",
                )
            )
    traces = {}
    for name in ("s1", "s2", "s3"):
        mine = events.get(name, [])
        traces[name] = np.zeros(len(mine), dtype=TRACE_DTYPE)
        for row, (us, kind, port) in zip(traces[name], mine):
            row["time_ps"], row["kind"], row["port"], row["mark"] = (
                us * _US,
                frames.KINDS.index(kind),
                port,
                3,
            )
    plan = SimpleNamespace(ports=tuple(ports), switches=tuple(SimpleNamespace(name=n) for n in traces))
    return SimpleNamespace(plan=plan, events=traces, end_ps=1000 * _US, port_counters={})


# s3 asks s2 at 10, which asks s1 at 20 while it may not send, which asks its host at 30.
_NESTED: dict[str, list[tuple[float, str, int]]] = {
    "s3": [(10, "xoff", 0), (100, "xon", 0)],
    "s2": [(12, "paused", 1), (20, "xoff", 0), (102, "resumed", 1), (110, "xon", 0)],
    "s1": [(22, "paused", 1), (30, "xoff", 0), (112, "resumed", 1), (120, "xon", 0)],
}


def test_a_pause_within_a_pause_is_one_deeper() -> None:
    found = pauses.spread(line(_NESTED))
    assert found is not None and found.depth == 3
    assert [a.depth for key in (("s3", 0, 3), ("s2", 0, 3), ("s1", 0, 3)) for a in found.asks[key]] == [
        1,
        2,
        3,
    ]
    assert found.reach == {"s3-eth1": 3}, "all of it began at s3"


def test_a_chain_that_goes_round_in_a_circle_is_as_deep_as_the_circle_is_long() -> None:
    """s1 and s2 ask each other in turns, each within the other's pause: two links, however often."""
    ring = line({"s1": [], "s2": []})
    ends = {("s1", 1): "s2-eth1", ("s2", 0): "s1-eth2", ("s1", 0): "s2-eth2", ("s2", 1): "s1-eth1"}
    for port in ring.plan.ports:
        port.peer = ends.get((port.switch, port.port_id), port.peer)
    turns: dict[str, list[tuple[float, str, int]]] = {"s1": [], "s2": []}
    for i in range(8):
        turns["s1"].append((10 + 20 * i, "xoff", 0))
        turns["s2"] += [(12 + 20 * i, "paused", 1), (15 + 20 * i, "xoff", 0)]
        turns["s1"].append((17 + 20 * i, "paused", 1))
        turns["s2"].append((25 + 20 * i, "resumed", 1))
    ring.events = line(turns).events
    found = pauses.spread(ring)
    assert found is not None and found.depth == 2
    assert len(found.asks["s1", 0, 3]) == 8, "as many as there were"


def test_a_pause_after_a_pause_begins_a_chain_of_its_own() -> None:
    later = {**_NESTED, "s1": [(22, "paused", 1), (112, "resumed", 1), (200, "xoff", 0)]}
    found = pauses.spread(line(later))
    assert found is not None
    assert found.reach == {"s3-eth1": 2, "s1-eth1": 1}


def test_a_host_that_pauses_its_switch_is_a_root() -> None:
    found = pauses.spread(line({"s3": [(5, "paused", 1), (9, "xoff", 0)], "s2": [(11, "paused", 1)]}))
    assert found is not None
    assert found.reach == {"h2": 2}


def test_without_traces_nothing_is_known() -> None:
    bare = SimpleNamespace(plan=SimpleNamespace(ports=(), switches=()), events={}, port_counters={})
    assert pauses.spread(bare) is None  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def lot() -> Any:
    scenario = read_scenario(SCENARIOS / "parking_lot.toml", ('transport=["roce+pfc"]', "seeds=[1]"))
    return DesEngine().execute(plan_of(scenario, scenario.labels[0], 1))


def test_counters_and_traces_of_a_run_agree(lot: Any) -> None:
    assert lot.error is None
    rows = pauses.by_port(lot)
    assert rows, "a parking lot without congestion control pauses"
    for row in rows:
        assert 0 < row.longest_ps <= row.paused_ps
        assert row.pauses >= 1 and row.depth >= 1
        assert row.paused_ps <= row.pauses * row.longest_ps
    summary = run_summary(lot)
    assert (
        summary["pfc_depth"] >= max(r.depth for r in rows) >= 2
    ), "pauses spread along the lot; the deepest reach hosts"
    ports = [r for r in rows if r.interface in lot.port_counters]
    assert summary["pfc_longest_pause_s"] == max(r.longest_ps for r in ports) / 1e12
    assert len(ports) < len(rows), "hosts are among them"
