"""Where a run stands, as every engine reports it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rocelab.errors import RocelabError
from rocelab.model import RunPlan

_REPEAT_AFTER = 0.2  # seconds
WATCHED_EVERY = 1.0  # seconds between flushes of event files that somebody watches


@dataclass(frozen=True)
class Progress:
    """`phase` is one of start, run, collect."""

    plan: RunPlan
    phase: str
    now_ps: int = 0
    flows_done: int = 0
    traces: Path | None = None  # folder of the run's event files, which grow while it lasts
    flushed_ps: int = -1  # event files of switches have all records up to here; -1: unknown


Report = Callable[[Progress], None]


class ProgressLines:
    """Progress for other programs, in a file that each run of a scenario adds to: a line of JSON with `run` (its index), `runs`, `label`, `seed`,
    `phase`, `now_ps`, `limit_ps` and `flushed_ps`, whenever one of the first changes and a few times a second.
    """

    def __init__(self, path: Path, runs: int) -> None:
        """RocelabError: the file cannot be made."""
        self._runs = runs
        self._run = -1
        self._said: tuple[object, ...] = ()
        self._said_at = 0.0
        try:
            self._file = path.open("w")
        except OSError as e:
            raise RocelabError(f"--progress {path}: {e.strerror}") from None

    def report(self, progress: Progress) -> None:
        plan, now = progress.plan, time.monotonic()
        what = (plan.label, plan.seed, progress.phase)
        if what == self._said and now - self._said_at < _REPEAT_AFTER:
            return
        if what[:2] != self._said[:2]:
            self._run += 1
        self._said, self._said_at = what, now
        line = {"run": self._run, "runs": self._runs, "label": plan.label, "seed": plan.seed}
        line |= {"phase": progress.phase, "now_ps": progress.now_ps, "limit_ps": plan.limit_ps}
        line["flushed_ps"] = progress.flushed_ps
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


class Flushes:
    """When an engine flushes the event files of a run that somebody watches: once a second."""

    def __init__(self, watched: bool) -> None:
        self._due = 0.0 if watched else float("inf")

    def is_due(self) -> bool:
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + WATCHED_EVERY
        return True
