"""Whom CaPFC held responsible: for each egress queue and ingress port when it did, from the traces of switches."""

from __future__ import annotations

from dataclasses import dataclass

from rocelab import frames
from rocelab.model import RunOutcome

_CULPRIT = frames.KINDS.index("culprit")


@dataclass(frozen=True)
class Span:
    """From here until there; the run's end where the queue never fell to its XON again."""

    begin_ps: int
    end_ps: int


@dataclass(frozen=True)
class Culprit:
    queue: str  # interface of the egress port
    tc: int
    port: str  # interface of the ingress port
    spans: tuple[Span, ...]
    longest_queue: int  # bytes, when a span began

    @property
    def held_ps(self) -> int:
        return sum(s.end_ps - s.begin_ps for s in self.spans)


def find(outcome: RunOutcome) -> list[Culprit]:
    """The longest held first; empty without CaPFC, or without event files."""
    names = {(p.switch, p.port_id): p.interface for p in outcome.plan.ports}
    found = []
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        mine = records[records["kind"] == _CULPRIT]
        end = max(outcome.end_ps, int(records["time_ps"][-1]) if len(records) else 0)
        by_pair: dict[tuple[int, int, int], list[tuple[int, bool, int]]] = {}
        for r in mine:
            pair = (int(r["port"]), int(r["mark"]), int(r["peer"]))
            by_pair.setdefault(pair, []).append((int(r["time_ps"]), bool(r["flow"]), int(r["bytes"])))
        for (port, tc, peer), events in by_pair.items():
            begins = [e for e in events if e[1]]
            ends = [e[0] for e in events if not e[1]] + [end]
            spans = tuple(Span(b[0], e) for b, e in zip(begins, ends))
            queue = max(length for _, _, length in begins)
            found.append(Culprit(names[switch, port], tc, names[switch, peer], spans, queue))
    return sorted(found, key=lambda c: (-c.held_ps, c.queue, c.tc, c.port))
