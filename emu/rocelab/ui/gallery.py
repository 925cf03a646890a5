"""The scenarios of a folder: what they say of themselves, their topologies, and their text for the editor."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

from rocelab.errors import RocelabError
from rocelab.files import explained, write_whole
from rocelab.ui import places, reader

MOST_TEXT = 256 * 1024  # bytes of a scenario
_EXTENDS = re.compile(r'^\s*extends\s*=\s*"([^"\n]+)"', re.M)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,80}\.toml")


class Conflict(RocelabError):
    """The file has changed since its text was read."""


class Gallery:
    """`cache`: a file (None: none) that remembers what was read, so that the next start shows all of it at once."""

    def __init__(self, scenarios: Path, cache: Path | None) -> None:
        self._scenarios = scenarios
        self._cache = cache
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._known: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(OSError, ValueError):
            if cache is not None:
                self._known = json.loads(cache.read_text())

    def entries(self) -> list[dict[str, Any]]:
        """What is known of each scenario; the rest has `pending`, and is read meanwhile."""
        names = self._names()
        stamps = {name: _stamp(self._scenarios / name) for name in names}
        with self._lock:
            known = {n: self._known.get(n, {}) for n in names}
            stale = [n for n in names if known[n].get("stamp") != stamps[n] or "drawn" not in known[n]]
            if stale and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._read, args=(stale, stamps), daemon=True)
                self._thread.start()
        found = []
        for name in names:
            entry: dict[str, Any] = {
                k: v for k, v in known[name].items() if k not in ("drawn", "stamp", "file")
            }
            pending: dict[str, Any] = {"pending": True} if name in stale else {}
            found.append({"path": name, "about": _about(self._scenarios / name), **entry, **pending})
        return found

    def sketch(self, name: str) -> dict[str, Any]:
        """The topology as reader.draw() gives it; nothing while it is not known."""
        places.file(self._scenarios, name, ".toml")
        with self._lock:
            drawn: dict[str, Any] = self._known.get(name, {}).get("drawn", {})
        return drawn

    def text(self, name: str) -> dict[str, Any]:
        file = places.file(self._scenarios, name, ".toml")
        if file.stat().st_size > MOST_TEXT:
            raise RocelabError(f"{name} is longer than {MOST_TEXT // 1024} KiB")
        content = file.read_bytes()
        return {"path": name, "text": content.decode(errors="replace"), "digest": _digest(content)}

    def check(self, name: str, text: str) -> dict[str, Any]:
        """What the reader says to this text in the file's place, where its other files are."""
        _limit(text)
        folder = places.inside(self._scenarios, name).parent
        if not folder.is_dir():
            raise places.NoSuchPlace(name)
        try:
            handle, path = tempfile.mkstemp(prefix=".rocelab-ui-", suffix=".toml", dir=folder)
        except OSError as e:
            raise explained(e, folder, "a text is read beside the files that it names") from None
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            found = next(reader.read([Path(path)]))
        finally:
            os.unlink(path)
        return json.loads(json.dumps(found).replace(Path(path).stem, Path(name).stem))  # type: ignore[no-any-return]

    def save(self, name: str, text: str, digest: str | None) -> dict[str, Any]:
        """`digest`: of the text that was edited; None: the file is new. Raises Conflict."""
        _limit(text)
        if not _NAME.fullmatch(name.rpartition("/")[2]):
            raise RocelabError("a scenario's name is made of letters, digits and . _ + - and ends with .toml")
        file = places.inside(self._scenarios, name)
        if not file.parent.is_dir():
            raise RocelabError(f"{name}: there is no such folder")
        if digest is None and file.exists():
            raise Conflict(f"{name} is there already: choose another name")
        if digest is not None and (not file.is_file() or _digest(file.read_bytes()) != digest):
            raise Conflict(f"{name} has changed since it was opened: copy your text, and open it again")
        write_whole(file, text.encode())
        return {"path": name, "digest": _digest(text.encode())}

    def _names(self) -> list[str]:
        found = []
        for file in sorted(self._scenarios.rglob("*.toml")):
            name = file.relative_to(self._scenarios).as_posix()
            try:
                places.file(self._scenarios, name, ".toml")
            except places.NoSuchPlace:
                continue
            if not any(part.startswith(".") or "\n" in part for part in name.split("/")):
                found.append(name)
        return sorted(found, key=lambda name: ("/" in name, name))

    def _read(self, names: list[str], stamps: dict[str, str]) -> None:
        files = [self._scenarios / name for name in names]
        for name, said in zip(names, reader.read(files)):
            with self._lock:
                self._known[name] = {"drawn": {}, **said, "stamp": stamps[name]}
        self._keep()

    def _keep(self) -> None:
        """For the next start."""
        if self._cache is None:
            return
        with self._lock:
            content = json.dumps(self._known).encode()
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._cache, content)


def _limit(text: str) -> None:
    if len(text.encode()) > MOST_TEXT:
        raise RocelabError(f"a scenario is at most {MOST_TEXT // 1024} KiB long")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _stamp(file: Path) -> str:
    """Changes when the file does, or those that it extends."""
    stamps: list[str] = []
    seen: set[Path] = set()
    while file not in seen and len(seen) < 8:
        seen.add(file)
        try:
            status = file.stat()
            stamps.append(f"{status.st_mtime_ns}-{status.st_size}")
            base = _EXTENDS.search(file.read_text(errors="replace")[:MOST_TEXT])
        except OSError:
            break
        if base is None:
            break
        file = file.parent / base[1]
    return " ".join(stamps)


def _about(file: Path, most: int = 600) -> str:
    """The comment that the file begins with."""
    lines = []
    try:
        with file.open(errors="replace") as text:
            for line in text:
                if not line.startswith("#"):
                    break
                lines.append(line.lstrip("#").strip())
    except OSError:
        return ""
    return "\n".join(lines)[:most]
