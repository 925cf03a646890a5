"""The report of `./rocelab paper irn`: as JSON, as a page, and as tables in the terminal. All three show the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from rocelab import __version__
from rocelab.paper.cells import CLOSENESS, OFF_BY, Cell, TableVerdict
from rocelab.paper.measured import CCS, METRICS
from rocelab.paper.sentence import Judged
from rocelab.report.templates import templates

_HERE = Path(__file__).parent
_TITLES = {
    "4.2": "link utilization",
    "4.3": "link rate",
    "4.4": "scale of the topology",
    "4.5": "workload",
    "4.6": "buffer per input port",
    "4.7": "RTO_high",
    "4.8": "N for RTO_low",
}
_MANY = 18  # numbers of a sentence that the page shows; of more, the range and those that miss
_ROWS = (("irn", "IRN"), ("irn_over_roce_pfc", "IRN / RoCE+PFC"), ("irn_over_irn_pfc", "IRN / IRN+PFC"))


@dataclass(frozen=True)
class Findings:
    full: bool
    cells: Sequence[Cell]
    verdict: TableVerdict
    sentences: Sequence[Judged]
    tails: Mapping[str, Mapping[str, float]]  # figure 4.8: percentile -> FCT in seconds, by label
    diagnostics: Mapping[str, Sequence[Mapping[str, Any]]]  # by experiment
    failed: Sequence[str]  # points that did not finish, each with its reason

    @property
    def variant(self) -> str:
        return "full" if self.full else "fast"


def as_json(findings: Findings) -> dict[str, Any]:
    v = findings.verdict
    return {
        "paper": "IRN (R. Mittal's thesis, chapter 4)",
        "variant": findings.variant,
        "version": __version__,
        "checks": {
            "sides": {
                "demand": f"same side of 1 wherever the paper's ratio is off 1 by more than {OFF_BY:g}",
                "cells": v.with_side,
                "wrong": len(v.wrong_side),
                "holds": v.sides_hold,
            },
            "closeness": {
                "demand": f"median of |ours / paper - 1| over all ratio cells <= {CLOSENESS:g}",
                "cells": v.ratio_cells - v.empty,
                "empty": v.empty,
                "median": v.median_distance,
                "holds": v.closeness_holds,
            },
        },
        "cells": [
            {**asdict(c), "ratio": c.ratio, "same_side": c.same_side, "distance": _distance(c)}
            for c in findings.cells
        ],
        "sentences": [
            {
                "experiment": j.sentence.experiment,
                "text": j.sentence.text,
                "demand": j.sentence.demand,
                "holds": j.holds,
                "numbers": dict(j.numbers),
                "missed": j.missed,
            }
            for j in findings.sentences
        ],
        "figure4.8": findings.tails,
        "runs": findings.diagnostics,
        "failed": list(findings.failed),
    }


def _distance(cell: Cell) -> float | None:
    return abs(cell.ratio - 1) if cell.is_ratio and cell.ratio is not None else None


def page(findings: Findings) -> str:
    environment = templates(_HERE)
    environment.filters["shown"] = shown
    return environment.get_template("paper.html.j2").render(
        css=(_HERE.parent / "report" / "report.css").read_text(),
        version=__version__,
        findings=findings,
        verdict=findings.verdict,
        tables=_tables(findings.cells),
        ccs=CCS,
        metrics=METRICS,
        off_by=OFF_BY,
        closeness=CLOSENESS,
        many=_MANY,
    )


def _tables(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Rows as the paper prints them: for each value IRN, over RoCE+PFC, over IRN+PFC; nine columns."""
    tables = []
    for number in dict.fromkeys(c.table for c in cells):
        mine = {(c.value, c.quantity, c.cc, c.metric): c for c in cells if c.table == number}
        values = dict.fromkeys(c.value for c in mine.values())
        unit = next(iter(mine.values())).unit
        rows = [
            {
                "value": f"{value} {unit if unit != 'fraction' else ''}".strip(),
                "what": title,
                "cells": [mine[value, quantity, cc, metric] for cc in CCS for metric in METRICS],
            }
            for value in values
            for quantity, title in _ROWS
        ]
        tables.append({"number": number, "title": _TITLES[number], "rows": rows})
    return tables


def shown(number: float | None, digits: int = 3) -> str:
    """Significant digits; "-" where there is nothing."""
    if number is None:
        return "-"
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if "e+" in text else text


def terminal_tables(cells: Sequence[Cell]) -> list[Table]:
    tables = []
    for table in _tables(cells):
        drawn = Table(title=f"table {table['number']}: {table['title']}, ours (the paper's)", box=None)
        drawn.add_column("")
        for cc in CCS:
            for metric in ("slowdown", "FCT", "99%"):
                drawn.add_column(f"{metric}\n{'no CC' if cc == 'none' else cc}", justify="right")
        for row in table["rows"]:
            drawn.add_row(f"{row['value']} {row['what']}", *(_terminal_cell(c) for c in row["cells"]))
        tables.append(drawn)
    return tables


def _terminal_cell(cell: Cell) -> str:
    scale = 1e3 if cell.quantity == "irn" and cell.metric.endswith("_s") else 1.0
    ours = None if cell.ours is None else cell.ours * scale
    text = f"{shown(ours, 2 if cell.is_ratio else 3)} ({shown(cell.paper * scale)})"
    return f"[red]{text}[/]" if cell.same_side is False else text


def terminal_checks(findings: Findings) -> Table:
    v = findings.verdict
    table = Table(title=f"checks, {findings.variant} variant", box=None)
    table.add_column("")
    table.add_column("what the paper says", ratio=3, overflow="fold")
    table.add_column("ours", ratio=2, overflow="fold")
    if v.ratio_cells:
        table.add_row(
            _mark(v.sides_hold if v.with_side else None),
            f"tables 4.2-4.8: same side of 1 in the {v.with_side} cells off 1 by more than {OFF_BY:.0%}",
            f"{len(v.wrong_side)} on the other side",
        )
        table.add_row(
            _mark(v.closeness_holds if v.median_distance is not None else None),
            f"tables 4.2-4.8: median |ours / paper - 1| of {v.ratio_cells} ratio cells <= {CLOSENESS:g}",
            f"{shown(v.median_distance)}; {v.empty} empty",
        )
    for judged in findings.sentences:
        known = [n for n in judged.numbers.values() if n is not None]
        span = f"{shown(min(known))} .. {shown(max(known))}" if known else "not run"
        if judged.missed:
            span += f"; missed by {len(judged.missed)} of {len(known)}"
        text = f"{judged.sentence.experiment}: {judged.sentence.text} [{judged.sentence.demand}]"
        table.add_row(_mark(judged.holds), text.replace("[", "\\["), span)
    return table


def _mark(holds: bool | None) -> str:
    return {True: "[green]holds[/]", False: "[red]missed[/]", None: "[yellow]not run[/]"}[holds]
