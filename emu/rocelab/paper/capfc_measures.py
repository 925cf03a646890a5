"""What single runs of `./rocelab paper capfc` show beside the metrics of summary.json: deadlocks, and who was held responsible."""

from __future__ import annotations

from rocelab import culprits, deadlock
from rocelab.model import RunOutcome
from rocelab.sweep.work import Found

LEAST_PS = 10_000_000_000  # a circle of paused links for so long is a deadlock: 10 ms


def measure(outcome: RunOutcome) -> Found:
    """A run that ends at its limit is a finding: deadlocks do."""
    ended = {f.id for f in outcome.flows if f.placed_ps is not None}
    dead = deadlock.find(outcome, LEAST_PS)
    held = culprits.find(outcome)
    values: dict[str, float | None] = {
        "deadlocks": 0.0 if dead is None else 100.0,
        "deadlock_ms": None if dead is None else dead.since_ps / 1e9,
        "left": float(sum(f.id not in ended for f in outcome.plan.flows)),
        "declared_drops": float(sum(c["drops_egress_max"] for c in outcome.port_counters.values())),
        "other_drops": float(sum(c["drops"] - c["drops_egress_max"] for c in outcome.port_counters.values())),
        "xoff": float(sum(c["xoff_sent_prio3"] for c in outcome.port_counters.values())),
        "culprits": float(len({c.port for c in held})),
        "held_ms": sum(c.held_ps for c in held) / 1e9,
        "end_ms": outcome.end_ps / 1e9,
    }
    for group in dict.fromkeys(f.group for f in outcome.plan.flows):
        mine = {f.id for f in outcome.plan.flows if f.group == group}
        times = [
            (f.placed_ps - f.posted_ps) / 1e9
            for f in outcome.flows
            if f.id in mine and f.placed_ps is not None and f.posted_ps is not None
        ]
        values[f"{group}_mean_ms"] = sum(times) / len(times) if len(times) == len(mine) else None
        values[f"{group}_max_ms"] = max(times) if len(times) == len(mine) else None
    return Found({(outcome.plan.label, quantity): value for quantity, value in values.items()})
