"""Tables of a run's events, made of its traces when a page first asks for them and kept for the next time: run.sqlite itself does not grow."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from rocelab import traces
from rocelab.files import explained
from rocelab.scratch import scratch_folder

_MOST_BYTES = 2 << 30  # of all that is kept; those that were asked for longest ago go
_ADVICE = "a run's events are unpacked there; free some space or set TMPDIR to another folder"
_HOLDS = 4  # files that stay whatever their size: someone may be looking at them


class RunEvents:
    """Files in a folder of this process, which goes with it. Several threads may ask."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._stack = ExitStack()
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}

    def file(self, result: Path, run: int) -> Path:
        """Of this run of a run.sqlite. RocelabError: its traces cannot be read, or there is no room for them."""
        stamp = result.stat()
        text = f"{result.resolve()} {stamp.st_mtime_ns} {stamp.st_size} {run}"
        name = hashlib.sha256(text.encode()).hexdigest()[:32] + ".sqlite"
        with self._lock:
            folder = self._made()
            making = self._making.setdefault(name, threading.Lock())
        found = folder / name
        with making:
            if found.exists():
                os.utime(found)
                return found
            part = found.with_suffix(".part")
            try:
                part.unlink(missing_ok=True)
                traces.write_tables(result, [run], part)
                part.rename(found)
            except OSError as e:
                raise explained(e, folder, _ADVICE) from e
            finally:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
        self._trim(folder, found)
        return found

    def close(self) -> None:
        with self._lock:
            self._stack.close()
            self._folder = None

    def _made(self) -> Path:
        """Locked by this process, so that `./rocelab clean` removes it after it was killed."""
        if self._folder is None:
            try:
                self._folder = self._stack.enter_context(scratch_folder())
            except OSError as e:
                raise explained(e, Path(tempfile.gettempdir()), _ADVICE) from e
        return self._folder

    def _trim(self, folder: Path, mine: Path) -> None:
        files = sorted(folder.glob("*.sqlite"), key=lambda file: file.stat().st_mtime, reverse=True)
        kept = 0
        for place, file in enumerate(files):
            kept += file.stat().st_size
            if kept > _MOST_BYTES and place >= _HOLDS and file != mine:
                file.unlink(missing_ok=True)  # who has it open goes on with it
