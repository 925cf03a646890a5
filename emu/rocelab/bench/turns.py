"""Two things measured in turns: on a machine that others use, only the ratio of neighbours in time says something."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any


def in_turns(
    ours: Callable[[], float],
    other: Callable[[], float],
    unit: str,
    name: str,
    rounds: int,
) -> dict[str, Any]:
    """Medians, and the median of the ratios of neighbours in time."""
    pairs = [(ours(), other()) for _ in range(rounds)]
    return {
        f"rocelab_{unit}": round(statistics.median(a for a, _ in pairs), 3),
        f"{name}_{unit}": round(statistics.median(b for _, b in pairs), 3),
        f"over_{name}": round(statistics.median(a / b for a, b in pairs), 3),
        "rounds": [[round(a, 3), round(b, 3)] for a, b in pairs],
    }
