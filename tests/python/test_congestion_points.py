"""P4QCN and QCN in whole networks: what their congestion points are for, and what P4QCN's law lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rocelab import frames
from rocelab.des.engine import DesEngine
from rocelab.model import RunOutcome
from rocelab.scenario import make_plans, read_scenario
from rocelab.summary import run_summary

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


def outcomes(name: str, *changes: str) -> dict[str, RunOutcome]:
    plans = make_plans(read_scenario(SCENARIOS / f"{name}.toml", changes))
    return {plan.label: DesEngine().execute(plan) for plan in plans}


def mean_queue(outcome: RunOutcome, port: str, begin_s: float) -> float:
    samples = frames.samples_frame([outcome])
    end_ps = min(flow.placed_ps for flow in outcome.flows)
    mine = samples[(samples["what"] == "queue") & (samples["port"] == port) & (samples["tc"] == 3)]
    return float(mine[(mine["time_ps"] > begin_s * 1e12) & (mine["time_ps"] < end_ps)]["bytes"].mean())


@pytest.mark.parametrize("hosts", [2, 10])
def test_qcn_keeps_the_queue_at_its_set_point_without_a_pause(hosts: int) -> None:
    sink = f"h{hosts + 1}"
    outcome = outcomes(
        "p4qcn",
        'transport=["roce+pfc+qcn"]',
        f"topology.hosts={hosts + 1}",
        'topology.rate="10Gb/s"',
        'congestion_control.qcn.preset="802.1Q"',
        f'workload.0.receiver="{sink}"',
        f'workload.0.size="{400 // hosts}MB"',
    )["roce+pfc+qcn"]
    assert outcome.error is None
    assert 13_000 < mean_queue(outcome, f"s1-eth{hosts + 1}", 0.05) < 52_000  # 0.5 to 2 Q_eq
    assert run_summary(outcome)["pfc_pause_frames"] == 0
    shares = [1 / (flow.placed_ps - flow.posted_ps) for flow in outcome.flows]
    assert sum(shares) ** 2 / len(shares) / sum(s * s for s in shares) > 0.8  # Jain's index


def test_two_point_control_needs_no_pause_where_pfc_alone_needs_thousands() -> None:
    runs = outcomes("p4qcn", 'transport=["roce+pfc", "roce+pfc+p4qcn"]')
    alone, controlled = (run_summary(runs[label]) for label in ("roce+pfc", "roce+pfc+p4qcn"))
    assert alone["pfc_pause_frames"] > 1000 > controlled["pfc_pause_frames"] == 0
    assert alone["cnps"] == 0 < controlled["cnps"]
    nics = runs["roce+pfc+p4qcn"].nic_counters.values()
    assert sum(c["rp_fair_rates_handled"] for c in nics) == controlled["cnps"]
    assert sum(c["rp_fair_rates_refused"] + c["rp_fair_rates_unknown_flow"] for c in nics) == 0


def groups(outcome: RunOutcome) -> dict[str, Any]:
    return {group["name"]: group for group in run_summary(outcome)["groups"]}


def test_beside_traffic_that_nobody_controls_a_flow_of_p4qcn_starves_to_the_letter() -> None:
    runs = outcomes("p4qcn_testbed")
    alone, letter, timer = (groups(runs[label]) for label in ("irn", "irn+p4qcn", "timer"))
    # Without control what is beyond 7 Mb/s is lost: 10 Mb/s of payload are 10.88 on the wire. 14 frames wait at the end.
    messages = [group["messages"] for group in alone.values()]
    lost, sent = sum(m["lost"] for m in messages), sum(m["sent"] for m in messages)
    assert abs(lost - sent * (1 - 7 / 10.88)) < 40
    assert letter["controlled"]["goodput_bps"] < 0.05 * 4e6
    assert letter["background"]["messages"]["lost"] == 0
    assert timer["controlled"]["goodput_bps"] > 4 * letter["controlled"]["goodput_bps"]
