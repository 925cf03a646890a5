"""What single runs of `./rocelab paper p4qcn` show: losses, delays and feedback; the rate of a source by the gaps between its frames; the loop of an incast; a flow that starves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rocelab import frames, native
from rocelab.model import FlowPlan, RunOutcome
from rocelab.summary import run_summary
from rocelab.sweep.work import Found, check_complete

_PLACED, _FEEDBACK = (frames.KINDS.index(k) for k in ("placed", "feedback"))
_WIRE_BITS = 8 * 1110  # of a message's frame in scenarios/p4qcn, with preamble, gap and FCS
_CYCLE = 150_000 / 1086  # frames of a cycle: congestion_control.p4qcn.byte_counter
_DATA_CLASS = 3
_LAST_S = 20.0  # of a run of starvation.toml
_SINK = "h11"  # of rdma.toml


def _found(outcome: RunOutcome, values: dict[str, float | None]) -> Found:
    return Found({(outcome.plan.label, quantity): value for quantity, value in values.items()})


def _flow(outcome: RunOutcome) -> FlowPlan:
    return next(f for f in outcome.plan.flows if f.group == "flow")


def _feedback(outcome: RunOutcome) -> dict[str, float | None]:
    """Notifications, by switches or by receivers, and what switches made of bytes for them."""
    records = frames.by_node(outcome, frames.switches(outcome.plan)).values()
    sizes = [r["bytes"][r["kind"] == _FEEDBACK] for r in records]
    cnps = sum(c["np_cnp_sent"] for c in outcome.nic_counters.values())
    return {
        "notifications": float(sum(len(s) for s in sizes) + cnps),
        "feedback_bytes": float(sum(int(s.sum()) for s in sizes)),
    }


def _messages(outcome: RunOutcome, groups: Sequence[str]) -> tuple[int, int]:
    """Sent, as far as is known, and delivered."""
    mine = {f.id for f in outcome.plan.flows if f.group in groups}
    records = [r for r in outcome.flows if r.id in mine]
    delivered = sum(r.delivered for r in records)
    return max(delivered, sum(r.sent for r in records)), delivered


def message_ms(outcome: RunOutcome) -> float:
    """Mean delay of the messages of "flow" from when they were due. One that has not left by the stop counts with what it has waited by then: without them a flow that hardly sends would
    seem fast."""
    group = next(g for g in run_summary(outcome)["groups"] if g["name"] == "flow")
    record = next(r for r in outcome.flows if r.id == _flow(outcome).id)
    left = int(group["messages"]["planned"]) - record.sent
    every_ps = 1024 * 8e12 / float(native.runner.parse_rate_bps(_parameter(outcome, "workload.flow.rate")))
    waited_ps = every_ps * left * (left + 1) / 2
    return (record.latency_sum_ps + waited_ps) / (record.delivered + left) / 1e9


def queue_ms(outcome: RunOutcome) -> float:
    """Mean time of a frame in the switches' queues, by Little's law: bytes that wait / bytes that arrive in a second."""
    samples = frames.samples_frame([outcome])
    queues = samples[(samples["what"] == "queue") & (samples["tc"] == _DATA_CLASS)]
    end = max(f.last_ps for f in outcome.flows if f.last_ps is not None)
    waiting = 0.0  # byte ps
    for _, port in queues.groupby("port"):
        times = np.append(np.minimum(port["time_ps"].to_numpy(float), end), end)
        waiting += float(np.sum(port["bytes"].to_numpy(float) * np.diff(times)))
    _, delivered = _messages(outcome, ("flow", "background"))
    return waiting / (delivered * 1086) / 1e9


def _parameter(outcome: RunOutcome, key: str) -> str:
    return next(p.value for p in outcome.plan.parameters if p.key == key).strip('"')


def testbed(outcome: RunOutcome) -> Found:
    """Of `flow`, but `loss`, `queue_ms` and `busy`: of both flows; `busy` is what the link to their sink carries of them, % of the time until the stop."""
    check_complete(outcome)
    summary = run_summary(outcome)
    sent, delivered = _messages(outcome, ("flow", "background"))
    own_sent, own_delivered = _messages(outcome, ("flow",))
    seconds = native.runner.parse_duration_ps(_parameter(outcome, "workload.flow.stop")) / 1e12
    link = next(p.rate_bps for p in outcome.plan.ports if p.peer == _flow(outcome).dst)
    return _found(
        outcome,
        {
            "loss": 100 * (1 - delivered / sent),
            "flow_loss": 100 * (1 - own_delivered / own_sent),
            "message_ms": message_ms(outcome),
            "queue_ms": queue_ms(outcome),
            "flow_mbps": own_delivered * 1024 * 8 / seconds / 1e6,
            "busy": 100 * delivered * _WIRE_BITS / (link * seconds),
            "xoff": float(summary["pfc_pause_frames"]),
        }
        | _feedback(outcome),
    )


def behaviour(outcome: RunOutcome) -> Found:
    """A source that always has a frame to send, beside one short burst. When queues are empty, the gaps between its frames at the sink are its limiter's: steps of 150 KB each."""
    check_complete(outcome)
    plan = _flow(outcome)
    placed = frames.by_node(outcome, [plan.dst])[plan.dst]
    record = next(r for r in outcome.flows if r.id == plan.id)
    mine = placed[(placed["kind"] == _PLACED) & (placed["flow"] == record.dst_qpn)]
    rates = _WIRE_BITS * 1e12 / np.diff(mine["time_ps"])
    begin = int(np.argmin(rates))  # the lowest step begins here, behind the last feedback
    steps = [
        float(np.median(rates[begin + round(k * _CYCLE) + 5 : begin + round((k + 1) * _CYCLE) - 5]))
        for k in range(7)
    ]
    told = sum(
        c["rp_fair_rates_handled"] for (host, _), c in outcome.nic_counters.items() if host == plan.src
    )
    line = next(p.rate_bps for p in outcome.plan.ports if p.peer == plan.src)
    target = 2 * steps[0]
    return _found(
        outcome,
        {
            "told": float(told),
            "reduced": float((steps[0] / line) ** (1 / told)) if told else None,
            "recovered": steps[5] / target,
            "increased": (2 * steps[6] - steps[5] - target) / 1e6,
            "lowest": steps[0] / 1e6,
        },
    )


