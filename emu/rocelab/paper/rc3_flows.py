"""Completion times of RC3's experiments, by size: with the handshake, as the authors' are."""

from __future__ import annotations

import numpy as np

from rocelab.model import Array
from rocelab.paper.rc3_paths import round_trips
from rocelab.paper.results import Results

SIZES = (1, 2, 3, 5, 7, 40, 72, 137, 267, 1187, 2107)  # packets
SMALL, LARGE = SIZES[:3], SIZES[3:]  # at most the initial window, and more


class Flows:
    """Of one label: packets and completion times of all flows that start in the measured time, over all seeds."""

    def __init__(self, results: Results, experiment: str, label: str, group: str | None = None) -> None:
        mine = [p for p in results.points.get(experiment, ()) if p.label == label]
        parts = [results.store.flows(p) for p in mine] if results.runs(experiment, label) else []
        columns = [_with_handshake(f, _chosen(f, group), _handshakes(experiment, label, f)) for f in parts]
        self.packets: Array = np.concatenate([c[0] for c in columns]) if columns else np.zeros(0)
        self.fct: Array = np.concatenate([c[1] for c in columns]) if columns else np.zeros(0)

    def __bool__(self) -> bool:
        return len(self.fct) > 0

    def mean(self, metric: str) -> float | None:
        if not self:
            return None
        return float(np.average(self.fct, weights=self.packets if metric == "fct_per_byte" else None))

    def of(self, packets: int) -> float | None:
        chosen = self.fct[self.packets == packets]
        return float(chosen.mean()) if len(chosen) else None


def _chosen(flows: dict[str, Array], group: str | None) -> Array:
    chosen: Array = flows["measured"] & (flows["placed_ps"] >= 0)
    if group is not None:
        chosen = chosen & (flows["group_names"][flows["group"]] == group)
    return chosen


def _handshakes(experiment: str, label: str, flows: dict[str, Array]) -> Array:
    """A round trip of each flow. RCP's first packet asks for the rate of the others, as a handshake does, so that they have waited for it: of a single packet alone it is missing."""
    rtt: Array = round_trips(experiment, label, flows)
    alone: Array = flows["packets"] == 1
    return rtt * alone if "rcp" in label else rtt


def _with_handshake(flows: dict[str, Array], chosen: Array, rtt: Array) -> tuple[Array, Array]:
    """Packets and completion times in seconds."""
    fct_ps = flows["placed_ps"][chosen] - flows["posted_ps"][chosen]
    return flows["packets"][chosen], fct_ps / 1e12 + rtt[chosen]


def spans(results: Results, experiment: str, label: str, group: str) -> Array:
    """In seconds, of each pair of hosts of the group: from its first flow's start to its last one's end."""
    found: list[float] = []
    for point in (p for p in results.points.get(experiment, ()) if p.label == label):
        if not results.runs(experiment, label):
            break
        flows = results.store.flows(point)
        mine = flows["group_names"][flows["group"]] == group
        pairs = flows["src"][mine].astype(np.int64) << 16 | flows["dst"][mine]
        posted, placed = flows["posted_ps"][mine], flows["placed_ps"][mine]
        found += [(placed[pairs == p].max() - posted[pairs == p].min()) / 1e12 for p in np.unique(pairs)]
    return np.array(found)


def reduction(results: Results, name: str, of: str, over: str, metric: str) -> float | None:
    a, b = Flows(results, name, of).mean(metric), Flows(results, name, over).mean(metric)
    return None if a is None or b is None else 100 * (1 - a / b)


def reductions_by_size(results: Results, name: str, of: str = "rc3", over: str = "iwarp") -> dict[int, float]:
    """Per cent, by packets; of sizes that both have."""
    a, b = Flows(results, name, of), Flows(results, name, over)
    pairs = {n: (a.of(n), b.of(n)) for n in SIZES}
    return {n: 100 * (1 - x / y) for n, (x, y) in pairs.items() if x is not None and y is not None}
