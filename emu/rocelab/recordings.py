"""Schedules of runs that replays repeat (slack.of): each original is recorded once for all of its replays, by whichever process comes to it first."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocelab import native
from rocelab.files import explained
from rocelab.sweep.points import canonical, version

_STEPS = 1 << 16  # windows between looks for ^C


class Recordings:
    """In a folder, which is the caller's to remove."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, plan: Any) -> Any:
        """The schedule that a replay's plan (native) asks for; its original runs first, in virtual time and without traces, if it has not been recorded."""
        original = plan.original
        with self.turn(original) as absent:
            if absent:
                run = native.runner.DesRun(original, trace=False, record=True)
                while not run.advance(_STEPS):
                    pass
                self.save(run, original)
        return self._file(original)

    @contextmanager
    def turn(self, original: Any) -> Iterator[bool]:
        """True: it is not there, and nobody else records it meanwhile."""
        path = self._path(original)
        lock = os.open(path.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            absent = not path.exists()
            if not absent:
                fcntl.flock(lock, fcntl.LOCK_UN)
            yield absent
        finally:
            os.close(lock)

    def save(self, run: Any, original: Any) -> None:
        """Of a run that is over, in its turn."""
        path = self._path(original)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            run.save_schedule(native.runner.ScheduleFile(str(part), path.stem))
            part.replace(path)
        except OSError as e:
            raise explained(e, self.folder) from e
        finally:
            part.unlink(missing_ok=True)

    def remove(self) -> None:
        for kind in ("schedule", "lock"):
            for file in self.folder.glob(f"*.{kind}"):
                file.unlink(missing_ok=True)

    def _file(self, original: Any) -> Any:
        path = self._path(original)
        return native.runner.ScheduleFile(str(path.resolve()), path.stem)

    def _path(self, original: Any) -> Path:
        scalars = original.scalars
        text = "\n".join((canonical(original.settings), str(scalars["seed"]), version()))
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.schedule"
