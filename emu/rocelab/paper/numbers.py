"""A paper's numbers (results/paper/*.csv) beside ours: read, judged, written."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab.files import write_whole

CLOSENESS = 0.1  # |ours / paper - 1|
_AT_MOST = ("settles",)  # the paper's number is a bound
_AT_LEAST = ("fct_without_over_with",)

Values = Mapping[tuple[str, str], float | None]  # (case, quantity) -> ours


@dataclass(frozen=True)
class Row:
    experiment: str
    case: str
    quantity: str
    unit: str
    paper: float | None  # None: the paper has no number
    source: str
    ours: float | None  # None: not built, or not run; of a time until something settles: it never does

    @property
    def holds(self) -> bool | None:
        """None: there is nothing to compare. A paper's 0 is 0."""
        if self.paper is None:
            return None
        if self.ours is None:
            return False if self.quantity == "settles" else None
        if self.quantity in _AT_MOST:
            return self.ours <= self.paper
        if self.quantity in _AT_LEAST:
            return self.ours >= self.paper
        if self.paper == 0:
            return self.ours == 0
        return abs(self.ours / self.paper - 1) <= CLOSENESS


def rows_of(numbers: Path, measured: Mapping[str, Values]) -> list[Row]:
    """Every number of the paper, in the file's order."""
    with numbers.open(newline="") as file:
        return [
            Row(
                r["experiment"],
                r["case"],
                r["quantity"],
                r["unit"],
                float(r["number"]),
                r["source"],
                measured.get(r["experiment"], {}).get((r["case"], r["quantity"])),
            )
            for r in csv.DictReader(file)
        ]


def save(folder: Path, report: Mapping[str, Any], page: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1, allow_nan=False) + "\n"
    write_whole(folder / "report.json", text.encode())
    write_whole(folder / "report.html", page.encode())
