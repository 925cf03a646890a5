"""Tables 4.2-4.8, cell by cell: the paper's number, ours, and their ratio."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rocelab import paths
from rocelab.paper.measured import Measured, with_cc

NUMBERS = paths.ROOT / "results" / "paper" / "irn_tables.csv"
OFF_BY = 0.1  # a ratio of the paper's that is further from 1 than this has a side
CLOSENESS = 0.25  # the median of |ours / paper - 1| over all ratio cells

# The label's case for a value of the table's parameter.
_CASES = {
    "4.2": "load={}",
    "4.3": "rate={}G",
    "4.4": "hosts={}",
    "4.5": "{}",
    "4.6": "buffer={}KB",
    "4.7": "rto_high={}us",
    "4.8": "n={}",
}
TABLES = tuple(_CASES)
_WORKLOADS = {"heavy-tailed 32B-3MB": "heavy-tailed", "uniform 500KB-5MB": "uniform"}
_OVER = {"irn_over_roce_pfc": "roce+pfc", "irn_over_irn_pfc": "irn+pfc"}


@dataclass(frozen=True)
class Cell:
    """`quantity` is "irn" (a value; seconds or a slowdown), or a ratio: "irn_over_roce_pfc", "irn_over_irn_pfc"."""

    table: str
    parameter: str
    unit: str
    value: str
    cc: str
    metric: str
    quantity: str
    paper: float
    ours: float | None

    @property
    def is_ratio(self) -> bool:
        return self.quantity in _OVER

    @property
    def ratio(self) -> float | None:
        return None if self.ours is None else self.ours / self.paper

    @property
    def same_side(self) -> bool | None:
        """None: the paper's is no ratio or near 1, or ours is not there."""
        if not self.is_ratio or self.ours is None or abs(self.paper - 1) <= OFF_BY:
            return None
        return (self.ours < 1) == (self.paper < 1)


@dataclass(frozen=True)
class TableVerdict:
    ratio_cells: int
    empty: int
    with_side: int
    wrong_side: tuple[Cell, ...]
    median_distance: float | None

    @property
    def sides_hold(self) -> bool:
        return self.with_side > 0 and not self.wrong_side

    @property
    def closeness_holds(self) -> bool:
        return self.median_distance is not None and self.median_distance <= CLOSENESS


def cells(measured: Measured, tables: Iterable[str]) -> list[Cell]:
    wanted = set(tables)
    with NUMBERS.open(newline="") as file:
        return [_cell(measured, row) for row in csv.DictReader(file) if row["table"] in wanted]


def _cell(measured: Measured, row: dict[str, str]) -> Cell:
    experiment = f"table{row['table']}"
    case = _CASES[row["table"]].format(_WORKLOADS.get(row["value"], row["value"]))
    irn = f"{with_cc('irn', row['cc'])},{case}"
    if row["quantity"] in _OVER:
        over = f"{with_cc(_OVER[row['quantity']], row['cc'])},{case}"
        ours = measured.ratio(experiment, irn, over, row["metric"])
    else:
        ours = measured.mean(experiment, irn, row["metric"])
    fields = {k: row[k] for k in ("table", "parameter", "unit", "value", "cc", "metric", "quantity")}
    return Cell(**fields, paper=float(row["number"]), ours=ours)


def judge(all_cells: Sequence[Cell]) -> TableVerdict:
    ratios = [c for c in all_cells if c.is_ratio]
    distances = [abs(c.ratio - 1) for c in ratios if c.ratio is not None]
    sides = [c for c in ratios if c.same_side is not None]
    return TableVerdict(
        ratio_cells=len(ratios),
        empty=len(ratios) - len(distances),
        with_side=len(sides),
        wrong_side=tuple(c for c in sides if not c.same_side),
        median_distance=statistics.median(distances) if distances else None,
    )
