"""The pictures of the report, each an SVG text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from rocelab.culprits import Culprit
from rocelab.model import RunOutcome
from rocelab.report import series, style

_MANY_FLOWS = 16  # more are drawn as their sum


def completion(flows: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Left: CDF of the flows' completion times. Right: completion time of all flows of a run, one dot per seed."""
    labels = list(dict.fromkeys(flows["label"]))
    palette = style.colours(labels)
    # Between them stand the legend of the one and the names at the axis of the other.
    between = 0.3 + 0.04 * max(map(len, labels), default=0)
    fig, ((left, right),) = style.figure(
        1, 2, 10.6, 3.1, gridspec_kw={"width_ratios": [1.55, 1], "wspace": between}
    )
    done = flows[flows["completed"] & flows["fct_s"].notna()]  # a stream has no FCT
    factor, unit = style.time_scale(float(done["fct_s"].max()) if len(done) else 0.0)
    for label in labels:
        values = np.sort(done[done["label"] == label]["fct_s"].to_numpy(dtype=float)) * factor
        if len(values) == 0:
            continue
        share = np.arange(len(values) + 1) / len(values)
        steps = np.insert(values, 0, values[0])
        left.step(steps, share, where="post", color=palette[label], label=label)
    left.set(
        title="Flow completion time, all seeds",
        xlabel=f"completion time [{unit}]",
        ylabel="share of flows",
        ylim=(0, 1.02),
    )
    if len(done) and done["fct_s"].max() > 30 * done["fct_s"].min():
        left.set_xscale("log")
    if left.get_legend_handles_labels()[0]:
        left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=1.2)
    _dots(right, runs[runs["complete"]], labels, palette)
    return style.svg(fig, "Completion times of flows and runs")


def _dots(axes: Axes, runs: pd.DataFrame, labels: Sequence[str], palette: dict[str, str]) -> None:
    factor, unit = style.time_scale(float(runs["rct_s"].max()) if len(runs) else 0.0)
    for row, label in enumerate(labels):
        values = runs[runs["label"] == label]["rct_s"].to_numpy(dtype=float) * factor
        axes.plot(
            values,
            [row] * len(values),
            "o",
            color=palette[label],
            alpha=0.55,
            markersize=6,
            markeredgewidth=0,
        )
        if len(values):
            axes.plot([np.mean(values)], [row], "|", color=style.INK, markersize=15, markeredgewidth=1.4)
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


def over_time(outcomes: Sequence[RunOutcome], samples: Sequence[pd.DataFrame]) -> str:
    """One row per label: rates of flows, the longest queue with pauses, losses. Rates share their scale; the others differ too much between labels."""
    palette = style.colours([o.plan.label for o in outcomes])
    rows = len(outcomes)
    fig, grid = style.figure(rows, 3, 10.6, 1.9 * rows + 0.35, gridspec_kw={"hspace": 0.62, "wspace": 0.26})
    for below in grid[1:]:
        below[0].sharey(grid[0][0])
    for axes, outcome, sample in zip(grid, outcomes, samples):
        end = series.end_of(outcome)
        factor, unit = style.time_scale(end)
        colour = palette[outcome.plan.label]
        _rates(axes[0], outcome, sample, factor, colour)
        _queue(axes[1], outcome, sample, factor, colour)
        _losses(axes[2], outcome, factor)
        for panel in axes:
            panel.set_xlim(0, max(end * factor, 1e-3) * 1.01)
            panel.set_xlabel(f"time [{unit}]", labelpad=1)
            panel.xaxis.set_major_locator(MaxNLocator(6))
    for panel in [panel for row in grid for panel in row]:  # only now that what shares a scale is drawn
        panel.set_ylim(bottom=0)
    return style.svg(fig, "Rates, queues, losses and retransmissions over time")


