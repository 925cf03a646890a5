"""Where a run stands, as every engine reports it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocelab.model import RunPlan


@dataclass(frozen=True)
class Progress:
    """`phase` is one of start, run, collect."""

    plan: RunPlan
    phase: str
    now_ps: int = 0
    flows_done: int = 0


Report = Callable[[Progress], None]
