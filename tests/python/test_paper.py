"""`./rocelab paper irn`: that every number of the paper has its run, how numbers are judged, and the whole of it on a small network."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rocelab.errors import UsageError
from rocelab.paper import cells, command, experiments, report, sentences, sentences_tables
from rocelab.paper.measured import Measured
from rocelab.paper.sentence import Judged, by_size, drop_percent
from rocelab.scenario import read_scenario

ALL = list(experiments.EXPERIMENTS.values())


class Recorder(Measured):
    """Answers every question with one number and remembers who was asked for."""

    def __init__(self, value: float | None = 0.5) -> None:
        self.points = {e.name: () for e in ALL}
        self.value = value
        self.asked: set[tuple[str, str]] = set()

    def mean(self, experiment: str, label: str, metric: str, group: str | None = None) -> float | None:
        self.asked.add((experiment, label))
        return self.value

    def fct(
        self, experiment: str, label: str, least_packets: int = 1, most_packets: int | None = None
    ) -> Any:
        self.asked.add((experiment, label))
        return None


@pytest.fixture(scope="module")
def labels() -> dict[str, tuple[str, ...]]:
    return {e.name: read_scenario(e.file, e.fast).labels for e in ALL}


def test_every_cell_and_sentence_has_its_runs(labels: Mapping[str, tuple[str, ...]]) -> None:
    recorder = Recorder()
    found = cells.cells(recorder, [str(n) for n in ("4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8")])
    assert len(found) == 594 and sum(c.is_ratio for c in found) == 396
    sentences.judge(recorder)
    assert len(recorder.asked) > 200
    for experiment, label in recorder.asked:
        assert label in labels[experiment], f"{experiment} has no {label}"


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    files = {f.stem for f in experiments.SCENARIOS.glob("*.toml")} - {"base"}
    assert files == set(experiments.EXPERIMENTS)


def test_runs_that_experiments_have_in_common_are_one() -> None:
    """The default case is a row of all seven tables and half of the figures."""
    points = experiments.all_points(ALL, full=False)
    default = {p.key for p in points["figure4.8"]}
    assert len(default) == 9
    for name in ("table4.2", "table4.3", "table4.4", "table4.5", "table4.6", "table4.7", "table4.8"):
        assert default < {p.key for p in points[name]}, name
    pfc = {p.key for p in points["table4.7"] if "+pfc" in p.label}
    assert len(pfc) == 6, "timers are off with PFC"
    assert not default & {p.key for p in experiments.EXPERIMENTS["figure4.8"].points(full=True)}


def cell(paper: float, ours: float | None, quantity: str = "irn_over_roce_pfc") -> cells.Cell:
    return cells.Cell(
        "4.2", "link_utilization", "fraction", "0.7", "none", "avg_fct_s", quantity, paper, ours
    )


def test_cells_are_judged_by_side_and_distance() -> None:
    assert cell(0.5, 0.9).same_side and not cell(0.5, 1.01).same_side and cell(1.2, 1.01).same_side
    assert cell(0.95, 1.3).same_side is None, "the paper's is near 1"
    assert cell(0.5, None).same_side is None and cell(8.0, 7.0, "irn").same_side is None
    verdict = cells.judge(
        [cell(0.5, 0.6), cell(0.5, 1.5), cell(1.0, 1.1), cell(8, 80, "irn"), cell(0.5, None)]
    )
    assert (verdict.ratio_cells, verdict.empty, verdict.with_side) == (4, 1, 2)
    assert [c.ours for c in verdict.wrong_side] == [1.5] and not verdict.sides_hold
    assert verdict.median_distance == pytest.approx(0.2) and verdict.closeness_holds
    nothing = cells.judge([cell(0.5, None)])
    assert not nothing.sides_hold and not nothing.closeness_holds, "what was not run does not hold"


def test_a_sentence_is_missed_by_one_number_and_open_without_runs() -> None:
    sentence = next(s for s in sentences.SENTENCES if s.experiment == "figure4.1")

    def judged(*values: float | None) -> Judged:
        fixed = {str(i): v for i, v in enumerate(values)}
        one = dataclasses.replace(sentence, numbers=lambda _: fixed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sentences, "SENTENCES", (one,))
            return sentences.judge(Recorder())[0]

    assert judged(0.3, 0.9).holds is True
    assert judged(0.3, 1.2).holds is False and judged(0.3, 1.2).missed == {"1": 1.2}
    assert judged(0.3, None).holds is None and judged(None).holds is None
    assert judged(1.2, None).holds is False


def test_the_papers_own_tables_bear_out_the_sentences_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trend is asked of the numbers that go its way in the paper, which are most of them."""

    def judged(change: float) -> dict[str, Judged]:
        def own(measured: Measured, tables: Iterable[str]) -> list[cells.Cell]:
            found = cells.cells(measured, tables)
            return [
                dataclasses.replace(c, ours=c.paper * (change if c.quantity != "irn" else 1)) for c in found
            ]

        with monkeypatch.context() as patch:
            patch.setattr(sentences_tables, "cells", own)
            patch.setattr(sentences, "SENTENCES", sentences_tables.TABLES)
            return {j.sentence.text: j for j in sentences.judge(Recorder())}

    found = judged(1.0)
    assert len(found) == 10 and all(j.holds for j in found.values()), [
        (text, j.missed) for text, j in found.items() if not j.holds
    ]
    asked = {text: len(j.numbers) for text, j in found.items()}
    trends = {text: n for text, n in asked.items() if text.startswith(("As the", "..."))}
    assert sorted(trends.values()) == [7, 9, 12, 16], "of 9, 9, 18 and 18"
    worse = judged(6.0)
    assert sum(j.holds is False for j in worse.values()) == 4, "those that bound all ratios"


