"""What needs root, said before anything is started."""

from __future__ import annotations

import os

from rocelab.errors import RocelabError


def is_root() -> bool:
    return os.geteuid() == 0


def require_root(what: str) -> None:
    """`what` completes "... makes network namespaces and veths"."""
    if not is_root():
        raise RocelabError(f"{what} makes network namespaces and needs root: run it with sudo")
