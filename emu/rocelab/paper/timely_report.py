"""The report of `./rocelab paper timely`: as JSON, as a page with the RTTs' distributions (figure 3.11), and as tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from rocelab.paper.numbers import CLOSENESS, Row, Values
from rocelab.paper.rocc_report import shown, terminal_statements
from rocelab.paper.rocc_statements import Statement
from rocelab.paper.timely_measures import Run, values_of
from rocelab.report import style
from rocelab.report.templates import templates

__all__ = ["as_json", "page", "statements", "terminal_statements", "terminal_table"]

_HERE = Path(__file__).parent
_NAMES = {
    "throughput": "total throughput",
    "average_rtt": "average RTT",
    "p99_rtt": "99th percentile of RTT",
    "jain": "Jain's fairness index",
    "pauses": "pauses",
    "drops": "drops",
}
_PERCENTILES = (1, 10, 25, 50, 75, 90, 99, 99.9)


def statements(ours: Values) -> list[Statement]:
    """The shape of table 3.1: what TIMELY gives up and what it gets."""

    def ratio(quantity: str, over: str) -> float:
        return (ours["TIMELY", quantity] or 0.0) / (ours[over, quantity] or float("nan"))

    def statement(text: str, paper: str, value: float, holds: bool) -> Statement:
        return Statement("3.5.1", text, paper, f"{value:.3g}", holds)

    throughput = ratio("throughput", "PFC")
    average, tail, dctcp = ratio("average_rtt", "PFC"), ratio("p99_rtt", "PFC"), ratio("average_rtt", "DCTCP")
    fairer = (ours["TIMELY", "jain"] or 0.0) - (ours["PFC", "jain"] or 0.0)
    return [
        statement("throughput over PFC's: slightly lower", "0.995", throughput, 0.97 <= throughput <= 1.0),
        statement("average RTT over PFC's: an order of magnitude lower", "0.093", average, average <= 0.1),
        statement("99th percentile of RTT over PFC's", "0.112", tail, tail <= 0.112),
        statement("average RTT over DCTCP's", "0.102", dctcp, dctcp < 1),
        statement("Jain's index minus PFC's: more fair", "0.044", fairer, fairer > 0),
    ]


def as_json(rows: Sequence[Row], runs: Sequence[Run], version: str) -> dict[str, Any]:
    return {
        "paper": "TIMELY (R. Mittal's thesis, chapter 3)",
        "version": version,
        "closeness": CLOSENESS,
        "numbers": [{**asdict(row), "holds": row.holds} for row in rows],
        "statements": [asdict(s) for s in statements(values_of(runs))],
        "runs": [
            {
                "case": run.case,
                "seed": run.seed,
                **run.values,
                "rtts": len(run.rtts_us),
                "rtt_percentiles_us": {f"{p:g}": float(np.percentile(run.rtts_us, p)) for p in _PERCENTILES},
            }
            for run in runs
        ],
    }


def page(rows: Sequence[Row], runs: Sequence[Run], version: str) -> str:
    environment = templates(_HERE)
    environment.filters["shown"] = shown
    return environment.get_template("timely.html.j2").render(
        css=(_HERE.parent / "report" / "report.css").read_text(),
        version=version,
        rows=rows,
        names=_NAMES,
        closeness=CLOSENESS,
        statements=statements(values_of(runs)),
        picture=picture(runs),
        runs=runs,
    )


def picture(runs: Sequence[Run]) -> str:
    """Distribution of RTTs, one line per scheme, of the first seed."""
    fig, ((axes,),) = style.figure(1, 1, 8.0, 3.0)
    first = [run for run in runs if run.seed == runs[0].seed]
    palette = style.colours([run.case for run in first])
    for run in first:
        share = np.linspace(0, 1, len(run.rtts_us))
        thinned = np.unique(np.linspace(0, len(share) - 1, 500).astype(int))
        axes.plot(run.rtts_us[thinned], share[thinned], color=palette[run.case], label=run.case)
    axes.set(xlabel="RTT [us]", ylabel="share of segments", xscale="log")
    axes.legend(loc="lower right")
    return style.svg(fig, "Distribution of round-trip times")


def terminal_table(rows: Sequence[Row]) -> Table:
    table = Table(title="TIMELY, table 3.1: the paper's numbers and ours", box=None)
    for column in ("case", "what"):
        table.add_column(column)
    for column in ("paper", "ours", "ours / paper"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in rows:
        ratio = row.ours / row.paper if row.ours is not None and row.paper else None
        table.add_row(
            row.case, _NAMES[row.quantity], shown(row.paper), shown(row.ours), shown(ratio), row.unit
        )
    return table
