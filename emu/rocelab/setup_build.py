"""The C++ builds: CMake presets with Ninja under build/. Configured once; then ninja decides what is to be done."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from rocelab import paths
from rocelab.meminfo import meminfo
from rocelab.setup_progress import Step, run_logged

_PYTHON = Path("/usr/bin/python3")  # the one whose packages we use


def build(preset: str, step: Step, targets: Sequence[str] = ()) -> None:
    """Brings the preset's targets (default: all) up to date."""
    folder = paths.BUILD / preset
    if not _configured(folder):
        _configure(preset, step)
    argv: list[str | Path] = ["ninja", "-C", folder, f"-j{jobs()}", *targets]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    run_logged(argv, step, paths.LOGS / f"build-{preset}.log", _ninja_line, env=environment)


def jobs() -> int:
    """Compilers at once: a core each, and about a gigabyte of memory each."""
    cores = len(os.sched_getaffinity(0))
    available = meminfo().get("MemAvailable")
    return max(1, min(cores, available // 1_000_000_000 if available is not None else cores))


def _configured(folder: Path) -> bool:
    """Whether ninja can take it from here: it configures again by itself when a CMake file has changed."""
    try:
        cache = (folder / "CMakeCache.txt").read_text(errors="replace")
    except OSError:
        return False
    return f"CMAKE_HOME_DIRECTORY:INTERNAL={paths.ROOT}\n" in cache and (folder / "build.ninja").exists()


def _configure(preset: str, step: Step) -> None:
    """--fresh: the folder may come from a configuration that was cut short, or from a work tree that was moved."""
    pythons = [f"-D{name}_EXECUTABLE={_PYTHON}" for name in ("Python", "Python3", "PYTHON")]
    step.update(note="configuring")
    argv = ["cmake", "--fresh", "--preset", preset, *pythons]
    run_logged(argv, step, paths.LOGS / f"configure-{preset}.log", cwd=paths.ROOT)


def _ninja_line(line: str) -> tuple[float | None, str] | None:
    found = re.match(r"\[(\d+)/(\d+)\] (.*)", line)
    if not found:
        return None
    return int(found[1]) / max(1, int(found[2])), found[3].split("/")[-1]
