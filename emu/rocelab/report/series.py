"""Time series of one run for the pictures: rates of flows, the busiest queue with the pauses behind it, losses and retransmissions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rocelab import frames
from rocelab.model import Array, RunOutcome

_MAX_POINTS = 260


@dataclass(frozen=True)
class Rates:
    time_s: Array
    each: dict[int, Array]  # flow: bit/s
    total: Array


@dataclass(frozen=True)
class Queue:
    """Of one switch port and class. Steps: each value holds until the next time."""

    interface: str
    tc: int
    time_s: Array
    bytes: Array
    pause_time_s: Array
    pausing: Array  # ports of this switch that ask their peer to pause the class
    paused: Array  # this port may not send the class


@dataclass(frozen=True)
class Losses:
    """Counts per bin of `width_s`."""

    time_s: Array
    width_s: float
    drops: Array
    by_nack: Array
    by_timeout: Array


def end_of(outcome: RunOutcome) -> float:
    """When the last flow ended, or the run; in seconds."""
    placed = [r.placed_ps for r in outcome.flows if r.placed_ps is not None]
    whole = outcome.error is None and placed
    return (max(placed) if whole else max([outcome.end_ps, *placed])) / 1e12


def rates(outcome: RunOutcome, samples: pd.DataFrame) -> Rates | None:
    """`samples`: of this run. Frame bytes that reached the sink, over the sample interval."""
    flow = samples[samples["what"] == "flow"]
    if flow.empty or outcome.plan.sample_interval_ps == 0:
        return None
    interval = outcome.plan.sample_interval_ps
    steps = int(end_of(outcome) * 1e12) // interval + 1
    stride = -(-steps // _MAX_POINTS)
    grid = np.arange(0, steps + stride, stride) * interval
    each = {}
    for number, rows in flow.groupby("flow"):
        times = np.concatenate(([0], rows["time_ps"].to_numpy(dtype=np.int64)))
        bytes_ = np.concatenate(([0], rows["bytes"].to_numpy(dtype=np.int64)))
        # A sample is written when the next frame comes: between two, the counter stood still.
        at = bytes_[np.searchsorted(times, grid, side="right") - 1]
        each[int(number)] = np.diff(at) * 8 / (stride * interval / 1e12)
    total = np.sum(list(each.values()), axis=0)
    return Rates(grid[1:] / 1e12, each, total)


def busiest_queue(outcome: RunOutcome, samples: pd.DataFrame) -> tuple[str, int] | None:
    """Interface and class with the longest queue; between equals the one that carried more."""
    queue = samples[samples["what"] == "queue"]
    if queue.empty:
        return None
    area = queue.groupby(["port", "tc"])["bytes"].agg(["max", "mean"]).sort_values(["max", "mean"])
    interface, tc = area.index[-1]
    return str(interface), int(tc)


def queue(outcome: RunOutcome, samples: pd.DataFrame, interface: str, tc: int) -> Queue:
    rows = samples[(samples["what"] == "queue") & (samples["tc"] == tc)]
    switch = next(p.switch for p in outcome.plan.ports if p.interface == interface)
    own = rows[rows["port"] == interface]
    time_s, bytes_ = _thin(own["time_ps"].to_numpy(dtype=float) / 1e12, own["bytes"].to_numpy(dtype=float))
    here = rows[rows["node"] == switch]
    times, pausing = _count_steps(here, 2)
    paused_times, paused = own["time_ps"].to_numpy(dtype=float) / 1e12, (own["pause"].to_numpy(dtype=int) & 1)
    held = (
        paused[np.searchsorted(paused_times, times, side="right") - 1]
        if len(paused)
        else np.zeros(len(times))
    )
    return Queue(interface, tc, time_s, bytes_, times, pausing, held)


def _count_steps(rows: pd.DataFrame, bit: int) -> tuple[Array, Array]:
    """How many ports have `bit` set in their pause state, over time."""
    state: dict[str, int] = {}
    times: list[float] = []
    counts: list[int] = []
    for port, time_ps, pause in zip(rows["port"], rows["time_ps"], rows["pause"]):
        state[port] = 1 if int(pause) & bit else 0
        if times and times[-1] == time_ps / 1e12:
            counts[-1] = sum(state.values())
        else:
            times.append(time_ps / 1e12)
            counts.append(sum(state.values()))
    return np.array(times), np.array(counts)


def _thin(times: Array, values: Array) -> tuple[Array, Array]:
    """At most _MAX_POINTS points; each stands for the largest value of its stretch, so that peaks stay."""
    if len(times) <= _MAX_POINTS:
        return times, values
    stretches = np.array_split(np.arange(len(times)), _MAX_POINTS)
    keep = np.array([s[np.argmax(values[s])] for s in stretches])
    return times[keep], values[keep]


def losses(outcome: RunOutcome, bins: int = 60) -> Losses:
    end = max(end_of(outcome), 1e-9)
    edges = np.linspace(0, end, bins + 1)
    drops = _times(outcome, frames.switches(outcome.plan), frames.DROP)
    again = [
        _times(outcome, frames.hosts(outcome.plan), frames.RETRANSMIT, mark)
        for mark in (0, frames.RETRANSMIT_BY_TIMEOUT)
    ]
    counts = [np.histogram(t, edges)[0] for t in (drops, *again)]
    return Losses((edges[:-1] + edges[1:]) / 2, end / bins, *counts)


def _times(outcome: RunOutcome, nodes: Iterable[str], kind: int, mark: int | None = None) -> Array:
    found = []
    for records in frames.by_node(outcome, nodes).values():
        wanted = records["kind"] == kind
        if mark is not None:
            wanted &= records["mark"] == mark
        found.append(records["time_ps"][wanted] / 1e12)
    return np.concatenate(found) if found else np.array([])
