"""`result.plot`: the report's pictures, one at a time. In a notebook each shows itself; elsewhere `.save("x.pdf")`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from rocelab.errors import RocelabError
from rocelab.model import RunOutcome
from rocelab.report import charts, sketch, steps
from rocelab.report.style import Chart


@dataclass(frozen=True, repr=False)
class Plots:
    """Of frames of flows and runs."""

    flows: pd.DataFrame
    runs: pd.DataFrame

    def fct_cdf(self) -> Chart:
        """Distribution of flow completion times, all seeds of a label together."""
        return charts.fct_cdf(self.flows)

    def completion(self) -> Chart:
        """The same beside the completion time of whole runs, a dot for each seed."""
        return charts.completion(self.flows, self.runs)

    def slowdown_by_size(self) -> Chart:
        """Median and 99th percentile of slowdown by flow size. RocelabError where sizes do not differ."""
        chart = charts.slowdown_by_size(self.flows)
        if chart is None:
            raise RocelabError("slowdown_by_size() is for workloads of at least ten different flow sizes")
        return chart


@dataclass(frozen=True, repr=False)
class RunPlots(Plots):
    """Also over time, of one run of each label: its first seed that came to its end, or `seed`."""

    outcomes: Sequence[RunOutcome]
    samples: pd.DataFrame

    def over_time(self, labels: Sequence[str] | None = None, seed: int | None = None) -> Chart:
        """A row for each label: rates of flows, the longest queue with pauses, drops and retransmissions."""
        wanted = list(dict.fromkeys(labels or (o.plan.label for o in self.outcomes)))
        chosen = [self._of(label, seed) for label in wanted]
        return charts.over_time([o for o, _ in chosen], [s for _, s in chosen])

    def rates(self, label: str | None = None, seed: int | None = None) -> Chart:
        """Rates of flows at their receivers over time. `label`: default: the first."""
        return charts.panel(charts.RATES, *self._of(label, seed))

    def queue(self, label: str | None = None, seed: int | None = None) -> Chart:
        """The longest queue over time, and how many of the switch's inputs it had paused."""
        return charts.panel(charts.QUEUE, *self._of(label, seed))

    def losses(self, label: str | None = None, seed: int | None = None) -> Chart:
        """Packets dropped and retransmitted over time."""
        return charts.panel(charts.LOSSES, *self._of(label, seed))

    def steps(self, labels: Sequence[str] | None = None, seed: int | None = None) -> Chart:
        """Steps of collectives over time, a row for each rank. RocelabError where no workload is a collective."""
        wanted = list(dict.fromkeys(labels or (o.plan.label for o in self.outcomes)))
        chart = steps.over_time([self._of(label, seed)[0] for label in wanted])
        if chart is None:
            raise RocelabError('steps() is for workloads of kind "collective"')
        return chart

    def topology(self) -> Chart:
        """A sketch of hosts, switches and links."""
        return sketch.topology(self._of(None, None)[0].plan)

    def _of(self, label: str | None, seed: int | None) -> tuple[RunOutcome, pd.DataFrame]:
        """A run and its samples."""
        fits = [
            (run, o)
            for run, o in enumerate(self.outcomes)
            if label in (None, o.plan.label) and seed in (None, o.plan.seed)
        ]
        if not fits:
            there = ", ".join(dict.fromkeys(o.plan.label for o in self.outcomes))
            raise RocelabError(f"no run of label {label}, seed {seed}: there are labels {there}")
        run, outcome = next((fit for fit in fits if fit[1].error is None), fits[0])
        return outcome, self.samples[self.samples["run"] == run]
