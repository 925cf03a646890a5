"""`./rocelab paper timely`: that every number of the paper has its run, and table 3.1's shape."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from rocelab.paper import harness
from rocelab.paper.timely_measures import jain
from rocelab.papers import timely

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
    (experiment,) = timely.PAPER.experiments
    short = dataclasses.replace(timely.PAPER, experiments=(dataclasses.replace(experiment, fast=SHORT),))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timely, "PAPER", short)
        assert harness.run("timely", False, None, None, 0, out) == 0
    return out


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def ours(report: dict[str, Any]) -> dict[tuple[str, str], float]:
    return {(c["case"], c["quantity"]): c["numbers"]["ours"]["ours"] for c in report["claims"] if "case" in c}


def test_every_number_of_the_paper_has_its_run(report: dict[str, Any]) -> None:
    with timely.FILE.open(newline="") as file:
        asked = {(r["case"], r["quantity"]) for r in csv.DictReader(file)}
    values = ours(report)
    assert set(values) == asked and None not in values.values()


def test_timely_keeps_the_link_busy_with_round_trips_far_below_those_of_pfc(report: dict[str, Any]) -> None:
    values = ours(report)
    assert 0.9 * values["PFC", "throughput"] < values["TIMELY", "throughput"] <= values["PFC", "throughput"]
    for quantity in ("average_rtt", "p99_rtt"):
        assert 3 * values["TIMELY", quantity] < values["PFC", quantity]


def test_the_report_says_what_was_found(report: dict[str, Any], folder: Path) -> None:
    shape = [c for c in report["claims"] if "case" not in c]
    assert len(shape) == 5 and all(c["source"] == "3.5.1" and c["holds"] is not None for c in shape)
    (percentiles,) = report["tables"]
    assert percentiles["columns"][0] == "segments"
    assert all(row[0]["ours"] > 1000 for row in percentiles["rows"].values())
    page = (folder / "report.html").read_text()
    assert "Jain" in page and page.count("<svg") == 2, "the distribution, and the paper's numbers beside ours"
