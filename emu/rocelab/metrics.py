"""The metrics of a run as emu/runner/metric_table.cc names them: what summary.json, tables, comparisons and docs/reference/metrics.md go by."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rocelab import native


@dataclass(frozen=True)
class Metric:
    name: str  # in summary.json
    title: str
    unit: str  # as shown; empty: a ratio or plain number
    scale: float  # what is shown is the value in summary.json times this
    better: str  # "lower", "higher" or nothing
    shown: str  # "always", "if any": where one is not 0; "never": in summary.json only
    from_traces: bool  # computed by rocelab.summary; else by emu/runner
    text: str

    @property
    def heading(self) -> str:
        """ "mean FCT (ms)"."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def counted(self) -> bool:
        """A number of things, whole in a single run."""
        return bool(self.unit) and self.scale == 1


@functools.cache
def table() -> tuple[Metric, ...]:
    """In the order in which they are shown."""
    return tuple(Metric(**entry) for entry in native.runner.metric_table())


@functools.cache
def by_name() -> Mapping[str, Metric]:
    return {metric.name: metric for metric in table()}


def shown_of(summary: Mapping[str, Any], always_only: bool = False) -> tuple[Metric, ...]:
    """Metrics for a table of this summary.json: those that are always shown, and others that are not 0 for some label and say something of their own."""
    taken = {a["metric"] for a in summary["aggregates"] if a["mean"] and math.isfinite(a["mean"])}
    means = {(a["label"], a["metric"]): a["mean"] for a in summary["aggregates"]}
    if all(
        means[label, "data_drops"] == mean for (label, metric), mean in means.items() if metric == "drops"
    ):
        taken.discard("drops")  # all that was lost were packets with payload, a column further left
    return tuple(
        m
        for m in table()
        if m.shown == "always" or (m.shown == "if any" and m.name in taken and not always_only)
    )
