"""A run at a glance: for each port and stretch of time what its link carried, its longest queue, and how long it was paused.

This is what pictures of a whole network are drawn from: run.sqlite keeps it (docs/reference/metrics.md), so that nobody goes over all samples for that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from rocelab import frames, pauses
from rocelab.model import Array, PortPlan, RunOutcome

MOST_BINS = 200
_DROP, _MARK, _SAMPLE, _CARRIED = (frames.KINDS.index(k) for k in ("drop", "mark", "sample", "carried"))
COLUMNS = ("bin", "port", "bytes", "queue", "paused", "drops", "marks")


def bin_width(outcome: RunOutcome, bins: int = MOST_BINS) -> int:
    """In ps: a multiple of the sample interval, with which all that happens in the run has at most `bins` stretches."""
    least = max(1, outcome.plan.sample_interval_ps)
    return -(-_last_change(outcome) // (bins * least)) * least


def _last_change(outcome: RunOutcome) -> int:
    """When something was last sampled, or the run's end where nothing was: what is dead long before it ends is not stretched out."""
    switches = frames.by_node(outcome, frames.switches(outcome.plan)).values()
    sampled = [r["time_ps"][np.isin(r["kind"], (_SAMPLE, _CARRIED))] for r in switches]
    return max((int(times[-1]) for times in sampled if len(times)), default=max(1, outcome.end_ps))


def overview(outcome: RunOutcome, width: int) -> pd.DataFrame:
    """A row per stretch and port (a host's is called as the host) with something to tell: wire `bytes` that it sent, its longest
    `queue` of a class in bytes, the share of the time in which it was `paused` (the most of its classes), frames dropped and marked.
    """
    edges = np.arange(_last_change(outcome) // width + 2, dtype=np.int64) * width
    ports: dict[str, dict[str, Array]] = {}
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        mine = [p for p in outcome.plan.ports if p.switch == switch]
        for port, name, value in _of_switch(records, mine, edges):
            ports.setdefault(port, {})[name] = value
    for port, share in _paused(outcome, edges).items():
        ports.setdefault(port, {})["paused"] = share
    parts = [_rows(port, values, len(edges) - 1) for port, values in ports.items()]
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COLUMNS))
    return frame.sort_values(["bin", "port"], ignore_index=True)


def _rows(port: str, values: dict[str, Array], bins: int) -> pd.DataFrame:
    none = np.zeros(bins, dtype=np.int64)
    columns = {name: values.get(name, none) for name in COLUMNS[2:]}
    there = np.flatnonzero(np.any(list(columns.values()), axis=0))
    kept = {name: column[there] for name, column in columns.items()}
    return pd.DataFrame({"bin": there, "port": port, **kept})


def _of_switch(records: Array, ports: list[PortPlan], edges: Array) -> Iterator[tuple[str, str, Array]]:
    """(port, column, value per stretch). What a host sends is what its switch receives."""
    by_kind = {kind: records[records["kind"] == kind] for kind in (_DROP, _MARK, _SAMPLE, _CARRIED)}
    split = {kind: _by_port(found) for kind, found in by_kind.items()}
    for port in ports:
        carried = split[_CARRIED].get(port.port_id)
        if carried is not None:
            yield port.interface, "bytes", _steps(carried[carried["mark"] == 0], edges)
            if port.peer_is_host:
                yield port.peer, "bytes", _steps(carried[carried["mark"] == 1], edges)
        samples = split[_SAMPLE].get(port.port_id)
        if samples is not None:
            each = [_longest(samples[samples["psn"] == tc], edges) for tc in np.unique(samples["psn"])]
            yield port.interface, "queue", np.max(each, axis=0)
        for kind, name in ((_DROP, "drops"), (_MARK, "marks")):
            found = split[kind].get(port.port_id)
            if found is not None:
                yield port.interface, name, np.histogram(found["time_ps"], edges)[0]


def _by_port(records: Array) -> dict[int, Array]:
    order = np.argsort(records["port"], kind="stable")
    numbers, firsts = np.unique(records["port"][order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(records[order], firsts[1:])))


def _steps(carried: Array, edges: Array) -> Array:
    """Bytes in each stretch, of a count that holds until its next record."""
    counts: Array = np.insert(carried["bytes"].astype(np.int64), 0, 0)
    # A record of an instant counts what was carried before it.
    at = counts[np.searchsorted(carried["time_ps"], edges, side="right")]
    return np.diff(at)


def _longest(samples: Array, edges: Array) -> Array:
    """The largest value in each stretch, of a value that holds until its next record."""
    values: Array = np.insert(samples["bytes"].astype(np.int64), 0, 0)
    longest = values[np.searchsorted(samples["time_ps"], edges[:-1], side="right")]
    inside = np.searchsorted(edges, samples["time_ps"], side="right") - 1
    known = inside < len(longest)
    np.maximum.at(longest, inside[known], samples["bytes"][known].astype(np.int64))
    return longest


def _paused(outcome: RunOutcome, edges: Array) -> dict[str, Array]:
    by_class: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for pause in pauses.each(outcome):
        by_class.setdefault((pause.port, pause.tc), []).append((pause.begin_ps, pause.end_ps))
    shares: dict[str, Array] = {}
    for (port, _), spans in by_class.items():
        begins, ends = np.array(spans, dtype=np.int64).T
        before = np.insert(np.cumsum(ends - begins), 0, 0)
        at = np.searchsorted(begins, edges, side="right")
        last_end = np.insert(ends, 0, 0)[at]
        share = np.diff(before[at] - np.maximum(0, last_end - edges)) / np.diff(edges)
        shares[port] = np.maximum(share, shares.get(port, 0.0))
    return shares
