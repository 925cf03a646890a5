"""The open loop of RoCC's congestion point and its phase margin. Source: seed 001, section V, equations 2 to 6.

    G(s) = K (1 + s / z1) / s^2 e^(-s D),   z1 = alpha / ((beta + alpha / 2) T),   K = kappa N alpha / T

kappa = Delta^F / Delta^Q, in (bytes per second) per byte; D is the loop's delay, which the paper takes as T. Multiplicative decreases are left out, as there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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

    def gain(self, flows: Array | float) -> Array | float:
        """K, in 1 / s^2."""
        return self.delta_f / 8 / self.delta_q * flows * self.alpha / self.period

    @property
    def zero(self) -> float:
        """z1, in rad/s."""
        return self.alpha / ((self.beta + self.alpha / 2) * self.period)

    @property
    def dead_time(self) -> float:
        return self.period if self.delay is None else self.delay

    def divided(self, ratio: float) -> Loop:
        return replace(self, alpha=self.alpha / ratio, beta=self.beta / ratio)

    def crossover(self, flows: Array | float) -> Array:
        """Frequencies in rad/s at which |G| = 1: w^4 = K^2 (1 + w^2 / z1^2), a quadratic in w^2."""
        k2 = np.asarray(self.gain(flows), dtype=float) ** 2
        b = k2 / self.zero**2
        return np.asarray(np.sqrt((b + np.sqrt(b * b + 4 * k2)) / 2))

    def phase_margin(self, flows: Array | float) -> Array:
        """Degrees; 180 + the phase of G where |G| = 1."""
        w = self.crossover(flows)
        return np.asarray(np.degrees(np.arctan(w / self.zero) - w * self.dead_time))

    def bandwidth(self, flows: Array | float) -> Array:
        """Hz at which |G| = 1: the higher, the faster the loop answers (figure 7b)."""
        return self.crossover(flows) / (2 * np.pi)

    def at(self, s: Array) -> Array:
        """G(s) for one flow."""
        return np.asarray(self.gain(1.0) * (1 + s / self.zero) / s**2 * np.exp(-s * self.dead_time))


def region(flows: float) -> int:
    """The divisor that AUTO_TUNE chooses where the fair rate is F_max / flows."""
    level = 2
    while level < 64 and 1 / flows < 1 / level:
        level *= 2
    return level // 2


def tuned_margin(loop: Loop, flows: Array) -> Array:
    """Phase margin with the gains that each number of flows gets."""
    return np.array([float(loop.divided(region(float(n))).phase_margin(float(n))) for n in flows])


def tuned_bandwidth(loop: Loop, flows: Array) -> Array:
    return np.array([float(loop.divided(region(float(n))).bandwidth(float(n))) for n in flows])
