"""What the traces of RoCC runs say: fair rate and queue of a congestion point over time, when they settle, and what flows get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rocelab import frames
from rocelab.errors import RocelabError
from rocelab.model import Array, RunOutcome

_HEADERS = 14 + 20 + 8 + 12 + 4  # Ethernet, IPv4, UDP, BTH, ICRC
_FCS_PREAMBLE_GAP = 24
_CP_NETWORK = 0xAC100000  # base/wire/rocc_cnp.h; points are numbered as the run's ports are
_SMOOTH = 10  # periods of the running mean by which a fair rate is judged settled
_BAND = 0.1  # and how near to its final value it stays from then on


@dataclass(frozen=True)
class Point:
    """One congestion point, one entry per period T."""

    interface: str
    time_s: Array
    rate_gbps: Array
    queue_kb: Array
    cnps: Array


@dataclass(frozen=True)
class Span:
    """In which the same flows are active."""

    begin_s: float
    end_s: float
    flows: int


@dataclass(frozen=True)
class Steady:
    rate_gbps: float
    queue_kb: float
    settles_ms: float | None  # None: not within the span


def point_of(outcome: RunOutcome, interface: str) -> Point:
    """The class-3 queue of this port."""
    port = next(p for p in outcome.plan.ports if p.interface == interface)
    records = frames.by_node(outcome, [port.switch])[port.switch]
    mine = records[(records["kind"] == frames.FAIR_RATE) & (records["port"] == port.port_id)]
    return Point(
        interface,
        mine["time_ps"] / 1e12,
        mine["bytes"] / 1e9,
        mine["psn"] / 1e3,
        mine["flow"].astype(np.int64),
    )


def bottleneck(outcome: RunOutcome) -> str:
    """The port whose congestion points made most CNPs."""
    counts = {i: c.get("rocc_cnps", 0) for i, c in outcome.port_counters.items()}
    interface = max(counts, key=lambda i: counts[i])
    if counts[interface] == 0:
        raise RocelabError(f"{outcome.plan.label}: no congestion point sent a CNP")
    return interface


def host_point_of(outcome: RunOutcome, interface: str) -> Point:
    """This port's class-3 queue where hosts compute (3.3.6): in each period the mean of the fair rates that they computed from its reports, or what it was before when nobody was told."""
    point = point_of(outcome, interface)
    index = next(i for i, p in enumerate(outcome.plan.ports) if p.interface == interface)
    total, told = np.zeros(len(point.time_s)), np.zeros(len(point.time_s))
    for records in frames.by_node(outcome, frames.hosts(outcome.plan)).values():
        mine = records[(records["kind"] == frames.FAIR_RATE) & (records["peer"] == _CP_NETWORK + index + 1)]
        period = np.searchsorted(point.time_s, mine["time_ps"] / 1e12, side="right") - 1
        np.add.at(total, period, mine["bytes"] / 1e9)
        np.add.at(told, period, 1)
    rate = np.divide(total, told, out=np.zeros_like(total), where=told > 0)
    last = np.maximum.accumulate(np.where(told > 0, np.arange(len(rate)), 0))
    return Point(interface, point.time_s, rate[last], point.queue_kb, point.cnps)


def spans(outcome: RunOutcome, least_s: float) -> list[Span]:
    """Of at least that length, in order; the number of flows that are active in each."""
    ends: list[tuple[float, int]] = []
    for record in outcome.flows:
        if record.posted_ps is None or record.placed_ps is None:
            raise RocelabError(f"{outcome.plan.label}: flow {record.id} did not complete")
        ends += [(record.posted_ps / 1e12, 1), (record.placed_ps / 1e12, -1)]
    ends.sort()
    found, active = [], 0
    for (begin, change), (end, _) in zip(ends, ends[1:]):
        active += change
        if active > 0 and end - begin >= least_s:
            found.append(Span(begin, end, active))
    return found


def steady(point: Point, span: Span) -> Steady:
    """Means over the span's second half; settled once the running mean of the fair rate stays within a tenth of that."""
    inside = (point.time_s >= span.begin_s) & (point.time_s < span.end_s)
    late = inside & (point.time_s >= (span.begin_s + span.end_s) / 2)
    if np.count_nonzero(late) < _SMOOTH:
        raise RocelabError(f"{point.interface}: fewer than {_SMOOTH} periods in a span of {span.flows} flows")
    rate = float(point.rate_gbps[late].mean())
    mean = np.convolve(point.rate_gbps[inside], np.ones(_SMOOTH) / _SMOOTH, mode="valid")
    outside = np.flatnonzero(np.abs(mean / rate - 1) > _BAND)
    times = point.time_s[inside][_SMOOTH - 1 :]
    settled: float | None = 0.0
    if len(outside) == len(mean) or (len(outside) and outside[-1] == len(mean) - 1):
        settled = None
    elif len(outside):
        settled = float(times[outside[-1] + 1] - span.begin_s) * 1e3
    return Steady(rate, float(point.queue_kb[late].mean()), settled)


def _of_hosts(outcome: RunOutcome) -> Mapping[str, Array]:
    return frames.by_node(outcome, frames.hosts(outcome.plan))


def _on_wire(outcome: RunOutcome) -> float:
    """Samples count frames."""
    frame = outcome.plan.path_mtu + _HEADERS
    return (frame + _FCS_PREAMBLE_GAP) / frame


