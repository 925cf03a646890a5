"""Pictures of `./rocelab paper rocc`: fair rates and queues over time, and PFC activations of the congestion points over time (figure 3.14b)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rocelab.model import Array
from rocelab.paper.results import Results
from rocelab.paper.rocc_pauses import SEGMENTS, TIERS
from rocelab.paper.tables import Figure
from rocelab.paper.time_lines import Line, Panel, picture
from rocelab.report import style

_TIER_NAMES = {"ingress": "ingress edge switches", "core": "core switches", "egress": "egress edge switch"}
_PALETTE = style.colours(("dcqcn", "hpcc", "rocc", "dcqcn-pi"))  # the same in each experiment
_PAUSES = """XOFF requests of all switches of a tier in each fiftieth {of}, a mean over the seeds; XOFF frames that only prolong a pause are not counted."""


def figures(results: Results) -> list[Figure]:
    """Those of an experiment's runs that are there."""
    return [
        figure
        for name in results.points
        for figure in (*_points(results, name), *_activations(results, name))
    ]


def _points(results: Results, name: str) -> list[Figure]:
    """Fair rates and queues, of the first seed."""
    pictures: dict[str, dict[str, dict[str, Array]]] = {}
    for arrays in results.arrays(name).values():
        for key, array in arrays.items():
            title, interface, what = key.split("|")
            pictures.setdefault(title, {}).setdefault(interface, {})[what] = array
    drawn = {
        title: points
        for title, points in pictures.items()
        if all("rate_gbps" in arrays for arrays in points.values())
    }
    panels = [panel for title, points in drawn.items() for panel in _panels(title, points)]
    return [Figure(picture(panels, 2, "ms", "Fair rates and queues over time"), name)] if panels else []


def _panels(title: str, points: Mapping[str, Mapping[str, Array]]) -> tuple[Panel, Panel]:
    """Fair rate left, queue right; a line for each congestion point."""

    def lines(what: str) -> list[Line]:
        return [Line(name, arrays["time_s"] * 1e3, arrays[what]) for name, arrays in points.items()]

    return (
        Panel(f"{title}: fair rate", "Gb/s", lines("rate_gbps"), log=True),
        Panel(f"{title}: queue", "KB", lines("queue_kb")),
    )


def means(results: Results, name: str) -> dict[str, dict[str, dict[str, Array]]]:
    """By case and scheme, means over the seeds that are there: `activations` with a row per tier and a column per segment, and `end_ms`."""
    seen: dict[tuple[str, str], dict[str, list[Array]]] = {}
    for point in results.points.get(name, ()):
        for key, array in (results.store.arrays(point) if point in results.store else {}).items():
            case, scheme, what = key.split("|")
            if what in ("activations", "end_ms"):
                seen.setdefault((case, scheme), {}).setdefault(what, []).append(array)
    found: dict[str, dict[str, dict[str, Array]]] = {}
    for (case, scheme), arrays in seen.items():
        found.setdefault(case, {})[scheme] = {what: np.mean(each, axis=0) for what, each in arrays.items()}
    return found


def _activations(results: Results, name: str) -> list[Figure]:
    cases = means(results, name)
    busy = {
        c: schemes for c, schemes in cases.items() if any(a["activations"].any() for a in schemes.values())
    }
    if not busy:
        return []
    idle = [case for case in cases if case not in busy]
    note = _PAUSES.format(of="of the run's time" if name == "rates" else "of the time in which flows begin")
    note += f" None in {'; '.join(idle)}." if idle else ""
    title = f"{name}: PFC activations by congestion point (figure 3.14b)"
    return [Figure(_segments(busy), name, title, note)]


def _segments(cases: Mapping[str, Mapping[str, Mapping[str, Array]]]) -> str:
    """A row for each case, a panel for each tier with one scale, a line for each scheme."""
    rows = len(cases)
    height = 1.7 * rows + 0.6
    options = {"sharey": "row", "gridspec_kw": {"hspace": 0.75, "wspace": 0.08}}
    fig, grid = style.figure(rows, len(TIERS), 10.6, height, **options)
    fig.subplots_adjust(top=1 - 0.55 / height)
    lines = {}
    for panels, (case, by_scheme) in zip(grid, cases.items()):
        for row, (axes, tier) in enumerate(zip(panels, TIERS)):
            for scheme, arrays in by_scheme.items():
                edges = np.linspace(0, float(arrays["end_ms"][0]), SEGMENTS + 1)
                counts = arrays["activations"][row]
                lines[scheme] = axes.stairs(counts, edges, color=_PALETTE[scheme], linewidth=1.3)
            axes.set(title=f"{case}: {_TIER_NAMES[tier]}", xlabel="time [ms]")
        panels[0].set(ylabel="activations", ylim=(0, None))
    fig.legend(list(lines.values()), list(lines), loc="upper right", ncols=len(lines))
    return style.svg(fig, "PFC activations of congestion points over time")
