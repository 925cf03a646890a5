"""`./rocelab paper timely`: table 3.1 of the TIMELY chapter (Mittal, 3.5.1) from scenarios/timely/incast.toml, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocelab import __version__, paths
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.paper import numbers
from rocelab.paper import timely_report as report
from rocelab.paper.numbers import Row
from rocelab.paper.timely_measures import Run, run_of, values_of
from rocelab.scenario import plan_of, read_scenario
from rocelab.sweep.run import make_console

SCENARIO = paths.ROOT / "scenarios" / "timely" / "incast.toml"
NUMBERS = paths.ROOT / "results" / "paper" / "timely.csv"


def measure(overrides: tuple[str, ...] = ()) -> list[Run]:
    scenario = read_scenario(SCENARIO, overrides)
    runs = []
    for label in scenario.labels:
        for seed in scenario.seeds:
            outcome = DesEngine().execute(plan_of(scenario, label, seed))
            if outcome.error is not None:
                raise RocelabError(f"{label}, seed {seed}: {outcome.error}")
            runs.append(run_of(outcome))
    return runs


def rows_of(runs: Sequence[Run]) -> list[Row]:
    return numbers.rows_of(NUMBERS, {"table3.1": values_of(runs)})


def run_timely(out: Path | None) -> int:
    """Exit status 0 when all runs completed; a number that is missed is a finding, and no error."""
    console = make_console()
    with console.status("scenarios/timely/incast.toml"):
        runs = measure()
    rows = rows_of(runs)
    folder = out or Path("out") / "paper-timely"
    numbers.save(folder, report.as_json(rows, runs, __version__), report.page(rows, runs, __version__))
    console.print(report.terminal_table(rows))
    console.print(report.terminal_statements(report.statements(values_of(runs))))
    console.print(f"report: [bold]{folder / 'report.html'}[/], .json", soft_wrap=True)
    return 0
