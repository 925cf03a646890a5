"""Result: what the runs of a scenario add up to, as values, frames and pictures. Who runs them and writes the files: results.py."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from rocelab import columns, frames, link_bytes
from rocelab.errors import RocelabError
from rocelab.headline import headline
from rocelab.model import RunOutcome, Scenario
from rocelab.summary import Summary, summarise

if TYPE_CHECKING:  # matplotlib: only when there is something to draw
    from rocelab.plots import Plots, RunPlots

_NESTED = ("parameters", "fidelity", "groups", "collectives", "found", "policies", "link_bytes")


class Summarised:
    """What results of runs and of sweeps have in common: a summary, and what follows from it."""

    scenario: Scenario
    engine: str
    folder: Path | None

    @cached_property
    def summary(self) -> Summary:
        """summary.json as a dictionary (docs/reference/metrics.md)."""
        raise NotImplementedError

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row for each flow of each run; columns(): `flows`."""
        raise NotImplementedError

    @property
    def complete(self) -> bool:
        """Whether every run came to its end. If not, errors() says why, and means leave out those that did not."""
        raise NotImplementedError

    def errors(self) -> list[str]:
        """One line for each run that did not come to its end."""
        raise NotImplementedError

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run; columns(): `runs`. `run`, its index, is what the other frames call it by."""
        rows = [
            {**{k: v for k, v in run.items() if k not in _NESTED}, "fidelity": run["fidelity"]["verdict"]}
            for run in self.summary["runs"]
        ]
        return pd.DataFrame(rows).rename_axis("run")

    @cached_property
    def link_bytes(self) -> pd.DataFrame:
        """What the bytes that links carried were for, one row for each kind of frame of each run; columns(): `link_bytes`."""
        return pd.DataFrame(link_bytes.rows(self.summary["runs"]), columns=columns.names("link_bytes"))

    @property
    def table(self) -> pd.DataFrame:
        """Means over seeds, a row for each label, in the units of the headings: the table that `./rocelab run` prints."""
        found = headline(self.summary)
        means = {(a["label"], a["metric"]): a["mean"] for a in self.summary["aggregates"]}
        rows = {
            label: [None if (mean := means[label, m.name]) is None else mean * m.scale for m in found.columns]
            for label, _, _ in found.rows
        }
        columns = [m.heading for m in found.columns]
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns, dtype=float).rename_axis("label")

    @staticmethod
    def columns(frame: str) -> pd.DataFrame:
        """What the columns of a frame mean: `runs`, `flows`, `link_bytes`, `samples`, `events` or `counters`."""
        if frame not in columns.COLUMNS:
            raise RocelabError(f"no frame {frame}: there are {', '.join(columns.COLUMNS)}")
        return pd.DataFrame(columns.of(frame), columns=["column", "unit", "meaning"]).set_index("column")

    @property
    def plot(self) -> Plots:
        """The report's pictures, one at a time: `result.plot.fct_cdf()`."""
        from rocelab.plots import Plots

        return Plots(self.flows, self.runs)

    def __repr__(self) -> str:
        name = type(self).__name__
        runs = f"{len(self.summary['runs'])} runs of {len(self.scenario.labels)} labels"
        state = "complete" if self.complete else "NOT COMPLETE: " + "; ".join(self.errors()[:2])
        where = f"; {self.folder}" if self.folder else ""
        return f"<rocelab.{name} {self.scenario.name}: {runs}, engine {self.engine}, {state}{where}>"

    def _repr_html_(self) -> str:
        found = headline(self.summary)
        head = "".join(f"<th>{html.escape(label)}</th>" for label, *_ in found.rows)
        body = "".join(
            f"<tr><td style='text-align: left'>{html.escape(metric.heading)}</td>"
            + "".join(f"<td>{html.escape(cell.line)}</td>" for cell in found.column(number))
            + "</tr>"
            for number, metric in enumerate(found.columns)
        )
        title = html.escape(self.scenario.title)
        state = (
            "" if self.complete else f"<p><b>Not complete:</b> {html.escape('; '.join(self.errors()))}</p>"
        )
        table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div><b>{title}</b>{state}{table}<small>{html.escape(repr(self)[1:-1])}</small></div>"


@dataclass(repr=False)
class Result(Summarised):
    """Of all runs of a scenario. `folder` is where its files are (rocelab.results); None: nowhere yet."""

    scenario: Scenario
    outcomes: tuple[RunOutcome, ...]
    planned: int  # runs that were asked for; more than outcomes when it broke off
    engine: str = "live"
    folder: Path | None = field(default=None)

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
        """Queues and flows over time, one row for each change; columns(): `samples`."""
        return frames.samples_frame(self.outcomes)

    def events(self, run: int = 0) -> pd.DataFrame:
        """Every trace record of one run (an index of `runs`) but deliveries and samples; columns(): `events`."""
        return frames.events_frame(self.outcomes[run], run)

    @cached_property
    def counters(self) -> pd.DataFrame:
        """Counters of NICs and switch ports that are not 0; columns(): `counters`."""
        return frames.counters_frame(self.outcomes)

    @property
    def plot(self) -> RunPlots:
        from rocelab.plots import RunPlots

        return RunPlots(self.flows, self.runs, self.outcomes, self.samples)

    @property
    def complete(self) -> bool:
        return len(self.outcomes) == self.planned and all(o.error is None for o in self.outcomes)

    @property
    def report(self) -> Path | None:
        """The page, if the result is kept."""
        return self.folder / "report.html" if self.folder else None

    def errors(self) -> list[str]:
        found = [
            f"{o.plan.label}, seed {o.plan.seed}: {o.error}" for o in self.outcomes if o.error is not None
        ]
        missing = self.planned - len(self.outcomes)
        return found + ([f"{missing} of {self.planned} runs did not start"] if missing else [])
