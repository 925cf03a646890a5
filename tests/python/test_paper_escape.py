"""`./rocelab paper escape`: that every number of the paper has its row, how numbers are judged, and what the ring of figure 4.6 shows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rocelab.errors import UsageError
from rocelab.paper import escape, escape_measures
from rocelab.paper.escape_chart import picture
from rocelab.paper.escape_measures import Run
from rocelab.paper.numbers import Row
from rocelab.report import style


def test_every_number_has_its_source_and_every_scenario_its_experiment() -> None:
    with escape.NUMBERS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(r["source"].startswith("thesis 4.") and "page" in r["source"] for r in rows)
    assert len({(r["experiment"], r["case"], r["quantity"]) for r in rows}) == len(rows)
    assert {f.stem for f in escape.SCENARIOS.glob("*.toml")} - {"ring_deadlock"} == set(escape.EXPERIMENTS)
    assert len(escape.rows_of({})) == len(rows), "what is not run has its row, and no number"
    assert all(row.ours is None and row.holds is None for row in escape.rows_of({}))


def row(paper: float | None, ours: float | None) -> Row:
    return Row("ring", "escape", "utilization", "%", paper, "", ours)


def test_numbers_are_judged_by_distance_and_a_zero_is_a_zero() -> None:
    assert row(91, 99).holds and not row(91, 80).holds
    assert row(0, 0).holds and not row(0, 1).holds
    assert row(91, None).holds is None and row(None, 50).holds is None
    bound = [Row("innocent", "web_search", "fct_without_over_with", "ratio", 1.1, "", x) for x in (1.2, 1.01)]
    assert bound[0].holds and not bound[1].holds, "the paper says at least"


def test_a_picture_has_what_was_measured_and_nothing_else() -> None:
    names = {"utilization": "links busy", "drops": "drops"}
    zero = Row("ring", "escape", "drops", "frames", 0, "", 0)
    assert picture([row(91, None), zero], names) == ""
    both, ours_alone = picture([row(91, 12)], names), picture([row(None, 12)], names)
    assert "links busy" in both and style.LOSS in both, "far from the paper's"
    ring = "fill-opacity: 0"
    assert style.LOSS not in ours_alone and ring in both and ring not in ours_alone


def test_pfc_alone_deadlocks_on_every_seed_and_escape_on_none(tmp_path: Path) -> None:
    assert escape.run_escape("ring", tmp_path) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    ours = {(n["case"], n["quantity"]): n["ours"] for n in report["numbers"] if n["experiment"] == "ring"}
    assert ours["pfc", "deadlocks"] == 100 and ours["escape", "deadlocks"] == 0
    assert ours["loopbreaker", "deadlocks"] == 0 < ours["loopbreaker", "drops"]
    for case in ("pfc", "escape", "ideal"):
        assert ours[case, "drops"] == 0 and ours[case, "out_of_order"] == 0, case
    assert ours["ideal", "utilization"] > 96
    runs = report["runs"]["ring"]
    assert len({r["seed"] for r in runs}) >= 3 and len(runs) == 4 * len({r["seed"] for r in runs})
    for run in runs:
        assert (run["values"]["tokens"] > 0) == (run["label"] == "roce+pfc+escape")
        assert (run["values"]["loops"] > 0) == (run["label"] == "roce+pfc+loopbreaker")
    page = (tmp_path / "report.html").read_text()
    assert "figure 4.8a" in page and "flows left" in page
    assert (
        page.count("<svg") == 1 and ">links busy</text>" in page
    ), "a picture of the one experiment that ran"
    assert page.count(": deadlock since 0.1") == sum(
        r["values"]["deadlocks"] > 0 for r in report["runs"]["ring"]
    )


def test_schemes_are_laid_side_by_side_case_by_case() -> None:
    runs = [
        Run(f"{scheme},{case}", seed, {"end_ms": end * seed})
        for scheme, end in (("ideal", 9.0), ("roce+pfc+escape", 10.0))
        for case in ("delay=1us", "delay=2us")
        for seed in (1, 3)
    ]
    found = escape_measures.of_ideal(runs)
    assert found == pytest.approx(
        {("escape,delay=1us", "of_ideal"): 90.0, ("escape,delay=2us", "of_ideal"): 90.0}
    )
    stuck = Run("roce+pfc+escape,web_search", 1, {"unfinished": 3.0})
    dropped = Run("roce+pfc+watchdog,web_search", 1, {"p99_fct_ms": 5.0})
    assert escape_measures.tail_ratios([stuck, dropped]) == {}, "there is no tail where flows never end"
    tails = [
        Run(f"roce+pfc+{scheme},web_search", 1, {"p99_fct_ms": ms})
        for scheme, ms in (("escape", 2.0), ("loopbreaker", 20.0), ("watchdog", 30.0))
    ]
    assert escape_measures.tail_ratios(tails) == pytest.approx(
        {
            ("loopbreaker,web_search", "p99_over_escape"): 10.0,
            ("watchdog,web_search", "p99_over_escape"): 15.0,
        }
    )


def test_innocent_flows_are_compared_with_and_without_escape() -> None:
    values = escape.values_of("innocent", escape.measure("innocent"))
    for case in ("web_search", "fb_hadoop"):
        ratio = values[case, "fct_without_over_with"]
        bound = values[case, "fct_bound"]
        assert ratio is not None and bound is not None and 1 < ratio <= bound, case
        ours = values[f"announce,{case}", "fct_without_over_with"]
        assert (
            ours is not None and ratio < ours <= bound
        ), "places that are free at once are there when they are needed"
        for scheme in ("escape", "escape+announce"):
            assert (
                values[f"{scheme},{case}", "drops"] == 0 and values[f"{scheme},{case}", "out_of_order"] == 0
            )


def test_with_announcements_every_flow_of_two_levels_ends() -> None:
    values = escape.values_of("two_level", escape.measure("two_level"))
    for case in ("web_search", "fb_hadoop"):
        assert values[f"escape,{case}", "unfinished"] != 0, "the chapter's form"
        found = {
            quantity: values[f"escape+announce,{case}", quantity]
            for quantity in ("unfinished", "drops", "out_of_order")
        }
        assert not any(found.values()), found
        assert (values[f"escape+announce,{case}", "p99_fct_ms"] or 0) > 0
        assert values[f"loopbreaker,{case}", "p99_over_announced"] is not None


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean ring"):
        escape.choose("rings")
