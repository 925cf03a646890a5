"""`./rocelab paper escape`: the experiments of Escape's chapter (Menikkumbura, 4.6) from scenarios/escape, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rocelab import __version__, paths
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.paper import choice, numbers
from rocelab.paper.escape_measures import EXPERIMENTS, Run
from rocelab.paper.numbers import Row, Values
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.run import make_console

SCENARIOS = paths.ROOT / "scenarios" / "escape"
NUMBERS = paths.ROOT / "results" / "paper" / "escape.csv"
# The paper's case of a scheme; another scheme of its scenario is a case of its own.
_CASES = {
    "roce+pfc": "pfc",
    "roce+pfc+escape": "escape",
    "roce+pfc+escape+announce": "escape+announce",
    "irn+pfc+hpcc": "pfc+hpcc",
    "irn+pfc+hpcc+escape": "escape+hpcc",
    "roce+pfc+loopbreaker": "loopbreaker",
    "roce+pfc+watchdog": "watchdog",
}
# What the paper has no number of.
_UNITS = {"p99_fct_ms": "ms", "unfinished": "flows", "fct_bound": "ratio", "p99_over_announced": "ratio"}


def case_of(run: Run) -> str:
    """ "roce+pfc+escape,delay=2us": "escape,delay=2us"."""
    scheme = _CASES.get(run.scheme, run.scheme.removeprefix("roce+"))
    return f"{scheme},{run.case}" if run.case else scheme


def choose(only: str | None) -> list[str]:
    return choice.choose(only, list(EXPERIMENTS), "experiment", "ring,pool")


def measure(name: str) -> list[Run]:
    """All labels and seeds of the experiment's scenario, with their traces. A run that ends at its limit is a finding: deadlocks do."""
    scenario = read_scenario(SCENARIOS / f"{name}.toml", ())
    runs = []
    for label in scenario.labels:
        for seed in scenario.seeds:
            outcome = DesEngine().execute(plan_of(scenario, label, seed))
            if outcome.error is not None and "not finished after" not in outcome.error:
                raise RocelabError(f"{name}, {label}, seed {seed}: {outcome.error}")
            runs.append(Run(label, seed, EXPERIMENTS[name].of_run(outcome)))
    return runs


def values_of(name: str, runs: Sequence[Run]) -> Values:
    """Means over the seeds; drops and reordering are sums, since one is one too many. There is no tail where a seed has none."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for quantity, value in run.values.items():
            found.setdefault((case_of(run), quantity), []).append(value)
    means = {
        key: float(np.sum(values) if key[1] in ("drops", "out_of_order") else np.mean(values))
        for key, values in found.items()
        if key[1] != "p99_fct_ms" or len(values) == sum(case_of(run) == key[0] for run in runs)
    }
    return means | EXPERIMENTS[name].of_runs(runs)


def rows_of(measured: Mapping[str, Values]) -> list[Row]:
    """The paper's numbers, also of experiments that are not built; then, of those that are, the cases that it has not."""
    rows = numbers.rows_of(NUMBERS, measured)
    units = _UNITS | {r.quantity: r.unit for r in rows}
    known = {(r.experiment, r.case, r.quantity) for r in rows}
    for name, values in measured.items():
        for (case, quantity), ours in values.items():
            if quantity in units and (name, case, quantity) not in known:
                rows.append(Row(name, case, quantity, units[quantity], None, "", ours))
    return sorted(rows, key=lambda row: list(dict.fromkeys(r.experiment for r in rows)).index(row.experiment))


def run_escape(only: str | None, out: Path | None) -> int:
    """Exit status 0 when all runs could be made; a number that is missed is a finding, and no error."""
    from rocelab.paper import escape_report as report

    console = make_console()
    runs: dict[str, list[Run]] = {}
    for name in choose(only):
        with console.status(f"scenarios/escape/{name}.toml"):
            runs[name] = measure(name)
    rows = rows_of({name: values_of(name, mine) for name, mine in runs.items()})
    folder = out or Path("out") / "paper-escape"
    numbers.save(folder, report.as_json(rows, runs, __version__), report.page(rows, runs, __version__))
    console.print(report.terminal_table(rows))
    console.print(f"report: [bold]{folder / 'report.html'}[/], .json", soft_wrap=True)
    return 0
