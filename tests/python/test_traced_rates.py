"""`congestion_control.trace_rates` keeps each rate that congestion control sets, and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rocelab import frames
from rocelab.des.engine import DesEngine
from rocelab.model import RunOutcome
from rocelab.scenario import make_plans, read_scenario
from rocelab.summary import run_summary

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios" / "incast.toml"


def _run(label: str, *more: str) -> RunOutcome:
    (plan,) = make_plans(
        read_scenario(SCENARIO, (f'transport=["{label}"]', "seeds=[1]", 'workload.incast.size="1MB"', *more))
    )
    return DesEngine().execute(plan)


def _rates(outcome: RunOutcome) -> np.ndarray:
    records = np.concatenate(list(outcome.events.values()))
    return records[records["kind"] == frames.ALLOWED]


@pytest.mark.parametrize(
    "label",
    [
        "roce+pfc+dcqcn",
        "roce+pfc+timely",
        "roce+pfc+rocc",
        "irn+hpcc",
        "irn+dctcp",
        "roce+pfc+p4qcn",
        "roce+pfc+qcn",
        "irn+rcp",
    ],
)
def test_tracing_rates_changes_no_frame(label: str) -> None:
    plain, traced = _run(label), _run(label, "congestion_control.trace_rates=true")
    assert run_summary(plain)["trace_hash"] == run_summary(traced)["trace_hash"] is not None
    assert plain.flows == traced.flows
    rates = _rates(traced)
    assert len(_rates(plain)) == 0 and len(rates) > len(traced.plan.hosts)
    line = max(p.rate_bps for p in traced.plan.ports)
    assert rates["bytes"].min() > 0 and rates["bytes"].max() <= line
    for records in traced.events.values():
        mine = records[records["kind"] == frames.ALLOWED]
        for qpn in set(mine["flow"].tolist()):
            assert np.diff(mine[mine["flow"] == qpn]["bytes"].astype(np.int64)).all(), "each is a change"
