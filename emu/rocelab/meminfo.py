"""The machine's memory. Standard library only: set-up and doctor ask on machines on which nothing is installed yet."""

from __future__ import annotations

import re
from pathlib import Path


def meminfo() -> dict[str, int]:
    """/proc/meminfo in bytes, by the kernel's names ("MemTotal", "MemAvailable")."""
    text = Path("/proc/meminfo").read_text()
    return {key: int(value) * 1024 for key, value in re.findall(r"^(\w+):\s+(\d+) kB", text, re.M)}
