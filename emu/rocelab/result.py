"""Result: what the runs of a scenario add up to, as values and frames. Who runs them and writes the files: results.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from rocelab import frames
from rocelab.model import RunOutcome, Scenario
from rocelab.summary import Summary, summarise


@dataclass
class Result:
    """Of all runs of a scenario. `folder` is where its files are (rocelab.results); None: nowhere yet."""

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
