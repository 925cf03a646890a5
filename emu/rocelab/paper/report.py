"""The report of `./rocelab paper`: as JSON, as a page, and as tables in the terminal. All three show the same numbers, each with its 95 % interval over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table as Drawn

from rocelab import __version__
from rocelab.paper.chart import numbers_chart
from rocelab.paper import sensitivity
from rocelab.paper.claims import Claim, Spread
from rocelab.paper.harness import Findings
from rocelab.paper.tables import Cell, Figure, Table
from rocelab.report.templates import templates

_HERE = Path(__file__).parent
_FEW = 4  # numbers of a claim that the terminal shows; of more, the range and those that miss
_MANY = 18  # the page
_CHANGES = 5  # largest ones that the page shows of an alternative
_COLOURS = {"holds": "green", "missed": "red", "open": "yellow", "not run": "yellow"}


def _verdict(claim: Claim) -> str:
    colour = _COLOURS.get(claim.verdict)
    return f"[{colour}]{claim.verdict}[/]" if colour else claim.verdict


def as_json(findings: Findings) -> dict[str, Any]:
    return {
        "paper": findings.paper.title,
        "variant": "full" if findings.full or not findings.paper.has_full else "fast",
        "version": __version__,
        "claims": [claim_json(c) for c in findings.claims],
        "tables": [
            {
                "experiment": t.experiment,
                "title": t.title,
                "columns": list(t.columns),
                "rows": {
                    name: [_with_spread(c.ours, c.spread) | _beside(c) for c in row]
                    for name, row in t.rows.items()
                },
            }
            for t in findings.tables
        ],
        "failed": list(findings.failed),
        **({"sensitivity": sensitivity.as_json(findings.sensitivity)} if findings.sensitivity else {}),
    }


def claim_json(claim: Claim) -> dict[str, Any]:
    return {
        **{key: getattr(claim, key) for key in ("experiment", "source", "text", "paper", "demand", "unit")},
        **({"case": claim.case, "quantity": claim.quantity} if claim.quantity else {}),
        "verdict": claim.verdict,
        "holds": claim.holds,
        "missed": list(claim.missed),
        "open": list(claim.unsettled),
        "numbers": {
            name: _with_spread(value, claim.spreads.get(name, Spread(0)))
            for name, value in claim.ours.items()
        },
    }


def _with_spread(value: float | str | None, spread: Spread) -> dict[str, Any]:
    return {"ours": value, "ci95": spread.ci95, "seeds": spread.n}


def _beside(cell: Cell) -> dict[str, Any]:
    return {} if cell.paper is None else {"paper": cell.paper, "ratio": cell.ratio, "off": cell.off}


def page(findings: Findings) -> str:
    environment = templates(_HERE)
    environment.filters |= {
        "shown": shown,
        "spread": spread_text,
        "sentence": sensitivity.sentence,
        "change": sensitivity.change_text,
        "named": sensitivity.name_of,
    }
    return environment.get_template("paper.html.j2").render(
        css=(_HERE.parent / "report" / "report.css").read_text(),
        version=__version__,
        findings=findings,
        paper=findings.paper,
        figures=[*findings.figures, *_charts(findings)],
        many=_MANY,
        changes=_CHANGES,
    )


def _charts(findings: Findings) -> Iterable[Figure]:
    for name in findings.experiments:
        mine = [c for c in findings.claims if c.experiment == name and c.quantity]
        if svg := numbers_chart(mine, findings.paper.names):
            yield Figure(
                svg,
                name,
                note="A ring is the paper's number, a dot ours with its interval, red where it misses.",
            )


def shown(number: float | str | None, digits: int = 3) -> str:
    """Significant digits; "-" where there is nothing."""
    if number is None or isinstance(number, str):
        return number or "-"
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if "e+" in text else text


def spread_text(spread: Spread | None) -> str:
    """Nothing for one seed, of which the page says so once."""
    return "" if spread is None or spread.ci95 is None else f"± {shown(spread.ci95, 2)}"


def terminal(findings: Findings) -> list[Drawn]:
    tables = [_terminal_table(table) for table in findings.tables if table.on_terminal]
    numbers = [c for c in findings.claims if c.quantity]
    others = [c for c in findings.claims if not c.quantity]
    name = findings.paper.title
    variant = "" if not findings.paper.has_full else ", full length" if findings.full else ", fast variant"
    spread = "± 95 % interval over seeds; open: it does not decide; one seed has none"
    if numbers:
        tables.append(_terminal_numbers(numbers, f"{name}: the paper's numbers and ours{variant} ({spread})"))
    if others:
        tables.append(claims_table(others, f"{name}: what the paper says{variant} ({spread})"))
    if findings.sensitivity:
        tables.append(sensitivity.terminal(findings.sensitivity))
    return tables


def _terminal_numbers(claims: list[Claim], title: str) -> Drawn:
    table = Drawn(title=title, box=None)
    for column in ("", "experiment", "what"):
        table.add_column(column)
    for column in ("paper", "ours", "ours / paper"):
        table.add_column(column, justify="right")
    table.add_column("")
    for c in claims:
        ratio = c.only / c.expected if c.only is not None and c.expected else None
        bound = {"at most": "<= ", "at least": ">= "}.get(c.demand, "")
        table.add_row(
            *(_verdict(c), c.experiment, c.text, bound + c.paper if c.paper else "-"),
            *(_number(c, "ours"), shown(ratio), c.unit),
        )
    return table


def _number(claim: Claim, name: str) -> str:
    return f"{shown(claim.ours[name])} {spread_text(claim.spreads.get(name))}".rstrip()


def claims_table(claims: Sequence[Claim], title: str) -> Drawn:
    table = Drawn(title=title, box=None)
    table.add_column("")
    for column, ratio in (("what the paper says", 3), ("paper", 1), ("ours", 2)):
        table.add_column(column, ratio=ratio, overflow="fold")
    for c in claims:
        text = f"{c.source}: {c.text}" + (f" [{c.demand}]" if c.demand else "")
        table.add_row(_verdict(c), text.replace("[", "\\["), c.paper, ours_text(c))
    return table


def ours_text(claim: Claim) -> str:
    known = {name: value for name, value in claim.ours.items() if value is not None}
    if not known:
        return "not run"
    if len(known) == 1:
        return _number(claim, next(iter(known)))
    if len(known) <= _FEW:
        return ", ".join(f"{name} {_number(claim, name)}" for name in known)
    text = f"{shown(min(known.values()))} .. {shown(max(known.values()))}"
    missed = [name for name in claim.missed if name in known]
    text += f"; missed by {len(missed)} of {len(known)}" if missed else ""
    return text + (f"; open for {len(claim.unsettled)}" if claim.unsettled else "")


def _terminal_table(table: Table) -> Drawn:
    drawn = Drawn(title=f"{table.title}, ours (the paper's)", box=None)
    drawn.add_column("")
    for column in table.columns:
        drawn.add_column(column, justify="right")
    for name, row in table.rows.items():
        drawn.add_row(name, *(_terminal_cell(cell) for cell in row))
    return drawn


def _terminal_cell(cell: Cell) -> str:
    text = f"{shown(cell.ours)} {spread_text(cell.spread)}".rstrip()
    text += "" if cell.paper is None else f" ({shown(cell.paper)})"
    return f"[red]{text}[/]" if cell.off else text
