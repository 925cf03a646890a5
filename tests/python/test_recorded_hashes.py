"""The hash over every frame of shipped scenarios is what it was on the machine that recorded it, another compiler's or processor's.

ROCELAB_UPDATE_GOLDEN=1 rewrites tests/data/trace_hashes.json, after a change that is meant to change what runs do; the difference then
belongs into the commit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from rocelab import native
from rocelab.des.engine import DesEngine
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "trace_hashes.json"
SCENARIOS = (
    "quick",
    "incast",
    "incast_crosstraffic",
    "loss",
    "link_failure",
    "parking_lot",
    "ring",
    "escape/ring_congestion",
    "rocc/multi_bottleneck",
)


def hashes(name: str) -> dict[str, str]:
    """By label, of the first seed."""
    scenario = read_scenario(ROOT / "scenarios" / f"{name}.toml")
    engine = DesEngine(events=False)
    first = scenario.seeds[0]
    return {
        plan.label: native.module().trace_hash(list(engine.execute(plan).node_digests))
        for plan in make_plans(scenario)
        if plan.seed == first
    }


@pytest.mark.parametrize("name", SCENARIOS)
def test_runs_are_those_that_were_recorded(name: str) -> None:
    got = hashes(name)
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    if "ROCELAB_UPDATE_GOLDEN" in os.environ:
        recorded[name] = got
        RECORDED.write_text(json.dumps(dict(sorted(recorded.items())), indent=1) + "\n")
    assert all(len(value) == 64 for value in got.values())
    assert got == recorded[name]
