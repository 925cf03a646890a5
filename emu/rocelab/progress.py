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


@dataclass(frozen=True)
class Progress:
    """`phase` is one of start, run, collect."""

    plan: RunPlan
    phase: str
    now_ps: int = 0
    flows_done: int = 0


Report = Callable[[Progress], None]


class ProgressLines:
    """Progress for other programs, in a file that each run of a scenario adds to: a line of JSON with `run` (its index), `runs`, `label`, `seed`,
    `phase`, `now_ps`, `limit_ps`, `flows` and `flows_done`, whenever one of the first changes and a few times a second.
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
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()