def rates_of_all(outcome: RunOutcome, begin_s: float, end_s: float) -> Array:
    """Gb/s of every flow, as flow_rates(), 0 where nothing comes: between the first and the last sample of any flow in this time. Sinks sample a flow where
    something of it has come since its last sample."""
    samples = {host: r[r["kind"] == frames.SAMPLE] for host, r in _of_hosts(outcome).items()}
    times = np.concatenate([r["time_ps"] for r in samples.values()])
    inside = times[(times >= begin_s * 1e12) & (times < end_s * 1e12)]
    first, last = int(inside.min()), int(inside.max())
    index, came = frames.FlowIndex(outcome), {flow.id: 0.0 for flow in outcome.flows}
    for host, records in samples.items():
        for qpn in np.unique(records["flow"]):
            flow, mine = index.at_sink(host, int(qpn)), records[records["flow"] == qpn]
            at_first, at_last = (
                float(mine["bytes"][mine["time_ps"] <= t].max(initial=0)) for t in (first, last)
            )
            if flow is not None:
                came[flow] += at_last - at_first
    return np.array(list(came.values())) * _on_wire(outcome) * 8e3 / (last - first)


def flow_rates(outcome: RunOutcome, begin_s: float, end_s: float) -> Mapping[int, float]:
    """Gb/s of each flow on the wire, headers, preamble and gap included, from the sinks' samples: of all its queue pairs together. Flows with fewer than two
    samples in this time are left out."""
    on_wire, index = _on_wire(outcome), frames.FlowIndex(outcome)
    rates: dict[int, float] = {}
    for host, records in _of_hosts(outcome).items():
        samples = records[records["kind"] == frames.SAMPLE]
        for qpn in np.unique(samples["flow"]):
            flow, mine = index.at_sink(host, int(qpn)), samples[samples["flow"] == qpn]
            time, done = mine["time_ps"].astype(float) / 1e12, mine["bytes"].astype(float)
            first, last = np.searchsorted(time, (begin_s, end_s))
            last -= 1
            if flow is not None and last > first:
                rate = 8e-9 * on_wire * (done[last] - done[first]) / (time[last] - time[first])
                rates[flow] = rates.get(flow, 0.0) + float(rate)
    return rates


@dataclass(frozen=True)
class Spread:
    mean: float
    deviation: float


def spread_of(values: Array, weights: Array | None = None) -> Spread:
    mean = np.average(values, weights=weights)
    return Spread(float(mean), float(np.sqrt(np.average((values - mean) ** 2, weights=weights))))


def told_mbps(outcome: RunOutcome, begin_s: float, end_s: float) -> tuple[Array, Array]:
    """The fair rates of all congestion points' periods within this time: Mb/s, and how many flows were told."""
    rates, told = [], []
    for records in frames.by_node(outcome, frames.switches(outcome.plan)).values():
        time = records["time_ps"] / 1e12
        mine = records[(records["kind"] == frames.FAIR_RATE) & (time >= begin_s) & (time < end_s)]
        rates.append(mine["bytes"] / 1e6)
        told.append(mine["flow"].astype(float))
    return np.concatenate(rates), np.concatenate(told)


def allowed_mbps(outcome: RunOutcome, begin_s: float, end_s: float) -> Array:
    """Each rate that congestion control sets within this time, of all queue pairs: Mb/s (`congestion_control.trace_rates`)."""
    rates = []
    for records in frames.by_node(outcome, [h.name for h in outcome.plan.hosts]).values():
        time = records["time_ps"] / 1e12
        mine = records[(records["kind"] == frames.ALLOWED) & (time >= begin_s) & (time < end_s)]
        rates.append(mine["bytes"] / 1e6)
    return np.concatenate(rates)


def queue_kb(outcome: RunOutcome, interface: str, begin_s: float, end_s: float) -> Spread:
    """Of the class-3 queue of this port, over time, from its samples."""
    samples = frames.samples_frame([outcome])
    mine = samples[(samples["what"] == "queue") & (samples["port"] == interface) & (samples["tc"] == 3)]
    time = mine["time_ps"].to_numpy(dtype=float) / 1e12
    inside = time[(time > begin_s) & (time < end_s)]
    edges = np.concatenate(([begin_s], inside, [end_s]))
    held = mine["bytes"].to_numpy(dtype=float)[
        np.maximum(np.searchsorted(time, edges[:-1], side="right") - 1, 0)
    ]
    return spread_of(held / 1e3, np.diff(edges))


def mean_queues_kb(outcome: RunOutcome, begin_s: float, end_s: float) -> Mapping[str, float]:
    """Of the class-3 queue of every port that was sampled, as queue_kb()."""
    samples = frames.samples_frame([outcome])
    mine = samples[(samples["what"] == "queue") & (samples["tc"] == 3)]
    found = {}
    for interface, part in mine.groupby("port"):
        time = part["time_ps"].to_numpy(dtype=float) / 1e12
        inside = (time >= begin_s) & (time <= end_s)
        if inside.any():
            found[str(interface)] = float(part["bytes"].to_numpy(dtype=float)[inside].mean() / 1e3)
    return found


def mean_of(values: Mapping[int, float], flows: Sequence[int]) -> float:
    return float(np.mean([values[f] for f in flows]))
