"""Parameters of RoCC for any link, by the rules of the RoCC journal paper, section V.B, and where that is silent by what the paper's own sets have in common (DEVIATIONS.md, rocc)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocelab.errors import UsageError
from rocelab.rocc.stability import Loop, tuned_margin

FLOWS = np.arange(2, 129, dtype=float)  # V.B: N in [2, 128]
RATIO = 5.0  # beta : alpha of both sets of the evaluation
_MAX_OVER_MID = 60_000.0  # Q_max - Q_mid of every set of the paper, whatever the link, bytes
_PAPERS_F_MIN = 100e6  # bit/s


@dataclass(frozen=True)
class Parameters:
    """Of the congestion points of one link; bit/s, bytes, seconds."""

    rate: float
    rtt: float
    loop: Loop
    q_ref: float
    q_mid: float
    q_max: float
    f_min: float

    def toml(self) -> str:
        """As a scenario has them."""
        return "\n".join(  # with all digits: thresholds must stay apart
            (
                "[congestion_control.rocc]",
                f'period = "{self.loop.period * 1e6:.12g}us"',
                f'q_ref = "{self.q_ref / 1e3:.12g}KB"',
                f'q_mid = "{self.q_mid / 1e3:.12g}KB"',
                f'q_max = "{self.q_max / 1e3:.12g}KB"',
                f'f_min = "{self.f_min / 1e6:.12g}Mb/s"',
                f'delta_f = "{self.loop.delta_f / 1e6:.12g}Mb/s"',
                f'delta_q = "{self.loop.delta_q:.12g}B"',
                f"alpha = {self.loop.alpha:.4g}",
                f"beta = {self.loop.beta:.4g}",
            )
        )


def period_for(rtt: float) -> float:
    """T is 1 to 2 times the RTT (V.B), so that a change takes effect before the next one. The upper end: the paper's 40 us for the 20 us of a round with its reaction delay."""
    return 2 * rtt


def gain_for(loop: Loop, ratio: float = RATIO) -> float:
    """The alpha at which auto-tuning's least phase margin over N = 2 .. 128 is largest. The margin depends on alpha kappa T alone, is 0 at both ends and has one maximum between."""
    per_gain = loop.delta_f / 8 / loop.delta_q * loop.period
    low, high = np.log(1e-4 / per_gain), np.log(10 / per_gain)
    for _ in range(60):  # golden-section search
        a, b = high - (high - low) * 0.618034, low + (high - low) * 0.618034
        if _least(loop, float(np.exp(a)), ratio) < _least(loop, float(np.exp(b)), ratio):
            low = a
        else:
            high = b
    return float(f"{np.exp((low + high) / 2):.2g}")


def _least(loop: Loop, alpha: float, ratio: float) -> float:
    trial = Loop(alpha, ratio * alpha, loop.period, loop.delta_f, loop.delta_q, loop.delay)
    return float(tuned_margin(trial, FLOWS).min())


def derive(rate: float, rtt: float, loop: Loop) -> Parameters:
    """The thresholds that go with a link and a loop. Raises UsageError where T is below the RTT."""
    if loop.period < rtt:
        raise UsageError(
            f"T = {loop.period * 1e6:g} us is less than the RTT of {rtt * 1e6:g} us: F would change again before"
            f" its last change has taken effect; give --period of {rtt * 1e6:g} us or more"
        )
    if loop.delta_f > rate:
        raise UsageError(
            f"--delta-f of {loop.delta_f / 1e6:g} Mb/s is more than the link's {rate / 1e6:g} Mb/s"
        )
    in_flight = loop.period * rate / 8  # T C
    q_ref = _whole(in_flight / 2, loop.delta_q)
    q_mid = 2 * q_ref
    q_max = q_mid + _whole(_MAX_OVER_MID, loop.delta_q)
    share = rate / float(FLOWS[-1])
    f_min = max(loop.delta_f, min(_PAPERS_F_MIN, share // loop.delta_f * loop.delta_f))
    return Parameters(rate, rtt, loop, q_ref, q_mid, q_max, f_min)


def _whole(size: float, unit: float) -> float:
    return max(1.0, float(round(size / unit))) * unit
