"""Routing deadlocks, from the traces of switches: links in a circle, each paused by the next, for so long that it is no congestion.

A link that PFC pauses waits until its far switch has sent on what came over it. When the far switch's own link of the circle is paused too, and so all around, nobody ever sends
(Menikkumbura, 4.2.2: circular wait). The traces tell when a port's class was paused, not which frame waits for which port, so that a circle of pauses is called a deadlock only if
it lasted: by default a millisecond, many round trips. Frames that escape (docs/explanation/escape.md) leave paused ports: while one of them crosses a link of the circle now and then, nothing is
dead, however long the pauses last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from rocelab import frames
from rocelab.model import TRACE_DTYPE, Array, RunOutcome

_PAUSED, _RESUMED = frames.KINDS.index("paused"), frames.KINDS.index("resumed")
_HOP = frames.KINDS.index("hop")
_FEEDBACK = 128  # bytes; CNPs, which a pause of the data's class does not stop, are shorter


@dataclass(frozen=True)
class Deadlock:
    since_ps: int  # all links of the circle are paused, and nothing moves, from here on
    until_ps: int  # the first of them may send again, or a frame escapes; the run's end if that never was
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
    return _find(outcome, least_ps, _Escapes(outcome))


def explain(outcome: RunOutcome) -> RunOutcome:
    """The same, and where a run did not complete because of a deadlock, or of a circle that only escaping frames leave, its `error` says so."""
    if outcome.error is None:
        return outcome
    found = find(outcome)
    if found is not None:
        return replace(outcome, error=f"{outcome.error}; {found}")
    slow = _find(outcome, 1_000_000_000, None)
    if slow is None:
        return outcome
    said = str(slow).replace("routing deadlock: ", "")
    return replace(outcome, error=f"{outcome.error}; {said}, which only frames that escape get through")


class _Escapes:
    """When frames left paused ports: what event files have of it. A frame with a kept PSN arrived at the other end (`hop`), or the port's queue was
    shorter than at the sample before. A frame that escapes between two samples and makes room for another one of its size is not seen.
    """

    def __init__(self, outcome: RunOutcome) -> None:
        self._outcome = outcome
        self._ends = {p.interface: (p.switch, p.port_id) for p in outcome.plan.ports}
        self._peers = {p.interface: p.peer for p in outcome.plan.ports}
        self._records: dict[str, Array] | None = None
        self._times: dict[tuple[str, int], Array] = {}

    def over(self, interface: str, tc: int) -> Array:
        """In ps, sorted; none where the port let no frame escape."""
        if self._outcome.port_counters.get(interface, {}).get("escaped_frames", 0) == 0:
            return np.zeros(0, dtype=np.int64)
        if (interface, tc) not in self._times:
            seen = np.concatenate((self._arrived(interface), self._shortened(interface, tc)))
            self._times[interface, tc] = np.sort(seen)
        return self._times[interface, tc]

    def _arrived(self, interface: str) -> Array:
        records = self._at(self._peers[interface])
        times: Array = records["time_ps"][(records["kind"] == _HOP) & (records["bytes"] > _FEEDBACK)]
        return times

    def _shortened(self, interface: str, tc: int) -> Array:
        records = self._at(interface)
        samples = records[(records["kind"] == frames.SAMPLE) & (records["psn"] == tc)]
        times: Array = samples["time_ps"][1:][np.diff(samples["bytes"].astype(np.int64)) < 0]
        return times

    def _at(self, interface: str) -> Array:
        """Records about this port."""
        if self._records is None:
            self._records = frames.by_node(self._outcome, frames.switches(self._outcome.plan))
        switch, port = self._ends[interface]
        records = self._records.get(switch, np.zeros(0, dtype=TRACE_DTYPE))
        mine: Array = records[records["port"] == port]
        return mine


def _longest_still(times: Array, begin: int, end: int) -> tuple[int, int]:
    """The longest part of this time in which nothing came."""
    edges = [begin, *(int(t) for t in times[(times > begin) & (times < end)]), end]
    longest = int(np.argmax(np.diff(edges)))
    return edges[longest], edges[longest + 1]


def _find(outcome: RunOutcome, least_ps: int, escapes: _Escapes | None) -> Deadlock | None:
    """None as `escapes`: whether something moves makes no difference."""
    for tc, pauses in sorted(_pauses(outcome).items()):
        long = [p for p in pauses if p.end - p.begin >= least_ps]
        for instant in sorted({p.begin for p in long}):
            standing = [p for p in long if p.begin <= instant and p.end - instant >= least_ps]
            while circle := _circle(standing):
                until = min(p.end for p in circle)
                over = [escapes.over(p.interface, tc) if escapes else np.zeros(0, np.int64) for p in circle]
                since, until = _longest_still(np.sort(np.concatenate(over)), instant, until)
                if until - since >= least_ps:
                    return Deadlock(since, until, tc, tuple(p.interface for p in circle))
                moved = max(zip(over, circle), key=lambda each: len(each[0]))[1]
                standing.remove(moved)
    return None


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
