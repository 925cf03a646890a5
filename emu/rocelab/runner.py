"""`./rocelab run`: drives a scenario's runs, shows where they stand, prints the comparison."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from rocelab import results
from rocelab.errors import RocelabError
from rocelab.headline import headline
from rocelab.model import RunOutcome
from rocelab.privileges import require_root
from rocelab.result import Result
from rocelab.scenario import make_plans, print_warnings, read_scenario


class _Display:
    """One line that says which run is under way and how far its clock is."""

    def __init__(self, console: Console, runs: int) -> None:
        self.bar = Progress(
            TextColumn("{task.description:28}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TextColumn("{task.fields[clock]}"),
            TimeElapsedColumn(),
            console=console,
            transient=console.is_terminal,
        )
        self.task: TaskID = self.bar.add_task("topology", total=runs, clock="")
        self.console = console

    def report(self, progress: Any) -> None:
        plan = progress.plan
        clock = (
            f"{progress.now_ps / 1e9:8.3f} ms of experiment" if progress.phase == "run" else progress.phase
        )
        self.bar.update(self.task, description=f"{plan.label}, seed {plan.seed}", clock=clock)

    def outcome(self, outcome: RunOutcome) -> None:
        self.bar.advance(self.task)
        if not self.console.is_terminal:
            self.console.print(
                f"{outcome.plan.label:12} seed {outcome.plan.seed}: {outcome.end_ps / 1e9:9.3f} ms of experiment in {outcome.wall_s:.2f} s"
            )
        if outcome.error is not None:
            text = f"{outcome.plan.label}, seed {outcome.plan.seed}: {outcome.error}"
            self.console.print(text, style="red", markup=False)


def run_scenario(
    scenario: Path,
    engine: str | None,
    clock: str | None,
    seed: int | None,
    pcap: bool,
    overrides: tuple[str, ...],
    out: Path | None,
) -> int:
    """Exit status 0 only if every run completed."""
    engine = engine or "live"
    if clock is not None:
        overrides = (*overrides, f"engine.clock={clock}")
    if engine == "live":
        require_root("the live engine")
    console = Console()
    read = read_scenario(scenario, overrides if seed is None else (*overrides, f"seeds=[{seed}]"))
    print_warnings(read)
    display = _Display(console, len(make_plans(read)))
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, _interrupt)  # the same way out as ^C: nothing stays behind
    with display.bar:
        result = results.run(
            scenario,
            engine,
            overrides=overrides,
            seed=seed,
            out=out,
            pcap=pcap,
            report=display.report,
            on_outcome=display.outcome,
        )
    console.print(_table(result))
    console.print(_fidelity(result))
    console.print(f"{time.monotonic() - begin:.1f} s; report: [bold]{result.report}[/]")
    if not result.complete:
        raise RocelabError("; ".join(result.errors()))
    return 0


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _table(result: Result) -> Table:
    found = headline(result.summary)
    seeds = len(result.scenario.seeds)
    table = Table(
        title=f"{result.scenario.name}: mean{f' of {seeds} seeds, ± 95 % confidence' if seeds > 1 else ''}",
        box=None,
    )
    table.add_column("")
    for label, *_ in found.rows:
        table.add_column(label, justify="right")
    for number, metric in enumerate(found.columns):
        table.add_row(metric.heading, *(cell.line for cell in found.column(number)))
    return table


def _fidelity(result: Result) -> str:
    verdicts = [run["fidelity"]["verdict"] for run in result.summary["runs"]]
    good = "ok" if "ok" in verdicts else "exact"
    worst = next((v for v in verdicts if v not in ("exact", "ok")), good)
    colour = "green" if worst == good else "yellow"
    return f"fidelity: [{colour}]{worst}[/] ({verdicts.count(good)} of {len(verdicts)} runs {good})"
