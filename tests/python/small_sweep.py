"""A sweep that takes a moment: two labels, two seeds, twenty flows between four hosts."""

from __future__ import annotations

from pathlib import Path

TEXT = """
transport = ["irn", "roce+pfc"]
seeds = [1, 2]
[topology]
kind = "star"
hosts = 4
[timers]
rto_high = "320us"
[[workload]]
kind = "poisson"
load = 0.5
cdf = "sizes.cdf"
flows = 20
[engine]
limit = "50ms"
"""


def write(folder: Path, more: str = "") -> Path:
    """The scenario's file, beside the one of its sizes."""
    (folder / "sizes.cdf").write_text("1000 0\n60000 100\n")
    file = folder / "small.toml"
    file.write_text(TEXT + more)
    return file
