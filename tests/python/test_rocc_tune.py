"""`./rocelab rocc tune`: the closed formulas against the transfer function itself, the tuner against its algorithm, and the paper's statements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from rocelab.errors import UsageError
from rocelab.rocc import tune
from rocelab.rocc.stability import REGIONS, Loop, region, tuned_bandwidth, tuned_margin


@pytest.mark.parametrize("loop", [Loop(), Loop(0.45, 2.25), Loop(0.0093, 0.0937), Loop(0.3, 3, delay=60e-6)])
@pytest.mark.parametrize("flows", [2, 10, 128])
def test_margins_are_those_of_the_transfer_function(loop: Loop, flows: int) -> None:
    """|G| falls over all frequencies, so that the first sample below 1 is the crossover."""
    w = np.geomspace(1, 1e7, 2_000_001)
    g = flows * loop.at(1j * w)
    at = int(np.argmax(np.abs(g) < 1))
    assert w[at] == pytest.approx(float(loop.crossover(flows)), rel=2e-5)
    phase = np.unwrap(np.angle(g[: at + 1])) - 2 * np.pi * round((np.angle(g[0]) + np.pi) / (2 * np.pi))
    assert 180 + np.degrees(phase[at]) == pytest.approx(float(loop.phase_margin(flows)), abs=0.05)


def test_a_step_response_agrees_with_the_sign_of_the_margin() -> None:
    """The difference equations of algorithm 1's PI law and of the queue, with the delay of one period, away from all bounds."""
    for flows in (2, 8, 11, 30):
        loop = Loop(0.3, 3.0)
        gain = loop.delta_f / 8 / loop.delta_q * loop.period * flows  # Delta^Q per period and Delta^F
        queue = before = 1.0
        rate = applied = 0.0
        peak = [0.0, 0.0]
        for period in range(400):
            rate -= loop.alpha * queue + loop.beta * (queue - before)
            before = queue
            queue += gain * applied
            applied = rate
            peak[period >= 200] = max(peak[period >= 200], abs(queue))
        stable = peak[1] < peak[0]
        margin = float(loop.phase_margin(flows))
        # The continuous model is an approximation: near 0 degrees it may be on the other side.
        assert stable == (margin > 0) or abs(margin) < 35, (flows, margin, peak)


def test_the_regions_are_those_of_algorithm_1() -> None:
    assert [region(n) for n in (1, 2, 2.01, 4, 4.01, 8, 16, 32, 33, 64, 128, 1000)] == [
        1, 1, 2, 2, 4, 4, 8, 16, 32, 32, 32, 32,
    ]  # fmt: skip
    assert set(map(region, range(1, 200))) == set(REGIONS)


def test_auto_tuning_keeps_margin_and_speed_where_fixed_gains_lose_one_or_the_other() -> None:
    flows = np.arange(2, 129, dtype=float)
    loop = Loop(0.3, 1.5)
    tuned = tuned_margin(loop, flows)
    assert tuned.min() > 35 and tuned.max() < 45
    assert loop.phase_margin(flows).min() < 0
    speed = tuned_bandwidth(loop, flows)
    assert speed.min() > 4 * loop.divided(32).bandwidth(2.0)


def test_what_the_paper_states_holds() -> None:
    found = tune.checks()
    assert len(found) == 7
    for check in found:
        assert check.holds, check


def test_the_command_writes_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune.run(Loop(), 128, tmp_path) == 0
    assert "stable" in capsys.readouterr().out
    written = json.loads((tmp_path / "tune.json").read_text())
    assert written["flows"] == list(range(2, 129))
    assert written["auto_tuned_phase_margin_deg"][0] == pytest.approx(42.0, abs=0.1)
    for wrong in (Loop(alpha=0), Loop(period=-1)):
        with pytest.raises(UsageError, match="must be more than 0"):
            tune.run(wrong, 128, None)
    with pytest.raises(UsageError, match="--flows"):
        tune.run(Loop(), 1, None)
