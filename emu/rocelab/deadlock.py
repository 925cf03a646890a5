"""Routing deadlocks, from the traces of switches: links in a circle, each paused by the next, for so long that it is no congestion.

A link that PFC pauses waits until its far switch has sent on what came over it. When the far switch's own link of the circle is paused too, and so all around, nobody ever sends
(Menikkumbura, 4.2.2: circular wait). The traces tell when a port's class was paused, not which frame waits for which port, so that a circle of pauses is called a deadlock only if
it lasted: by default a millisecond, many round trips.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import networkx as nx

from rocelab import frames
from rocelab.model import RunOutcome

_PAUSED, _RESUMED = frames.KINDS.index("paused"), frames.KINDS.index("resumed")


@dataclass(frozen=True)
class Deadlock:
    since_ps: int  # all links of the circle are paused from here on
    until_ps: int  # the first of them may send again; the run's end if none ever did
    tc: int
    interfaces: tuple[str, ...]  # the circle, in the order in which frames go

    def __str__(self) -> str:
        circle = " -> ".join((*self.interfaces, self.interfaces[0]))
        return f"routing deadlock: {circle} paused in a circle since {self.since_ps / 1e9:g} ms"


@dataclass(frozen=True)
class _Pause:
    begin: int
    end: int
    interface: str
    switch: str
    far: str  # switch at the other end


def find(outcome: RunOutcome, least_ps: int = 1_000_000_000) -> Deadlock | None:
    """The first one; None: there was none, or the run has no event files."""
    for tc, pauses in sorted(_pauses(outcome).items()):
        long = [p for p in pauses if p.end - p.begin >= least_ps]
        for instant in sorted({p.begin for p in long}):
            standing = [p for p in long if p.begin <= instant and p.end - instant >= least_ps]
            circle = _circle(standing)
            if circle:
                return Deadlock(instant, min(p.end for p in circle), tc, tuple(p.interface for p in circle))
    return None


def explain(outcome: RunOutcome) -> RunOutcome:
    """The same, and where a run did not complete because of a deadlock its `error` says so."""
    found = find(outcome) if outcome.error is not None else None
    return outcome if found is None else replace(outcome, error=f"{outcome.error}; {found}")


def _pauses(outcome: RunOutcome) -> dict[int, list[_Pause]]:
    """By class: when links between switches were paused."""
    switch_of = {p.interface: p.switch for p in outcome.plan.ports}
    between = {
        (p.switch, p.port_id): (p.interface, switch_of[p.peer])
        for p in outcome.plan.ports
        if not p.peer_is_host and p.peer in switch_of
    }
    last = max((int(r["time_ps"][-1]) for r in outcome.events.values() if len(r)), default=0)
    end = max(outcome.end_ps, last)
    found: dict[int, list[_Pause]] = {}
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        open_since: dict[tuple[int, int], int] = {}
        kinds = records[(records["kind"] == _PAUSED) | (records["kind"] == _RESUMED)]
        for time, kind, port, tc in zip(kinds["time_ps"], kinds["kind"], kinds["port"], kinds["mark"]):
            key = (int(port), int(tc))
            if (switch, key[0]) not in between:
                continue
            if kind == _PAUSED:
                open_since.setdefault(key, int(time))
            elif key in open_since:
                _add(found, key[1], _Pause(open_since.pop(key), int(time), *_ends(between, switch, key[0])))
        for key, begin in open_since.items():
            _add(found, key[1], _Pause(begin, end, *_ends(between, switch, key[0])))
    return found


def _ends(between: dict[tuple[str, int], tuple[str, str]], switch: str, port: int) -> tuple[str, str, str]:
    interface, far = between[switch, port]
    return interface, switch, far


def _add(found: dict[int, list[_Pause]], tc: int, pause: _Pause) -> None:
    found.setdefault(tc, []).append(pause)


def _circle(pauses: Iterable[_Pause]) -> list[_Pause]:
    graph = nx.DiGraph()
    for pause in pauses:
        graph.add_edge(pause.switch, pause.far, pause=pause)
    try:
        edges = nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return []
    circle: list[_Pause] = [graph.edges[edge[0], edge[1]]["pause"] for edge in edges]
    names = [pause.interface for pause in circle]
    first = names.index(min(names))
    return [*circle[first:], *circle[:first]]
