"""Debian packages that are unpacked under build/ instead of installed: a kernel, and servers whose installation would start them."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rocelab import paths
from rocelab.errors import RocelabError


def fetch(package: str, into: Path, keep: Sequence[str] = ()) -> None:
    """Fetches `package` and unpacks it into the folder `into`, which must not exist; of its files only those that a pattern of `keep`
    (tar's, from "./") names, or all. RocelabError: it could not be fetched; then there is no `into`."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as scratch:
        call(["apt-get", "-o", "APT::Sandbox::User=root", "download", package], Path(scratch))
        archive = next(Path(scratch).glob("*.deb"), None)
        if archive is None:
            raise RocelabError(f"apt-get download {package} left no file")
        root = Path(scratch) / "root"
        root.mkdir()
        chosen = ["--wildcards", *keep] if keep else []
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as source:
            tar = ["tar", "-x", "-C", str(root), *chosen]
            done = subprocess.run(tar, stdin=source.stdout, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0 or source.returncode != 0:
            raise RocelabError(
                f"{archive.name} cannot be unpacked: {done.stderr.strip() or 'dpkg-deb failed'}"
            )
        root.rename(into)


def ensure(package: str) -> Path:
    """The folder with the files of `package`, fetched once: "usr/sbin/..." is in it."""
    into = paths.BUILD / "packages" / package
    if not into.exists():
        fetch(package, into)
    return into


def call(argv: Sequence[str], where: Path) -> None:
    """Runs a command in `where`. RocelabError: it failed, with what it said."""
    done = subprocess.run(argv, cwd=where, capture_output=True, text=True)
    if done.returncode != 0:
        raise RocelabError(f"{' '.join(argv[:3])}: {(done.stderr or done.stdout).strip()}")
