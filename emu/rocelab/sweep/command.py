"""`./rocelab sweep`: runs the points, prints means with confidence intervals, writes summary.json."""

from __future__ import annotations

import json
from pathlib import Path

from rich.table import Table

from rocelab.files import write_whole
from rocelab.headline import headline
from rocelab.model import Scenario
from rocelab.summary import Summary, summarise_runs
from rocelab.scenario import print_warnings
from rocelab.sweep.index import under_way
from rocelab.sweep.points import parse_seeds, points_of
from rocelab.sweep.run import SweepOutcome, failures, make_console, run_points
from rocelab.sweep.store import PointStore


def run_sweep(
    scenario: Path,
    seeds: str | None,
    overrides: tuple[str, ...],
    cluster: str | None,
    jobs: int,
    out: Path | None,
) -> int:
    """Exit status 0 only if every point is there in the end."""
    console = make_console()
    read, points = points_of(scenario, overrides, parse_seeds(seeds) if seeds else ())
    print_warnings(read)
    folder = out or Path("out") / f"sweep-{read.name}"
    store = PointStore(folder / "points")
    with under_way(folder, read, points):
        outcome = run_points(points, store, console, jobs, cluster)
    if outcome.reused:
        console.print(f"{outcome.reused} points were finished before")
    summary = summarise_sweep(read, outcome, store)
    write_whole(folder / "summary.json", (json.dumps(summary, indent=1, allow_nan=False) + "\n").encode())
    if not outcome.finished:
        raise failures(outcome)
    console.print(_table(read, summary))
    if summary["comparisons"]:
        console.print(_comparisons(summary))
    console.print(f"summary: [bold]{folder / 'summary.json'}[/]; flows: {store.folder}", soft_wrap=True)
    if outcome.failed:
        raise failures(outcome)
    return 0


def summarise_sweep(scenario: Scenario, outcome: SweepOutcome, store: PointStore) -> Summary:
    """As of a run, with the file of each run's flows and the points that failed."""
    runs = [{**store.run(p), "flows_file": f"points/{p.key}.flows.npz"} for p in outcome.finished]
    summary = summarise_runs(scenario, runs, "des")
    summary["planned_runs"] = len(outcome.points)
    summary["complete"] = len(outcome.finished) == len(outcome.points)
    summary["failed"] = [
        {"label": e.point.label, "seed": e.point.seed, "error": e.error} for e in outcome.failed
    ]
    return summary


def _table(scenario: Scenario, summary: Summary) -> Table:
    found = headline(summary, always_only=True)
    spread = f", mean of {len(scenario.seeds)} seeds ± 95 % confidence" if len(scenario.seeds) > 1 else ""
    table = Table(title=f"{scenario.name}{spread}", box=None)
    table.add_column("label")
    for metric in found.columns:
        table.add_column(metric.heading, justify="right")
    for label, _, cells in found.rows:
        table.add_row(label, *(cell.line for cell in cells))
    return table


def _comparisons(summary: Summary) -> Table:
    table = Table("of", "over", "metric", title="ratios", box=None)
    for title in ("ratio", "paper"):
        table.add_column(title, justify="right")
    for c in summary["comparisons"]:
        ratio = "-" if c["ratio"] is None else f"{c['ratio']:.3f}"
        if c["n"] > 1 and c["ci95"]:
            ratio += f" ± {c['ci95']:.3f}"
        table.add_row(c["of"], c["over"], c["metric"], ratio, "" if c["paper"] is None else f"{c['paper']:g}")
    return table
