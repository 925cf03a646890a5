"""Whom CaPFC held responsible: spans made by hand, and those of an incast."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rocelab import culprits, results
from rocelab.des.engine import DesEngine
from rocelab.model import RunOutcome
from rocelab.scenario import plan_of, read_scenario
from synthetic import outcome, record, records

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "capfc.toml"
_US = 1_000_000


def with_events(*rows: tuple[int, ...]) -> RunOutcome:
    """The synthetic run of a scenario with CaPFC, in which s1 has these records alone."""
    made = outcome(plan_of(read_scenario(SCENARIO), "roce+pfc,stop-max", 1))
    return dataclasses.replace(made, events={"s1": records(list(rows))}, end_ps=1000 * _US)


def event(us: int, on: bool, port: int = 7, peer: int = 0) -> tuple[int, ...]:
    return record("culprit", us * _US, port=port, peer=peer, mark=3, flow=int(on), bytes=30_000, psn=9_000)


def test_a_span_lasts_from_on_to_off_and_the_last_one_to_the_end() -> None:
    found = culprits.find(
        with_events(event(10, True), event(15, True, peer=1), event(20, False), event(900, True))
    )
    assert [(c.queue, c.tc, c.port) for c in found] == [("s1-eth8", 3, "s1-eth2"), ("s1-eth8", 3, "s1-eth1")]
    first, second = found
    assert first.held_ps == 985 * _US, "never released: until the run's end"
    assert [(s.begin_ps // _US, s.end_ps // _US) for s in second.spans] == [(10, 20), (900, 1000)]
    assert second.longest_queue == 30_000


def test_without_records_there_is_nobody() -> None:
    assert culprits.find(with_events()) == []


def test_the_ports_that_fill_a_queue_are_found_and_one_beside_them_is_not_paused() -> None:
    run = DesEngine(events=True).execute(plan_of(read_scenario(SCENARIO), "roce+pfc,stop-calibrate", 1))
    found = culprits.find(run)
    assert {c.queue for c in found} == {"s1-eth8"}
    assert {c.port for c in found} >= {f"s1-eth{n}" for n in range(1, 7)}
    for counters in run.port_counters.values():
        assert counters["capfc_released"] == counters["capfc_held_responsible"]
    times = sum(len(c.spans) for c in found)
    assert times == sum(c["capfc_held_responsible"] for c in run.port_counters.values())


def test_the_report_shows_who_was_held_responsible_and_when(tmp_path: Path) -> None:
    results.run(
        SCENARIO,
        out=tmp_path,
        execute=lambda plan: DesEngine(events=True).execute(plan),
        overrides=["workload.long.size=500KB"],
    )
    html = (tmp_path / "report.html").read_text()
    assert "Held responsible" in html and "s1-eth1 for s1-eth8" in html
    assert "roce+pfc,pfc</h3>" not in html, "PFC alone holds nobody responsible"


def test_a_link_that_fails_and_comes_back_leaves_nobody_paused(tmp_path: Path) -> None:
    """What the queue sends into the dead link is lost, and its ports are released as by any departure."""
    file = tmp_path / "down.toml"
    file.write_text(
        f'extends = "{SCENARIO}"\n'
        '[[link_event]]\nat = "500us"\nbetween = ["s1", "h8"]\nstate = "down"\n'
        '[[link_event]]\nat = "900us"\nbetween = ["s1", "h8"]\nstate = "up"\n'
    )
    run = DesEngine(events=True).execute(plan_of(read_scenario(file), "roce+pfc,stop-calibrate", 1))
    assert run.error is None
    found = culprits.find(run)
    assert any(500 * _US < s.end_ps < 900 * _US for c in found for s in c.spans)
    for counters in run.port_counters.values():
        assert counters["capfc_released"] == counters["capfc_held_responsible"]
