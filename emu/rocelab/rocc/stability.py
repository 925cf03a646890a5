"""The open loop of RoCC's congestion point over the number of flows. The formulas are those with which scenarios are checked: emu/runner/rocc_loop.h (RoCC journal, section V)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rocelab import native
from rocelab.model import Array

REGIONS = (1, 2, 4, 8, 16, 32)  # algorithm 1, AUTO_TUNE: the gains are divided by these


@dataclass(frozen=True)
class Loop:
    """Gains in Delta^F per Delta^Q; times in seconds; Delta^F in bit/s, Delta^Q in bytes."""

    alpha: float = 0.3
    beta: float = 1.5
    period: float = 40e-6
    delta_f: float = 10e6
    delta_q: float = 600.0
    delay: float | None = None  # None: the period

    @property
    def dead_time(self) -> float:
        return self.period if self.delay is None else self.delay

    @functools.cached_property
    def _native(self) -> Any:
        kappa = self.delta_f / 8 / self.delta_q
        return native.runner.RoccLoop(self.alpha, self.beta, self.period, self.dead_time, kappa)

    def divided(self, ratio: float) -> Loop:
        return replace(self, alpha=self.alpha / ratio, beta=self.beta / ratio)

    def phase_margin(self, flows: Array | float) -> Array:
        """Degrees; at 0 and below the loop is unstable."""
        return np.asarray(self._native.phase_margin(flows))

    def bandwidth(self, flows: Array | float) -> Array:
        """Hz at which the loop's gain is 1: the higher, the faster it answers (figure 7b)."""
        return np.asarray(self._native.crossover(flows)) / (2 * np.pi)

    def response(self, hertz: Array, flows: float) -> Array:
        """G of equation 6 at these frequencies, complex: its gain is 1 at bandwidth(), where its phase is phase_margin() above -180 degrees."""
        s = 2j * np.pi * hertz
        kappa = self.delta_f / 8 / self.delta_q
        z = self.alpha / ((self.beta + self.alpha / 2) * self.period)
        gain = kappa * flows * self.alpha / self.period
        return np.asarray(gain * (1 + s / z) / s**2 * np.exp(-s * self.dead_time))


def region(flows: float) -> int:
    """The divisor that AUTO_TUNE chooses where the fair rate is F_max / flows."""
    return int(native.runner.rocc_region(flows))


def tuned_margin(loop: Loop, flows: Array) -> Array:
    """Phase margin with the gains that each number of flows gets."""
    return _tuned(flows, {r: loop.divided(r).phase_margin(flows) for r in REGIONS})


def tuned_bandwidth(loop: Loop, flows: Array) -> Array:
    return _tuned(flows, {r: loop.divided(r).bandwidth(flows) for r in REGIONS})


def _tuned(flows: Array, by_region: dict[int, Array]) -> Array:
    return np.array([by_region[region(float(n))][i] for i, n in enumerate(flows)])
