"""Figures 4.1 to 4.12 of `./rocelab paper irn`: ours, with the paper's numbers where it has them. Runs are made up."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rocelab import native
from rocelab.errors import RocelabError
from rocelab.paper import irn_figures, recorded
from rocelab.paper.irn_labels import CCS, METRICS, with_cc
from rocelab.paper.results import Results
from rocelab.papers import irn
from rocelab.report import style
from rocelab.scenario import read_scenario
from rocelab.sweep.points import Point

Runs = Mapping[tuple[str, str], list[float | None]]  # by experiment and label: a value for each seed
METRIC_RUN = {"avg_slowdown": 1.0, "avg_fct_s": 1e-3, "p99_fct_s": 1e-2, "rct_s": 1.0}


class Store:
    """Every metric of a run is its value times METRIC_RUN; a run without a value is not there."""

    def __init__(self, runs: Mapping[str, float], fct_s: Mapping[str, Any]) -> None:
        self.runs, self.fct_s = runs, fct_s

    def __contains__(self, point: Point) -> bool:
        return point.key in self.runs

    def run(self, point: Point) -> dict[str, Any]:
        return {name: self.runs[point.key] * factor for name, factor in METRIC_RUN.items()}

    def flows(self, point: Point) -> dict[str, Any]:
        if point.label not in self.fct_s:
            raise RocelabError("its flows are not recorded")
        placed = np.rint(1e12 * np.asarray(self.fct_s[point.label])).astype(np.int64)
        packets = np.ones(len(placed), dtype=int)
        return {
            "measured": packets > 0,
            "packets": packets,
            "placed_ps": placed,
            "posted_ps": np.zeros_like(placed),
        }

    arrays = flows


def made_up(runs: Runs, fct_s: Mapping[str, Any] | None = None) -> Results:
    points: dict[str, list[Point]] = {}
    values = {}
    for (experiment, label), seeds in runs.items():
        for seed, value in enumerate(seeds, start=1):
            point = Point("", (), label, seed, key=f"{experiment} {label} {seed}")
            points.setdefault(experiment, []).append(point)
            if value is not None:
                values[point.key] = value
    return Results(points, Store(values, fct_s or {}))


class Drawn(dict[str, Figure]):
    """matplotlib's figures by experiment, and the report's beside them."""

    notes: dict[str, str]


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Any:
    def of(results: Results) -> Drawn:
        made: list[Figure] = []
        monkeypatch.setattr(style, "svg", lambda fig, _title: made.append(fig) or "<svg></svg>")
        found = irn_figures.figures(results)
        assert len(found) == len(made)
        drawn = Drawn({figure.experiment: fig for figure, fig in zip(found, made)})
        drawn.notes = {figure.experiment: figure.note for figure in found}
        return drawn

    return of


def rings(axes: Axes) -> dict[int, float]:
    """By row."""
    lines = [line for line in axes.lines if line.get_markerfacecolor() == "none" and line.get_marker() == "o"]
    return {int(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in lines}


def dots(axes: Axes) -> dict[int, float]:
    lines = [line for line in axes.lines if line.get_markerfacecolor() != "none" and line.get_marker() == "o"]
    return {int(line.get_ydata()[0]): float(line.get_xdata()[0]) for line in lines}


def bars(axes: Axes) -> dict[int, float]:
    return {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches}


def intervals(axes: Axes) -> dict[int, tuple[float, float]]:
    lines = [
        line for line in axes.lines if line.get_marker() in ("None", "") and line.get_color() == style.INK
    ]
    return {int(line.get_ydata()[0]): tuple(line.get_xdata()) for line in lines}


def bands(axes: Axes) -> dict[int, tuple[float, float]]:
    found = {}
    for collection in axes.collections:
        (path,) = collection.get_paths()
        x, y = path.vertices.T
        found[round(float(y.min() + y.max()) / 2)] = (float(x.min()), float(x.max()))
    return found


def rows(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_a_ring_stands_at_the_number_of_the_papers_table(draw: Any) -> None:
    """Table 4.2 at 70 % prints IRN's slowdown 8.24, mean FCT 0.0009 s, tail 0.0153 s, and 0.269, 0.350, 0.301 over RoCE with PFC."""
    fig = draw(made_up({("figure4.1", "irn"): [2.0], ("figure4.1", "roce+pfc"): [5.0]}))["figure4.1"]
    slowdown, mean, tail, *ratios = fig.axes
    assert rows(slowdown) == ["irn", "roce+pfc"]
    assert rings(slowdown) == pytest.approx({0: 8.24, 1: 8.24 / 0.269})
    assert rings(mean) == pytest.approx({0: 0.9, 1: 0.9 / 0.350})
    assert rings(tail) == pytest.approx({0: 15.3, 1: 15.3 / 0.301})
    assert bars(slowdown) == pytest.approx({0: 2, 1: 5}) and bars(mean) == pytest.approx({0: 2, 1: 5})
    assert bars(tail) == pytest.approx({0: 20, 1: 50}), "ms"
    assert [rings(axes)[0] for axes in ratios] == pytest.approx([1 / 0.269, 1 / 0.350, 1 / 0.301])
    assert all(dots(axes) == pytest.approx({0: 2.5}) for axes in ratios)


