"""rocelab.run() and rocelab.run_sweep(): what the commands of these names do, for scripts and notebooks (docs/tutorial/python.md)."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from rocelab import results
from rocelab.display import RunDisplay, in_notebook
from rocelab.document import overrides_of, seeds_override
from rocelab.errors import RocelabError
from rocelab.files import write_whole
from rocelab.model import SCENARIO_FILE, Scenario
from rocelab.privileges import require_root
from rocelab.result import Result, Summarised
from rocelab.scenario import make_plans, read_scenario, with_overrides
from rocelab.summary import Summary
from rocelab.sweep.command import summarise_sweep
from rocelab.sweep.index import under_way
from rocelab.sweep.points import points_of
from rocelab.sweep.run import SweepOutcome, run_points
from rocelab.sweep.store import PointStore

Seeds = int | Iterable[int]


def run(
    scenario: Path | str | Scenario,
    engine: str = "des",
    *,
    seeds: Seeds | None = None,
    set: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    pcap: bool = False,
    progress: bool | None = None,
) -> Result:
    """Runs every label and seed of a scenario, as `./rocelab run` does, and returns what came out.

    `scenario`: a TOML file or a Scenario. `engine`: "des", virtual time; "live", real processes through Open vSwitch, as root. Both give the
    same numbers to the picosecond. `seeds`: instead of the scenario's, one or several. `set`: values by dotted key,
    `{"topology.rate": "100Gb/s"}` (docs/reference/scenarios.md). `out`: folder of summary.json, run.sqlite and report.html (default: out/NAME here);
    `pcap`: captures there, too. `progress`: show it; default: in a terminal and in a notebook.

    Raises ScenarioError, with file and line, and RocelabError. A run that breaks off is no exception but a warning: see Result.complete.
    """
    read = _resolved(scenario, seeds, set)
    if engine == "live":
        require_root('the live engine (engine="live")')
    with RunDisplay(_console(progress), len(make_plans(read))) as display:
        result = results.run(
            read, engine, out=out, pcap=pcap, report=display.report, on_outcome=display.outcome
        )
    if not result.complete:
        warnings.warn(f"{read.name} is not complete: {'; '.join(result.errors())}", stacklevel=2)
    return result


def run_sweep(
    scenario: Path | str | Scenario,
    *,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: Seeds | None = None,
    set: Mapping[str, Any] | None = None,
    out: Path | str | None = None,
    jobs: int = 0,
    cluster: str | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Runs every label, case, axis and seed of a scenario in virtual time, a process each, as `./rocelab sweep` does (docs/tutorial/sweeps.md).

    `axes`: values by dotted key, every combination of which is a case: `{"workload.poisson.load": [0.3, 0.5]}`. `out`: folder of the finished
    points (default: out/sweep-NAME here); what it has already is not run again. `jobs`: processes at a time, 0 for one per core; `cluster`:
    address of a Dask scheduler. The others as of run(). A point that fails is a warning: see SweepResult.complete.
    """
    changes = {**(set or {}), **{f"axes.{key}": list(values) for key, values in (axes or {}).items()}}
    read = _resolved(scenario, seeds, changes)
    folder = Path(out) if out is not None else Path("out") / f"sweep-{read.name}"
    store = PointStore(folder / "points")
    if read.text is None:
        file, overrides = Path(read.file), read.overrides
    else:  # points are read from a file, by other processes
        file, overrides = folder / SCENARIO_FILE, ()
        write_whole(file, read.to_toml().encode())
    _, points = points_of(file, overrides)
    with under_way(folder, read, points):
        outcome = run_points(points, store, _console(progress), jobs, cluster)
    result = SweepResult(read, outcome, store, folder)
    text = json.dumps(result.summary, indent=1, allow_nan=False) + "\n"
    write_whole(folder / "summary.json", text.encode())
    if not result.complete:
        warnings.warn(f"{read.name} is not complete: {'; '.join(result.errors())}", stacklevel=2)
    return result


@dataclass(repr=False)
class SweepResult(Summarised):
    """Of all points of a sweep. Points keep no samples, events and counters: run() one of them for that."""

    scenario: Scenario
    outcome: SweepOutcome
    store: PointStore
    folder: Path | None
    engine: str = "des"

    @cached_property
    def summary(self) -> Summary:
        return summarise_sweep(self.scenario, self.outcome, self.store)

    @cached_property
    def flows(self) -> pd.DataFrame:
        parts = []
        for run, point in enumerate(self.outcome.finished):
            part = _flows(self.store.flows(point))
            parts.append(part.assign(run=run, label=point.label, seed=point.seed))
        if not parts:
            raise RocelabError("no point of the sweep is finished: errors() says why")
        frame = pd.concat(parts, ignore_index=True)
        first = ["run", "label", "seed"]
        return frame[first + [c for c in frame.columns if c not in first]]

    @property
    def complete(self) -> bool:
        return len(self.outcome.finished) == len(self.outcome.points)

    def errors(self) -> list[str]:
        return [f"{e.point.name}: {e.error}" for e in self.outcome.failed]


def _flows(columns: Mapping[str, np.ndarray[Any, Any]]) -> pd.DataFrame:
    """A point's columns under the names that the frame of a run has."""
    hosts, groups = columns["host_names"], columns["group_names"]
    placed, posted, alone = (columns[name] for name in ("placed_ps", "posted_ps", "alone_ps"))
    there = (placed >= 0) & (posted >= 0)
    fct = np.where(
        there & (alone > 0), (placed - posted) / 1e12, np.nan
    )  # a stream lasts as long as it is told to
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = fct / (alone / 1e12)
    frame = pd.DataFrame(
        {
            "flow": columns["id"],
            "group": groups[columns["group"]],
            "src": hosts[columns["src"]],
            "dst": hosts[columns["dst"]],
            **{name: columns[name] for name in ("size", "packets", "start_ps", "posted_ps", "placed_ps")},
            "cqe_ps": columns["cqe_ps"],
            "completed": there,
            "measured": columns["measured"],
            "fct_s": fct,
            "alone_s": alone / 1e12,
            "slowdown": slowdown,
        }
    )
    for name in ("posted_ps", "placed_ps", "cqe_ps"):
        frame[name] = frame[name].astype("Int64").mask(frame[name] < 0)
    return frame


def _resolved(
    scenario: Path | str | Scenario, seeds: Seeds | None, changes: Mapping[str, Any] | None
) -> Scenario:
    overrides = overrides_of(changes or {})
    if seeds is not None:
        overrides = (*overrides, seeds_override(seeds))
    if isinstance(scenario, Scenario):
        read = with_overrides(scenario, overrides) if overrides else scenario
    else:
        read = read_scenario(scenario, overrides)
    for text in read.warnings:
        warnings.warn(text, stacklevel=3)
    return read


def _console(progress: bool | None) -> Console:
    shown = (sys.stderr.isatty() or in_notebook()) if progress is None else progress
    return Console(stderr=True, quiet=not shown)
