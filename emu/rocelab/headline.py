"""The table of a run, a sweep and report.html: means over seeds with their 95 % confidence intervals. Cells are texts that are already rounded and carry no markup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rocelab import metrics
from rocelab.metrics import Metric

Number = float | int | None


@dataclass(frozen=True)
class Cell:
    text: str
    spread: str = ""  # half width of the confidence interval
    bar: float = 0.0  # share of the largest value of the column

    @property
    def line(self) -> str:
        """For a terminal: a spread of 0 says nothing there."""
        return f"{self.text} ± {self.spread[1:]}" if self.spread.strip("±0.") else self.text


@dataclass(frozen=True)
class Headline:
    columns: tuple[Metric, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]  # label, number of seeds, cells

    def column(self, number: int) -> list[Cell]:
        return [cells[number] for _, _, cells in self.rows]


def headline(summary: dict[str, Any], always_only: bool = False) -> Headline:
    """Means and confidence intervals of each label, in the order of labels."""
    labels = list(dict.fromkeys(r["label"] for r in summary["runs"]))
    values = {(a["label"], a["metric"]): a for a in summary["aggregates"]}
    columns = metrics.shown_of(summary, always_only)
    rows = []
    for label in labels:
        runs = [r for r in summary["runs"] if r["label"] == label]
        complete = sum(r["complete"] for r in runs)
        seeds = f"{complete}" if complete == len(runs) else f"{complete} of {len(runs)}"
        rows.append((label, seeds, tuple(_cell(values, labels, label, c) for c in columns)))
    return Headline(columns, tuple(rows))


def _cell(values: dict[tuple[str, str], Any], labels: Sequence[str], label: str, metric: Metric) -> Cell:
    estimate = values[label, metric.name]
    if estimate["mean"] is None:
        return Cell("–")
    largest = max((values[other, metric.name]["mean"] or 0.0) for other in labels)
    spread = estimate["ci95"]
    digits = _digits(largest * metric.scale, metric.counted)
    return Cell(
        number(estimate["mean"] * metric.scale, digits),
        "" if spread is None else "±" + (number(spread * metric.scale, digits) if spread else "0"),
        estimate["mean"] / largest if largest else 0.0,
    )


def _digits(largest: float, counted: bool) -> int:
    """Decimals that leave about four figures in the column; counts are shown whole once they are no longer small."""
    if largest == 0 or largest >= 1000 or (counted and largest >= 50):
        return 0
    return 1 if counted else max(0, 3 - math.floor(math.log10(largest)))


def number(value: Number, digits: int = 0) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.{digits}f}".replace(",", "\u2009")
