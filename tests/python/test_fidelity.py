"""The verdict on a run: exact, unless time went on without a thread while flows were under way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rocelab.model import FidelityInputs, FlowRecord
from rocelab.summary import fidelity


def _outcome(detaches: int, last_ps: int, late: int = 0, error: str | None = None) -> Any:
    return SimpleNamespace(
        plan=SimpleNamespace(base_rtt_ps=8_000_000),
        flows=(FlowRecord(0, 1000, 5000, 6000), FlowRecord(1, 2000, 4000, 4500)),
        fidelity=FidelityInputs(detaches=detaches, last_detach_ps=last_ps, late_frames=late),
        end_ps=6000,
        error=error,
    )


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (_outcome(0, -1), "exact"),
        (_outcome(5, 999), "exact"),  # while programs connected
        (_outcome(1, 3000), "detached"),
        (_outcome(1, 6001), "exact"),  # while they wrote their results
        (_outcome(2, 6001), "detached"),  # the first of the two may have been in the middle
        (_outcome(1, 6001, error="h1: exit status 1"), "detached"),
        (_outcome(0, -1, late=1), "detached"),
    ],
)
def test_only_a_detach_while_flows_are_under_way_spoils_a_run(outcome: Any, verdict: str) -> None:
    assert fidelity(outcome)["verdict"] == verdict
