"""Results of the points, by experiment and label; means over seeds. What is not there is None, never a guess."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rocelab.model import Array
from rocelab.sweep.points import Point
from rocelab.sweep.store import PointStore

CCS = ("none", "timely", "dcqcn")
METRICS = ("avg_slowdown", "avg_fct_s", "p99_fct_s")
DIAGNOSTICS = (
    "data_drops",
    "delivered_data_packets",
    "retransmitted_packets",
    "timeout_retransmissions",
    "spurious_retransmissions",
    "pfc_pause_frames",
    "pfc_paused_s",
    "ecn_marks",
)


def with_cc(transport: str, cc: str) -> str:
    """The label of a transport behind a congestion control."""
    return transport if cc == "none" else f"{transport}+{cc}"


class Measured:
    def __init__(self, points: Mapping[str, Sequence[Point]], store: PointStore) -> None:
        self.points = points
        self.store = store
        self._runs = {p.key: store.run(p) for ps in points.values() for p in ps if p in store}

    def runs(self, experiment: str, label: str) -> list[dict[str, Any]] | None:
        """One per seed; None unless all are there."""
        mine = [p for p in self.points.get(experiment, ()) if p.label == label]
        found = [self._runs[p.key] for p in mine if p.key in self._runs]
        return found if found and len(found) == len(mine) else None

    def mean(self, experiment: str, label: str, metric: str, group: str | None = None) -> float | None:
        """`group`: of that workload's flows only."""
        runs = self.runs(experiment, label)
        if runs is None:
            return None
        values = [run[metric] if group is None else _group(run, group)[metric] for run in runs]
        mean = sum(values) / len(values)
        return mean if math.isfinite(mean) else None

    def ratio(
        self, experiment: str, of: str, over: str, metric: str, group: str | None = None
    ) -> float | None:
        a = self.mean(experiment, of, metric, group)
        b = self.mean(experiment, over, metric, group)
        return a / b if a is not None and b else None

    def ratios(
        self, experiment: str, pairs: Iterable[tuple[str, str]], metrics: Iterable[str] = METRICS
    ) -> dict[str, float | None]:
        """By "of / over, metric"."""
        names = tuple(metrics)
        return {
            f"{of} / {over}, {metric}": self.ratio(experiment, of, over, metric)
            for of, over in pairs
            for metric in names
        }

    def fct(
        self, experiment: str, label: str, least_packets: int = 1, most_packets: int | None = None
    ) -> Array | None:
        """Completion times, in seconds, sorted, of the measured flows of that many packets."""
        mine = [p for p in self.points.get(experiment, ()) if p.label == label]
        if self.runs(experiment, label) is None:
            return None
        parts = []
        for point in mine:
            flows = self.store.flows(point)
            chosen = flows["measured"] & (flows["packets"] >= least_packets)
            if most_packets is not None:
                chosen &= flows["packets"] <= most_packets
            parts.append((flows["placed_ps"] - flows["posted_ps"])[chosen] / 1e12)
        return np.sort(np.concatenate(parts))

    def diagnostics(self, experiment: str) -> list[dict[str, Any]]:
        """What happened in the runs, for whoever asks why a number is what it is."""
        rows = []
        for label in dict.fromkeys(p.label for p in self.points.get(experiment, ())):
            runs = self.runs(experiment, label)
            if runs is not None:
                row = {name: sum(run[name] for run in runs) / len(runs) for name in (*METRICS, *DIAGNOSTICS)}
                rows.append({"label": label, "seeds": len(runs), "flows": runs[0]["flows"], **row})
        return rows


def _group(run: dict[str, Any], name: str) -> dict[str, Any]:
    return next(g for g in run["groups"] if g["name"] == name)
