"""Ingress queues over time, as figures 4.7 to 4.10 and 4.13 of Escape's chapter have them: what a run's measure keeps of them, and how they are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rocelab import frames
from rocelab.model import Array, PortPlan, RunOutcome
from rocelab.paper.results import Results
from rocelab.paper.tables import Figure
from rocelab.paper.time_lines import Line, Panel, picture, thin

_TC = 3  # the class of the experiments' data
_QUEUE, _XOFF, _MARK = "queue", "xoff_kb", "mark"  # kinds of arrays


@dataclass(frozen=True)
class Circle:
    """Switches that may wait for one another, in the order in which frames go: the ingress queue of each is that of its link from the one
    before. `figures`: the chapter's. `until_ms`: how much is kept and drawn, where queues go up and down so often that all of the run would
    be one block; None: all."""

    switches: Sequence[str]
    figures: str
    until_ms: float | None = None


_RING = ("s1", "s2", "s3")
_CORE = ("core1", "agg5", "core2", "agg3")  # s1 -> s5 -> s2 -> s4 -> s1 of figure 4.11b
CIRCLES: Mapping[str, Circle] = {
    "ring": Circle(_RING, "figures 4.7a, 4.7b and 4.8", 10),
    "ring_authors": Circle(_RING, "figures 4.7a, 4.7b and 4.8", 10),
    "ring_congestion": Circle(_RING, "figure 4.9a"),
    "ring_testbed": Circle(_RING, "figure 4.10", 20),
    "fat_tree": Circle(_CORE, "figure 4.13b"),
    "fat_tree_pinned": Circle(_CORE, "figure 4.13b"),
}


def arrays_of(outcome: RunOutcome, deadlock_ms: float | None) -> dict[str, Array]:
    """By "queue|SWITCH from SWITCH|time_ms" and "..|kb", thinned; "xoff_kb"; "mark|WORDS", an instant in ms. Empty where the chapter has no such figure."""
    circle = CIRCLES.get(outcome.plan.scenario)
    if circle is None:
        return {}
    ports = _ports(outcome, circle.switches)
    kept = {_XOFF: np.array([port.xoff / 1e3 for port in ports if port.xoff > 0][:1])}
    end_ms = min(outcome.end_ps / 1e9, circle.until_ms or np.inf)
    by_switch = frames.by_node(outcome, circle.switches)
    for port in ports:
        records = by_switch[port.switch]
        mine = records[
            (records["kind"] == frames.SAMPLE) & (records["port"] == port.port_id) & (records["psn"] == _TC)
        ]
        mine = mine[mine["time_ps"] <= 1e9 * end_ms]
        held = np.concatenate(([0.0], mine["peer"] / 1e3))
        times = np.concatenate(([0.0], mine["time_ps"] / 1e9, [end_ms]))
        name = f"{_QUEUE}|{port.switch} from {_far(port)}"
        kept[f"{name}|time_ms"], kept[f"{name}|kb"] = thin(times, np.append(held, held[-1]))
    marks = {words: ms for words, ms in _marks(outcome, deadlock_ms).items() if ms <= end_ms}
    return kept | {f"{_MARK}|{words}": np.array([ms]) for words, ms in marks.items()}


def _far(port: PortPlan) -> str:
    """The switch at the other end."""
    return port.peer.partition("-")[0]


def _ports(outcome: RunOutcome, circle: Sequence[str]) -> list[PortPlan]:
    before = dict(zip(circle, (circle[-1], *circle)))
    return [
        port
        for switch in circle
        for port in outcome.plan.ports
        if port.switch == switch and not port.peer_is_host and _far(port) == before[switch]
    ]


def _marks(outcome: RunOutcome, deadlock_ms: float | None) -> dict[str, float]:
    plan = outcome.plan
    marks = {} if deadlock_ms is None else {"deadlock": deadlock_ms}
    if plan.route_changes:
        marks["links fail"] = plan.route_changes[0].at_ps / 1e9
    added = [flow.start_ps for flow in plan.flows if flow.group == "added"]
    if added:
        marks["flows are added"] = min(added) / 1e9
    return marks


def figures(results: Results) -> list[Figure]:
    """Of the first seed: a panel for each label, those of a case side by side."""
    found = []
    for name, circle in CIRCLES.items():
        labels = {label: kept for label, kept in results.arrays(name).items() if _XOFF in kept}
        if labels:
            schemes = {label.partition(",")[0] for label in labels}
            cases = list(dict.fromkeys(label.partition(",")[2] for label in labels))
            panels = [
                _panel(label, kept)
                for case in cases
                for label, kept in labels.items()
                if label.partition(",")[2] == case
            ]
            columns = len(schemes) if len(schemes) < 4 else 2
            svg = picture(panels, columns, "ms", "Ingress queues over time")
            title = f"Ingress queues over time ({circle.figures})"
            until = f", the first {circle.until_ms:g} ms" if circle.until_ms else ""
            note = f"Of each label the first seed that is there{until}. The broken line is XOFF."
            found.append(Figure(svg, name, title, note))
    return found


def _panel(label: str, kept: Mapping[str, Array]) -> Panel:
    names = dict.fromkeys(key.split("|")[1] for key in kept if key.startswith(f"{_QUEUE}|"))
    lines = [Line(n, kept[f"{_QUEUE}|{n}|time_ms"], kept[f"{_QUEUE}|{n}|kb"]) for n in names]
    limit = (float(kept[_XOFF][0]), f"XOFF {kept[_XOFF][0]:.0f} KB") if len(kept[_XOFF]) else None
    marks = {key.partition("|")[2]: float(kept[key][0]) for key in kept if key.startswith(f"{_MARK}|")}
    return Panel(label, "KB", lines, limit, marks)
