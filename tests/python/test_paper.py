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
from rocelab.paper import harness, irn_cells, irn_claims, irn_claims_tables, report
from rocelab.paper.claims import Claim, Rule, Spread, above, below, each, number, together, within
from rocelab.paper.harness import Findings, Paper
from rocelab.paper.results import Results
from rocelab.paper.irn_claim import by_size, drop_percent
from rocelab.paper.tables import Cell, Table
from rocelab.papers import irn
from rocelab.scenario import read_scenario

ALL = irn.EXPERIMENTS
BY_NAME = {e.name: e for e in ALL}


class Recorder(Results):
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
    found = irn_cells.cells(recorder, [str(n) for n in ("4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8")])
    assert len(found) == 594 and sum(c.is_ratio for c in found) == 396
    irn_claims.claims(recorder)
    assert len(recorder.asked) > 200
    for experiment, label in recorder.asked:
        assert label in labels[experiment], f"{experiment} has no {label}"


def test_seeds_and_where_choose_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[str, int]] = []

    class Stop(Exception):
        pass

    def stop(points: Any, *_rest: Any) -> None:
        asked.extend((p.label, p.seed) for p in points)
        raise Stop

    def run(**chosen: Any) -> None:
        harness.run("irn", False, "table4.2", None, 1, tmp_path, **chosen)

    monkeypatch.setattr("rocelab.sweep.run.run_points", stop)
    with pytest.raises(Stop):
        run(seeds="1-3", where="load=0.7")
    assert len(asked) == len(set(asked)) == 27
    assert all("load=0.7" in label for label, _ in asked) and {seed for _, seed in asked} == {1, 2, 3}
    with pytest.raises(
        UsageError, match=r"--where load=0\.8: no run's label has this text; table4\.2 has .*load=0\.3"
    ):
        run(where="load=0.8")
    with pytest.raises(UsageError, match="--seeds 3-1"):
        run(seeds="3-1")
    with pytest.raises(UsageError, match="leave --seeds and --where out"):
        run(seeds="1", with_sensitivity=True)


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    files = {f.stem for f in (harness.SCENARIOS / "irn").glob("*.toml")} - {"base"}
    assert files == set(BY_NAME)


def test_runs_that_experiments_have_in_common_are_one() -> None:
    """The default case is a row of all seven tables and half of the figures."""
    points = {e.name: e.points(full=False) for e in ALL}
    default = {p.key for p in points["figure4.8"] if p.seed == 1}
    assert len(default) == 9 and len(points["figure4.8"]) == 27
    for name in ("table4.2", "table4.3", "table4.4", "table4.5", "table4.6", "table4.7", "table4.8"):
        assert default < {p.key for p in points[name]}, name
    pfc = {p.key for p in points["table4.7"] if "+pfc" in p.label}
    assert len(pfc) == 6, "timers are off with PFC"
    assert not default & {p.key for p in BY_NAME["figure4.8"].points(full=True)}


def cell(paper: float, ours: float | None, quantity: str = "irn_over_roce_pfc") -> irn_cells.Cell:
    return irn_cells.Cell(
        "4.2", "link_utilization", "fraction", "0.7", "none", "avg_fct_s", quantity, paper, ours
    )


def test_cells_are_judged_by_side_and_distance() -> None:
    assert cell(0.5, 0.9).same_side and not cell(0.5, 1.01).same_side and cell(1.2, 1.01).same_side
    assert cell(0.95, 1.3).same_side is None, "the paper's is near 1"
    assert cell(0.5, None).same_side is None and cell(8.0, 7.0, "irn").same_side is None
    found = [cell(0.5, 0.6), cell(0.5, 1.5), cell(1.0, 1.1), cell(8, 80, "irn"), cell(0.5, None)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            irn_cells, "cells", lambda *_: [dataclasses.replace(c, value=str(i)) for i, c in enumerate(found)]
        )
        sides, near = irn_cells.claims(Recorder())
        assert len(sides.ours) == 3 and sides.holds is False
        assert sides.missed == ("4.2 1, none, avg_fct_s, irn_over_roce_pfc",)
        assert near.ours == {"of the 3 that were run": pytest.approx(0.2)} and near.holds
        found = [cell(0.5, None)]
        assert [c.holds for c in irn_cells.claims(Recorder())] == [
            None,
            None,
        ], "what was not run does not hold"


