"""Tables and figures of a paper's report, beside its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rocelab.paper.claims import Spread, Values

Key = tuple[str, str, int]  # title of the table, name of the row, number of the column


@dataclass(frozen=True)
class Cell:
    """`off`: it is on the other side of what the paper says."""

    ours: float | str | None
    paper: float | None = None
    off: bool = False
    spread: Spread = Spread(0)

    @property
    def ratio(self) -> float | None:
        return self.ours / self.paper if isinstance(self.ours, float) and self.paper else None


@dataclass(frozen=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, Sequence[Cell]]  # by name
    experiment: str = ""  # below whose heading it stands; empty: behind the claims
    note: str = ""
    on_terminal: bool = False

    def cells(self) -> dict[Key, Cell]:
        return {(self.title, name, i): cell for name, row in self.rows.items() for i, cell in enumerate(row)}

    def with_spreads(self, spread: Callable[[Key], Spread]) -> Table:
        rows = {
            name: [replace(cell, spread=spread((self.title, name, i))) for i, cell in enumerate(row)]
            for name, row in self.rows.items()
        }
        return replace(self, rows=rows)


@dataclass(frozen=True)
class Figure:
    svg: str
    experiment: str = ""
    title: str = ""
    note: str = field(default="")


def plain(
    title: str,
    columns: Mapping[str, str],
    rows: Mapping[str, Mapping[str, float]],
    experiment: str = "",
    note: str = "",
) -> Table:
    """Of what explains the numbers of runs: `columns` are headings by the name of a value."""
    filled = {name: [Cell(row.get(key)) for key in columns] for name, row in rows.items()}
    return Table(title, tuple(columns.values()), filled, experiment, note)


def of_values(title: str, values: Values, experiment: str, names: Mapping[str, str] | None = None) -> Table:
    """A row for each case and a column for each quantity that came about; `names`: headings of quantities, which else are their words."""
    rows: dict[str, dict[str, float]] = {}
    for (case, quantity), value in values.items():
        if value is not None:
            rows.setdefault(case, {})[quantity] = value
    quantities = dict.fromkeys(quantity for row in rows.values() for quantity in row)
    columns = {quantity: (names or {}).get(quantity, quantity.replace("_", " ")) for quantity in quantities}
    return plain(title, columns, rows, experiment)
