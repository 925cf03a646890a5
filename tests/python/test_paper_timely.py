"""`./rocelab paper timely`: that every number of the paper has its run, and table 3.1's shape."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rocelab.paper import timely, timely_measures, timely_report
from rocelab.paper.timely_measures import jain

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
def runs() -> list[timely_measures.Run]:
    return timely.measure(SHORT)


def test_every_number_of_the_paper_has_its_run(runs: list[timely_measures.Run]) -> None:
    values = timely_measures.values_of(runs)
    with timely.NUMBERS.open(newline="") as file:
        asked = {(r["case"], r["quantity"]) for r in csv.DictReader(file)}
    assert asked <= set(values)
    assert all(row.ours is not None for row in timely.rows_of(runs))


def test_timely_keeps_the_link_busy_with_round_trips_far_below_those_of_pfc(
    runs: list[timely_measures.Run],
) -> None:
    values = timely_measures.values_of(runs)
    pfc, with_timely = (values["PFC", "throughput"], values["TIMELY", "throughput"])
    assert pfc is not None and with_timely is not None
    assert 0.9 * pfc < with_timely <= pfc
    for quantity in ("average_rtt", "p99_rtt"):
        mine, over = values["TIMELY", quantity], values["PFC", quantity]
        assert mine is not None and over is not None and 3 * mine < over
    assert values["TIMELY", "drops"] == values["PFC", "drops"] == 0


def test_the_report_says_what_was_found(runs: list[timely_measures.Run], tmp_path: Path) -> None:
    rows = timely.rows_of(runs)
    report = json.loads(json.dumps(timely_report.as_json(rows, runs, "1")))
    assert len(report["numbers"]) == len(rows) and len(report["statements"]) == 5
    assert report["runs"][0]["rtts"] == len(runs[0].rtts_us) > 1000
    page = timely_report.page(rows, runs, "1")
    assert "Jain" in page and "<svg" in page
