"""`./rocelab paper escape`: that every number of the paper has its row, how numbers are judged, and what the ring of figure 4.6 shows."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from first_seed import measured
from rocelab.des.engine import DesEngine
from rocelab.errors import UsageError
from rocelab.paper import escape_measures, escape_queues, harness
from rocelab.paper.chart import numbers_chart
from rocelab.paper.claims import AT_LEAST, NEAR, OURS, Claim, Rule, Spread, Values, number, numbers
from rocelab.paper.escape_measures import Run
from rocelab.paper.results import Results
from rocelab.paper.time_lines import Line, Panel, picture, thin
from rocelab.papers import escape
from rocelab.report import style
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.store import PointStore


def test_every_number_has_its_source_and_every_scenario_its_experiment() -> None:
    with escape.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(r["source"].startswith("thesis 4.") and "page" in r["source"] for r in rows)
    assert len({(r["experiment"], r["case"], r["quantity"]) for r in rows}) == len(rows)
    experiments = {e.name for e in escape.PAPER.experiments}
    assert {f.stem for f in (harness.SCENARIOS / "escape").glob("*.toml")} - {"ring_deadlock"} == experiments
    assert {r["experiment"] for r in rows} <= experiments
    found = numbers(escape.FILE, {}, escape.NAMES, only_run=False)
    assert len(found) == len(rows) and all(c.only is None and c.holds is None for c in found)


def claim(paper: float | None, ours: float | None, rule: Rule = NEAR) -> Claim:
    return number("ring", "escape", "utilization", "links busy", "%", paper, ours, rule=rule)


def test_numbers_are_judged_by_distance_and_a_zero_is_a_zero() -> None:
    assert claim(91, 99).holds and not claim(91, 80).holds
    assert claim(0, 0).holds and claim(0, 1).holds is False
    assert claim(91, None).holds is None and claim(None, 50).holds is None
    assert claim(1.1, 1.2, AT_LEAST).holds and not claim(1.1, 1.01, AT_LEAST).holds


def test_a_figure_has_what_was_measured_and_nothing_else() -> None:
    names = {"utilization": "links busy", "drops": "drops"}
    zero = number("ring", "escape", "drops", "drops", "frames", 0, 0.0)
    assert numbers_chart([claim(91, None), zero], names) == ""
    both, ours_alone = numbers_chart([claim(91, 12), zero], names), numbers_chart([claim(None, 12)], names)
    assert "links busy" in both and style.LOSS in both, "far from the paper's"
    assert ">drops</text>" not in both
    ring = "fill-opacity: 0"
    assert style.LOSS not in ours_alone and ring in both and ring not in ours_alone
    spread = dataclasses.replace(claim(None, 12), spreads={OURS: Spread(3, 2.0)})
    assert numbers_chart([spread], names).count("<path") > ours_alone.count("<path"), "its interval is drawn"


def test_pfc_alone_deadlocks_on_every_seed_and_escape_on_none(tmp_path: Path) -> None:
    assert harness.run("escape", False, "ring", None, 0, tmp_path) == 0
    report = json.loads((tmp_path / "report-ring.json").read_text())
    found = {(c["case"], c["quantity"]): c["numbers"]["ours"] for c in report["claims"]}
    ours = {key: value["ours"] for key, value in found.items()}
    assert ours["pfc", "deadlocks"] == 100 and ours["escape", "deadlocks"] == 0
    assert ours["loopbreaker", "deadlocks"] == 0 < ours["loopbreaker", "drops"]
    for case in ("pfc", "escape", "ideal"):
        assert ours[case, "drops"] == 0 and ours[case, "out_of_order"] == 0, case
    assert ours["ideal", "utilization"] > 96
    assert all(value["seeds"] >= 3 and value["ci95"] is not None for value in found.values())
    assert found["escape", "utilization"]["ci95"] > 0 == found["pfc", "deadlocks"]["ci95"]
    (table,) = report["tables"]
    assert len(table["rows"]) == 4
    column = {name: i for i, name in enumerate(table["columns"])}
    for label, row in table["rows"].items():
        assert (row[column["tokens"]]["ours"] > 0) == (label == "roce+pfc+escape")
        assert (row[column["loops broken"]]["ours"] > 0) == (label == "roce+pfc+loopbreaker")
    assert table["rows"]["roce+pfc"][column["since, ms"]]["ours"] < 0.2
    page = (tmp_path / "report-ring.html").read_text()
    assert "figure 4.8a" in page and "flows left" in page and "±" in page
    assert page.count("<svg") == 2 and ">links busy</text>" in page, "of the one experiment that ran"
    assert "figures 4.7a, 4.7b and 4.8" in page and "> deadlock</text>" in page


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


def values_of(name: str, out: Path) -> Values:
    assert harness.run("escape", False, name, None, 0, out) == 0
    (experiment,) = escape.PAPER.chosen(name)
    results = Results({name: experiment.points(False)}, PointStore(out / "points"))
    return escape.values_of(name, escape.runs_of(results, name))


def test_innocent_flows_are_compared_with_and_without_escape(tmp_path: Path) -> None:
    values = values_of("innocent", tmp_path)
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


def test_with_announcements_every_flow_of_two_levels_ends(tmp_path: Path) -> None:
    values = values_of("two_level", tmp_path)
    for case in ("web_search", "fb_hadoop"):
        assert values[f"escape,{case}", "unfinished"] != 0, "the chapter's form"
        found = {
            quantity: values[f"escape+announce,{case}", quantity]
            for quantity in ("unfinished", "drops", "out_of_order")
        }
        assert not any(found.values()), found
        assert (values[f"escape+announce,{case}", "p99_fct_ms"] or 0) > 0
        assert values[f"loopbreaker,{case}", "p99_over_announced"] is not None


def test_thinned_lines_keep_their_ends_and_every_extreme() -> None:
    times = np.arange(10_000.0)
    values = np.full(10_000, 100.0)
    values[[4321, 4322, 8765]] = 517, 3, 250
    thinned, kept = thin(times, values, 200)
    assert len(thinned) <= 200 and list(thinned) == sorted(set(thinned))
    assert thinned[0] == 0 and thinned[-1] == 9999
    assert {4321.0: 517.0, 4322.0: 3.0, 8765.0: 250.0}.items() <= dict(zip(thinned, kept)).items()
    assert len(thin(times[:200], values[:200], 200)[0]) == 200


def test_a_panel_shows_its_lines_limit_and_marks() -> None:
    line = Line("s1 from s3", np.array([0.0, 1.0, 2.0]), np.array([0.0, 120.0, 120.0]))
    marked = Panel("with a mark", "KB", [line], (125.0, "XOFF 125 KB"), {"deadlock": 1.0})
    plain = Panel("without", "KB", [line])
    with style.looks():
        svg = picture([marked, plain, plain], 2, "ms", "Queues")
        without = picture([plain], 2, "ms", "Queues")
    assert svg.count('class="axes"') == 3, "the fourth place stays empty"
    assert svg.count(">XOFF 125 KB<") == 1 and svg.count("deadlock<") == 1 and style.LOSS in svg
    assert svg.count(">s1 from s3<") == 1, "one legend"
    assert "XOFF" not in without and style.LOSS not in without


def test_ingress_queues_stand_still_in_a_deadlock_and_go_up_and_down_with_escape(tmp_path: Path) -> None:
    results = measured(escape.PAPER, "ring_testbed", tmp_path, *(f"{s},1-connection" for s in _SCHEMES))
    queues = [f"queue|{here} from {before}" for here, before in (("s1", "s3"), ("s2", "s1"), ("s3", "s2"))]
    pfc, with_escape = (results.arrays("ring_testbed")[f"{s},1-connection"] for s in _SCHEMES)
    (found,) = [run for run in results.found("ring_testbed") if "escape" not in run.label]
    since = found.values["roce+pfc,1-connection", "deadlock_ms"]
    assert list(pfc["mark|deadlock"]) == [since] and "mark|deadlock" not in with_escape
    for queue in queues:
        for kept in (pfc, with_escape):
            assert list(kept["xoff_kb"]) == [125] and len(kept[f"{queue}|kb"]) <= 600
            assert kept[f"{queue}|time_ms"][-1] == 20, "the first 20 of 120 ms"
        dead = pfc[f"{queue}|kb"][pfc[f"{queue}|time_ms"] > since + 0.1]
        assert dead.min() == dead.max() > 125
        moving = with_escape[f"{queue}|kb"][with_escape[f"{queue}|time_ms"] > 5]
        assert moving.min() < 20 and moving.max() > 125
    with style.looks():
        (figure,) = escape_queues.figures(results)
    assert figure.experiment == "ring_testbed" and "figure 4.10" in figure.title
    assert figure.svg.count("XOFF 125 KB") == 2 and figure.svg.count("deadlock<") == 1


def test_queues_are_kept_of_the_experiments_that_the_chapter_draws() -> None:
    for name, circle in escape_queues.CIRCLES.items():
        (experiment,) = escape.PAPER.chosen(name)
        scenario = read_scenario(experiment.file, ())
        plan = plan_of(scenario, scenario.labels[0], 1)
        assert plan.sample_interval_ps > 0, "queues are sampled"
        assert set(circle.switches) <= {switch.name for switch in plan.switches}
    short = plan_of(read_scenario(harness.SCENARIOS / "escape" / "fat_tree.toml", _BRIEF), "roce+pfc+rocc", 1)
    kept = escape_queues.arrays_of(DesEngine(events=True).execute(short), None)
    assert list(kept["mark|links fail"]) == [10] and "queue|agg3 from core2|kb" in kept
    assert len([key for key in kept if key.endswith("|kb")]) == 4


_SCHEMES = ("roce+pfc", "roce+pfc+escape")
_BRIEF = ('engine.limit="11ms"',)


def test_rocc_and_escape_together_lose_nothing_and_rarely_pause() -> None:
    file = harness.SCENARIOS / "escape" / "rocc_leaf_spine.toml"
    scenario = read_scenario(file, ('workload.flows.duration="12ms"',))
    runs = {}
    for scheme in (escape_measures.PFC, escape_measures.ROCC, escape_measures.BOTH):
        label = f"{scheme},fb_hadoop,xoff=500KB"
        runs[scheme] = Run(
            label, 1, escape_measures.leaf_spine(DesEngine(events=True).execute(plan_of(scenario, label, 1)))
        )
        lost = {q: runs[scheme].values[q] for q in ("drops", "out_of_order", "unfinished", "deadlocks")}
        assert not any(lost.values()), lost
    both = runs[escape_measures.BOTH].values
    assert 0 < both["escaped"] and 0 < both["escaped_percent"] < 0.5
    assert both["mean_fct_ms"] > both["short_fct_ms"] > 0
    ratios = escape_measures.both_over_rocc(list(runs.values()))
    for scheme in ("pfc+rocc", "pfc+rocc+escape"):
        assert 0 < ratios[f"{scheme},fb_hadoop,xoff=500KB", "xoff_over_pfc"] < 0.1
    for quantity in ("mean_over_rocc", "short_over_rocc", "p99_over_rocc"):
        assert ratios["pfc+rocc+escape,fb_hadoop,xoff=500KB", quantity] == pytest.approx(1, abs=0.1)


def test_rocc_is_laid_beside_pfc_alone_and_rocc_with_escape_beside_rocc() -> None:
    def run(scheme: str, xoff: float, fct: float) -> Run:
        values = {"xoff": xoff, "p99_fct_ms": fct, "mean_fct_ms": fct / 2, "short_fct_ms": fct / 4}
        return Run(f"{scheme},web_search", 1, values)

    runs = [run("roce+pfc", 100, 8), run("roce+pfc+rocc", 10, 4), run("roce+pfc+rocc+escape", 5, 5)]
    found = escape_measures.both_over_rocc(runs)
    assert found == {
        **{("pfc+rocc+escape,web_search", q): 1.25 for q in ("mean_over_rocc", "short_over_rocc")},
        ("pfc+rocc+escape,web_search", "p99_over_rocc"): 1.25,
        ("pfc+rocc,web_search", "xoff_over_pfc"): 0.1,
        ("pfc+rocc+escape,web_search", "xoff_over_pfc"): 0.05,
        ("pfc+rocc,web_search", "p99_over_pfc"): 0.5,
        ("pfc+rocc+escape,web_search", "p99_over_pfc"): 0.625,
    }
    worse = escape_measures.both_over_rocc([runs[0], run("roce+pfc+rocc", 10, 9), runs[2]])
    pauses, tail = escape.goals("rocc_leaf_spine", worse)
    assert pauses.holds and not tail.holds and tail.missed == ("pfc+rocc,web_search",)
    assert escape.goals("ring", {}) == []


def test_links_under_load_are_laid_beside_those_whose_buffers_never_fill() -> None:
    busy = {"ideal": 80.0, "roce+pfc": 10.0, "roce+pfc+escape": 60.0, "roce+pfc+escape+return": 76.0}
    runs = [Run(f"{scheme},web_search", 1, {"busy": value}) for scheme, value in busy.items()]
    assert escape_measures.busy_of_ideal(runs) == pytest.approx(
        {("escape,web_search", "of_ideal"): 75.0, ("pfc+escape+return,web_search", "of_ideal"): 95.0}
    )


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean ring"):
        escape.PAPER.chosen("rings")
