"""Debian's stock kernel, unpacked (not installed) under build/: the newest that the system's package sources have."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rocelab import paths, unpacked
from rocelab.errors import RocelabError

_META_PACKAGE = "linux-image-amd64"
_KEEP = ("./boot/vmlinuz-*", "./lib/modules/*")


class NotOffered(RocelabError):
    """The system's package sources have no such kernel."""


@dataclass(frozen=True)
class Kernel:
    version: str  # as uname -r says it
    image: Path
    modules: Path  # lib/modules/VERSION, with its modules.dep


def ensure() -> Kernel:
    """Fetches the package once. NotOffered, or another RocelabError: it could not be fetched."""
    folder = paths.BUILD / "kernel"
    for found in sorted(folder.glob("*/complete"), reverse=True):
        return _in(found.parent)
    scratch = folder / "unpacked"
    shutil.rmtree(scratch, ignore_errors=True)
    unpacked.fetch(_package(), scratch, _KEEP)
    version = next((scratch / "lib/modules").iterdir()).name
    unpacked.call(["busybox", "depmod", "-b", str(scratch), version], scratch)
    shutil.rmtree(folder / version, ignore_errors=True)
    scratch.rename(folder / version)
    (folder / version / "complete").touch()
    return _in(folder / version)


def _in(root: Path) -> Kernel:
    version = root.name
    return Kernel(version, root / "boot" / f"vmlinuz-{version}", root / "lib" / "modules" / version)


def _package() -> str:
    shown = subprocess.run(["apt-cache", "depends", _META_PACKAGE], capture_output=True, text=True)
    found = re.search(r"Depends: (linux-image-\S+)", shown.stdout)
    if found is None:
        raise NotOffered(f"this system's package sources have no {_META_PACKAGE}: Debian 12 has it")
    return found[1]
