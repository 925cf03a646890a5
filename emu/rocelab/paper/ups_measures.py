"""What single runs of `./rocelab paper ups` show beside the metrics of summary.json: delays of packets from the start of their flow, and shares of flows in a millisecond."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rocelab import frames
from rocelab.model import Array, FlowPlan, RunOutcome
from rocelab.sweep.work import Found, check_complete

_MS_PS = 1_000_000_000
_PLACED = frames.PLACED


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
