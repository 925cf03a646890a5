"""Figure 3.14b of RoCC's thesis: how often congestion points ask for a pause, over time.

An activation is an `xoff` record: a port begins to ask its neighbour to pause a class. XOFF frames that only prolong a pause (refreshes,
which `pfc_pause_frames` counts) are none: the thesis counts "PFC activations", and the authors' simulator (github.com/danushkam/rocc,
`L3RelayUnitEx`) counts a port's change from not paused to paused, and refreshes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rocelab import frames
from rocelab.model import Array, RunOutcome, RunPlan

SEGMENTS = 50
TIERS = ("ingress", "core", "egress")  # in the order in which frames pass them
_XOFF = frames.KINDS.index("xoff")


def tier_of(plan: RunPlan) -> dict[str, str]:
    """The tier of each switch: `egress` has receivers, `ingress` other hosts, `core` none.

    A port asks for a pause because of what waits in its switch, so that the switch is the congestion point; the trace does not say which queue it is.
    """
    sinks = {f.dst for f in plan.flows}
    hosts: dict[str, set[str]] = {s.name: set() for s in plan.switches}
    for port in plan.ports:
        if port.peer_is_host:
            hosts[port.switch].add(port.peer)
    return {
        switch: "egress" if mine & sinks else "ingress" if mine else "core" for switch, mine in hosts.items()
    }


def activations(outcome: RunOutcome, end_s: float) -> dict[str, Array]:
    """By tier, the activations of all its switches in each segment of the time from 0 to `end_s`, and behind these (one more number) those that are later."""
    found = {tier: np.zeros(SEGMENTS + 1, dtype=np.int32) for tier in TIERS}
    tiers, end_ps = tier_of(outcome.plan), end_s * 1e12
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        times = records["time_ps"][records["kind"] == _XOFF].astype(float)
        segment = np.minimum(times * SEGMENTS / end_ps, SEGMENTS).astype(int)
        found[tiers[switch]] += np.bincount(segment, minlength=SEGMENTS + 1).astype(np.int32)
    return found


def notes(found: Mapping[str, Array]) -> dict[str, float]:
    """Of the whole run, by tier, and how many of them are later than the segments."""
    totals = {f"activations {tier}": float(counts.sum()) for tier, counts in found.items()}
    return totals | {"activations later": float(sum(counts[SEGMENTS] for counts in found.values()))}


def arrays(case: str, scheme: str, found: Mapping[str, Array], end_s: float) -> dict[str, Array]:
    """For the report: "case|scheme|activations" has a row for each of TIERS and a column for each segment; "case|scheme|end_ms" is where the last one ends."""
    return {
        f"{case}|{scheme}|activations": np.stack([found[tier][:SEGMENTS] for tier in TIERS]),
        f"{case}|{scheme}|end_ms": np.array([end_s * 1e3]),
    }
