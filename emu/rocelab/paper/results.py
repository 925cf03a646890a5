"""Results of a paper's points, by experiment and label; means over seeds. What is not there is None, never a guess."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rocelab.model import Array
from rocelab.paper.claims import Values
from rocelab.sweep.points import Point


@dataclass(frozen=True)
class FoundRun:
    """What a measure found in one run (rocelab.sweep.work.Found)."""

    label: str
    seed: int
    values: Values
    notes: Mapping[str, Mapping[str, float]]


class Store(Protocol):
    """What Results asks of a PointStore."""

    def __contains__(self, point: Point) -> bool:
        ...

    def run(self, point: Point) -> dict[str, Any]:
        ...

    def flows(self, point: Point) -> dict[str, Array]:
        ...

    def arrays(self, point: Point) -> dict[str, Array]:
        ...


class Results:
    """`whole` False: of an experiment these may be some of its points."""

    def __init__(self, points: Mapping[str, Sequence[Point]], store: Store, whole: bool = True) -> None:
        self.points = points
        self.store = store
        self.whole = whole
        self._runs = {p.key: store.run(p) for ps in points.values() for p in ps if p in store}

    @property
    def seeds(self) -> list[int]:
        return sorted({p.seed for ps in self.points.values() for p in ps})

    def only(self, seed: int) -> Results:
        """As if there were this seed alone: without the experiments that have it not."""
        chosen = {name: [p for p in ps if p.seed == seed] for name, ps in self.points.items()}
        part = Results({}, self.store, self.whole)
        part.points = {name: ps for name, ps in chosen.items() if ps}
        part._runs = self._runs
        return part

    def complete(self, experiment: str) -> bool:
        """Whether it belongs to what was asked for, and all its runs are there."""
        points = self.points.get(experiment)
        return self.whole and bool(points) and all(p.key in self._runs for p in points or ())

    def labels(self, experiment: str) -> list[str]:
        return list(dict.fromkeys(p.label for p in self.points.get(experiment, ())))

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
        self, experiment: str, pairs: Iterable[tuple[str, str]], metrics: Iterable[str]
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

    def found(self, experiment: str) -> list[FoundRun]:
        """What the experiment's measure found in each run that is there."""
        runs = []
        for point in self.points.get(experiment, ()):
            if found := self._runs.get(point.key, {}).get("found"):  # recorded runs have none
                values = {(case, quantity): value for case, quantity, value in found["values"]}
                runs.append(FoundRun(point.label, point.seed, values, found["notes"]))
        return runs

    def values(self, experiment: str) -> Values:
        """Means over the seeds that have a value; None where for one of them it never came about."""
        seen: dict[tuple[str, str], list[float | None]] = {}
        for run in self.found(experiment):
            for key, value in run.values.items():
                seen.setdefault(key, []).append(value)
        return {key: mean_of(values) for key, values in seen.items()}

    def notes(self, experiment: str) -> dict[str, dict[str, float]]:
        """Means over seeds of what explains the numbers of a run, by its name."""
        seen: dict[str, dict[str, list[float]]] = {}
        for run in self.found(experiment):
            for name, notes in run.notes.items():
                for what, value in notes.items():
                    seen.setdefault(name, {}).setdefault(what, []).append(value)
        return {name: {what: sum(v) / len(v) for what, v in notes.items()} for name, notes in seen.items()}

    def arrays(self, experiment: str) -> dict[str, Mapping[str, Array]]:
        """By label, what the measure kept of the first seed for figures."""
        kept: dict[str, Mapping[str, Array]] = {}
        for point in self.points.get(experiment, ()):
            if point.label not in kept and point.key in self._runs:
                kept[point.label] = self.store.arrays(point)
        return kept


def mean_of(values: Sequence[float | None]) -> float | None:
    """None: one of them never came about."""
    there = [v for v in values if v is not None]
    return float(np.mean(there)) if there and len(there) == len(values) else None


def _group(run: dict[str, Any], name: str) -> dict[str, Any]:
    return next(g for g in run["groups"] if g["name"] == name)
