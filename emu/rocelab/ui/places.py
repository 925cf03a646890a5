"""Files that the pages may name: below one folder, whatever the name says and wherever symbolic links lead."""

from __future__ import annotations

from pathlib import Path, PurePosixPath


class NoSuchPlace(Exception):
    """The name leads nowhere, or out of its folder: which of them is not said."""


def inside(root: Path, name: str) -> Path:
    """The path below `root` that `name` (its parts joined by "/") means; it need not exist, but nothing on the way leads out of `root`."""
    pure = PurePosixPath(name)
    if not name or "\0" in name or pure.is_absolute() or ".." in pure.parts or name != str(pure):
        raise NoSuchPlace(name)
    try:
        found = (root / pure).resolve()
        real = root.resolve()
    except (OSError, RuntimeError):  # a loop of links
        raise NoSuchPlace(name) from None
    if found == real or not found.is_relative_to(real):
        raise NoSuchPlace(name)
    return found


def file(root: Path, name: str, suffix: str) -> Path:
    """The same, of a regular file that is there and whose name ends so."""
    found = inside(root, name)
    if found.suffix != suffix or not found.is_file():
        raise NoSuchPlace(name)
    return found
