"""Scenarios as they stand in scenarios/, run by the live engine: frames per second of wall time, time per window, time per hop."""

from __future__ import annotations

import re
import statistics
import time
from dataclasses import dataclass
from typing import Any

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.live.engine import LiveEngine, Progress
from rocelab.model import RunOutcome, RunPlan
from rocelab.scenario import make_plans, read_scenario
from rocelab.setup_progress import Step

_INCAST_SEEDS = 3  # runs per label; medians are printed


def incast(step: Step) -> dict[str, Any]:
    seeds = list(range(1, _INCAST_SEEDS + 1))
    labels = _run(step, "incast", f"seeds={seeds}")
    return {
        "seeds": seeds,
        "labels": labels,
        "incast_frames_per_s": {k: v["frames_per_s"] for k, v in labels.items()},
    }


def leaf_spine_54(step: Step) -> dict[str, Any]:
    return {"labels": _run(step, "leaf_spine_54")}


@dataclass
class _ClockPhase:
    """Wall time from the first movement of the experiment's clock until every program has ended."""

    step: Step
    begin: float | None = None
    end: float = 0.0

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase == "run" and progress.now_ps > 0 and self.begin is None:
            self.begin = now
        if progress.phase == "collect":
            self.end = now
        self.step.update(note=f"{progress.plan.name}, {progress.phase} {progress.now_ps / 1e9:.1f} ms")

    @property
    def seconds(self) -> float:
        if self.begin is None or self.end <= self.begin:
            raise RocelabError("the clock of the run did not move")
        return self.end - self.begin


def _run(step: Step, name: str, *overrides: str) -> dict[str, dict[str, Any]]:
    """Medians of each label's runs."""
    plans = make_plans(read_scenario(paths.ROOT / "scenarios" / f"{name}.toml", overrides))
    measured: dict[str, list[dict[str, float]]] = {}
    with LiveEngine() as engine:
        engine.execute(plans[0])  # the topology is up, programs and rules are in caches
        for plan in plans:
            measured.setdefault(plan.label, []).append(_measure(engine, plan, step))
    return {label: _medians(rows) for label, rows in measured.items()}


def _measure(engine: LiveEngine, plan: RunPlan, step: Step) -> dict[str, float]:
    session = engine.session
    if session is None:  # a run before this one broke the topology, and said so
        raise RocelabError(f"{plan.name}: the topology is gone")
    phase = _ClockPhase(step)
    engine.report = phase.report
    session.appctl("dpif-netdev/pmd-stats-clear")
    cpu, begin = session.ask("usage")["daemon_cpu_s"], time.monotonic()
    outcome = engine.execute(plan)
    if outcome.error is not None:
        raise RocelabError(f"{plan.name}: {outcome.error}")
    cpu = session.ask("usage")["daemon_cpu_s"] - cpu
    busy = _busy_share(session.appctl("dpif-netdev/pmd-stats-show")) * (time.monotonic() - begin)
    return _figures(outcome, phase.seconds, cpu, busy)


def _figures(outcome: RunOutcome, seconds: float, switch_cpu_s: float, busy_s: float) -> dict[str, float]:
    frames = sum(c["rx_packets"] for c in outcome.nic_counters.values())
    hops = sum(c["rx_frames"] for c in outcome.port_counters.values())
    return {
        "frames": frames,
        "hops": hops,
        "experiment_ms": outcome.end_ps / 1e9,
        "run_wall_s": outcome.wall_s,
        "clock_wall_s": seconds,
        "frames_per_s": frames / seconds,
        "windows": outcome.fidelity.windows,
        "detaches": outcome.fidelity.detaches,
        "wall_us_per_window": seconds * 1e6 / outcome.fidelity.windows,
        "switch_process_cpu_ns_per_hop": switch_cpu_s * 1e9 / hops,
        "pmd_busy_wall_ns_per_hop": busy_s * 1e9 / hops,
    }


def _busy_share(text: str) -> float:
    """Of all cycles of the polling thread, those of rounds that moved packets (`pmd-stats-show`)."""
    found = {word: int(cycles) for word, cycles in re.findall(r"(idle|processing) cycles: (\d+)", text)}
    total = sum(found.values())
    if "processing" not in found or total == 0:
        raise RocelabError("ovs-appctl dpif-netdev/pmd-stats-show says nothing of cycles")
    return found["processing"] / total


def _medians(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Counts stay whole numbers; the rest is rounded to what can be told apart."""
    result: dict[str, Any] = {"runs": len(rows)}
    for field in rows[0]:
        value = statistics.median(row[field] for row in rows)
        result[field] = (
            int(value)
            if field in ("frames", "hops", "windows", "detaches") or value > 1e4
            else round(value, 2)
        )
    return result
