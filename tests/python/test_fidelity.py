"""The verdict on a run: exact, unless time went on without a thread while flows were under way."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rocelab.model import FidelityInputs, FlowRecord
from rocelab.summary import fidelity


def _outcome(first_ps: int, last_ps: int, late: int = 0, error: str | None = None) -> Any:
    detaches = 0 if last_ps < 0 else 1 if first_ps == last_ps else 2
    return SimpleNamespace(
        plan=SimpleNamespace(base_rtt_ps=8_000_000),
        flows=(FlowRecord(0, 1000, 5000, 6000), FlowRecord(1, 2000, 4000, 4500)),
        fidelity=FidelityInputs(
            detaches=detaches, first_detach_ps=first_ps, last_detach_ps=last_ps, late_frames=late
        ),
        end_ps=6000,
        error=error,
    )


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (_outcome(-1, -1), "exact"),
        (_outcome(10, 999), "exact"),  # while programs connected
        (_outcome(3000, 3000), "detached"),
        (_outcome(10, 3000), "detached"),
        (_outcome(6001, 6001), "exact"),  # while they wrote their results
        (_outcome(6001, 7000), "exact"),
        (_outcome(3000, 6001), "detached"),
        (_outcome(6001, 6001, error="h1: exit status 1"), "detached"),
        (_outcome(-1, -1, late=1), "detached"),
    ],
)
def test_only_a_detach_while_flows_are_under_way_spoils_a_run(outcome: Any, verdict: str) -> None:
    assert fidelity(outcome)["verdict"] == verdict
