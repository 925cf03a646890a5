"""Sentences of 4.3.4 about tables 4.2-4.8: how the ratios move along a table, and what holds for all of them. A trend is asked where the paper's own table has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rocelab.paper.irn_cells import TABLES as ALL_TABLES
from rocelab.paper.irn_cells import Cell, cells
from rocelab.paper.claims import Numbers, above, below, within
from rocelab.paper.results import Results
from rocelab.paper.irn_claim import BETTER, WITH_CC, Sentence

_EXPERIMENTS = tuple(f"table{number}" for number in ALL_TABLES)
_PFC, _ROCE = "irn_over_irn_pfc", "irn_over_roce_pfc"
Choice = Callable[[Cell], bool]


def _name(cell: Cell) -> str:
    return f"{cell.table} {cell.value}, {cell.cc}, {cell.metric}"


def _all_cells(quantity: str, ccs: Iterable[str]) -> Callable[[Results], Numbers]:
    chosen = set(ccs)

    def numbers(measured: Results) -> Numbers:
        found = cells(measured, ALL_TABLES)
        return {_name(c): c.ours for c in found if c.quantity == quantity and c.cc in chosen}

    return numbers


def _trend(table: str, low: str, high: str, quantities: tuple[str, ...]) -> Callable[[Results], Numbers]:
    """What each number is at `high`, over what it is at `low`, where the paper's own goes the way that most of its numbers go."""

    def numbers(measured: Results) -> Numbers:
        mine = [c for c in cells(measured, [table]) if c.quantity in quantities]
        at = {(c.value, c.quantity, c.cc, c.metric): c for c in mine}
        found: dict[str, float | None] = {}
        moves = {key[1:]: at[high, *key[1:]].paper / cell.paper for key, cell in at.items() if key[0] == low}
        rises = sum(move > 1 for move in moves.values()) * 2 > len(moves)
        for key, move in moves.items():
            if (move > 1) == rises:
                a, b = at[high, *key].ours, at[low, *key].ours
                found[", ".join(key)] = a / b if a is not None and b else None
        return found

    return numbers


def _of_values(table: str, values: tuple[str, ...], default: str) -> Callable[[Results], Numbers]:
    """IRN's own metrics over those of the default."""

    def numbers(measured: Results) -> Numbers:
        mine = [c for c in cells(measured, [table]) if c.quantity == "irn"]
        at = {(c.value, c.cc, c.metric): c.ours for c in mine}
        found: dict[str, float | None] = {}
        for (value, cc, metric), ours in at.items():
            if value in values:
                base = at[default, cc, metric]
                found[f"{value}, {cc}, {metric}"] = ours / base if ours is not None and base else None
        return found

    return numbers


TABLES = (
    Sentence(
        "tables 4.2-4.8",
        "(a) IRN (without PFC) always performs better than RoCE (with PFC), by 6 % to 83 %",
        BETTER,
        _all_cells(_ROCE, ("none", *WITH_CC)),
        below(1),
        needs=_EXPERIMENTS,
    ),
    Sentence(
        "tables 4.2-4.8",
        "(b) Without congestion control enabling PFC with IRN always degrades performance",
        "every ratio < 1.005 (the paper has 1.000 at 30 %)",
        _all_cells(_PFC, ("none",)),
        below(1.005),
        needs=_EXPERIMENTS,
    ),
    Sentence(
        "tables 4.2-4.8",
        "(c) With TIMELY any improvement due to enabling PFC with IRN stays within 1.6 %",
        "every ratio <= 1.017",
        _all_cells(_PFC, ("timely",)),
        within(0, 1.017),
        needs=_EXPERIMENTS,
    ),
    Sentence(
        "tables 4.2-4.8",
        "(c) With DCQCN any improvement due to enabling PFC with IRN stays within 5 %",
        "every ratio <= 1.052",
        _all_cells(_PFC, ("dcqcn",)),
        within(0, 1.052),
        needs=_EXPERIMENTS,
    ),
    Sentence(
        "table4.2",
        "As the link utilization increases, IRN performs increasingly better than with PFC and than RoCE (with PFC)",
        "every ratio at 90 % over that at 30 % < 1",
        _trend("4.2", "0.3", "0.9", (_PFC, _ROCE)),
        below(1),
    ),
    Sentence(
        "table4.3",
        "As the bandwidth increases, the gap between IRN and the cases with PFC gets smaller",
        "every ratio at 100 Gb/s over that at 10 Gb/s > 1",
        _trend("4.3", "10", "100", (_PFC, _ROCE)),
        above(1),
    ),
    Sentence(
        "table4.6",
        "As the buffer size is increased, the difference that PFC makes to IRN gets smaller",
        "every ratio at 480 KB over that at 60 KB > 1",
        _trend("4.6", "60", "480", (_PFC,)),
        above(1),
    ),
    Sentence(
        "table4.6",
        "... and in general IRN's benefit over RoCE (with PFC) larger",
        "every ratio at 480 KB over that at 60 KB < 1",
        _trend("4.6", "60", "480", (_ROCE,)),
        below(1),
    ),
    Sentence(
        "table4.7",
        "RTO_high at twice and four times the ideal makes very small differences",
        "IRN's metrics within the paper's own largest change (27 %)",
        _of_values("4.7", ("640", "1280"), "320"),
        within(0.78, 1.28),
    ),
    Sentence(
        "table4.8",
        "Higher N for RTO_low makes very small differences",
        "IRN's metrics within 12 % (the paper's: 0.0009 s to 0.0010 s, as printed)",
        _of_values("4.8", ("10", "15"), "3"),
        within(0.88, 1.12),
    ),
)
