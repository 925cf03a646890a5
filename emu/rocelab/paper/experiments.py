"""What of the IRN paper (Mittal, chapter 4) is run: a scenario of scenarios/irn for each table and figure, and how the fast variant shortens it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocelab import paths
from rocelab.paper import choice
from rocelab.sweep.points import Point, points_of

SCENARIOS = paths.ROOT / "scenarios" / "irn"
# 4 ms of flows after 1 ms, about 4,000 at 70 % load, in place of 100 ms after 20 ms: the network has less time to fill.
_SHORT = ("workload.poisson.duration=5ms", "engine.warmup=1ms")


@dataclass(frozen=True)
class Experiment:
    """`name` is that of its scenario; `fast` and `fast_seeds` are what the fast variant sets."""

    name: str
    fast: tuple[str, ...] = _SHORT
    fast_seeds: tuple[int, ...] = ()

    @property
    def file(self) -> Path:
        return SCENARIOS / f"{self.name}.toml"

    def points(self, full: bool) -> list[Point]:
        return points_of(self.file, () if full else self.fast, () if full else self.fast_seeds)[1]


_FIGURES = ("4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "4.8", "4.10", "4.11", "4.12")
EXPERIMENTS: Mapping[str, Experiment] = {
    e.name: e
    for e in (
        *(Experiment(f"table4.{n}") for n in range(2, 9)),
        *(Experiment(f"figure{n}") for n in _FIGURES),
        Experiment("window_based"),
        Experiment("reads"),
        Experiment("figure4.9", (), (1, 2)),
        Experiment("incast_variants", (), (1,)),
        # A tenth of the data, over as much less background.
        Experiment(
            "incast_cross_traffic",
            ("workload.incast.total=15MB", "workload.incast.start=1ms", "workload.poisson.duration=10ms"),
        ),
    )
}


def choose(only: str | None) -> list[Experiment]:
    """ "table4.2,figure4.9": those; None: all."""
    names = choice.choose(only, list(EXPERIMENTS), "table or figure", "table4.2,figure4.9")
    return [EXPERIMENTS[name] for name in names]


def all_points(experiments: Sequence[Experiment], full: bool) -> dict[str, list[Point]]:
    return {e.name: e.points(full) for e in experiments}
