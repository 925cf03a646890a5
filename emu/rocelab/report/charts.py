"""The pictures of the report, each a Chart. `result.plot` has the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rocelab.culprits import Culprit
from rocelab.model import RunOutcome
from rocelab.report import series, style
from rocelab.report.style import Chart

_MANY_FLOWS = 16  # more are drawn as their sum


@style.looks()
def completion(flows: pd.DataFrame, runs: pd.DataFrame) -> Chart:
    """Left: CDF of the flows' completion times. Right: completion time of all flows of a run, one dot per seed."""
    labels = list(dict.fromkeys(flows["label"]))
    palette = style.colours(labels)
    # Between them stand the legend of the one and the names at the axis of the other.
    between = 0.3 + 0.04 * max(map(len, labels), default=0)
    fig, ((left, right),) = style.figure(
        1, 2, 10.6, 3.1, gridspec_kw={"width_ratios": [1.55, 1], "wspace": between}
    )
    _cdf(left, flows, palette)
    _dots(right, runs[runs["complete"]], labels, palette)
    return Chart(fig, "Completion times of flows and runs")


@style.looks()
def fct_cdf(flows: pd.DataFrame) -> Chart:
    """CDF of the flows' completion times, all seeds of a label together."""
    palette = style.colours(list(dict.fromkeys(flows["label"])))
    fig, ((axes,),) = style.figure(1, 1, 7.0, 3.1)
    fig.subplots_adjust(right=0.93 - 0.011 * max(map(len, palette), default=0))
    _cdf(axes, flows, palette)
    return Chart(fig, "Flow completion times")


def _cdf(axes: Axes, flows: pd.DataFrame, palette: dict[str, str]) -> None:
    done = flows[flows["completed"] & flows["fct_s"].notna()]  # a stream has no FCT
    factor, unit = style.time_scale(float(done["fct_s"].max()) if len(done) else 0.0)
    for label, colour in palette.items():
        values = np.sort(done[done["label"] == label]["fct_s"].to_numpy(dtype=float)) * factor
        if len(values) == 0:
            continue
        share = np.arange(len(values) + 1) / len(values)
        steps = np.insert(values, 0, values[0])
        style.belongs(label, *axes.step(steps, share, where="post", color=colour, label=label))
    axes.set(
        title="Flow completion time, all seeds",
        xlabel=f"completion time [{unit}]",
        ylabel="share of flows",
        ylim=(0, 1.02),
    )
    if len(done) and done["fct_s"].max() > 30 * done["fct_s"].min():
        axes.set_xscale("log")
    if axes.get_legend_handles_labels()[0]:
        style.legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)


def _dots(axes: Axes, runs: pd.DataFrame, labels: Sequence[str], palette: dict[str, str]) -> None:
    factor, unit = style.time_scale(float(runs["rct_s"].max()) if len(runs) else 0.0)
    for row, label in enumerate(labels):
        values = runs[runs["label"] == label]["rct_s"].to_numpy(dtype=float) * factor
        look = {"color": palette[label], "alpha": 0.55, "markersize": 6, "markeredgewidth": 0}
        style.belongs(label, *axes.plot(values, [row] * len(values), "o", **look))
        if len(values):
            mean = axes.plot(
                [np.mean(values)], [row], "|", color=style.INK, markersize=15, markeredgewidth=1.4
            )
            style.belongs(label, *mean)
    axes.set(
        title="First start to last end",
        xlabel=f"time [{unit}], one dot per seed",
        ylim=(len(labels) - 0.5, -0.5),
    )
    axes.set_yticks(range(len(labels)), labels)
    axes.tick_params(axis="y", labelcolor=style.INK)
    longest = float(runs["rct_s"].max()) if len(runs) else 0.0  # 0: no flow began in the measuring window
    axes.set_xlim(0, 1.06 * factor * longest or 1)
    axes.grid(axis="y", visible=False)


