"""An experiment of a paper, run for the first of its seeds."""

from __future__ import annotations

from pathlib import Path

from rocelab.paper.harness import Paper
from rocelab.paper.results import Results
from rocelab.sweep.store import PointStore
from rocelab.sweep.work import execute


def measured(paper: Paper, name: str, folder: Path, *labels: str, full: bool = True) -> Results:
    """Of these labels, or of all; at full length, or the fast variant."""
    experiment = next(e for e in paper.experiments if e.name == name)
    points = [p for p in experiment.points(full=full) if p.seed == 1 and (not labels or p.label in labels)]
    store = PointStore(folder)
    for point in points:
        store.put(point, execute(point))
    return Results({name: points}, store)
