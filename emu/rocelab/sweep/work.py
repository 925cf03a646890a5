"""One point: from its name to its result."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.model import Array, RunOutcome
from rocelab.progress import Report
from rocelab.recordings import Recordings
from rocelab.scenario import plan_of, read_scenario
from rocelab.summary import run_summary
from rocelab.sweep.points import Point


@dataclass(frozen=True)
class Found:
    """What a point's measure makes of its run: numbers by (case, quantity), of which None never came about; what explains them, by the name of a run; arrays for
    figures."""

    values: Mapping[tuple[str, str], float | None]
    notes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"values": [[*key, value] for key, value in self.values.items()], "notes": self.notes}


Measure = Callable[[RunOutcome], Found]
_KINDS, _COLUMNS = "kinds", "columns"  # attributes of a measure


def reads(*kinds: str, columns: Sequence[str] = ()) -> Callable[[Measure], Measure]:
    """A measure that needs these columns (none: all) of records of these kinds alone: nothing else is kept in memory."""

    def mark(measure: Measure) -> Measure:
        setattr(measure, _KINDS, kinds)
        setattr(measure, _COLUMNS, columns)
        return measure

    return mark


ARRAYS = "found/"  # before the names of a Found's arrays in the columns of a PointResult
_AT_LIMIT = "not finished after"


def check_complete(outcome: RunOutcome) -> None:
    """For a measure that makes nothing of a run that ended at its limit."""
    if outcome.error is not None:
        raise RocelabError(outcome.error)


@dataclass(frozen=True)
class PointResult:
    """`run` is the point's entry in summary.json's `runs`; `flows` has a column per key, a row per flow (docs/tutorial/sweeps.md)."""

    run: dict[str, Any]
    flows: dict[str, Array]


def execute(
    point: Point, report: Report = lambda _: None, recordings: Recordings | None = None
) -> PointResult:
    """In virtual time, with its trace_hash, on one thread, since other points have the other cores; events and samples are there for a measure alone. A run that does
    not complete is a RocelabError, but for a measure that takes one that ended at its limit."""
    scenario = read_scenario(Path(point.scenario), point.overrides)
    plan = plan_of(scenario, point.label, point.seed)
    measure = _measure(point.measure) if point.measure else None
    kinds, columns = getattr(measure, _KINDS, ()), getattr(measure, _COLUMNS, ())
    engine = DesEngine(
        report,
        events=measure is not None,
        threads=1,
        kinds=kinds,
        columns=columns,
        recordings=recordings,
    )
    outcome = engine.execute(plan)
    if measure is None or outcome.error is not None and _AT_LIMIT not in outcome.error:
        check_complete(outcome)
        return PointResult(run_summary(outcome), _flows(outcome))
    found = measure(outcome)
    arrays = {f"{ARRAYS}{name}": array for name, array in found.arrays.items()}
    if columns:  # what is left of the records tells no metric
        outcome = replace(outcome, events={})
    return PointResult(run_summary(outcome) | {"found": found.as_json()}, _flows(outcome) | arrays)


def _measure(name: str) -> Measure:
    module, _, function = name.partition(":")
    measure: Measure = getattr(importlib.import_module(module), function)
    return measure


def _flows(outcome: RunOutcome) -> dict[str, Array]:
    plans = outcome.plan.flows
    records = {r.id: r for r in outcome.flows}
    hosts = {h.name: i for i, h in enumerate(outcome.plan.hosts)}
    groups = sorted({f.group for f in plans})
    columns: dict[str, Array] = {
        "id": np.array([f.id for f in plans], dtype=np.uint32),
        "group": np.array([groups.index(f.group) for f in plans], dtype=np.uint16),
        "src": np.array([hosts[f.src] for f in plans], dtype=np.uint16),
        "dst": np.array([hosts[f.dst] for f in plans], dtype=np.uint16),
        "size": np.array([f.size for f in plans], dtype=np.int64),
        "packets": np.array([f.packets for f in plans], dtype=np.int64),
        "start_ps": np.array([f.start_ps for f in plans], dtype=np.int64),
        "alone_ps": np.array([f.alone_ps for f in plans], dtype=np.int64),
        "measured": np.array([outcome.plan.native.measures(f.start_ps) for f in plans], dtype=np.bool_),
        "group_names": np.array(groups),
        "host_names": np.array(list(hosts)),
    }
    for column in ("posted_ps", "placed_ps", "cqe_ps"):
        columns[column] = np.array(
            [-1 if (t := getattr(records[f.id], column)) is None else t for f in plans], dtype=np.int64
        )
    return columns
