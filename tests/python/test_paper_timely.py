"""`./rocelab paper timely`: that every number of the paper has its run, table 3.1's shape, and what the figures' runs show."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from rocelab.paper import harness
from rocelab.paper.claims import Values, numbers
from rocelab.paper.results import Results
from rocelab.paper.timely_measures import EXPERIMENTS, jain
from rocelab.papers import timely
from rocelab.sweep.store import PointStore

SHORT = (
    'workload.a.size="5MB"',
    'workload.b.size="5MB"',
    'workload.c.size="5MB"',
    'workload.d.size="5MB"',
    "seeds=[1]",
)


def test_jains_index_is_one_for_equals_and_one_in_n_for_a_hog() -> None:
    assert jain([5.0, 5.0, 5.0, 5.0]) == 1
    assert jain([1.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([3.0, 1.0]) == pytest.approx(0.8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("out")
    run_short("table3.1", SHORT, out)
    return out


def run_short(name: str, overrides: tuple[str, ...], out: Path) -> None:
    """One experiment, as `./rocelab paper` runs it."""
    (experiment,) = timely.PAPER.chosen(name)
    short = dataclasses.replace(timely.PAPER, experiments=(dataclasses.replace(experiment, fast=overrides),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timely, "PAPER", short)
        assert harness.run("timely", False, None, None, 0, out) == 0


def values_of(name: str, overrides: tuple[str, ...], out: Path) -> Values:
    run_short(name, overrides, out)
    (experiment,) = timely.PAPER.chosen(name)
    points = dataclasses.replace(experiment, fast=overrides).points(False)
    return Results({name: points}, PointStore(out / "points")).values(name)


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def ours(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(c["case"], c["quantity"]): c["numbers"]["ours"]["ours"] for c in report["claims"] if "case" in c}


def test_every_number_of_the_paper_has_its_run(report: dict[str, Any]) -> None:
    with timely.FILE.open(newline="") as file:
        asked = {(r["case"], r["quantity"]) for r in csv.DictReader(file) if r["experiment"] == "table3.1"}
    values = ours(report)
    assert set(values) == asked and None not in values.values()


def test_timely_keeps_the_link_busy_with_round_trips_far_below_those_of_pfc(report: dict[str, Any]) -> None:
    values = ours(report)
    assert 0.9 * values["PFC", "throughput"] < values["TIMELY", "throughput"] <= values["PFC", "throughput"]
    for quantity in ("average_rtt", "p99_rtt"):
        assert 3 * values["TIMELY", quantity] < values["PFC", quantity]


def test_the_report_says_what_was_found(report: dict[str, Any], folder: Path) -> None:
    shape = [c for c in report["claims"] if "case" not in c]
    assert len(shape) == 6 and all(c["holds"] is not None for c in shape)
    percentiles, _ = report["tables"]
    assert percentiles["columns"][0] == "segments"
    assert all(row[0]["ours"] > 1000 for row in percentiles["rows"].values())
    page = (folder / "report.html").read_text()
    assert "Jain" in page and page.count("<svg") == 2, "the distribution, and the paper's numbers beside ours"


def test_every_scenario_has_its_measure_and_every_number_its_experiment() -> None:
    files = {f.stem for f in (harness.SCENARIOS / "timely").glob("*.toml")}
    assert files == set(EXPERIMENTS) == {e.file.stem for e in timely.PAPER.experiments}
    names = {e.name for e in timely.PAPER.experiments}
    assert {c.experiment for c in numbers(timely.FILE, {}, timely.NAMES, only_run=False)} <= names


def test_round_trips_of_paced_segments_are_those_of_the_network(tmp_path: Path) -> None:
    """At 700 Mb/s inside a segment of 64 KB; they came out negative where the last packet counted at that rate."""
    sizes = [f'workload.{name}.size="3MB"' for name in "abcd"]
    values = values_of("figure3.14", ("seeds=[1]", *sizes), tmp_path)
    paced = {case: value for (case, q), value in values.items() if q == "average_rtt" and "700Mb" in case}
    assert len(paced) == 4 and all(8 < (value or 0) < 1000 for value in paced.values())


def test_acks_of_a_higher_class_keep_reverse_congestion_out_of_round_trips(tmp_path: Path) -> None:
    values = values_of("figure3.3", ("seeds=[1]", 'workload.primary.size="20MB"'), tmp_path)
    median = {case: values[case, "median_rtt"] or 0.0 for case in ("alone", "reverse", "prioritised")}
    assert median["reverse"] > 1.2 * median["alone"]
    assert median["prioritised"] == pytest.approx(median["alone"], rel=0.1)
