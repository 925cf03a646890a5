"""Scenarios as they stand in scenarios/, run by the live engine: frames per second of wall time, time per window, time per hop."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.live.engine import LiveEngine
from rocelab.model import RunOutcome
from rocelab.progress import Progress
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
class _Watch:
    """Reads clocks as a run goes by. The clock phase: from the first movement of the experiment's clock until every program has ended."""

    engine: LiveEngine
    step: Step
    begun: bool = False
    clock_begin: float | None = None
    clock_end: float = 0.0
    switch_cpu_s: float = 0.0

    def report(self, progress: Progress) -> None:
        now, session = time.monotonic(), self.engine.session
        if progress.phase == "run" and not self.begun and session is not None:
            self.begun = True
            self.switch_cpu_s = -float(session.ask("usage")["daemon_cpu_s"])
        if progress.phase == "run" and self.clock_begin is None and progress.now_ps > 0:
            self.clock_begin = now
        if progress.phase == "collect" and self.begun and session is not None:
            self.clock_end = now
            self.switch_cpu_s += float(session.ask("usage")["daemon_cpu_s"])
        self.step.update(note=f"{progress.plan.name}, {progress.phase} {progress.now_ps / 1e9:.1f} ms")

    @property
    def clock_s(self) -> float:
        if self.clock_begin is None or self.clock_end <= self.clock_begin:
            raise RocelabError("the clock of the run did not move")
        return self.clock_end - self.clock_begin


def _run(step: Step, name: str, *overrides: str) -> dict[str, dict[str, Any]]:
    """Medians of each label's runs."""
    plans = make_plans(read_scenario(paths.ROOT / "scenarios" / f"{name}.toml", overrides))
    measured: dict[str, list[dict[str, float]]] = {}
    with LiveEngine() as engine:
        for plan in plans:
            watch = _Watch(engine, step)
            engine.report = watch.report
            outcome = engine.execute(plan)
            if outcome.error is not None:
                raise RocelabError(f"{plan.name}: {outcome.error}")
            measured.setdefault(plan.label, []).append(_figures(outcome, watch))
    return {label: _medians(rows) for label, rows in measured.items()}


def _figures(outcome: RunOutcome, watch: _Watch) -> dict[str, float]:
    seconds = watch.clock_s
    frames = sum(c["rx_packets"] for c in outcome.nic_counters.values())
    hops = sum(c["rx_frames"] for c in outcome.port_counters.values())
    return {
        "frames": frames,
        "hops": hops,
        "experiment_ms": outcome.end_ps / 1e9,
        "run_wall_s": outcome.wall_s,
        "clock_wall_s": seconds,
        "cpu_s": outcome.cpu_s,
        "frames_per_s": frames / seconds,
        "frames_per_cpu_s": frames / outcome.cpu_s,
        "windows": outcome.fidelity.windows,
        "detaches": outcome.fidelity.detaches,
        "wall_us_per_window": seconds * 1e6 / outcome.fidelity.windows,
        "cpu_us_per_window": outcome.cpu_s * 1e6 / outcome.fidelity.windows,
        "switch_process_cpu_ns_per_hop": watch.switch_cpu_s * 1e9 / hops,
    }


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
