"""sweep.json: what a sweep consists of, written before its first point runs, so that others can see how far it is. Locked while the sweep runs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocelab.files import write_whole
from rocelab.model import Scenario
from rocelab.sweep.points import Point

FILE = "sweep.json"


@contextmanager
def under_way(folder: Path, scenario: Scenario, points: Sequence[Point]) -> Iterator[None]:
    """Around a sweep whose results go to `folder`. Raises DiskFull."""
    file = folder / FILE
    write_whole(file, json.dumps(_index(scenario, points)).encode())
    lock = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(
            OSError
        ):  # a file system without locks: then it is not seen that the sweep runs
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def is_under_way(folder: Path) -> bool:
    """Whether a sweep runs whose results go there."""
    try:
        lock = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(lock)


def _index(scenario: Scenario, points: Sequence[Point]) -> dict[str, Any]:
    first = points[0] if points else None
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "file": first.scenario if first else scenario.file,
        "overrides": list(first.overrides if first else scenario.overrides),
        "points": [{"key": p.key, "label": p.label, "seed": p.seed} for p in points],
    }