def _rates(axes: Axes, outcome: RunOutcome, samples: pd.DataFrame, factor: float, colour: str) -> None:
    axes.set(title=f"{outcome.plan.label}: rate of each flow", ylabel="[Gb/s]")
    rates = series.rates(outcome, samples)
    if rates is None:
        return _nothing(axes, "no samples")
    time = rates.time_s * factor
    values = np.array(list(rates.each.values())) / 1e9
    if len(values) <= _MANY_FLOWS:
        for row in values:
            axes.plot(time, row, color=colour, linewidth=0.9, alpha=0.7)
    else:
        axes.set_title(f"{outcome.plan.label}: rate of all {len(values):,} flows together")
        axes.plot(time, rates.total / 1e9, color=colour, linewidth=1.0)


def _queue(axes: Axes, outcome: RunOutcome, samples: pd.DataFrame, factor: float, colour: str) -> None:
    busiest = series.busiest_queue(outcome, samples)
    if busiest is None:
        axes.set(title="queue", ylabel="[KB]")
        return _nothing(axes, "no samples")
    q = series.queue(outcome, samples, *busiest)
    axes.set(title=f"queue {q.interface}, class {q.tc}", ylabel="[KB]")
    axes.fill_between(q.time_s * factor, q.bytes / 1e3, step="post", color=colour, alpha=0.28, linewidth=0)
    axes.step(q.time_s * factor, q.bytes / 1e3, where="post", color=colour, linewidth=0.9)
    if q.pausing.any() or q.paused.any():
        ports = max(1, sum(p.switch == _switch_of(outcome, q.interface) for p in outcome.plan.ports))
        strip = axes.twinx()
        strip.fill_between(
            q.pause_time_s * factor, q.pausing, step="post", color=style.PAUSE, alpha=0.55, linewidth=0
        )
        strip.set_ylim(0, ports * 5)  # the lowest fifth of the panel
        strip.set_yticks([0, int(q.pausing.max())])
        strip.tick_params(axis="y", labelsize=7.5, labelcolor=style.PAUSE)
        strip.grid(False)
        strip.spines["right"].set_visible(False)
        text = f"up to {int(q.pausing.max())} paused"
        strip.text(1.0, 1.045, text, transform=strip.transAxes, ha="right", fontsize=8, color=style.PAUSE)


def _switch_of(outcome: RunOutcome, interface: str) -> str:
    return next(p.switch for p in outcome.plan.ports if p.interface == interface)


def _losses(axes: Axes, outcome: RunOutcome, factor: float) -> None:
    axes.set(ylabel="packets")
    n = series.losses(outcome)
    if not (n.drops.any() or n.by_nack.any() or n.by_timeout.any()):
        axes.set(title="losses", yticks=[], ylabel="")
        return _nothing(axes, "nothing dropped, nothing retransmitted")
    time, width = n.time_s * factor, n.width_s * factor
    axes.step(time, n.drops, where="mid", color=style.LOSS, linewidth=1.1, label=f"{n.drops.sum():,} dropped")
    axes.bar(time, n.by_nack, width, color="#a9bbcd", label=f"{n.by_nack.sum():,} by NACK")
    axes.bar(
        time,
        n.by_timeout,
        width,
        bottom=n.by_nack,
        color="#52667a",
        label=f"{n.by_timeout.sum():,} after timeout",
    )
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.2, 0.97),
        ncol=3,
        fontsize=7.5,
        handlelength=1.0,
        columnspacing=0.9,
        handletextpad=0.4,
    )


def _nothing(axes: Axes, text: str) -> None:
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=style.SOFT, fontsize=8.5
    )


def held_responsible(found: Sequence[Culprit], end_s: float) -> str:
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
    return style.svg(fig, "Ports held responsible over time")


def slowdown_by_size(flows: pd.DataFrame) -> str | None:
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
        axes.plot(x, groups.median(), "o-", color=palette[label], markersize=3.5, label=f"{label}, median")
        axes.plot(
            x,
            groups.quantile(0.99),
            "o--",
            color=palette[label],
            markersize=3,
            alpha=0.7,
            label=f"{label}, 99th percentile",
        )
    axes.set(title="Slowdown by flow size", xlabel="flow size [KB]", ylabel="slowdown")
    axes.set_ylim(bottom=1)
    axes.legend(ncol=2)
    return style.svg(fig, "Slowdown by flow size")