@style.looks()
def over_time(outcomes: Sequence[RunOutcome], samples: Sequence[pd.DataFrame]) -> Chart:
    """One row per label: rates of flows, the longest queue with pauses, losses. Rates share their scale; the others differ too much between labels."""
    palette = style.colours([o.plan.label for o in outcomes])
    rows = len(outcomes)
    fig, grid = style.figure(rows, 3, 10.6, 2.1 * rows + 0.55, gridspec_kw={"hspace": 0.78, "wspace": 0.26})
    fig.subplots_adjust(top=1 - 0.55 / (2.1 * rows + 0.55))
    for below in grid[1:]:
        below[0].sharey(grid[0][0])
    for axes, outcome, sample in zip(grid, outcomes, samples):
        colour = palette[outcome.plan.label]
        heading = {"color": colour, "fontweight": "bold", "fontsize": 10, "transform": axes[0].transAxes}
        axes[0].text(-0.2, 1.22, outcome.plan.label, **heading)
        _rates(axes[0], outcome, sample, colour)
        _queue(axes[1], outcome, sample, colour)
        _losses(axes[2], outcome, sample, colour)
        for panel in axes:
            _time_axis(panel, outcome)
    for panel in [panel for row in grid for panel in row]:  # only now that what shares a scale is drawn
        panel.set_ylim(bottom=0)
    return Chart(fig, "Rates, queues, losses and retransmissions over time")


Draw = Callable[[Axes, RunOutcome, pd.DataFrame, str], None]


@style.looks()
def panel(draw: Draw, outcome: RunOutcome, samples: pd.DataFrame) -> Chart:
    """One panel of over_time() by itself: `draw` is RATES, QUEUE or LOSSES."""
    fig, ((axes,),) = style.figure(1, 1, 7.0, 2.8)
    draw(axes, outcome, samples, style.colours([outcome.plan.label])[outcome.plan.label])
    _time_axis(axes, outcome)
    axes.set_ylim(bottom=0)
    return Chart(fig, f"{outcome.plan.label}, seed {outcome.plan.seed}, over time")


def _factor(outcome: RunOutcome) -> float:
    return style.time_scale(series.end_of(outcome))[0]


def _time_axis(axes: Axes, outcome: RunOutcome) -> None:
    end = series.end_of(outcome)
    factor, unit = style.time_scale(end)
    axes.set_xlim(0, max(end * factor, 1e-3) * 1.01)
    axes.set_xlabel(f"time [{unit}]", labelpad=1)
    axes.xaxis.set_major_locator(MaxNLocator(6))


def _rates(axes: Axes, outcome: RunOutcome, samples: pd.DataFrame, colour: str) -> None:
    axes.set(title="rate of each flow", ylabel="[Gb/s]")
    rates = series.rates(outcome, samples)
    if rates is None:
        return _nothing(axes, "no samples")
    time = rates.time_s * _factor(outcome)
    values = np.array(list(rates.each.values())) / 1e9
    if len(values) <= _MANY_FLOWS:
        for row in values:
            style.belongs(outcome.plan.label, *axes.plot(time, row, color=colour, linewidth=0.9, alpha=0.7))
    else:
        axes.set_title(f"rate of all {len(values):,} flows together")
        style.belongs(outcome.plan.label, *axes.plot(time, rates.total / 1e9, color=colour, linewidth=1.0))


def _queue(axes: Axes, outcome: RunOutcome, samples: pd.DataFrame, colour: str) -> None:
    label, factor = outcome.plan.label, _factor(outcome)
    busiest = series.busiest_queue(outcome, samples)
    if busiest is None:
        axes.set(title="queue", ylabel="[KB]")
        return _nothing(axes, "no samples")
    q = series.queue(outcome, samples, *busiest)
    axes.set(title=f"queue {q.interface}, class {q.tc}", ylabel="[KB]")
    shade = axes.fill_between(
        q.time_s * factor, q.bytes / 1e3, step="post", color=colour, alpha=0.28, linewidth=0
    )
    line = axes.step(q.time_s * factor, q.bytes / 1e3, where="post", color=colour, linewidth=0.9)
    style.belongs(label, shade, *line)
    if q.pausing.any() or q.paused.any():
        ports = max(1, sum(p.switch == _switch_of(outcome, q.interface) for p in outcome.plan.ports))
        strip = axes.twinx()
        paused = strip.fill_between(
            q.pause_time_s * factor, q.pausing, step="post", color=style.PAUSE, alpha=0.55, linewidth=0
        )
        style.belongs(label, paused)
        strip.set_ylim(0, ports * 5)  # the lowest fifth of the panel
        strip.set_yticks([0, int(q.pausing.max())])
        strip.tick_params(axis="y", labelsize=7.5, labelcolor=style.PAUSE)
        strip.grid(False)
        strip.spines["right"].set_visible(False)
        text = f"up to {int(q.pausing.max())} paused"
        strip.text(1.0, 1.045, text, transform=strip.transAxes, ha="right", fontsize=8, color=style.PAUSE)


