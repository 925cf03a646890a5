"""Folders for the event files of runs in virtual time: gone when the run ends, and after it was killed by `clean`; and what else `clean` tells by its lock."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "rocelab.des."
_BEING_MADE_S = 60.0  # a folder is not locked yet when it is made


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Locked while it is used: a process ID would say nothing where containers share the folder around it."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        lock = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield Path(name)
        finally:
            os.close(lock)


def remove_left(around: Path) -> None:
    """Folders of runs that were killed."""
    _remove_unused(around.glob(f"{_PREFIX}*"), _BEING_MADE_S)


def remove_left_of_interfaces(shm: Path) -> int:
    """Shared memory and folders of device files that killed programs on interfaces left; they hold both locked while they live. How many."""
    found = [path for kind in ("interface", "sysfs") for path in shm.glob(f"rocelab-{kind}-*")]
    return _remove_unused(found, 10.0)


def _remove_unused(paths: Iterable[Path], being_made_s: float) -> int:
    """The caller's, no links, and only those that nobody uses. They are not locked yet when they are made."""
    removed = 0
    for path in paths:
        try:
            lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:  # gone, a link, another user's
            continue
        try:
            found = os.fstat(lock)
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < being_made_s:
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            removed += 1
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
    return removed
