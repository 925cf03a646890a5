"""Folders for the event files of runs in virtual time: gone when the run ends, and after it was killed by `clean`."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
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
    """The caller's, no links, and only those that nobody uses."""
    for path in around.glob(f"{_PREFIX}*"):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, no folder, another user's
            continue
        try:
            found = os.fstat(lock)
            if found.st_uid != os.geteuid() or time.time() - found.st_mtime < _BEING_MADE_S:
                continue
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
