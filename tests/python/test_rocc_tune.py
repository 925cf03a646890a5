"""`./rocelab rocc tune`: the loop against its difference equations, the tuner against its algorithm, derived parameters in a run, and the paper's statements.
(The closed formulas against the transfer function: rocc_loop_test.cc.)"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rocelab import paths
from rocelab.des.engine import DesEngine
from rocelab.errors import UsageError
from rocelab.paper import rocc_traces as traces
from rocelab.rocc import design, tune
from rocelab.rocc.stability import REGIONS, Loop, region, tuned_bandwidth, tuned_margin
from rocelab.scenario import plan_of, read_scenario


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


def test_the_papers_statements_hold() -> None:
    found = tune.checks()
    assert len(found) == 7
    for check in found:
        assert check.holds, check


def test_the_command_writes_what_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune.run(tune.Request(alpha=0.3, beta=1.5), tmp_path) == 0
    assert "stable" in capsys.readouterr().out
    written = json.loads((tmp_path / "tune.json").read_text())
    assert written["flows"] == list(range(2, 129))
    assert written["auto_tuned_phase_margin_deg"][0] == pytest.approx(42.0, abs=0.1)
    for name, shown in (
        ("tune.svg", ("auto-tuned", "0.3 : 1.5", "Phase margin", "flows N")),
        ("margins.svg", ("Phase margin of two flows", "alpha", "N = 10", "dB")),
    ):
        plot = ElementTree.parse(tmp_path / name).getroot()
        assert plot.tag == "{http://www.w3.org/2000/svg}svg"
        text = "".join(plot.itertext())
        for words in shown:
            assert words in text


def test_the_loop_over_frequency_has_the_margin_and_the_bandwidth() -> None:
    """Figure 6: where the gain is 1 the phase is the margin above -180 degrees, 50 and about -50 with gains of 0.3 : 3."""
    loop = Loop(0.3, 3.0)
    for flows in (2.0, 10.0):
        (there,) = loop.response(np.array([float(loop.bandwidth(flows))]), flows)
        above = (np.degrees(np.angle(there)) + 180) % 360
        assert abs(there) == pytest.approx(1)
        assert above == pytest.approx(float(loop.phase_margin(flows)) % 360)


def test_parameters_without_meaning_are_rejected() -> None:
    for wrong in (tune.Request(alpha=0), tune.Request(period=-1), tune.Request(rate=0)):
        with pytest.raises(UsageError, match="must be more than 0"):
            tune.run(wrong, Path())
    with pytest.raises(UsageError, match="--flows"):
        tune.run(tune.Request(flows=1), Path())
    with pytest.raises(UsageError, match="--delta-f of 100000 Mb/s is more than the link's 40000 Mb/s"):
        tune.run(tune.Request(delta_f=100e9), Path())
    with pytest.raises(UsageError, match="T = 15 us is less than the RTT of 20 us"):
        tune.run(tune.Request(period=15e-6), Path())
    request = dict(
        rtt="20us", period=None, delay=None, alpha=None, beta=None, delta_f="10Mb/s", delta_q="600B"
    )
    with pytest.raises(UsageError, match="--rate: .*no unit"):
        tune.from_text(rate="40", flows=128, out=Path(), **request)  # type: ignore[arg-type]


def derived(rate: float, rtt: float = 20e-6) -> design.Parameters:
    request = tune.Request(rate=rate, rtt=rtt)
    return design.derive(rate, rtt, request.loop())


def test_derived_parameters_follow_the_papers_rules() -> None:
    """V.B: T of 1 to 2 RTTs, Q_ref half of T C; and gains near those that the paper chose for its 40 Gb/s."""
    for rate, rtt in ((10e9, 20e-6), (25e9, 20e-6), (40e9, 20e-6), (200e9, 8e-6), (400e9, 30e-6)):
        found = derived(rate, rtt)
        assert rtt <= found.loop.period <= 2 * rtt
        assert found.q_ref == pytest.approx(found.loop.period * rate / 16, abs=300)
        assert found.q_max > found.q_mid > found.q_ref > 0
        assert 128 * found.f_min <= max(rate, 128 * found.loop.delta_f)
        assert tuned_margin(found.loop, design.FLOWS).min() > 36
    paper = derived(40e9).loop
    assert paper.alpha == pytest.approx(0.3, rel=0.15) and paper.beta == pytest.approx(1.5, rel=0.15)
    assert tuned_margin(paper, design.FLOWS).min() >= tuned_margin(Loop(0.3, 1.5), design.FLOWS).min()


@pytest.mark.parametrize(
    ("rate", "rtt", "delta_f"),
    [(40e9, 20e-6, 200e6), (400e9, 20e-3, 10e6), (1e9, 15e-6, 1e6), (40e9, 20e-6, 3e6)],
)
def test_the_printed_set_is_accepted_by_scenarios(
    tmp_path: Path, rate: float, rtt: float, delta_f: float
) -> None:
    """A coarse Delta^F, which F_min must not be below, and thresholds of so many digits that few of them would make Q_mid and Q_max the same."""
    found = design.derive(rate, rtt, tune.Request(rate=rate, rtt=rtt, delta_f=delta_f).loop())
    assert found.f_min >= found.loop.delta_f
    scenario = tmp_path / "tuned.toml"
    scenario.write_text(
        f'extends = "{paths.ROOT}/scenarios/rocc/base.toml"\n'
        f'[topology]\nrate = "{rate / 1e9:g}Gb/s"\n[switch]\nlossless_buffer = "100MB"\n' + found.toml()
    )
    read = read_scenario(scenario, ())
    parameters = {p.key: p.value for p in plan_of(read, read.labels[0], 1).parameters}
    for key, size in (("q_mid", found.q_mid), ("q_max", found.q_max)):
        assert parameters[f"congestion_control.rocc.{key}"] == f'"{size:.0f}B"'


def test_no_gain_has_a_larger_least_margin() -> None:
    for period in (10e-6, 40e-6, 100e-6):
        loop = Loop(period=period)
        best = design.gain_for(loop)
        least = [
            float(tuned_margin(Loop(best * f, best * f * design.RATIO, period), design.FLOWS).min())
            for f in (0.5, 0.9, 1.0, 1.1, 2.0)
        ]
        assert max(least) - least[2] < 0.3, least


@pytest.mark.parametrize("hosts", [3, 11])
def test_a_link_that_the_paper_has_no_set_for_holds_rate_and_queue(tmp_path: Path, hosts: int) -> None:
    """25 Gb/s with what `tune` prints: fair rate C / N and the queue at Q_ref."""
    parameters = derived(25e9)
    scenario = tmp_path / "tuned.toml"
    scenario.write_text(
        f'extends = "{paths.ROOT}/scenarios/rocc/base.toml"\n[topology]\nrate = "25Gb/s"\nhosts = {hosts}\n'
        + parameters.toml()
    )
    read = read_scenario(scenario, ())
    outcome = DesEngine().execute(plan_of(read, read.labels[0], 1))
    assert outcome.error is None
    span = max(traces.spans(outcome, 0.0), key=lambda s: s.end_s - s.begin_s)
    found = traces.steady(traces.point_of(outcome, traces.bottleneck(outcome)), span)
    assert found.rate_gbps == pytest.approx(25 / (hosts - 1), rel=0.03)
    assert found.queue_kb == pytest.approx(parameters.q_ref / 1e3, rel=0.1)
