"""Steps of collectives over time: which rank was in which step when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes

from rocelab.model import RunOutcome
from rocelab.report import style
from rocelab.report.style import Chart

_MOST_BARS = 6_000  # of a label: the first collectives stand for the others
_MOST_NAMES = 32  # at an axis


@dataclass(frozen=True)
class Step:
    """From a rank's first work request of a step to the last byte in place of all that it sends in it."""

    workload: str
    request: int
    step: int
    host: str
    begin_ps: int
    end_ps: int


def collective_workloads(outcome: RunOutcome) -> list[str]:
    kinds = {p.key: p.value.strip('"') for p in outcome.plan.parameters if p.key.endswith(".kind")}
    groups = dict.fromkeys(f.group for f in outcome.plan.flows)
    return [g for g in groups if kinds.get(f"workload.{g}.kind") == "collective"]


def steps_of(outcome: RunOutcome) -> list[Step]:
    """Of all collectives, in the order of their begins; what did not complete is left out."""
    names = set(collective_workloads(outcome))
    records = {r.id: r for r in outcome.flows}
    spans: dict[tuple[str, int, int, str], tuple[int, int]] = {}
    for flow in outcome.plan.flows:
        record = records.get(flow.id)
        if flow.group not in names or record is None or record.posted_ps is None or record.placed_ps is None:
            continue
        key = (flow.group, flow.request, flow.step, flow.src)
        begin, end = spans.get(key, (record.posted_ps, record.placed_ps))
        spans[key] = (min(begin, record.posted_ps), max(end, record.placed_ps))
    steps = [Step(*key, *span) for key, span in spans.items()]
    return sorted(steps, key=lambda s: (s.begin_ps, s.host))


@style.looks()
def over_time(outcomes: Sequence[RunOutcome]) -> Chart | None:
    """A panel for each label: a row for each rank, a bar for each of its steps, darker from step to step. None without collectives."""
    shown = [(o, steps) for o in outcomes if (steps := steps_of(o))]
    if not shown:
        return None
    hosts = max(len({s.host for s in steps}) for _, steps in shown)
    height = max(1.7, 0.5 + 0.14 * min(hosts, _MOST_NAMES))
    fig, grid = style.figure(len(shown), 1, 10.6, height * len(shown) + 0.5, gridspec_kw={"hspace": 0.45})
    end_ps = max(s.end_ps for _, steps in shown for s in steps[:_MOST_BARS])
    for (axes,), (outcome, steps) in zip(grid, shown):
        _panel(axes, outcome, steps[:_MOST_BARS], end_ps)
    return Chart(fig, "Steps of collectives over time, by rank")


def _panel(axes: Axes, outcome: RunOutcome, steps: Sequence[Step], end_ps: int) -> None:
    order = {h.name: place for place, h in enumerate(outcome.plan.hosts)}
    hosts = sorted({s.host for s in steps}, key=order.__getitem__)
    row_of = {host: row for row, host in enumerate(hosts)}
    factor, unit = style.time_scale(end_ps / 1e12)
    last = max(s.step for s in steps)
    shades = matplotlib.colormaps["viridis_r"]
    for number in range(last + 1):
        mine = [s for s in steps if s.step == number]
        colour = shades(0.12 + 0.8 * number / max(1, last))
        bars = axes.barh(
            [row_of[s.host] for s in mine],
            [(s.end_ps - s.begin_ps) / 1e12 * factor for s in mine],
            left=[s.begin_ps / 1e12 * factor for s in mine],
            height=0.8,
            color=colour,
            linewidth=0,
        )
        style.belongs(outcome.plan.label, *bars)
    axes.set(title=outcome.plan.label, xlim=(0, end_ps / 1e12 * factor * 1.01), ylim=(len(hosts) - 0.5, -0.5))
    axes.set_xlabel(f"time [{unit}]", labelpad=1)
    if len(hosts) <= _MOST_NAMES:
        axes.set_yticks(range(len(hosts)), hosts, fontsize=7)
    else:
        axes.set(ylabel=f"{len(hosts)} ranks", yticks=[])
    axes.grid(axis="y", visible=False)
