"""`./rocelab run`: drives a scenario's runs, shows where they stand, prints the comparison."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rocelab import results
from rocelab.display import RunDisplay
from rocelab.errors import RocelabError
from rocelab.headline import Headline, headline
from rocelab.labels import read_label
from rocelab.privileges import require_root
from rocelab.progress import Progress, ProgressLines
from rocelab.result import Result
from rocelab.scenario import make_plans, print_warnings
from rocelab.under_way import UnderWay

_GAP = 2  # of a table without lines, beside each column
_MOST_ERRORS = 3  # in the last line


def run_scenario(
    scenario: Path,
    engine: str | None,
    clock: str | None,
    seed: int | None,
    pcap: bool,
    overrides: tuple[str, ...],
    out: Path | None,
    progress: Path | None = None,
    watch: Path | None = None,
    label: str | None = None,
) -> int:
    """Exit status 0 only if every run completed."""
    engine = engine or "live"
    if clock is not None:
        overrides = (*overrides, f"engine.clock={clock}")
    if engine == "live":
        require_root("the live engine")
    console = Console()
    read = read_label(scenario, overrides if seed is None else (*overrides, f"seeds=[{seed}]"), label)
    print_warnings(read)
    runs = len(make_plans(read)) if label is None else len(read.seeds)
    lines = ProgressLines(progress, runs) if progress else None
    under_way = UnderWay(watch) if watch else None
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, _interrupt)  # the same way out as ^C: nothing stays behind
    with RunDisplay(console, runs) as display:

        def report(at: Progress) -> None:
            display.report(at)
            if under_way:
                under_way.report(at)
            if lines:
                lines.report(at)

        result = results.run(
            read,
            engine,
            out=out,
            pcap=pcap,
            report=report,
            on_outcome=display.outcome,
            watched=under_way is not None,
            label=label,
        )
    for table in tables_of(headline(result.summary), _title(result), console.width):
        console.print(table)
    console.print(_fidelity(result))
    console.print(f"{time.monotonic() - begin:.1f} s; report: [bold]{result.report}[/]")
    if not result.complete:
        raise RocelabError(_some(result.errors()))
    return 0


def _some(errors: list[str]) -> str:
    """Each has been shown with its run: the last line names the first of them."""
    more = f"; and {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
    return "; ".join(errors[:_MOST_ERRORS]) + more


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _title(result: Result) -> str:
    seeds = result.scenario.seeds
    return f"{result.scenario.name}: " + (
        f"mean of {len(seeds)} seeds, ± 95 % confidence" if len(seeds) > 1 else f"seed {seeds[0]}"
    )


def tables_of(found: Headline, title: str, width: int) -> list[Table]:
    """As many labels side by side as there is room for: of cells that are cut off nothing is left to read."""
    room = width - max(len(metric.heading) for metric in found.columns) - _GAP
    groups: list[list[int]] = []
    left = 0
    for number, (label, _, cells) in enumerate(found.rows):
        needed = max(len(text) for text in (label, *(cell.line for cell in cells))) + _GAP
        if not groups or needed > left:
            groups.append([])
            left = room
        groups[-1].append(number)
        left -= needed
    return [_table(found, group, title) for group in groups]


def _table(found: Headline, group: list[int], title: str) -> Table:
    table = Table(title=title, box=None)
    table.add_column("")
    for row in group:
        table.add_column(found.rows[row][0], justify="right")
    for number, metric in enumerate(found.columns):
        cells = found.column(number)
        table.add_row(metric.heading, *(cells[row].line for row in group))
    return table


def _fidelity(result: Result) -> str:
    verdicts = [run["fidelity"]["verdict"] for run in result.summary["runs"]]
    good = "ok" if "ok" in verdicts else "exact"
    worst = next((v for v in verdicts if v not in ("exact", "ok")), good)
    colour = "green" if worst == good else "yellow"
    return f"fidelity: [{colour}]{worst}[/] ({verdicts.count(good)} of {len(verdicts)} runs {good})"
