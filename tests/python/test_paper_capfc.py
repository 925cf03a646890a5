"""The CaPFC paper: its numbers, its scenarios, and what the small ones show."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from first_seed import measured
from rocelab.paper import harness
from rocelab.papers import capfc
from rocelab.papers.capfc import CASES, PAPER, RUNS
from rocelab.scenario import read_scenario

FOLDER = harness.SCENARIOS / "capfc"


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    files = {f.stem for f in FOLDER.glob("*.toml")} - {"base"}
    assert files == {e.name for e in PAPER.experiments}


def test_table_three_and_its_quotients_are_the_papers() -> None:
    with capfc.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    tails = {(r["experiment"], r["case"]): float(r["number"]) for r in rows if r["quantity"] == "long_tail"}
    assert len(tails) == 24 and tails["scenario3", "wdrop"] == 62.42 and tails["scenario5", "cal"] == 49.32
    ratios = [r for r in rows if r["quantity"] == "long_ratio"]
    assert len(ratios) == 24
    for row in ratios:
        of, over = row["case"].split(" / ")
        quotient = tails[row["experiment"], of] / tails[row["experiment"], over]
        assert float(row["number"]) == pytest.approx(quotient, abs=6e-4)


@pytest.mark.parametrize("name", RUNS)
def test_scenarios_have_the_cases_and_differ_as_table_one_says(name: str) -> None:
    labels = {
        s["label"]: dict(s["parameters"]) for s in read_scenario(FOLDER / f"{name}.toml").native.settings
    }
    assert list(labels) == [capfc.label(case) for case in CASES]
    at = labels["tcp+pfc,wdrop"]
    assert at["switch.pipeline.service"] == ('"1448ns"' if name == "scenario6" else '"724ns"')
    sizes = {"scenario2": ("16KB", "16KB"), "scenario3": ("64KB", "32KB")}.get(name, ("64KB", "16KB"))
    assert (at["workload.short.size"], at["workload.query.size"]) == tuple(f'"{s}"' for s in sizes)


def test_the_floor_of_a_query_is_that_of_its_frames() -> None:
    assert capfc._FLOOR_MS["scenario1"] == pytest.approx(5.58, abs=0.01)
    assert capfc._FLOOR_MS["scenario3"] == pytest.approx(11.16, abs=0.01)


@pytest.mark.parametrize("name", ["wstop", "stale"])
def test_the_letter_fails_where_the_fixes_do_not(name: str, tmp_path: Path) -> None:
    claims = PAPER.claims(measured(PAPER, name, tmp_path))
    assert claims and all(c.holds for c in claims), [(c.text, dict(c.ours)) for c in claims]
