"""What single runs of `./rocelab paper ups` show beside the metrics of summary.json: queueing delays of a replay and its original, delays of packets from the start of their flow,
shares of flows in a millisecond, and round trips."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rocelab import frames
from rocelab.model import Array, FlowPlan, RunOutcome
from rocelab.sweep.work import Found, check_complete, reads

_MS_PS = 1_000_000_000
_PLACED = frames.PLACED
_SLACK = frames.KINDS.index("slack")
REPLAY = "-lstf"  # ends the names of table 5.1's cases that LSTF replays, without preemption
RATIOS = np.arange(151) / 100  # at which figure 5.1's distribution is kept
LATENESS_US = np.logspace(-3, 5, 81)  # at which that of lateness is


def _per_flow(outcome: RunOutcome) -> dict[int, tuple[Array, Array]]:
    """By flow: when its messages were in place, ps, and their bytes."""
    at_sink = {(p.dst, qpn): p.id for p, qpn in _sinks(outcome)}
    found = {}
    for host, records in frames.by_node(outcome, frames.hosts(outcome.plan)).items():
        placed = records[records["kind"] == _PLACED]
        placed = placed[np.argsort(placed["flow"], kind="stable")]
        qpns, begins = np.unique(placed["flow"], return_index=True)
        for qpn, part in zip(qpns, np.split(placed, begins[1:])):
            if (flow := at_sink.get((host, int(qpn)))) is not None:
                found[flow] = (part["time_ps"], part["bytes"])
    return found


def _sinks(outcome: RunOutcome) -> Iterator[tuple[FlowPlan, int]]:
    """Flows and the QPNs at their destinations."""
    plans = {f.id: f for f in outcome.plan.flows}
    for record in outcome.flows:
        for qpn in record.sink_qpns():
            yield plans[record.id], qpn


def _ratios(outcome: RunOutcome) -> Array:
    """Queueing delay in the replay over that in the original, of packets that waited in the original. LSTF's slack is the original's queueing delay: what was used and
    what is left of it. The waiting in a record is cut to whole nanoseconds, so that a sum above 0 is one of a packet that waited.
    """
    parts = []
    for records in frames.by_node(outcome, frames.hosts(outcome.plan)).values():
        mine = records[records["kind"] == _SLACK]
        used = mine["peer"].astype(np.int64) * 1000
        left = mine["bytes"].astype(np.int64)
        original = used + np.where(mine["mark"] == 1, -left, left)
        waited = original > 0
        parts.append(used[waited] / original[waited])
    return np.concatenate(parts)


def _later_than(outcome: RunOutcome) -> Array:
    """The share of packets that arrive later than in the original by more than each of LATENESS_US."""
    packets, parts = 0, []
    for records in frames.by_node(outcome, frames.hosts(outcome.plan)).values():
        mine = records["kind"] == _SLACK
        packets += int(mine.sum())
        parts.append(records["bytes"][mine & (records["mark"] == 1)])
    late = np.sort(np.concatenate(parts))
    shares: Array = (len(late) - np.searchsorted(late, LATENESS_US * 1e6, side="right")) / packets
    return shares


@reads("slack", columns=("kind", "mark", "bytes", "peer"))
def queueing(outcome: RunOutcome) -> Found:
    """Of a replay by LSTF (figure 5.1): the share of packets that wait less than in the original, the median of the ratios, the share of packets at or below each of
    RATIOS, and that of packets which are later by more than each of LATENESS_US. Of other runs nothing."""
    check_complete(outcome)
    label = outcome.plan.label
    if not label.endswith(REPLAY):
        return Found({})
    later = _later_than(outcome)
    ratios = np.sort(_ratios(outcome))
    cdf = np.searchsorted(ratios, RATIOS, side="right") / len(ratios)
    return Found(
        {
            (label, "waits_less"): float(np.mean(ratios < 1)),
            (label, "median_ratio"): float(np.median(ratios)),
        },
        arrays={"cdf": cdf, "later": later},
    )


def round_trips(outcome: RunOutcome) -> Found:
    """Mean round trip of each flow's packets, averaged over the bytes of flows (figure 5.9), s: of packets that an ACK of their own acknowledged, and of all that left once.
    Packets that one ACK acknowledges together have waited behind a lost one, which is no round trip; ns-2's TCP takes none there, either.
    """
    check_complete(outcome)
    sizes = {f.id: f.size for f in outcome.plan.flows}
    index = frames.FlowIndex(outcome)
    alone: dict[int, float] = {}
    every: dict[int, float] = {}
    for host, records in frames.by_node(outcome, frames.hosts(outcome.plan)).items():
        taken = records[records["kind"] == frames.RTT]
        taken = taken[np.argsort(taken["flow"], kind="stable")]
        qpns, begins = np.unique(taken["flow"], return_index=True)
        for qpn, part in zip(qpns, np.split(taken, begins[1:])):
            if (flow := index.at_source(host, int(qpn))) is None:
                continue
            every[flow] = part["bytes"].mean() / 1e12
            _, inverse, counts = np.unique(part["time_ps"], return_inverse=True, return_counts=True)
            own = part[counts[inverse] == 1]
            if len(own):
                alone[flow] = own["bytes"].mean() / 1e12
    label = outcome.plan.label
    return Found(
        {
            (label, quantity): float(np.average([*means.values()], weights=[sizes[f] for f in means]))
            for quantity, means in (("rtt_per_byte", alone), ("rtt_with_gaps", every))
        }
    )


def delays(outcome: RunOutcome) -> Found:
    """Of packets, from when their flow had them to send (figure 5.3): mean and 99th percentile in seconds."""
    check_complete(outcome)
    starts = {f.id: f.start_ps for f in outcome.plan.flows}
    all_s = np.concatenate([(t - starts[flow]) / 1e12 for flow, (t, _) in _per_flow(outcome).items()])
    label = outcome.plan.label
    return Found(
        {(label, "delay_mean"): float(all_s.mean()), (label, "delay_p99"): float(np.percentile(all_s, 99))}
    )


def _shares(outcome: RunOutcome) -> tuple[Array, list[int]]:
    """Bytes of each flow that were placed in each millisecond, [flow, ms]; a row for a flow of which nothing came, too."""
    placed = _per_flow(outcome)
    ids = [f.id for f in outcome.plan.flows]
    end = max(int(t[-1]) for t, _ in placed.values()) // _MS_PS + 1
    shares = np.zeros((len(ids), end))
    for row, flow in enumerate(ids):
        if flow in placed:
            times, sizes = placed[flow]
            np.add.at(shares[row], times // _MS_PS, sizes)
    return shares, ids


def fairness(outcome: RunOutcome) -> Found:
    """Jain's index over all flows by millisecond (figure 5.4): of the last three whole ones before 20 ms, and the first from which it stays at 0.95."""
    shares, _ = _shares(outcome)
    shares = shares[:, :20]
    jain = shares.sum(axis=0) ** 2 / (len(shares) * np.maximum((shares**2).sum(axis=0), 1))
    below = np.flatnonzero(jain < 0.95)
    label = outcome.plan.label
    return Found(
        {
            (label, "jain"): float(jain[17:20].mean()),
            (label, "fair_from_ms"): float(below[-1] + 1 if len(below) else 0),
        },
        arrays={"jain": jain},
    )


