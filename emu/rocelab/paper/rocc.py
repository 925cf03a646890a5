"""`./rocelab paper rocc`: the micro-benchmarks of RoCC's paper (Menikkumbura, 3.5) from scenarios/rocc, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rocelab import __version__, paths
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.paper import choice, numbers
from rocelab.paper import rocc_report as report
from rocelab.paper.numbers import Row
from rocelab.paper.rocc_measures import EXPERIMENTS, Measured, Picture
from rocelab.paper.rocc_statements import statements
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.run import make_console

SCENARIOS = paths.ROOT / "scenarios" / "rocc"
NUMBERS = paths.ROOT / "results" / "paper" / "rocc.csv"
_FULL = {name: ('workload.flows.duration="50ms"',) for name in ("fct", "unlimited")}


def choose(only: str | None) -> list[str]:
    return choice.choose(only, list(EXPERIMENTS), "experiment", "fairness,convergence")


def measure(name: str, full: bool = False) -> Measured:
    """Runs the experiment's scenario, all labels and seeds, with their traces. Numbers are means over the seeds, pictures those of the first."""
    scenario = read_scenario(SCENARIOS / f"{name}.toml", _FULL.get(name, ()) if full else ())
    values: dict[tuple[str, str], list[float | None]] = {}
    notes: dict[str, dict[str, list[float]]] = {}
    pictures: list[Picture] = []
    for label in scenario.labels:
        for seed in scenario.seeds:
            outcome = DesEngine().execute(plan_of(scenario, label, seed))
            if outcome.error is not None:
                raise RocelabError(f"{name}, {label}, seed {seed}: {outcome.error}")
            found = EXPERIMENTS[name](outcome)
            for key, value in found.values.items():
                values.setdefault(key, []).append(value)
            for run, of_run in found.notes.items():
                for what, number in of_run.items():
                    notes.setdefault(run, {}).setdefault(what, []).append(number)
            pictures += found.pictures if seed == scenario.seeds[0] else []
    return Measured(
        {key: mean(of_seeds) for key, of_seeds in values.items()},
        pictures,
        {run: {what: float(np.mean(n)) for what, n in of_run.items()} for run, of_run in notes.items()},
    )


def mean(values: Sequence[float | None]) -> float | None:
    """None: one of them never came about."""
    there = [v for v in values if v is not None]
    return float(np.mean(there)) if len(there) == len(values) else None


def rows_of(measured: Mapping[str, Measured]) -> list[Row]:
    """Every number of the paper whose experiment was run."""
    rows = numbers.rows_of(NUMBERS, {name: m.values for name, m in measured.items()})
    return [row for row in rows if row.experiment in measured]


def run_rocc(full: bool, only: str | None, out: Path | None) -> int:
    """Exit status 0 when all runs completed; a number that is missed is a finding, and no error."""
    console = make_console()
    measured: dict[str, Measured] = {}
    for name in choose(only):
        with console.status(f"scenarios/rocc/{name}.toml"):
            measured[name] = measure(name, full)
    rows = rows_of(measured)
    folder = out or Path("out") / "paper-rocc"
    numbers.save(
        folder, report.as_json(rows, measured, __version__), report.page(rows, measured, __version__)
    )
    console.print(report.terminal_table(rows))
    if found := statements(measured):
        console.print(report.terminal_statements(found))
    console.print(f"report: [bold]{folder / 'report.html'}[/], .json", soft_wrap=True)
    return 0