def test_a_claim_is_missed_by_one_number_and_open_without_runs() -> None:
    def judged(*values: float | None) -> Claim:
        return each("figure4.1", "better", "< 1", dict(zip("abc", values)), lambda value: value < 1)

    assert judged(0.3, 0.9).holds is True
    assert judged(0.3, 1.2).holds is False and judged(0.3, 1.2).missed == ("b",)
    assert judged(0.3, None).holds is None and judged(None).holds is None
    assert judged(1.2, None).holds is False


def test_the_papers_own_tables_bear_out_the_sentences_about_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trend is asked of the numbers that go its way in the paper, which are most of them."""

    def judged(change: float) -> dict[str, Claim]:
        def own(measured: Results, tables: Iterable[str]) -> list[irn_cells.Cell]:
            found = irn_cells.cells(measured, tables)
            return [
                dataclasses.replace(c, ours=c.paper * (change if c.quantity != "irn" else 1)) for c in found
            ]

        with monkeypatch.context() as patch:
            patch.setattr(irn_claims_tables, "cells", own)
            patch.setattr(irn_claims, "SENTENCES", irn_claims_tables.TABLES)
            return {claim.text: claim for claim in irn_claims.claims(Recorder())}

    found = judged(1.0)
    assert len(found) == 10 and all(j.holds for j in found.values()), [
        (text, j.missed) for text, j in found.items() if not j.holds
    ]
    asked = {text: len(j.ours) for text, j in found.items()}
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


def small(**seeds: int) -> Paper:
    """16 hosts and a few flows in place of 54 and thousands: the machinery, not the numbers."""
    poisson = ("topology.arity=4", "workload.poisson.flows=60", "engine.warmup=0us")
    incast = ("topology.arity=4", "workload.incast.total=300KB", "axes.workload.incast.fan_in=[5]")
    chosen = {"table4.2": poisson, "figure4.8": poisson, "figure4.9": incast}
    experiments = (
        dataclasses.replace(BY_NAME[name], fast=short, fast_seeds=tuple(range(1, 1 + seeds.get(name[:6], 1))))
        for name, short in chosen.items()
    )
    return dataclasses.replace(irn.PAPER, experiments=tuple(experiments))


def run(paper: Paper, only: str, out: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(irn, "PAPER", paper)
        assert harness.run("irn", False, only, None, 2, out) == 0
    found: dict[str, Any] = json.loads((out / f"report-{only.replace(',', '-')}.json").read_text())
    return found


def test_the_report_holds_what_was_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(small(), "table4.2,figure4.8", tmp_path)
    said = capsys.readouterr().out
    assert found["variant"] == "fast" and not found["failed"]
    (table,) = [t for t in found["tables"] if t["title"].startswith("Table 4.2")]
    flat = [cell for row in table["rows"].values() for cell in row]
    assert len(flat) == 108 and all(c["ours"] > 0 for c in flat)
    assert all(c["seeds"] == 1 and c["ci95"] is None for c in flat), "one seed has no interval"
    for c in flat:
        assert c["ratio"] == pytest.approx(c["ours"] / c["paper"])
    claims = {c["text"]: c for c in found["claims"]}
    assert len(claims["median of |ours / paper - 1| over 72 ratios"]["numbers"]) == 1
    (runs,) = [t["rows"] for t in found["tables"] if t["title"].startswith("table4.2: what happened")]
    mean_fct = 1  # the column
    irn_fct, over = (
        table["rows"]["0.5 IRN"][3 + mean_fct]["ours"],
        table["rows"]["0.5 IRN / IRN+PFC"][3 + mean_fct]["ours"],
    )
    assert irn_fct == runs["irn+timely,load=0.5"][mean_fct]["ours"]
    assert over == pytest.approx(irn_fct / runs["irn+pfc+timely,load=0.5"][mean_fct]["ours"])
    (tails,) = [t["rows"] for t in found["tables"] if t["title"].startswith("Figure 4.8")]
    assert set(tails) >= {"irn", "roce+pfc+dcqcn"} and tails["irn"][2]["ours"] > 0
    assert {c["experiment"] for c in found["claims"]} == {"figure4.8", "table4.2", "tables 4.2-4.8"}
    assert "Table 4.2" in said and "median" in said and "one seed has none" in said
    page = (tmp_path / "report-table4.2-figure4.8.html").read_text()
    assert (
        page.rstrip().endswith("</html>") and "Table 4.2" in page and "Figure 4.8" in page and "<svg" in page
    )


def test_numbers_of_several_seeds_have_the_interval_of_their_seeds(tmp_path: Path) -> None:
    """A ratio's is that of the ratios seed by seed, as in summary.json's comparisons."""
    found = run(small(figure=3), "figure4.8", tmp_path)
    claim = next(
        c
        for c in found["claims"]
        if c["text"].startswith("Tail latency") and c["demand"] == "every ratio < 1"
    )
    name, value = next(iter(claim["numbers"].items()))
    assert value["seeds"] == 3 and value["ci95"] > 0
    alone = []
    for seed in (1, 2, 3):
        paper = small()
        (only,) = [
            dataclasses.replace(e, fast_seeds=(seed,)) for e in paper.experiments if e.name == "figure4.8"
        ]
        one = run(dataclasses.replace(paper, experiments=(only,)), "figure4.8", tmp_path)
        alone.append(next(c for c in one["claims"] if c["text"] == claim["text"])["numbers"][name]["ours"])
    assert value["ci95"] == pytest.approx(4.3026527 * np.std(alone, ddof=1) / np.sqrt(3))


def test_numbers_of_runs_that_failed_stay_empty_and_are_named(tmp_path: Path) -> None:
    paper = small()
    (limit,) = [
        dataclasses.replace(e, fast=(*e.fast, "engine.limit=1us"))
        for e in paper.experiments
        if e.name == "figure4.9"
    ]
    with pytest.raises(Exception, match="points failed; the others are kept"):
        run(dataclasses.replace(paper, experiments=(limit,)), "figure4.9", tmp_path)
    found = json.loads((tmp_path / "report-figure4.9.json").read_text())
    assert found["failed"] and "engine.limit" in found["failed"][0]
    assert [c["holds"] for c in found["claims"]] == [None, None]
    assert all(v["ours"] is None for c in found["claims"] for v in c["numbers"].values())


def findings(*claims: Claim, tables: tuple[Table, ...] = ()) -> Findings:
    return Findings(irn.PAPER, False, claims, tables, (), [], [])


def test_terminal_shows_misses_in_words() -> None:
    missed = each("figure4.1", "better", "< 1", {"ratio": 1.5}, lambda value: value < 1)
    table = Table("T", ("x",), {"row": [Cell(1.5, 0.5, off=True)]}, on_terminal=True)
    out = io.StringIO()
    for each_table in report.terminal(findings(missed, tables=(table,))):
        Console(file=out, width=160).print(each_table)
    assert out.getvalue().count("missed") == 1 and "1.5 (0.5)" in out.getvalue()
    assert [report.shown(v) for v in (None, 0.12345, 123456.0, 8.24)] == ["-", "0.123", "123456", "8.24"]


def test_the_page_shows_the_range_of_many_numbers_and_those_that_miss() -> None:
    many = each("e", "m", "< 1", {f"cell {i}": 0.5 + i / 100 for i in range(60)}, lambda value: value < 1)
    few = each("e", "f", "< 1", {"of few": 0.5, "not run": None}, lambda value: value < 1)
    page = report.page(findings(many, few))
    assert "0.5 to 1.09, 60 numbers; missed by 10:" in page
    assert "cell 59: 1.09" in page and "cell 49:" not in page
    assert "of few: 0.5" in page and "not run: -" in page
    spreads = {name: Spread(3, 0.02) for name in many.ours}
    page = report.page(findings(many.with_spreads(spreads)))
    assert "missed by 10; open for 4:" in page and "cell 49: 0.99 ± 0.02" in page and ">missed</td>" in page


def test_unknown_tables_are_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean table4.2"):
        irn.PAPER.chosen("table42")
    with pytest.raises(UsageError, match="empty"):
        irn.PAPER.chosen(" , ")


def test_the_numbers_are_the_papers() -> None:
    """A few, read off the page: table 4.2 at 70 %, table 4.4 of 250 servers, table 4.6 of 60 KB."""
    with irn_cells.NUMBERS.open(newline="") as file:
        rows = {
            (r["table"], r["value"], r["cc"], r["metric"], r["quantity"]): float(r["number"])
            for r in csv.DictReader(file)
        }
    assert rows["4.2", "0.7", "none", "avg_slowdown", "irn"] == 8.24
    assert rows["4.2", "0.7", "none", "p99_fct_s", "irn_over_roce_pfc"] == 0.301
    assert rows["4.6", "60", "dcqcn", "avg_fct_s", "irn_over_irn_pfc"] == 0.829


def test_an_interval_that_does_not_decide_leaves_a_claim_open() -> None:
    def verdict(
        ours: Mapping[str, float | None], half: Mapping[str, float | None]
    ) -> tuple[str, tuple[str, ...]]:
        claim = each("e", "t", "< 1", ours, lambda value: value < 1)
        claim = claim.with_spreads({name: Spread(3, half[name]) for name, v in ours.items() if v is not None})
        return claim.verdict, claim.unsettled

    assert verdict({"a": 0.8}, {"a": 0.1}) == ("holds", ())
    assert verdict({"a": 0.8}, {"a": 0.3}) == ("open", ("a",))
    assert verdict({"a": 1.2}, {"a": 0.3}) == ("open", ("a",))
    assert verdict({"a": 1.2}, {"a": 0.1}) == ("missed", ())
    assert verdict({"a": 1.2, "b": 0.9}, {"a": 0.1, "b": 0.3}) == ("missed", ("b",))
    assert verdict({"a": 1.2, "b": 0.8}, {"a": 0.3, "b": 0.1}) == ("open", ("a",))
    assert verdict({"a": 1.2}, {"a": None}) == ("missed", ())  # one seed
    assert verdict({"a": 0.5, "b": None}, {"a": 0.9}) == ("not run", ())
    near = number("e", "c", "q", "q", "ms", 10, 10.5)
    assert near.with_spreads({"ours": Spread(3, 0.4)}).verdict == "holds"
    assert near.with_spreads({"ours": Spread(3, 0.6)}).verdict == "open"
    assert number("e", "c", "q", "q", "ms", None, 10.5).with_spreads({"ours": Spread(3, 9)}).verdict == ""


def test_a_test_of_its_own_is_asked_of_each_number() -> None:
    """As of ratios that the paper has on either side of 1."""
    claim = each("e", "t", "on its side of 1", {"a": 0.8, "b": 1.2}, {"a": below(1), "b": above(1)})
    assert claim.verdict == "holds"
    spreads = {"a": Spread(3, 0.1), "b": Spread(3, 0.3)}
    assert (claim.with_spreads(spreads).verdict, claim.with_spreads(spreads).unsettled) == ("open", ("b",))
    other = each("e", "t", "on its side of 1", {"a": 0.8, "b": 0.9}, {"a": below(1), "b": above(1)})
    assert (other.verdict, other.missed) == ("missed", ("b",))


def test_numbers_that_are_judged_together_are_open_where_seeds_differ() -> None:
    spreads = {"a": Spread(3, 9), "b": Spread(3, 9)}

    def verdict(holds: bool | None, *alone: bool | None) -> str:
        claim = together("e", "s", "t", "", "a < b", {"a": 1, "b": 2}, holds)
        return claim.with_spreads(spreads, alone).verdict

    assert verdict(True) == "holds"
    assert verdict(True, True, True, None) == "holds"
    assert verdict(True, True, False, True) == "open"
    assert verdict(False, False, False) == "missed"
    assert verdict(False, False, True) == "open"
    assert verdict(True, False, False) == "open"  # the means say what no seed does
    assert verdict(None, True, False) == "not run"
    never = together("e", "s", "t", "", "a < b", {"a": 1, "b": None}, False)
    assert never.with_spreads({"a": Spread(2, 9)}, (True, False)).verdict == "open"
    assert never.with_spreads({"a": Spread(2, 9)}, (False, False)).verdict == "missed"


def test_an_interval_that_spans_all_that_holds_leaves_a_claim_open() -> None:
    """Both its ends miss, and so does the number between them."""
    claim = each("e", "t", "in the range", {"a": 5.0}, within(1.7, 4.5))
    assert claim.with_spreads({"a": Spread(3, 4.0)}).verdict == "open"
    assert claim.with_spreads({"a": Spread(3, 0.4)}).verdict == "missed"
    near = number("e", "c", "q", "q", "ms", 10, 13)
    assert near.with_spreads({"ours": Spread(3, 8)}).verdict == "open"


def test_a_number_that_came_about_on_some_seeds_alone_is_open() -> None:
    soon = Rule("at most", lambda ours, paper: ours <= paper, never=False)
    claim = number("e", "c", "q", "q", "ms", 2, None, rule=soon)
    assert claim.with_spreads({}, (True, True, False)).verdict == "open"
    assert claim.with_spreads({}, (False, False)).verdict == "missed"
