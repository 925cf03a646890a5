"""Instructions of a program by callgrind: repeatable, whatever else the machine does."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

needs_callgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="needs valgrind (./rocelab setup --tests)"
)


def needs(program: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not program.exists(), reason=f"{program} is not built")


def counted(command: Sequence[str | Path], function: str | None = None) -> tuple[int, str]:
    """Instructions, and what the program has printed. `function`: a pattern of callgrind's; only what runs inside it counts."""
    inside = [f"--toggle-collect={function}"] if function else []
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *inside, *command],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"refs: +([\d,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", "")), done.stdout
