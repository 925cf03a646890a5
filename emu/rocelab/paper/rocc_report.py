"""The report of `./rocelab paper rocc`: as JSON, as a page with fair rates and queues over time, and as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from rocelab.paper.numbers import CLOSENESS, Row
from rocelab.paper.rocc_measures import SIZES, Measured, Picture
from rocelab.paper.rocc_statements import Statement, statements
from rocelab.report import style
from rocelab.report.templates import templates

_HERE = Path(__file__).parent
_NAMES = {
    "fair_rate": "fair rate",
    "queue": "queue",
    "settles": "settles after",
    "flow_rate": "rate per flow",
    "deviation": "deviation of the rates",
    "busy": "link busy",
    "average_fct": "average FCT",
    "p99_fct": "99th percentile of FCT",
}


def as_json(rows: Sequence[Row], measured: Mapping[str, Measured], version: str) -> dict[str, Any]:
    return {
        "paper": "RoCC (D. Menikkumbura's thesis, chapter 3)",
        "version": version,
        "closeness": CLOSENESS,
        "statements": [asdict(s) for s in statements(measured)],
        "numbers": [{**asdict(row), "holds": row.holds} for row in rows],
        "runs": {name: m.notes for name, m in measured.items()},
    }


def page(rows: Sequence[Row], measured: Mapping[str, Measured], version: str) -> str:
    environment = templates(_HERE)
    environment.filters["shown"] = shown
    return environment.get_template("rocc.html.j2").render(
        css=(_HERE.parent / "report" / "report.css").read_text(),
        version=version,
        rows=rows,
        names=_NAMES,
        statements=statements(measured),
        closeness=CLOSENESS,
        pictures={name: picture(m.pictures) if m.pictures else "" for name, m in measured.items()},
        runs={name: m.notes for name, m in measured.items()},
        sizes=[f"mean_fct_ms {name}" for name, _, _ in SIZES],
    )


def picture(pictures: Sequence[Picture]) -> str:
    """A row for each: fair rate left, queue right; a line per congestion point."""
    rows = len(pictures)
    fig, grid = style.figure(rows, 2, 10.6, 1.7 * rows + 0.4, gridspec_kw={"hspace": 0.75, "wspace": 0.2})
    for (left, right), one in zip(grid, pictures):
        palette = style.colours([p.interface for p in one.points])
        for point in one.points:
            times = point.time_s * 1e3
            left.plot(times, point.rate_gbps, color=palette[point.interface], label=point.interface)
            right.plot(times, point.queue_kb, color=palette[point.interface])
        left.set(title=f"{one.title}: fair rate", ylabel="Gb/s", yscale="log")
        right.set(title=f"{one.title}: queue", ylabel="KB")
        if len(one.points) > 1:
            left.legend(loc="lower right")
        for axes in (left, right):
            axes.set_xlabel("time [ms]")
    return style.svg(fig, "Fair rates and queues over time")


def shown(number: float | None, digits: int = 3) -> str:
    return "-" if number is None else f"{number:.{digits}g}" if number < 1000 else f"{number:.0f}"


def terminal_table(rows: Sequence[Row]) -> Table:
    table = Table(title="RoCC, chapter 3: the paper's numbers and ours", box=None)
    for column in ("", "experiment", "case", "what"):
        table.add_column(column)
    for column in ("paper", "ours", "ours / paper"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in rows:
        limit = "< " if row.quantity == "settles" else ""
        ratio = row.ours / row.paper if row.ours is not None and row.paper else None
        table.add_row(
            _mark(row.holds),
            row.experiment,
            row.case,
            _NAMES[row.quantity],
            f"{limit}{shown(row.paper)}",
            shown(row.ours),
            shown(ratio),
            row.unit,
        )
    return table


def terminal_statements(found: Sequence[Statement]) -> Table:
    table = Table(title="What the paper says of them", box=None)
    for column in ("", "where", "what", "paper", "ours"):
        table.add_column(column, overflow="fold")
    for each in found:
        table.add_row(_mark(each.holds), each.source, each.text, each.paper, each.ours)
    return table


def _mark(holds: bool | None) -> str:
    return {True: "[green]holds[/]", False: "[red]missed[/]", None: "[yellow]not run[/]"}[holds]
