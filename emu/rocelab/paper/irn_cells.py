"""Tables 4.2-4.8, cell by cell: the paper's number, ours, and their ratio."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from rocelab.paper.claims import Claim, above, at_most, below, each, within
from rocelab.paper.harness import NUMBERS as FOLDER
from rocelab.paper.irn_labels import CCS, METRICS, as_shown, with_cc
from rocelab.paper.results import Results
from rocelab.paper.tables import Cell as Shown
from rocelab.paper.tables import Table

NUMBERS = FOLDER / "irn_tables.csv"
OFF_BY = 0.1  # a ratio of the paper's that is further from 1 than this has a side
CLOSENESS = 0.25  # the median of |ours / paper - 1| over all ratio cells, and each of IRN's own up to:
STATIONARY = 0.7

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
OVER = {"irn_over_roce_pfc": "roce+pfc", "irn_over_irn_pfc": "irn+pfc"}
_ROWS = (("irn", "IRN"), ("irn_over_roce_pfc", "IRN / RoCE+PFC"), ("irn_over_irn_pfc", "IRN / IRN+PFC"))
_TITLES = {
    "4.2": "link utilization",
    "4.3": "link rate",
    "4.4": "scale of the topology",
    "4.5": "workload",
    "4.6": "buffer per input port",
    "4.7": "RTO_high",
    "4.8": "N for RTO_low",
}


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
    def name(self) -> str:
        return f"{self.table} {self.value}, {self.cc}, {self.metric}, {self.quantity}"

    @property
    def is_ratio(self) -> bool:
        return self.quantity in OVER

    @property
    def ratio(self) -> float | None:
        return None if self.ours is None else self.ours / self.paper

    @property
    def same_side(self) -> bool | None:
        """None: the paper's is no ratio or near 1, or ours is not there."""
        if not self.is_ratio or self.ours is None or abs(self.paper - 1) <= OFF_BY:
            return None
        return (self.ours < 1) == (self.paper < 1)


def cells(measured: Results, tables: Iterable[str]) -> list[Cell]:
    wanted = set(tables)
    with NUMBERS.open(newline="") as file:
        return [_cell(measured, row) for row in csv.DictReader(file) if row["table"] in wanted]


def _cell(measured: Results, row: dict[str, str]) -> Cell:
    experiment = f"table{row['table']}"
    case = _CASES[row["table"]].format(_WORKLOADS.get(row["value"], row["value"]))
    irn = f"{with_cc('irn', row['cc'])},{case}"
    if row["quantity"] in OVER:
        over = f"{with_cc(OVER[row['quantity']], row['cc'])},{case}"
        ours = measured.ratio(experiment, irn, over, row["metric"])
    else:
        ours = measured.mean(experiment, irn, row["metric"])
    fields = {k: row[k] for k in ("table", "parameter", "unit", "value", "cc", "metric", "quantity")}
    return Cell(**fields, paper=float(row["number"]), ours=ours)


def tables_of(results: Results) -> list[str]:
    """Numbers of the tables that were asked for."""
    return [name.removeprefix("table") for name in results.points if name.startswith("table")]


def claims(results: Results) -> list[Claim]:
    """About all ratios of the tables together."""
    everything = cells(results, tables_of(results))
    ratios = [c for c in everything if c.is_ratio]
    if not ratios:
        return []
    sided = [c for c in ratios if abs(c.paper - 1) > OFF_BY]
    distances = [abs(c.ratio - 1) for c in ratios if c.ratio is not None]
    median = statistics.median(distances) if distances else None
    where = "tables 4.2-4.8"
    return [
        each(
            where,
            f"{len(sided)} ratios of IRN over RoCE+PFC and IRN+PFC",
            f"on the same side of 1 wherever the paper's ratio is off 1 by more than {OFF_BY:.0%}",
            {c.name: c.ours for c in sided},
            {c.name: below(1) if c.paper < 1 else above(1) for c in sided},
        ),
        each(
            where,
            f"median of |ours / paper - 1| over {len(ratios)} ratios",
            f"<= {CLOSENESS:g}",
            {f"of the {len(distances)} that were run": median},
            at_most(CLOSENESS),
        ),
        *_near_the_papers([c for c in everything if (c.table, c.cc, c.quantity) == ("4.2", "none", "irn")]),
    ]


def _near_the_papers(irn: list[Cell]) -> list[Claim]:
    """IRN's own numbers, up to the load from which nothing is stationary."""
    mine = {c.name: c.ratio for c in irn if float(c.value) <= STATIONARY}
    text = f"IRN without congestion control up to {STATIONARY:.0%} of load, ours over the paper's"
    demand = f"within {CLOSENESS:.0%}"
    return [each("table4.2", text, demand, mine, within(1 - CLOSENESS, 1 + CLOSENESS))] if mine else []


def tables(results: Results) -> list[Table]:
    """Rows as the paper prints them: for each value IRN, over RoCE+PFC, over IRN+PFC; nine columns."""
    found = []
    columns = tuple(f"{title}\n{'no CC' if cc == 'none' else cc}" for cc in CCS for title in METRICS.values())
    everything = cells(results, tables_of(results))
    for number in dict.fromkeys(c.table for c in everything):
        mine = {(c.value, c.quantity, c.cc, c.metric): c for c in everything if c.table == number}
        unit = next(iter(mine.values())).unit
        rows = {}
        for value in dict.fromkeys(c.value for c in mine.values()):
            shown = f"{value} {unit if unit != 'fraction' else ''}".strip()
            for quantity, title in _ROWS:
                rows[f"{shown} {title}"] = [
                    _shown(mine[value, quantity, cc, metric]) for cc in CCS for metric in METRICS
                ]
        title = f"Table {number}: {_TITLES[number]}"
        found.append(Table(title, columns, rows, f"table{number}", _NOTE, on_terminal=True))
    return [*found, _distances(everything)] if found else []


def _distances(everything: list[Cell]) -> Table:
    """What of the tables is near the paper's, and what is not: of ratios by their kind and congestion control, of IRN's own numbers by congestion control."""
    rows: dict[str, list[Shown]] = {}
    for quantity, title in _ROWS:
        for cc in CCS:
            mine = [c for c in everything if (c.quantity, c.cc) == (quantity, cc) and c.ratio is not None]
            off = [abs(c.ratio - 1) for c in mine if c.ratio is not None]
            sides = [c.same_side for c in mine if c.same_side is not None]
            row = (
                (statistics.median(off), *((len(sides), sum(sides)) if sides else (None, None)))
                if off
                else ()
            )
            # The number of cells names the row: seeds that have fewer make no interval.
            name = f"{title}, {'no CC' if cc == 'none' else cc}, {len(off)} cells"
            rows |= {name: [Shown(n) for n in row]} if row else {}
    columns = ("median of |ours / paper - 1|", f"ratios off 1 by {OFF_BY:.0%}", "on its side of 1")
    return Table("Distances: all ratios of the tables", columns, rows, on_terminal=True)


_NOTE = "Each cell: ours, the paper's in brackets, and ours / the paper's. Red: on the other side of 1."


def _shown(cell: Cell) -> Shown:
    ours, paper = cell.ours, cell.paper
    if not cell.is_ratio:
        paper = as_shown(cell.metric, paper)
        ours = None if ours is None else as_shown(cell.metric, ours)
    return Shown(ours, paper, cell.same_side is False)
