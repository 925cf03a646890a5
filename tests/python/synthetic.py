"""Run outcomes made up from a plan: a fluid incast with the marks of each label, for testing what judges and shows results without running anything."""

from __future__ import annotations

import hashlib

import numpy as np

from rocelab.frames import KINDS
from rocelab.model import (
    TRACE_DTYPE,
    Array,
    FidelityInputs,
    FlowPlan,
    FlowRecord,
    PortPlan,
    RunOutcome,
    RunPlan,
)

QPN = 4096
STEP_PS = 20_000_000


def record(kind: str, time_ps: int, **fields: int) -> tuple[int, ...]:
    f = {"mark": 0, "port": 0, "flow": 0, "bytes": 0, "psn": 0, "peer": 0, **fields}
    return (time_ps, KINDS.index(kind), f["mark"], f["port"], f["flow"], f["bytes"], f["psn"], f["peer"])


def records(rows: list[tuple[int, ...]]) -> Array:
    return np.array(sorted(rows, key=lambda r: r[0]), dtype=TRACE_DTYPE)


Events = dict[str, list[tuple[int, ...]]]


def outcome(plan: RunPlan, error: str | None = None) -> RunOutcome:
    """All flows of an incast at equal rates, so that they end together; drops and retransmissions without PFC, pauses with it."""
    rng = np.random.default_rng(plan.seed)
    waste = {"roce": 0.45, "irn": 0.01}[plan.mode] if not plan.pfc else 0.0
    sinks = len({f.dst for f in plan.flows})
    end_ps = int(sum(f.size for f in plan.flows) * 8 / 36.5e9 / (1 - waste) / sinks * 1e12) + 8_000_000
    port_of = {p.peer: p for p in plan.ports if p.peer_is_host}
    events: Events = {h.name + ".0": [] for h in plan.hosts} | {s.name: [] for s in plan.switches}
    flows = []
    for i, flow in enumerate(plan.flows):
        together = end_ps - int(rng.integers(0, 40_000_000))
        alone = flow.start_ps + int(flow.alone_ps * (1 + 3 * rng.random() ** 4))
        placed = together if len(plan.flows) < 100 else alone
        flows.append(_flow(flow, QPN + i, placed, done=error is None or i != 0))
        _progress(events, flow, QPN + i, placed, rng, plan.pfc, i)
        _losses(events, flow, QPN + i, placed, rng, waste, port_of)
    _switch_samples(plan, events, rng, end_ps, port_of)
    nodes = range(len(plan.hosts) + len(plan.switches))
    return RunOutcome(
        plan=plan,
        flows=tuple(flows),
        nic_counters={(h.name, 0): _nic(events[h.name + ".0"], plan.pfc) for h in plan.hosts},
        port_counters=_ports(plan, events, port_of),
        node_digests=tuple(hashlib.sha256(f"{plan.name} {n}".encode()).digest() for n in nodes),
        events={name: records(rows) for name, rows in events.items()},
        records=1_234_567,
        fidelity=FidelityInputs(windows=9000),
        end_ps=end_ps,
        wall_s=1.5,
        cpu_s=2.25,
        max_rss_bytes=250_000_000,
        error=error,
    )


def _flow(flow: FlowPlan, dst_qpn: int, placed: int, done: bool) -> FlowRecord:
    return FlowRecord(
        id=flow.id,
        posted_ps=flow.start_ps,
        placed_ps=placed if done else None,
        cqe_ps=placed + 4_000_000 if done else None,
        status=0 if done else 12,
        bytes=flow.size if done else flow.size // 3,
        verified=done,
        src_qpn=QPN,
        dst_qpn=dst_qpn,
    )


def _progress(
    events: Events, flow: FlowPlan, qpn: int, placed: int, rng: np.random.Generator, smooth: bool, phase: int
) -> None:
    first = flow.start_ps // STEP_PS
    steps = max(1, placed // STEP_PS - first)
    shares = 1 + (0.1 * np.sin(np.arange(steps) / 15 + phase) if smooth else 0.5 * rng.random(steps))
    sink = events[flow.dst + ".0"]
    for n, part in enumerate(np.cumsum(shares) / np.sum(shares), start=1):
        sink.append(record("sample", (first + n) * STEP_PS, flow=qpn, bytes=int(flow.size * 1.07 * part)))
    sink.append(record("placed", placed, flow=qpn, bytes=flow.size))


def _losses(
    events: Events,
    flow: FlowPlan,
    qpn: int,
    placed: int,
    rng: np.random.Generator,
    waste: float,
    port_of: dict[str, PortPlan],
) -> None:
    """Packets sent again, a fifth of them by timeout, and drops at the sink's port before them."""
    packets = int(flow.packets * waste)
    sink, source = port_of[flow.dst], port_of[flow.src].port_id
    begin = flow.start_ps + 100_000_000
    for t in np.sort(rng.integers(begin, max(placed, begin + 100_000_000), packets)).tolist():
        late = int(rng.random() < 0.2)
        events[flow.src + ".0"].append(record("retransmit", t, flow=QPN, mark=late, bytes=1082))
        if rng.random() < 0.4:
            at = {"port": sink.port_id, "peer": source}
            events[sink.switch].append(record("drop", t - 90_000_000, **at, flow=qpn, bytes=1082))


def _nic(rows: list[tuple[int, ...]], pfc: bool) -> dict[str, int]:
    again = [r for r in rows if r[1] == KINDS.index("retransmit")]
    return {
        "tx_packets": 1000,
        "retransmitted_packets": len(again),
        "timeout_retransmissions": sum(r[2] for r in again),
        "rx_pause_duration_ns": 900_000 if pfc else 0,
    }


def _ports(plan: RunPlan, events: Events, port_of: dict[str, PortPlan]) -> dict[str, dict[str, int]]:
    drops = sum(r[1] == KINDS.index("drop") for rows in events.values() for r in rows)
    frames = sum(f.packets for f in plan.flows)
    pauses = {"xoff_sent_prio3": 30, "xon_sent_prio3": 30} if plan.pfc else {}
    counters: dict[str, dict[str, int]] = {p.interface: {"drops": 0, **pauses} for p in plan.ports}
    counters[port_of[plan.flows[0].dst].interface] |= {
        "tx_frames": frames,
        "tx_bytes": frames * 1082,
        "drops": drops,
        "data_drops": drops,
    }
    return counters


def _switch_samples(
    plan: RunPlan,
    events: dict[str, list[tuple[int, ...]]],
    rng: np.random.Generator,
    end_ps: int,
    port_of: dict,
) -> None:
    sink = port_of[plan.flows[0].dst]
    senders = [port_of[h] for h in dict.fromkeys(f.src for f in plan.flows)][:8]
    for t in range(STEP_PS, end_ps, STEP_PS):
        if plan.pfc:
            queue = min(1.0, t / 2e8) * len(senders) * (150_000 + 60_000 * abs(np.sin(t / 2e8)))
        else:
            queue = 240_000 * (0.6 + 0.4 * rng.random())
        events[sink.switch].append(record("sample", t, port=sink.port_id, psn=3, bytes=int(queue)))
        for n, p in enumerate(senders):
            pausing = plan.pfc and np.sin(t / 1.1e8 + n) > 0
            held = int(queue / len(senders))
            events[p.switch].append(
                record("sample", t, port=p.port_id, psn=3, peer=held, mark=2 if pausing else 0)
            )
    events[sink.switch].append(record("sample", end_ps, port=sink.port_id, psn=3))
    for p in senders:
        events[p.switch].append(record("sample", end_ps, port=p.port_id, psn=3))
