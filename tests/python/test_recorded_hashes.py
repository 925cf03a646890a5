"""The hash over every frame of shipped scenarios is what it was on the machine that recorded it, another compiler's or processor's.

ROCELAB_UPDATE_GOLDEN=1 rewrites tests/data/trace_hashes.json, after a change that is meant to change what runs do; the difference then
belongs into the commit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rocelab import native
from rocelab.model import RunPlan
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "trace_hashes.json"
_CROWDED = (  # the first 1,200 flows of a crowd, in switches whose buffers are too small for it
    "engine.warmup=0us",
    "workload.poisson.load=0.9",
    "workload.poisson.flows=1200",
    "switch.input_buffer=60KB",
    "switch.lossless_buffer=60KB",
)
# With what cuts them short.
SCENARIOS: dict[str, tuple[str, ...]] = {
    "quick": (),
    "incast": (),
    "incast_crosstraffic": (),
    "loss": (),
    "link_failure": (),
    "parking_lot": (),
    "ring": (),
    "escape/innocent": ("workload.heavy.duration=4ms", "workload.innocent.duration=4ms"),
    "escape/ring_congestion": (),
    "escape/ring_deadlock": (),
    "escape/two_level": (),
    "irn/base": _CROWDED,
    "irn/figure4.7": _CROWDED,
    "irn/figure4.11": _CROWDED,
    "rocc/multi_bottleneck": (),
    "timely/incast": ("engine.limit=10ms",),
}
# Where it ends before all flows have begun, which engine.limit cannot say.
STOPS_PS = {
    "escape/two_level": 8 * 10**9,
    **dict.fromkeys(("irn/base", "irn/figure4.7", "irn/figure4.11"), 600 * 10**6),
}


def hashes(name: str) -> dict[str, str]:
    """By label, of the first seed."""
    scenario = read_scenario(ROOT / "scenarios" / f"{name}.toml", SCENARIOS[name])
    first = scenario.seeds[0]
    return {
        plan.label: _hash(plan, STOPS_PS.get(name)) for plan in make_plans(scenario) if plan.seed == first
    }


def _hash(plan: RunPlan, stop_ps: int | None) -> str:
    run = native.module().DesRun(plan.native, stop_ps=stop_ps)
    while not run.advance(1 << 12):
        pass
    return str(native.module().trace_hash(list(run.digests)))


@pytest.mark.parametrize("name", SCENARIOS)
def test_runs_are_those_that_were_recorded(name: str) -> None:
    got = hashes(name)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if "ROCELAB_UPDATE_GOLDEN" in os.environ:
        recorded[name] = got
        RECORDED.write_text(json.dumps(dict(sorted(recorded.items())), indent=1) + "\n")
    assert all(len(value) == 64 for value in got.values())
    assert got == recorded[name]
