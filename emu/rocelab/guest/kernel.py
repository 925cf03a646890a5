"""Debian's stock kernel, unpacked (not installed) under build/: the newest that the system's package sources have."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rocelab import paths
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
    package = _package()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        _call(["apt-get", "-o", "APT::Sandbox::User=root", "download", package], Path(scratch))
        archive = next(Path(scratch).glob("*.deb"), None)
        if archive is None:
            raise RocelabError(f"apt-get download {package} left no file")
        root = Path(scratch) / "root"
        root.mkdir()
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as source:
            subprocess.run(
                ["tar", "-x", "-C", str(root), "--wildcards", *_KEEP], stdin=source.stdout, check=True
            )
        version = next((root / "lib/modules").iterdir()).name
        _call(["busybox", "depmod", "-b", str(root), version], root)
        (root / "complete").touch()
        shutil.rmtree(folder / version, ignore_errors=True)
        root.rename(folder / version)
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


def _call(argv: list[str], where: Path) -> None:
    done = subprocess.run(argv, cwd=where, capture_output=True, text=True)
    if done.returncode != 0:
        raise RocelabError(f"{' '.join(argv[:3])}: {(done.stderr or done.stdout).strip()}")
