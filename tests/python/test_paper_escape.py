"""`./rocelab paper escape`: that every number of the paper has its row, how numbers are judged, and what the ring of figure 4.6 shows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rocelab.errors import UsageError
from rocelab.paper import escape


def test_every_number_has_its_source_and_every_scenario_its_experiment() -> None:
    with escape.NUMBERS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(r["source"].startswith("thesis 4.") and "page" in r["source"] for r in rows)
    assert len({(r["experiment"], r["case"], r["quantity"]) for r in rows}) == len(rows)
    assert {f.stem for f in escape.SCENARIOS.glob("*.toml")} - {"ring_deadlock"} == set(escape.EXPERIMENTS)
    assert len(escape.rows_of({})) == len(rows), "what is not run has its row, and no number"
    assert all(row.ours is None and row.holds is None for row in escape.rows_of({}))


def row(paper: float | None, ours: float | None) -> escape.Row:
    return escape.Row("ring", "escape", "utilization", "%", paper, "", ours)


def test_numbers_are_judged_by_distance_and_a_zero_is_a_zero() -> None:
    assert row(91, 99).holds and not row(91, 80).holds
    assert row(0, 0).holds and not row(0, 1).holds
    assert row(91, None).holds is None and row(None, 50).holds is None


def test_pfc_alone_deadlocks_on_every_seed_and_escape_on_none(tmp_path: Path) -> None:
    assert escape.run_escape("ring", tmp_path) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    ours = {(n["case"], n["quantity"]): n["ours"] for n in report["numbers"] if n["experiment"] == "ring"}
    assert ours["pfc", "deadlocks"] == 100 and ours["escape", "deadlocks"] == 0
    for case in ("pfc", "escape", "ideal"):
        assert ours[case, "drops"] == 0 and ours[case, "out_of_order"] == 0, case
    assert ours["ideal", "utilization"] > 96
    runs = report["runs"]["ring"]
    assert len({r["seed"] for r in runs}) >= 3 and len(runs) == 3 * len({r["seed"] for r in runs})
    for run in runs:
        assert (run["values"]["tokens"] > 0) == (run["label"] == "roce+pfc+escape")
    page = (tmp_path / "report.html").read_text()
    assert "figure 4.8a" in page and "deadlock" in page


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UsageError, match="there are ring"):
        escape.choose("rings")
