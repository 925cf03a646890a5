"""A paper's findings as Markdown, for docs/papers: the same numbers as its report."""

from __future__ import annotations

from collections.abc import Iterable

from rocelab.errors import RocelabError
from rocelab.paper.harness import Findings
from rocelab.paper.report import ours_text, shown, spread_text
from rocelab.paper.tables import Cell


def table(findings: Findings, name: str) -> list[str]:
    """Of the tables that the terminal shows the one whose title begins with `name` ("table4.2:"); the paper's numbers in brackets, those on its other side in bold."""
    titles = {t.title.partition(":")[0].lower().replace(" ", ""): t for t in findings.tables if t.on_terminal}
    if name not in titles:
        raise RocelabError(f"{findings.paper.title}: there is no table {name}")
    columns = [column.replace("\n", ", ") for column in titles[name].columns]
    rows = titles[name].rows.items()
    return [*_head("", *columns), *(_row(title, *map(_cell, row)) for title, row in rows)]


def claims(findings: Findings) -> list[str]:
    rows = (
        _row(c.verdict, f"{c.source}: {c.text}", c.demand, ours_text(c)) for c in findings.claims if c.demand
    )
    return [*_head("", "what the paper says", "asked", "ours"), *rows]


def _head(*columns: str) -> Iterable[str]:
    return _row(*columns), "|---" * len(columns) + "|"


def _row(*cells: str) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"


def _cell(cell: Cell) -> str:
    text = f"{shown(cell.ours)} {spread_text(cell.spread)}".rstrip()
    text = f"**{text}**" if cell.off else text
    return text if cell.paper is None else f"{text} ({shown(cell.paper)})"