def test_congestion_controls_have_the_numbers_of_their_columns(draw: Any) -> None:
    labels = [with_cc(transport, cc) for cc in ("timely", "dcqcn") for transport in ("irn", "irn+pfc")]
    fig = draw(made_up({("figure4.5", label): [4.0] for label in labels}))["figure4.5"]
    assert rows(fig.axes[0]) == labels
    assert rings(fig.axes[0]) == pytest.approx({0: 4.73, 1: 4.73 / 0.995, 2: 5.19, 3: 5.19 / 1.009})
    assert rows(fig.axes[3]) == ["irn+pfc / irn, timely", "irn+pfc / irn, dcqcn"]
    assert bands(fig.axes[3]) == {0: pytest.approx((0.99, 1.034)), 1: pytest.approx((0.99, 1.034))}


def test_a_range_of_the_text_is_a_band_and_one_number_a_ring(draw: Any) -> None:
    runs = {("figure4.1", label): [1.0] for label in ("irn", "roce+pfc")}
    runs |= {("figure4.11", label): [1.0] for label in ("irn", "irn+aimd", "iwarp")}
    runs |= {("figure4.12", label): [1.0] for label in ("irn", "irn-overheads", "roce+pfc")}
    drawn = draw(made_up(runs))
    for axes in drawn["figure4.1"].axes[3:]:
        assert bands(axes) == {0: pytest.approx((2.8, 3.7))}
    for axes in drawn["figure4.12"].axes[3:]:
        assert bands(axes) == {0: pytest.approx((1.04, 1.07)), 1: pytest.approx((0.37, 0.65))}
    slowdown, mean, tail = drawn["figure4.11"].axes[3:]
    assert rows(slowdown) == ["irn / iwarp", "irn+aimd / iwarp"]
    assert rings(slowdown) == pytest.approx({0: 0.79, 1: 0.56}) and rings(mean) == pytest.approx({1: 0.89})
    assert not rings(tail) and not any(bands(axes) for axes in (slowdown, mean, tail))
    assert "2.8-3.7x" in drawn.notes["figure4.1"] and "Shaded" in drawn.notes["figure4.1"]
    assert "21 %" in drawn.notes["figure4.11"] and "Shaded" not in drawn.notes["figure4.11"]


def test_several_seeds_have_the_interval_of_the_report(draw: Any) -> None:
    """That of a ratio is over the ratios of the seeds."""
    irn_runs, roce_runs = [2.0, 3.0, 2.5], [5.0, 6.0, 7.0]
    runs: Runs = {("figure4.1", "irn"): [*irn_runs], ("figure4.1", "roce+pfc"): [*roce_runs]}
    fig = draw(made_up(runs))["figure4.1"]

    def around(centre: float, samples: list[float]) -> Any:
        half = float(native.runner.estimate(samples)["ci95"])
        return pytest.approx((centre - half, centre + half))

    assert intervals(fig.axes[0]) == {0: around(2.5, irn_runs), 1: around(6, roce_runs)}
    ratio = [b / a for a, b in zip(irn_runs, roce_runs)]
    assert intervals(fig.axes[3]) == {0: around(6 / 2.5, ratio)}
    one = draw(made_up({key: seeds[:1] for key, seeds in runs.items()}))["figure4.1"]
    assert not any(intervals(axes) for axes in one.axes)


def test_what_was_not_run_is_not_drawn(draw: Any) -> None:
    assert draw(made_up({})) == {} and draw(made_up({("table4.2", "irn,load=0.7"): [1.0]})) == {}
    assert draw(made_up({("figure4.1", "irn"): [None], ("figure4.1", "roce+pfc"): [None]})) == {}
    assert draw(made_up({("figure4.9", "irn,m=10"): [1.0], ("figure4.9", "roce+pfc,m=10"): [None]})) == {}
    half = draw(made_up({("figure4.1", "irn"): [1.0, 2.0], ("figure4.1", "roce+pfc"): [1.0, None]}))
    assert list(half) == ["figure4.1"]
    assert rows(half["figure4.1"].axes[0]) == ["irn"] and len(half["figure4.1"].axes) == 3, "no ratio"


def test_values_that_differ_much_are_dots_on_a_logarithmic_scale(draw: Any) -> None:
    fig = draw(made_up({("figure4.3", "roce"): [300.0], ("figure4.3", "roce+pfc"): [10.0]}))["figure4.3"]
    for axes in fig.axes:
        assert axes.get_xscale() == "log" and not bars(axes)
    assert dots(fig.axes[0]) == pytest.approx({0: 10, 1: 300})
    assert rings(fig.axes[0]) == pytest.approx({0: 8.24 / 0.269}), "none for RoCE without PFC"


