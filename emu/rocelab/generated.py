"""Tables of documents that the sources give (parameters: base/schema.h; metrics: emu/runner/metric_table.h; trace kinds: base/trace.h; columns of frames: columns.py; results of papers:
results/measured): `PYTHONPATH=emu python3 -m rocelab.generated` rewrites what stands in PAGES between

    <!-- generated: congestion_control -->
    <!-- end -->

and says whether anything changed. Other files can be named. tests/python/test_generated.py fails while a file is behind the sources.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocelab import columns, metrics, native, paths
from rocelab.errors import RocelabError
from rocelab.paper import markdown
from rocelab.paper.harness import Findings
from rocelab.paper.recorded import findings_of

PAGES = tuple(
    paths.ROOT / "docs" / name
    for name in (
        "reference/scenarios.md",
        "reference/metrics.md",
        "tutorial/python.md",
        "papers/irn.md",
        "papers/irn_tables.md",
    )
)
_BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w.]+) -->\n).*?(<!-- end -->)", re.S)
_CC = "congestion_control."
_FRAME = "frame."
_RECORDED = "recorded."  # and a file of results/measured, and a table of its findings or "claims"


@dataclass(frozen=True)
class Row:
    key: str
    values: tuple[str, ...]  # one for each column
    range: str
    text: str


@dataclass(frozen=True)
class Table:
    section: str
    columns: tuple[tuple[str, str], ...]  # name, source
    rows: tuple[Row, ...]


def tables() -> tuple[Table, ...]:
    return tuple(
        Table(
            section,
            tuple((name, source) for name, source in columns),
            tuple(Row(key, tuple(values), range_, text) for key, values, range_, text in rows),
        )
        for section, columns, rows in native.runner.schema_tables()
    )


def _shown(value: str) -> str:
    """ "55us" of a scenario is `55us` of a document; numbers stay as they are."""
    return re.sub(r'"([^"]*)"', r"`\1`", value)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _values(row: Row) -> list[str]:
    first = row.values[0]
    return [_shown(first), *("same" if value == first else _shown(value) for value in row.values[1:])]


def _markdown(head: str, table: Table) -> list[str]:
    names = [f"`{name}`" for name, _ in table.columns]
    lines = [
        _line([head, *names, "range", "meaning"]),
        "|---" * (len(names) + 3) + "|",
        *(_line([f"`{row.key}`", *_values(row), row.range, row.text]) for row in table.rows),
    ]
    sources = [f"`{name}`: {source}." for name, source in table.columns if source]
    return [*lines, "", *(["Presets. " + " ".join(sources), ""] if sources else [])]


def _congestion_controls(all_tables: Sequence[Table]) -> list[str]:
    mine = [table for table in all_tables if table.section.startswith(_CC)]
    names = [table.section.removeprefix(_CC) for table in mine if "," not in table.section]
    listed = ", ".join(f"`{name}`" for name in names[:-1]) + f" or `{names[-1]}`"
    lines = [f"`name` is `none` (the default), {listed}; a label such as `irn+{names[0]}` sets it.", ""]
    for table in mine:
        name, _, part = table.section.removeprefix(_CC).partition(", ")
        lines += _markdown(f"`{name}.`" + (f" {part}" if part else ""), table)
    return lines


def _switch(all_tables: Sequence[Table]) -> list[str]:
    """`[switch]`, and the tables in it: those of mechanisms among them."""
    mine = [table for table in all_tables if f"{table.section}.".startswith("switch.")]
    return [
        line for table in mine for line in _markdown(f"`{table.section.removeprefix('switch.')}.`", table)
    ]


def _workloads(all_tables: Sequence[Table]) -> list[str]:
    """The keys that kinds of workloads share, then those of each kind that has some."""
    mine = [table for table in all_tables if table.section.partition(".")[0] == "workload"]
    return [line for table in mine for line in _markdown(f"`{table.section}.`", table)]


def _section(name: str, all_tables: Sequence[Table]) -> list[str]:
    found = [table for table in all_tables if table.section == name]
    if not found:
        raise RocelabError(f"there is no schema of [{name}]")
    return _markdown(f"`{name}.`", found[0])


def _metrics() -> list[str]:
    rows = (
        (f"`{m.name}`", f"{m.title}, {m.unit}" if m.unit else m.title, m.better, m.text)
        for m in metrics.table()
    )
    return [_line(("field", "shown as", "better", "meaning")), "|---" * 4 + "|", *map(_line, rows)]


def _trace_kinds() -> list[str]:
    rows = ((f"`{name}`", text) for name, text in native.runner.TRACE_KINDS)
    return [_line(("kind", "meaning")), "|---" * 2 + "|", *map(_line, rows)]


def _frame(name: str) -> list[str]:
    rows = ((f"`{column}`", unit, text) for column, unit, text in columns.COLUMNS[name])
    return [_line(("column", "unit", "meaning")), "|---" * 3 + "|", *map(_line, rows)]


@functools.cache
def _findings(stem: str) -> Findings:
    return findings_of(stem)


def _recorded(stem: str, part: str) -> list[str]:
    findings = _findings(stem)
    return markdown.claims(findings) if part == "claims" else markdown.table(findings, part)


def _block(name: str, all_tables: Sequence[Table]) -> list[str]:
    if name == _CC[:-1]:
        return _congestion_controls(all_tables)
    if name == "switch":
        return _switch(all_tables)
    if name == "workload":
        return _workloads(all_tables)
    if name == "metrics":
        return _metrics()
    if name.startswith(_FRAME):
        return _frame(name.removeprefix(_FRAME))
    if name.startswith(_RECORDED):
        return _recorded(*name.removeprefix(_RECORDED).split(".", 1))
    return _trace_kinds() if name == "trace_kinds" else _section(name, all_tables)


def rewritten(text: str, all_tables: Sequence[Table]) -> str:
    """The page with its generated blocks as the sources have them."""

    def block(match: re.Match[str]) -> str:
        lines = _block(match["name"], all_tables)
        return match[1] + "\n".join(lines).rstrip("\n") + "\n" + match[3]

    return _BLOCK.sub(block, text)


def main(arguments: Sequence[str]) -> int:
    for page in map(Path, arguments or PAGES):
        before = page.read_text()
        after = rewritten(before, tables())
        if after != before:
            page.write_text(after)
        print(f"{page}: {'rewritten' if after != before else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