@reads("placed")
def weights(outcome: RunOutcome) -> Found:
    """Ratios of what the flows of groups A, B and C got from 15 to 30 ms (figure 5.6)."""
    shares, ids = _shares(outcome)
    groups = {f.id: f.group for f in outcome.plan.flows}
    got = {groups[flow]: float(row[15:30].sum()) for flow, row in zip(ids, shares)}
    ratios = {
        "a_b": got["A"] / got["B"],
        "b_c": got["B"] / got["C"],
        "a_bc": got["A"] / (got["B"] + got["C"]),
    }
    return Found({(outcome.plan.label, quantity): ratio for quantity, ratio in ratios.items()})


def late_flow(outcome: RunOutcome) -> Found:
    """The most that the flow of `new` got in a millisecond from its third on (by then its window is no limit), in fair shares of its link (figure 5.5)."""
    shares, ids = _shares(outcome)
    new = next(f.id for f in outcome.plan.flows if f.group == "new")
    mine = shares[ids.index(new), 5:20]
    fair = shares[:, 5:20].sum(axis=0) / len(ids)
    label = outcome.plan.label
    return Found(
        {
            (label, "overshoot"): float((mine / fair).max()),
            (label, "at_end"): float((mine / fair)[-3:].mean()),
        },
        arrays={"share": mine / fair},
    )