def _switch_of(outcome: RunOutcome, interface: str) -> str:
    return next(p.switch for p in outcome.plan.ports if p.interface == interface)


def _losses(axes: Axes, outcome: RunOutcome, samples: pd.DataFrame, colour: str) -> None:
    factor = _factor(outcome)
    axes.set(ylabel="packets")
    n = series.losses(outcome)
    if not (n.drops.any() or n.by_nack.any() or n.by_timeout.any()):
        axes.set(title="dropped, retransmitted", yticks=[], ylabel="")
        return _nothing(axes, "nothing dropped, nothing retransmitted")
    time, width = n.time_s * factor, n.width_s * factor
    drops = axes.step(
        time, n.drops, where="mid", color=style.LOSS, linewidth=1.1, label=f"{n.drops.sum():,} dropped"
    )
    nack = axes.bar(time, n.by_nack, width, color="#a9bbcd", label=f"{n.by_nack.sum():,} by NACK")
    timeout = axes.bar(
        time,
        n.by_timeout,
        width,
        bottom=n.by_nack,
        color="#52667a",
        label=f"{n.by_timeout.sum():,} after timeout",
    )
    style.belongs(outcome.plan.label, *drops, *nack, *timeout)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.2, 0.97),
        ncol=3,
        fontsize=7.5,
        handlelength=1.0,
        columnspacing=0.9,
        handletextpad=0.4,
    )


RATES: Draw = _rates
QUEUE: Draw = _queue
LOSSES: Draw = _losses


def _nothing(axes: Axes, text: str) -> None:
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=style.SOFT, fontsize=8.5
    )


@style.looks()
def held_responsible(found: Sequence[Culprit], end_s: float) -> Chart:
    """One row per egress queue and ingress port: a bar while the queue held the port responsible."""
    factor, unit = style.time_scale(end_s)
    fig, ((axes,),) = style.figure(1, 1, 10.6, 0.75 + 0.2 * len(found))
    for row, culprit in enumerate(found):
        bars = [(s.begin_ps / 1e12 * factor, (s.end_ps - s.begin_ps) / 1e12 * factor) for s in culprit.spans]
        axes.broken_barh(bars, (row - 0.38, 0.76), color=style.PAUSE, linewidth=0)
    several = len({c.tc for c in found}) > 1
    names = [f"{c.port} for {c.queue}" + (f", class {c.tc}" if several else "") for c in found]
    axes.set_yticks(range(len(found)), names, fontsize=7.5)
    axes.set(xlabel=f"time [{unit}]", ylim=(len(found) - 0.5, -0.5), xlim=(0, end_s * factor * 1.01))
    axes.grid(axis="y", visible=False)
    fig.subplots_adjust(left=0.06 + 0.0065 * max(map(len, names)))
    return Chart(fig, "Ports held responsible over time")


@style.looks()
def slowdown_by_size(flows: pd.DataFrame) -> Chart | None:
    """Median and 99th percentile of slowdown in ten classes of flow size with equally many flows; None when sizes do not differ."""
    done = flows[flows["completed"] & flows["fct_s"].notna()]  # a stream has no FCT
    if done["size"].nunique() < 10:
        return None
    labels = list(dict.fromkeys(done["label"]))
    palette = style.colours(labels)
    fig, ((axes,),) = style.figure(1, 1, 10.6, 2.9)
    edges = np.unique(np.quantile(done["size"], np.linspace(0, 1, 11)))
    for label in labels:
        mine = done[done["label"] == label]
        bins = np.clip(np.searchsorted(edges, mine["size"], side="right") - 1, 0, len(edges) - 2)
        groups = mine.groupby(bins)["slowdown"]
        x = (edges[:-1] + edges[1:])[groups.median().index] / 2e3
        look = {"color": palette[label], "markersize": 3.5}
        median = axes.plot(x, groups.median(), "o-", label=f"{label}, median", **look)
        tail = axes.plot(
            x, groups.quantile(0.99), "o--", alpha=0.7, label=f"{label}, 99th percentile", **look
        )
        style.belongs(label, *median, *tail)
    axes.set(title="Slowdown by flow size", xlabel="flow size [KB]", ylabel="slowdown")
    axes.set_ylim(bottom=1)
    style.legend(axes, [label for label in labels for _ in range(2)], ncol=2)
    return Chart(fig, "Slowdown by flow size")
