"""Results: what a scenario's runs add up to, as values, frames and files.

    import rocelab
    result = rocelab.run("scenarios/incast.toml")   # engine="des": in virtual time
    result.runs, result.flows, result.samples     # pandas frames
    result.summary                                # summary.json as a dictionary
    result.report                                 # path of report.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from rocelab import frames, store
from rocelab.errors import RocelabError
from rocelab.model import RunOutcome, RunPlan, Scenario
from rocelab.scenario import make_plans, read_scenario
from rocelab.summary import Summary, summarise

ENGINES = ("live", "des")
Execute = Callable[[RunPlan], RunOutcome]
OnOutcome = Callable[[RunOutcome], None]


@dataclass
class Result:
    """Of all runs of a scenario. `folder` is where save() wrote its files; None before."""

    scenario: Scenario
    outcomes: tuple[RunOutcome, ...]
    planned: int  # runs that were asked for; more than outcomes when it broke off
    engine: str = "live"
    folder: Path | None = None

    @cached_property
    def summary(self) -> Summary:
        summary = summarise(self.scenario, self.outcomes, self.engine)
        summary["planned_runs"] = self.planned
        summary["complete"] = self.complete
        return summary

    @cached_property
    def flows(self) -> pd.DataFrame:
        return frames.flows_frame(self.outcomes)

    @cached_property
    def samples(self) -> pd.DataFrame:
        return frames.samples_frame(self.outcomes)

    @cached_property
    def runs(self) -> pd.DataFrame:
        nested = ("parameters", "fidelity", "groups")
        rows = [
            {**{k: v for k, v in run.items() if k not in nested}, "fidelity": run["fidelity"]["verdict"]}
            for run in self.summary["runs"]
        ]
        return pd.DataFrame(rows)

    @property
    def complete(self) -> bool:
        return len(self.outcomes) == self.planned and all(o.error is None for o in self.outcomes)

    @property
    def report(self) -> Path | None:
        return self.folder / "report.html" if self.folder else None

    def errors(self) -> list[str]:
        found = [
            f"{o.plan.label}, seed {o.plan.seed}: {o.error}" for o in self.outcomes if o.error is not None
        ]
        missing = self.planned - len(self.outcomes)
        return found + ([f"{missing} of {self.planned} runs did not start"] if missing else [])

    def save(self, folder: Path) -> None:
        """summary.json, run.sqlite and report.html; a result that broke off is saved too, and marked."""
        from rocelab.report import write_report  # matplotlib: only when there is something to draw

        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.summary, indent=1, allow_nan=False)
        (folder / "summary.json").write_text(text + "\n")
        store.write(folder / "run.sqlite", self.summary, self.outcomes, self.flows, self.samples)
        write_report(self, folder / "report.html")
        self.folder = folder


def run(
    path: Path | str,
    engine: str = "live",
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    out: Path | None = None,
    pcap: bool = False,
    execute: Execute | None = None,
    report: Callable[[Any], None] = lambda _: None,
    on_outcome: OnOutcome = lambda _: None,
) -> Result:
    """Runs all labels and seeds of a scenario and saves the result (default: out/NAME).

    `report` is told where a run stands (rocelab.progress.Progress), `on_outcome` of each run that ended. `execute` drives
    one plan; without it the engine does. What ends the whole thing early is raised after saving what there is.
    """
    if engine not in ENGINES:
        raise RocelabError(f"engine {engine!r} does not exist; use {' or '.join(ENGINES)}")
    scenario = read_scenario(path, overrides if seed is None else (*overrides, f"seeds=[{seed}]"))
    plans = make_plans(scenario)
    if not any(p.flows for p in plans):
        raise RocelabError(
            f"{path}: no [[workload]], so there is nothing to run; `./rocelab up` keeps its topology for programs"
        )
    folder = out or Path("out") / scenario.name
    outcomes: list[RunOutcome] = []
    try:
        with _driver(engine, execute, folder, pcap, report) as drive:
            for plan in plans:
                outcomes.append(drive(plan))
                on_outcome(outcomes[-1])
    except BaseException:
        if outcomes:
            Result(scenario, tuple(outcomes), len(plans), engine).save(folder)
        raise
    result = Result(scenario, tuple(outcomes), len(plans), engine)
    result.save(folder)
    return result


@contextmanager
def _driver(
    engine: str, execute: Execute | None, folder: Path, pcap: bool, report: Callable[[Any], None]
) -> Iterator[Execute]:
    if execute is not None:
        yield execute
        return
    if engine == "des":
        from rocelab.des.engine import DesEngine

        virtual = DesEngine(report)
        yield lambda plan: virtual.execute(plan, folder, pcap)
        return
    from rocelab.live.engine import LiveEngine

    with LiveEngine(report) as live:
        yield lambda plan: live.execute(plan, folder, pcap)