def test_tails_of_single_packets_are_drawn_from_the_90th_percentile(draw: Any) -> None:
    fct = np.sort(np.random.default_rng(1).exponential(1e-4, 2000))
    results = made_up({("figure4.8", "irn+timely"): [1.0]}, {"irn+timely": fct})
    fig = draw(results)["figure4.8"]
    (line,) = fig.axes[CCS.index("timely")].lines
    assert not fig.axes[0].lines and not fig.axes[2].lines
    x, y = line.get_xdata(), line.get_ydata()
    assert y[0] == 90 and y[-1] == pytest.approx(99.9)
    expected = [1e6 * float(native.runner.percentile(list(fct), percent)) for percent in (90, 99.9)]
    assert [x[0], x[-1]] == pytest.approx(expected)
    assert np.all(np.diff(x) >= 0)


def test_incast_is_a_ratio_by_fan_in_with_the_papers_limit(draw: Any) -> None:
    runs: dict[tuple[str, str], list[float | None]] = {}
    for m in (10, 20, 30, 40, 50):
        runs |= {("figure4.9", f"irn,m={m}"): [1 + m / 1000, 1 + m / 1000]}
        runs |= {("figure4.9", f"{other},m={m}"): [1.0, 1.002] for other in ("roce+pfc", "irn+pfc")}
    over_roce, over_irn = draw(made_up(runs))["figure4.9"].axes
    (line,) = [line for line in over_roce.lines if line.get_marker() == "o"]
    assert line.get_ydata() == pytest.approx([(1 + m / 1000) / 1.001 for m in (10, 20, 30, 40, 50)])
    assert [round(x, -1) for x in line.get_xdata()] == [10, 20, 30, 40, 50]
    (limit,) = over_roce.patches
    top = over_roce.transData.inverted().transform(limit.get_window_extent().p1)[1]
    assert top == pytest.approx(1.025)
    assert not over_irn.patches, "the text has no number"
    low, high = [path.vertices for path in over_roce.collections[0].get_paths()][0][:, 1]
    half = float(native.runner.estimate([1.01, 1.01 / 1.002])["ci95"])
    assert (low, high) == pytest.approx((1.01 / 1.001 - half, 1.01 / 1.001 + half))


def test_recorded_runs_give_what_their_metrics_allow(tmp_path: Path, draw: Any) -> None:
    """They have neither flows nor completion times of requests."""
    text = "experiment,label,seed,trace_hash,avg_slowdown,avg_fct_s,p99_fct_s\n"
    for experiment, label in (
        ("figure4.1", "irn"),
        ("figure4.1", "roce+pfc"),
        ("figure4.8", "irn"),
        ("figure4.9", '"irn,m=10"'),
        ("figure4.9", '"roce+pfc,m=10"'),
    ):
        text += "".join(f"{experiment},{label},{seed},x{seed},2,0.001,0.01\n" for seed in (1, 2))
    (tmp_path / "some.csv").write_text(text)
    assert list(draw(recorded.read(tmp_path / "some.csv"))) == ["figure4.1"]
    (tmp_path / "one.csv").write_text(
        "experiment,label,seed,trace_hash,avg_fct_s\nfigure4.3,roce,1,x,0.001\nfigure4.3,roce+pfc,1,y,0.002\n"
    )
    fig = draw(recorded.read(tmp_path / "one.csv"))["figure4.3"]
    assert bars(fig.axes[1]) == pytest.approx({0: 2, 1: 1}) and not bars(fig.axes[0])


def test_the_report_of_the_kept_runs_has_their_figures() -> None:
    """Below the headings of their experiments."""
    found = {f.experiment: f for f in recorded.findings_of("irn_full").figures}
    assert found["figure4.1"].title == "Figure 4.1: IRN and RoCE with PFC"
    assert all(found[f"figure{n}"].svg.startswith("<svg") for n in ("4.1", "4.2", "4.4", "4.5"))


def test_every_number_of_the_text_is_drawn_and_every_label_of_the_scenarios() -> None:
    specs = {spec.number: spec for spec in irn_figures.BARS}
    labels = {e.name: set(read_scenario(e.file, e.fast).labels) for e in irn.EXPERIMENTS}
    for spec in specs.values():
        drawn = {with_cc(transport, cc) for transport in spec.transports for cc in spec.ccs}
        assert labels[spec.experiment] <= drawn, spec.number
    with irn_figures.TEXT.open(newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 14
    for row in written:
        if row["figure"] != "4.9":
            spec = specs[row["figure"]]
            assert row["ratio"] in spec.ratios and row["cc"] in ("all", *spec.ccs)
            assert row["metric"] in ("all", *spec.metrics) and set(spec.metrics) <= set(METRICS)
            for cc in spec.ccs if row["cc"] == "all" else (row["cc"],):
                assert {with_cc(name, cc) for name in row["ratio"].split(" / ")} <= labels[spec.experiment]
