"""Packets on their way: which switches one passed, when, and how long it waited at each, from the deliveries that event files keep (every 16th PSN).

A frame that a switch takes in leaves by the port that its record names and is next seen at that port's other end. What it took longer than
the link's delay and the frame's own time on it, it waited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rocelab import frames
from rocelab.model import Array, PortPlan, RunOutcome

_HOP = frames.KINDS.index("hop")
_WIRE_OVERHEAD = 24  # bytes: FCS, preamble and gap, which records leave out
_ANSWER = 128  # bytes; longer frames to a flow's source are data of a READ, shorter ones acknowledgements
_PSNS = 1 << 24


@dataclass(frozen=True)
class Hop:
    time_ps: int
    node: str
    port: str | None  # by which it leaves; None: it is at its host
    wait_ps: int | None  # there; None: at its host, or never seen again


@dataclass
class Journey:
    """One packet's, from the first switch on; a retransmission is another."""

    psn: int
    bytes: int
    flow: int | None = None
    hops: list[Hop] = field(default_factory=list)
    arrived: bool = False


@dataclass
class Wait:
    """Of a flow's kept packets at a port, together."""

    flow: int
    port: str
    packets: int = 0
    wait_ps: int = 0
    longest_ps: int = 0
    longest_at_ps: int = 0
    longest_psn: int = 0


_Seen = tuple[int, str, int, int, int, int, int]  # time, node, ingress, egress (-1: a host), QPN, PSN, bytes


def journeys(outcome: RunOutcome, most: int) -> list[Journey]:
    """Of data packets whose flow is known. `most`: hops, about; with more, fewer PSNs are taken."""
    links = _Links(outcome)
    under_way: dict[tuple[str, int, int, int], deque[tuple[Journey, _Seen]]] = {}
    found: list[Journey] = []
    for seen in _seen(outcome, most):
        time, node, ingress, egress, qpn, psn, size = seen
        waiting = under_way.get((node, ingress, qpn, psn))
        if waiting:
            journey, last = waiting.popleft()
            journey.hops[-1] = links.hop(last, time)
        elif egress < 0:
            continue  # its way here is unknown: another path than a switch's
        else:
            journey = Journey(psn, size)
            found.append(journey)
        journey.hops.append(links.hop(seen, None))
        journey.arrived = egress < 0
        if egress >= 0:
            under_way.setdefault((*links.next(node, egress), qpn, psn), deque()).append((journey, seen))
        journey.flow = links.flow(seen) if journey.flow is None else journey.flow
    return [j for j in found if j.flow is not None]


def waits(known: list[Journey]) -> list[Wait]:
    sums: dict[tuple[int, str], Wait] = {}
    for journey in known:
        for hop in journey.hops:
            if hop.wait_ps is None or hop.port is None or journey.flow is None:
                continue
            entry = sums.setdefault((journey.flow, hop.port), Wait(journey.flow, hop.port))
            entry.packets += 1
            entry.wait_ps += hop.wait_ps
            if hop.wait_ps >= entry.longest_ps:
                entry.longest_ps, entry.longest_at_ps, entry.longest_psn = (
                    hop.wait_ps,
                    hop.time_ps,
                    journey.psn,
                )
    return list(sums.values())


class _Links:
    def __init__(self, outcome: RunOutcome) -> None:
        self._ports = {(p.switch, p.port_id): p for p in outcome.plan.ports}
        self._by_interface = {p.interface: p for p in outcome.plan.ports}
        self._index = frames.FlowIndex(outcome)

    def next(self, switch: str, egress: int) -> tuple[str, int]:
        """Node and ingress port at the other end."""
        port = self._ports[switch, egress]
        if port.peer_is_host:
            return port.peer, 0
        peer = self._by_interface[port.peer]
        return peer.switch, peer.port_id

    def hop(self, seen: _Seen, arrival: int | None) -> Hop:
        time, node, _, egress, _, _, size = seen
        if egress < 0:
            return Hop(time, node, None, None)
        port = self._ports[node, egress]
        wait = None if arrival is None else max(0, arrival - time - port.delay_ps - _wire_ps(size, port))
        return Hop(time, node, port.interface, wait)

    def flow(self, seen: _Seen) -> int | None:
        """Of a frame that is at its host, or on the way to one."""
        _, node, _, egress, qpn, _, size = seen
        if egress >= 0:
            port = self._ports[node, egress]
            if not port.peer_is_host:
                return None
            node = port.peer
        at_sink = self._index.at_sink(node, qpn)
        return self._index.at_source(node, qpn) if at_sink is None and size > _ANSWER else at_sink


def _wire_ps(size: int, port: PortPlan) -> int:
    return (size + _WIRE_OVERHEAD) * 8 * 10**12 // port.rate_bps


def _seen(outcome: RunOutcome, most: int) -> Iterator[_Seen]:
    """In the order of time."""
    parts: list[tuple[str, bool, Array]] = []
    for names, at_switch in ((frames.switches(outcome.plan), True), (frames.hosts(outcome.plan), False)):
        for node, records in frames.by_node(outcome, names).items():
            parts.append((node, at_switch, records[records["kind"] == _HOP]))
    every = _every([records for _, _, records in parts], most)
    found: list[_Seen] = []
    for node, at_switch, records in parts:
        kept = records[taken(records, every)]
        zeros, ones = [0] * len(kept), [-1] * len(kept)
        ports = (kept["port"].tolist(), kept["peer"].tolist()) if at_switch else (zeros, ones)
        rest = (kept[f].tolist() for f in ("flow", "psn", "bytes"))
        found += zip(kept["time_ps"].tolist(), [node] * len(kept), *ports, *rest)
    return iter(sorted(found))


def every_psn(outcome: RunOutcome, most: int) -> int:
    """Of which PSNs journeys() takes the hops, with so many at most: multiples of this."""
    return _every([records[records["kind"] == _HOP] for records in outcome.events.values()], most)


def taken(records: Array, every: int) -> Array:
    """Which hops are of PSNs that are multiples of this. Notifications of congestion are of none: all of them have PSN 0."""
    none = (records["psn"] == 0) & (records["bytes"] <= _ANSWER)
    return np.asarray((records["psn"] % every == 0) & ~none)


def _every(parts: Sequence[Array], most: int) -> int:
    every = 16
    while every < _PSNS and sum(int(np.count_nonzero(taken(records, every))) for records in parts) > most:
        every *= 2
    return every
