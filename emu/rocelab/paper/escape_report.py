"""The report of `./rocelab paper escape`: as JSON, as a page, and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from rocelab.paper.escape_chart import picture
from rocelab.paper.escape_measures import Run
from rocelab.paper.numbers import CLOSENESS, Row
from rocelab.paper.rocc_report import shown
from rocelab.report.templates import templates

_HERE = Path(__file__).parent
_NAMES = {
    "deadlocks": "runs that deadlock",
    "utilization": "links busy",
    "drops": "drops",
    "out_of_order": "out of order",
    "rate_before": "rate before",
    "rate_after": "rate after",
    "p99_fct_ms": "99th percentile FCT",
    "unfinished": "flows that never end",
    "p99_over_escape": "99th percentile FCT / Escape's",
    "p99_over_announced": "99th percentile FCT / Escape's with announcements",
    "fct_without_over_with": "mean FCT without / with Escape",
    "fct_bound": "its bound: mean FCT without Escape / without heavy flows",
    "of_ideal": "links busy, of buffers that never fill",
}
_VERDICTS = {True: "holds", False: "missed", None: ""}


def verdict(row: Row) -> str:
    """Empty where one of the two numbers is missing."""
    return _VERDICTS[row.holds]


def as_json(rows: Sequence[Row], runs: Mapping[str, Sequence[Run]], version: str) -> dict[str, Any]:
    return {
        "paper": "Escape (D. Menikkumbura's thesis, chapter 4)",
        "version": version,
        "closeness": CLOSENESS,
        "numbers": [{**asdict(row), "holds": row.holds} for row in rows],
        "runs": {name: [asdict(run) for run in mine] for name, mine in runs.items()},
    }


def page(rows: Sequence[Row], runs: Mapping[str, Sequence[Run]], version: str) -> str:
    environment = templates(_HERE)
    environment.filters["shown"] = shown
    environment.filters["verdict"] = verdict
    return environment.get_template("escape.html.j2").render(
        css=(_HERE.parent / "report" / "report.css").read_text(),
        version=version,
        rows=rows,
        names=_NAMES,
        closeness=CLOSENESS,
        runs=runs,
        pictures={name: picture([row for row in rows if row.experiment == name], _NAMES) for name in runs},
    )


def terminal_table(rows: Sequence[Row]) -> Table:
    table = Table(title="Escape, chapter 4: the paper's numbers and ours", box=None)
    for column in ("", "experiment", "case", "what"):
        table.add_column(column)
    for column in ("paper", "ours"):
        table.add_column(column, justify="right")
    table.add_column("")
    colours = {"holds": "[green]holds[/]", "missed": "[red]missed[/]", "": ""}
    for row in rows:
        table.add_row(
            colours[verdict(row)],
            row.experiment,
            row.case,
            _NAMES[row.quantity],
            shown(row.paper),
            shown(row.ours),
            row.unit,
        )
    return table
