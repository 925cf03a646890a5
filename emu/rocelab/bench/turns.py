"""Things measured in turns: on a machine that others use, only the ratio of neighbours in time says something."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any


def in_turns(
    ours: Callable[[], float],
    others: Mapping[str, Callable[[], float]],
    unit: str,
    rounds: int,
) -> dict[str, Any]:
    """Medians, and for each of the others the median of the ratios of neighbours in time."""
    turns = [[ours(), *(other() for other in others.values())] for _ in range(rounds)]
    result: dict[str, Any] = {f"rocelab_{unit}": round(statistics.median(turn[0] for turn in turns), 3)}
    for column, name in enumerate(others, start=1):
        result[f"{name}_{unit}"] = round(statistics.median(turn[column] for turn in turns), 3)
        result[f"over_{name}"] = round(statistics.median(turn[0] / turn[column] for turn in turns), 3)
    return result | {"rounds": [[round(value, 3) for value in turn] for turn in turns]}