def rdma(outcome: RunOutcome) -> Found:
    """Of the port to the receiver of the incast, from the first data frame that a source sends."""
    check_complete(outcome)
    summary = run_summary(outcome)
    port = next(p for p in outcome.plan.ports if p.peer_is_host and p.peer == _SINK)
    samples = frames.samples_frame([outcome])
    mine = (samples["port"] == port.interface) & (samples["tc"] == _DATA_CLASS)
    queue = samples[(samples["what"] == "queue") & mine]
    begun = min(f.posted_ps for f in outcome.flows if f.posted_ps is not None)
    peak = queue["bytes"].max()
    after = queue[queue["time_ps"] > queue["time_ps"][queue["bytes"].idxmax()]]
    half = after[after["bytes"] < peak / 2]["time_ps"]
    ended = min(f.placed_ps for f in outcome.flows if f.placed_ps is not None)
    settled = queue[(queue["time_ps"] > begun + 2e9) & (queue["time_ps"] < ended)]["bytes"]
    return _found(
        outcome,
        {
            "completion_ms": float(summary["rct_s"]) * 1e3,
            "busy": 100 * float(summary["bottleneck_utilization"]),
            "xoff": float(summary["pfc_pause_frames"]),
            "notifications": float(summary["cnps"]),
            "peak_kb": float(peak) / 1e3,
            "mean_kb": float(settled.mean()) / 1e3,
            "half_ms": (int(half.iloc[0]) - begun) / 1e9 if len(half) else None,
        },
    )


def starvation(outcome: RunOutcome) -> Found:
    check_complete(outcome)
    own_sent, own_delivered = _messages(outcome, ("flow",))
    other_sent, other_delivered = _messages(outcome, ("background",))
    plan = _flow(outcome)
    stop = max(int(t) for _, t, _ in frames.progress(outcome, ["flow", "background"]))
    late = [(t, b) for f, t, b in frames.progress(outcome, ["flow"]) if t > stop - _LAST_S * 1e12]
    told = sum(
        c["rp_fair_rates_handled"] for (host, _), c in outcome.nic_counters.items() if host == plan.src
    )
    data = sum(c["tx_bytes"] for c in outcome.nic_counters.values())
    feedback = _feedback(outcome)
    return _found(
        outcome,
        feedback
        | {
            "told": float(told),
            "late_bps": sum(b for _, b in late) * 8 / _LAST_S,
            "flow_sent": float(own_sent),
            "flow_lost": float(own_sent - own_delivered),
            "background_loss": 100 * (1 - other_delivered / other_sent),
            "feedback_share": 100 * (feedback["feedback_bytes"] or 0.0) / data,
        },
    )
