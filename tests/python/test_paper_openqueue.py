"""The OpenQueue chapter: its numbers, its scenarios, and what the quick ones show."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from first_seed import measured
from rocelab.papers import openqueue
from rocelab.papers.openqueue import FOLDER, PAPER

_QUICK = (
    "programs",
    "ecn",
    "lqd",
    "statistics",
    "crossbar",
    "backpressure",
    "reload",
    "queues",
    "algorithms",
)


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    ours = {"base", "inputs"}  # what others extend, and programs that the chapter does not have
    assert {f.stem for f in FOLDER.glob("*.toml")} - ours == {e.name for e in PAPER.experiments}


def test_the_numbers_of_the_text() -> None:
    with openqueue.FILE.open(newline="") as file:
        rows = {(r["experiment"], r["quantity"]): float(r["number"]) for r in csv.DictReader(file)}
    for name in ("overhead_clients", "overhead_mtu"):
        quotient = rows[name, "heap_packets"] / rows[name, "list_packets"]
        assert rows[name, "heap_over_list"] == pytest.approx(quotient, abs=1e-4)
    assert rows["statistics", "total"] == 200


@pytest.mark.parametrize("name", _QUICK)
def test_the_chapters_statements_are_shown(name: str, tmp_path: Path) -> None:
    claims = PAPER.claims(measured(PAPER, name, tmp_path))
    assert claims and all(c.holds for c in claims), [(c.text, dict(c.ours)) for c in claims if not c.holds]


def test_a_priority_queue_is_as_long_as_a_list_and_queues_grow_with_clients(tmp_path: Path) -> None:
    claims = [c for c in PAPER.claims(measured(PAPER, "overhead_clients", tmp_path)) if c.demand]
    assert len(claims) == 2 and all(c.holds for c in claims)