def test_flows_are_compared_by_their_sizes_and_drops_counted_of_what_is_sent() -> None:
    class Sized(Recorder):
        def fct(
            self, experiment: str, label: str, least_packets: int = 1, most_packets: int | None = None
        ) -> Any:
            return np.full(3, least_packets * (1.0 if label.startswith("irn+pfc") else 2.0))

    ratios = by_size("figure4.8", "irn", "irn+pfc")(Sized())
    assert len(ratios) == 9 and set(ratios.values()) == {2.0}
    assert drop_percent("figure4.2", "irn")(Recorder(3.0)) == {"irn, % dropped": 50.0}
    assert drop_percent("figure4.2", "irn")(Recorder(None)) == {"irn, % dropped": None}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 hosts and a few flows in place of 54 and thousands: the machinery, not the numbers."""
    poisson = ("topology.arity=4", "workload.poisson.flows=60", "engine.warmup=0us")
    incast = ("topology.arity=4", "workload.incast.total=300KB", "axes.workload.incast.fan_in=[5]")
    chosen = {"table4.2": poisson, "figure4.8": poisson, "figure4.9": incast}
    for name, fast in chosen.items():
        changed = experiments.Experiment(name, fast, (1,))
        monkeypatch.setitem(experiments.EXPERIMENTS, name, changed)  # type: ignore[misc]


def test_the_report_holds_what_was_run(
    small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run_paper(False, "table4.2,figure4.8", None, 2, tmp_path) == 0
    said = capsys.readouterr().out
    found = json.loads((tmp_path / "report-fast-table4.2-figure4.8.json").read_text())
    assert found["variant"] == "fast" and not found["failed"]
    assert len(found["cells"]) == 108 and all(c["ours"] > 0 for c in found["cells"])
    for c in found["cells"]:
        assert c["ratio"] == pytest.approx(c["ours"] / c["paper"])
    assert found["checks"]["closeness"]["cells"] == 72 and found["checks"]["closeness"]["empty"] == 0
    irn, over = (
        next(
            c["ours"]
            for c in found["cells"]
            if (c["value"], c["cc"], c["metric"], c["quantity"]) == ("0.5", "timely", "avg_fct_s", quantity)
        )
        for quantity in ("irn", "irn_over_irn_pfc")
    )
    runs = {r["label"]: r for r in found["runs"]["table4.2"]}
    assert irn == runs["irn+timely,load=0.5"]["avg_fct_s"]
    assert over == pytest.approx(irn / runs["irn+pfc+timely,load=0.5"]["avg_fct_s"])
    assert set(found["figure4.8"]) >= {"irn", "roce+pfc+dcqcn"} and found["figure4.8"]["irn"]["99 %"] > 0
    assert {s["experiment"] for s in found["sentences"]} == {"figure4.8", "table4.2"}
    assert "table 4.2" in said and "median" in said
    page = (tmp_path / "report-fast-table4.2-figure4.8.html").read_text()
    assert page.rstrip().endswith("</html>") and "Table 4.2" in page and "Figure 4.8" in page


def test_cells_of_runs_that_failed_stay_empty_and_are_named(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = experiments.Experiment(
        "figure4.9", (*experiments.EXPERIMENTS["figure4.9"].fast, "engine.limit=1us"), (1,)
    )
    monkeypatch.setitem(experiments.EXPERIMENTS, "figure4.9", limit)  # type: ignore[misc]
    with pytest.raises(Exception, match="points failed; the others are kept"):
        command.run_paper(False, "figure4.9", None, 2, tmp_path)
    found = json.loads((tmp_path / "report-fast-figure4.9.json").read_text())
    assert found["failed"] and "engine.limit" in found["failed"][0]
    assert [s["holds"] for s in found["sentences"]] == [None, None]
    assert all(v is None for s in found["sentences"] for v in s["numbers"].values())


def test_terminal_shows_misses_in_words() -> None:
    verdict = cells.judge([cell(0.5, 1.5)])
    findings = report.Findings(False, [cell(0.5, 1.5)], verdict, [], {}, {}, [])
    out = io.StringIO()
    Console(file=out, width=160).print(report.terminal_checks(findings))
    assert out.getvalue().count("missed") == 2 and "1 on the other side" in out.getvalue()
    assert [report.shown(v) for v in (None, 0.12345, 123456.0, 8.24)] == ["-", "0.123", "123456", "8.24"]


def test_of_many_numbers_the_page_shows_the_range_and_those_that_miss() -> None:
    sentence = sentences_tables.TABLES[0]
    many = Judged(sentence, {f"cell {i}": 0.5 + i / 100 for i in range(60)}, False)
    few = Judged(sentence, {"of few": 0.5, "not run": None}, None)
    page = report.page(report.Findings(False, [], cells.judge([]), [many, few], {}, {}, []))
    assert "0.5 to 1.09, 60 numbers; missed by 10:" in page
    assert "cell 59: 1.09" in page and "cell 49:" not in page
    assert "of few: 0.5" in page and "not run: -" in page


def test_unknown_tables_are_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean table4.2"):
        experiments.choose("table42")
    with pytest.raises(UsageError, match="empty"):
        experiments.choose(" , ")


def test_the_numbers_are_the_papers() -> None:
    """A few, read off the page: table 4.2 at 70 %, table 4.4 of 250 servers, table 4.6 of 60 KB."""
    with cells.NUMBERS.open(newline="") as file:
        rows = {
            (r["table"], r["value"], r["cc"], r["metric"], r["quantity"]): float(r["number"])
            for r in csv.DictReader(file)
        }
    assert rows["4.2", "0.7", "none", "avg_slowdown", "irn"] == 8.24
    assert rows["4.2", "0.7", "none", "p99_fct_s", "irn_over_roce_pfc"] == 0.301
    assert rows["4.6", "60", "dcqcn", "avg_fct_s", "irn_over_irn_pfc"] == 0.829
