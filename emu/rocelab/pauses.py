"""How PFC pauses spread: each pause's depth, how many links the pause that caused it has come, and what it cost each port.

A port asks its neighbour to pause a class (XOFF). If one of the switch's own ports may not send that class then, because the switch behind it has asked for that, the pause is nested
in that one, and one deeper; else it begins here, with depth 1. A chain that comes back to a link that it has passed gets no deeper: it goes round in a circle. The traces tell when ports were paused, not which frame waits for which port, so that the depth is an upper bound where a
switch has several reasons.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rocelab import frames
from rocelab.model import Array, RunOutcome

_XOFF, _XON, _PAUSED, _RESUMED = (frames.KINDS.index(k) for k in ("xoff", "xon", "paused", "resumed"))

_Key = tuple[str, int, int]  # switch, port of it, class


@dataclass(frozen=True)
class Ask:
    """A port asks its neighbour to pause."""

    time_ps: int
    links: frozenset[str]  # of the chain, by the interface that asks
    root: str  # interface at which it began
    because: str | None = (
        None  # of this switch, the egress port whose pause it is nested in; None: it begins here
    )

    @property
    def depth(self) -> int:
        return len(self.links)


@dataclass(frozen=True)
class PortPauses:
    """Of one egress port and class, that its neighbour paused."""

    interface: str
    tc: int
    pauses: int
    paused_ps: int
    longest_ps: int
    depth: int  # deepest of them; 0: unknown, the run has no traces


@dataclass
class Spread:
    asks: dict[_Key, list[Ask]] = field(default_factory=lambda: defaultdict(list))
    reach: dict[str, int] = field(default_factory=dict)  # interface at which chains began: the longest

    def note(self, ask: Ask) -> None:
        self.reach[ask.root] = max(self.reach.get(ask.root, 0), ask.depth)

    @property
    def depth(self) -> int:
        """Of the deepest pause; 0: there was none."""
        return max(self.reach.values(), default=0)


def spread(outcome: RunOutcome) -> Spread | None:
    """None: the run has no event files."""
    if not outcome.events:
        return None
    ports = {(p.switch, p.port_id): p for p in outcome.plan.ports}
    by_interface = {p.interface: p for p in outcome.plan.ports}
    found = Spread()
    standing: dict[tuple[str, int], dict[int, Ask]] = defaultdict(
        dict
    )  # by switch and class: ports that are paused
    for time, switch, kind, port, tc in _events(outcome):
        here = standing[switch, tc]
        if kind == _PAUSED:
            peer = by_interface.get(ports[switch, port].peer)
            asks = found.asks[peer.switch, peer.port_id, tc] if peer is not None else []
            begins = ports[switch, port].peer
            here[port] = _last_before(asks, time) or Ask(time, frozenset({begins}), begins)
            found.note(here[port])
        elif kind == _RESUMED:
            here.pop(port, None)
        elif kind == _XOFF:
            over = [(other, ask) for other, ask in here.items() if other != port]
            at, cause = max(over, key=lambda entry: entry[1].depth, default=(None, None))
            own = ports[switch, port].interface
            links = (cause.links if cause else frozenset()) | {own}
            because = None if at is None else ports[switch, at].interface
            ask = Ask(time, links, cause.root if cause else own, because)
            found.asks[switch, port, tc].append(ask)
            found.note(ask)
    return found


def _events(outcome: RunOutcome) -> Sequence[tuple[int, str, int, int, int]]:
    """Of all switches in the order of time; at one instant what ends before what begins."""
    order = {_RESUMED: 0, _XON: 1, _PAUSED: 2, _XOFF: 3}
    merged = []
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        mine = records[(records["kind"] >= _XOFF) & (records["kind"] <= _RESUMED)]
        merged += [
            (int(t), switch, int(k), int(p), int(c))
            for t, k, p, c in zip(mine["time_ps"], mine["kind"], mine["port"], mine["mark"])
        ]
    return sorted(merged, key=lambda e: (e[0], order[e[2]], e[1:]))


def _last_before(asks: Sequence[Ask], time: int) -> Ask | None:
    """The ask that a pause at `time` obeys: it left one link delay earlier."""
    at = bisect_right(asks, time, key=lambda a: a.time_ps)
    return asks[at - 1] if at else None


@dataclass(frozen=True)
class Pause:
    """One time in which a switch's port, or a host (`port` is its name), might not send a class."""

    port: str
    tc: int
    begin_ps: int
    end_ps: int  # the run's end, if it lasted
    by: str  # interface that asked for it; a host's name
    because: str | None  # egress port of the switch that asked, whose own pause it is nested in; None: it begins there
    root: str  # interface at which the chain of pauses began
    depth: int


