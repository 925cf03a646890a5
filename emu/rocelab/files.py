"""Files that are there entirely or not at all, whatever ends the process that writes them, and what a disk that takes no more means in words."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rocelab.errors import RocelabError

_LITTLE_BYTES = 1 << 16  # less is left of a disk on which something did not fit
_FULL = (errno.ENOSPC, errno.EDQUOT)
Content = bytes | Callable[[Path], Any]  # what is in the file, or who writes it there


class DiskFull(RocelabError):
    """Nothing more can be stored; what is stored stays."""


def write_whole(path: Path, content: Content) -> None:
    """The old content or the new, never a part of it. Raises DiskFull."""
    write_all({path: content})


def write_all(files: Mapping[Path, Content], advice: str = "") -> None:
    """The same of files that belong together: none takes its place before all are written. `advice` ends the error's line."""
    parts: dict[Path, Path] = {}
    where = Path()
    try:
        for path, content in files.items():
            where = path.parent
            where.mkdir(parents=True, exist_ok=True)
            parts[path] = _part(path)
            _write(parts[path], content)
        for path, part in parts.items():
            where = path.parent
            part.replace(path)
    except (OSError, sqlite3.OperationalError) as e:
        raise explained(e, where, advice) from e
    finally:
        _remove(parts.values())


def check_writable(folder: Path, advice: str = "") -> None:
    """Makes it; raises now what write_all() would raise after hours of work."""
    part = _part(folder / "check")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(part, bytes(1))
    except OSError as e:
        raise explained(e, folder, advice) from e
    finally:
        _remove([part])


def check_not_full(folder: Path, advice: str) -> None:
    """After others have written there, who may have had to leave something out: of that nothing else tells."""
    if shutil.disk_usage(folder).free < _LITTLE_BYTES:
        raise DiskFull(f"{folder}: the disk is full; {advice}")


def remove_parts(folder: Path) -> None:
    """Those whose writer was ended while it wrote."""
    for left in folder.glob("*.part"):
        if not Path("/proc", left.suffixes[-2][1:]).exists():
            left.unlink(missing_ok=True)


def explained(error: OSError | sqlite3.OperationalError, folder: Path, advice: str = "") -> RocelabError:
    tail = f"; {advice}" if advice else ""
    if is_full(error):
        return DiskFull(f"{folder}: the disk is full{tail}")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        reason = "a file is in its place"
    return RocelabError(f"{folder}: cannot be written: {reason}{tail}")


def is_full(error: OSError | sqlite3.OperationalError) -> bool:
    if isinstance(error, OSError):
        return error.errno in _FULL
    return error.sqlite_errorcode == sqlite3.SQLITE_FULL


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.part")


def _remove(parts: Iterable[Path]) -> None:
    for part in parts:
        with contextlib.suppress(OSError):  # the error that is under way says more
            part.unlink(missing_ok=True)


def _write(part: Path, content: Content) -> None:
    if callable(content):
        content(part)
    with part.open("ab" if callable(content) else "wb") as file:
        if not callable(content):
            file.write(content)
        file.flush()
        os.fsync(file.fileno())
