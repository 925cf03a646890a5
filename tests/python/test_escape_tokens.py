"""Escape's tokens that reach a host: counted by its NIC and in the summary."""

from __future__ import annotations

import pytest
from rocelab.des.engine import DesEngine
from rocelab.paper.harness import SCENARIOS
from rocelab.scenario import plan_of, read_scenario
from rocelab.summary import run_summary


@pytest.mark.parametrize(
    "fixes", ['["pool", "order", "reclaim", "headroom"]', '["pool", "order", "reclaim", "headroom", "hosts"]']
)
def test_a_token_that_reaches_a_host_ends_there_and_is_counted(fixes: str) -> None:
    scenario = read_scenario(
        SCENARIOS / "escape" / "ring.toml",
        ('transport = ["roce+pfc+escape"]', f"switch.escape.fixes = {fixes}", 'engine.limit = "5ms"'),
    )
    outcome = DesEngine().execute(plan_of(scenario, scenario.labels[0], 1))
    at_hosts = run_summary(outcome)["escape_tokens_at_hosts"]
    assert (at_hosts > 0) == ("hosts" not in fixes)
    assert at_hosts == sum(c["rx_escape_tokens"] for c in outcome.nic_counters.values())