def each(outcome: RunOutcome) -> list[Pause]:
    """Every pause in the order of time; empty without event files."""
    known = spread(outcome)
    if known is None:
        return []
    peers = {p.interface: (p.switch, p.port_id) for p in outcome.plan.ports}
    asking = {p.interface: p.peer for p in outcome.plan.ports}
    asking |= {p.peer: p.interface for p in outcome.plan.ports if p.peer_is_host}
    names = {(p.switch, p.port_id): p.interface for p in outcome.plan.ports}
    end = max([outcome.end_ps, *(int(r["time_ps"][-1]) for r in outcome.events.values() if len(r))])
    found = []
    nodes = [*frames.switches(outcome.plan), *frames.hosts(outcome.plan)]
    for node, records in frames.by_node(outcome, nodes).items():
        for port, tc, begin, until in _intervals(records, end):
            name = names.get((node, port), node)
            by = asking[name]
            asks = known.asks.get((*peers[by], tc), []) if by in peers else []
            ask = _last_before(asks, begin) or Ask(begin, frozenset({by}), by)
            found.append(Pause(name, tc, begin, until, by, ask.because, ask.root, ask.depth))
    return sorted(found, key=lambda p: (p.begin_ps, p.port, p.tc))


def _intervals(records: Array, end: int) -> list[tuple[int, int, int, int]]:
    """(port, class, begin, end) of one node's pauses."""
    mine = records[(records["kind"] == _PAUSED) | (records["kind"] == _RESUMED)]
    since: dict[tuple[int, int], int] = {}
    found = []
    for time, kind, port, tc in zip(*(mine[f].tolist() for f in ("time_ps", "kind", "port", "mark"))):
        if kind == _PAUSED:
            since.setdefault((port, tc), time)
        elif (port, tc) in since:
            found.append((port, tc, since.pop((port, tc)), time))
    return found + [(port, tc, begin, end) for (port, tc), begin in since.items()]


def by_port(outcome: RunOutcome, classes: int = 8) -> list[PortPauses]:
    """Every egress port, and host, and class that was ever paused, the longest paused first."""
    known = spread(outcome)
    depths = _depths(outcome, known) if known is not None else {}
    rows = _hosts(outcome, known) if known is not None else []
    for interface, counters in outcome.port_counters.items():
        for tc in range(classes):
            total = counters.get(f"paused_ps_prio{tc}", 0)
            if total:
                times, depth = depths.get((interface, tc), (0, 0))
                longest = counters.get(f"longest_pause_ps_prio{tc}", 0)
                rows.append(PortPauses(interface, tc, times, total, longest, depth))
    return sorted(rows, key=lambda r: (-r.paused_ps, r.interface, r.tc))


def _hosts(outcome: RunOutcome, known: Spread) -> list[PortPauses]:
    """From the traces of NICs: a switch's port that asks a host has no counter of it. Of several programs of a host one stands for all: they share the port."""
    rows: dict[tuple[str, int], PortPauses] = {}
    for port in outcome.plan.ports:
        for source, records in outcome.events.items() if port.peer_is_host else ():
            if frames.node_of(source) != port.peer:
                continue
            for tc, spans in _spans(records, outcome.end_ps).items():
                depth = max((a.depth for a in known.asks.get((port.switch, port.port_id, tc), [])), default=0)
                row = PortPauses(port.peer, tc, len(spans), sum(spans), max(spans), depth)
                before = rows.get((port.peer, tc))
                rows[port.peer, tc] = row if before is None or before.paused_ps < row.paused_ps else before
    return list(rows.values())


def _spans(records: Array, end_ps: int) -> dict[int, list[int]]:
    """By class, how long each pause lasted; one that nothing ends lasts until the run's end."""
    found: dict[int, list[int]] = defaultdict(list)
    since: dict[int, int] = {}
    mine = records[(records["kind"] == _PAUSED) | (records["kind"] == _RESUMED)]
    for time, kind, tc in zip(mine["time_ps"], mine["kind"], mine["mark"]):
        if kind == _PAUSED:
            since.setdefault(int(tc), int(time))
        elif int(tc) in since:
            found[int(tc)].append(int(time) - since.pop(int(tc)))
    for tc, begin in since.items():
        found[tc].append(max(0, end_ps - begin))
    return found


def _depths(outcome: RunOutcome, known: Spread) -> Mapping[tuple[str, int], tuple[int, int]]:
    """Of an egress port: how often it was paused, and how deep, by what its peer asked."""
    found = {}
    by_interface = {p.interface: p for p in outcome.plan.ports}
    for port in outcome.plan.ports:
        peer = by_interface.get(port.peer)
        for tc in range(8):
            asks = known.asks.get((peer.switch, peer.port_id, tc), []) if peer is not None else []
            if asks:
                found[port.interface, tc] = (len(asks), max(a.depth for a in asks))
    return found
