"""pandas frames of what runs left behind: one row per flow, per sample, per event, per counter. docs/reference/metrics.md describes the columns.

A run is known by its index in the list of outcomes, its label and its seed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from rocelab import native
from rocelab.model import Array, FlowPlan, FlowRecord, RunOutcome, RunPlan

KINDS: tuple[str, ...] = tuple(name for name, _ in native.runner.TRACE_KINDS)  # base/trace.h
DROP, PLACED, RETRANSMIT, SAMPLE, FAIR_RATE, RTT, ALLOWED = (
    KINDS.index(k) for k in ("drop", "placed", "retransmit", "sample", "fair_rate", "rtt", "allowed")
)
RETRANSMIT_BY_TIMEOUT = 1  # mark of a retransmit record; 0: by NAK or NACK


def node_of(source: str) -> str:
    """The node that wrote an event file: "h1.0" is VF 0 of host h1, "h1.1.0" of the NIC h1.1, "s1" a switch."""
    return source.rpartition(".")[0] or source


def by_node(outcome: RunOutcome, nodes: Iterable[str]) -> dict[str, Array]:
    """Records of these nodes, VFs together, in time order."""
    wanted = set(nodes)
    parts: dict[str, list[Array]] = {}
    for source, records in outcome.events.items():
        if node_of(source) in wanted:
            parts.setdefault(node_of(source), []).append(records)
    return {
        n: np.sort(np.concatenate(p), order="time_ps", kind="stable") if len(p) > 1 else p[0]
        for n, p in parts.items()
    }


def hosts(plan: RunPlan) -> list[str]:
    return [h.name for h in plan.hosts]


def switches(plan: RunPlan) -> list[str]:
    return [s.name for s in plan.switches]


class FlowIndex:
    """Which flow a record belongs to: hosts know their own QPN, switches the QPN that a frame is for."""

    def __init__(self, outcome: RunOutcome) -> None:
        plans = {f.id: f for f in outcome.plan.flows}
        self._at_sink: dict[tuple[str, int], int] = {}
        self._at_source: dict[tuple[str, int], int] = {}
        self._by_qpn: dict[int, list[int]] = {}
        self._ends = {f.id: (f.src, f.dst) for f in outcome.plan.flows}
        self._peer = {(p.switch, p.port_id): p.peer for p in outcome.plan.ports if p.peer_is_host}
        for record in outcome.flows:
            plan = plans[record.id]
            for qpn in _real(record.sink_qpns()):
                self._at_sink[plan.dst, qpn] = record.id
                self._by_qpn.setdefault(qpn, []).append(record.id)
            for qpn in _real(record.source_qpns()):
                self._at_source[plan.src, qpn] = record.id

    def at_sink(self, host: str, qpn: int) -> int | None:
        return self._at_sink.get((host, qpn))

    def at_source(self, host: str, qpn: int) -> int | None:
        return self._at_source.get((host, qpn))

    def at_host(self, host: str, qpn: int) -> int | None:
        return self._at_source.get((host, qpn), self._at_sink.get((host, qpn)))

    def at_switch(self, switch: str, port: int, other_port: int, dest_qpn: int) -> int | None:
        """Of a frame on its way to the sink's QPN. QPNs are a host's own; the hosts on the record's ports decide. None: ambiguous, or no flow's data."""
        found = self._by_qpn.get(dest_qpn, [])
        near = {self._peer.get((switch, p)) for p in (port, other_port)} - {None}
        if near:
            found = [f for f in found if self._ends[f][1] in near] or [
                f for f in found if self._ends[f][0] in near
            ]
        return found[0] if len(found) == 1 else None


def _real(qpns: Iterable[int]) -> list[int]:
    return [q for q in qpns if q > 0]


# Kinds that events_frame() leaves out, since other tables have them (docs/reference/metrics.md), or none; and kinds whose `flow` is no QPN.
_ELSEWHERE = ("deliver", "sample", "hop", "carried")
_OF_PORTS = ("xoff", "xon", "paused", "resumed", "storm", "loop", "culprit")
_NO_LOSS = {"data_drops": 0, "retransmitted": 0, "timeout_retransmitted": 0}


def flows_frame(outcomes: Sequence[RunOutcome]) -> pd.DataFrame:
    rows = []
    for run, outcome in enumerate(outcomes):
        key = {"run": run, "label": outcome.plan.label, "seed": outcome.plan.seed}
        losses = loss_by_flow(outcome)
        records = {r.id: r for r in outcome.flows}
        for plan in outcome.plan.flows:
            record = records.get(plan.id, FlowRecord(plan.id, None, None, None))
            rows.append({**key, **_flow_row(plan, record), **losses.get(plan.id, _NO_LOSS)})
    frame = pd.DataFrame(rows)
    for column in ("posted_ps", "placed_ps", "cqe_ps"):
        if column in frame:
            frame[column] = frame[column].astype("Int64")
    return frame


def _flow_row(plan: FlowPlan, record: FlowRecord) -> dict[str, object]:
    fct: int | None = None
    if record.posted_ps is not None and record.placed_ps is not None and record.status == 0:
        fct = record.placed_ps - record.posted_ps
    completed = fct is not None
    fct = None if plan.is_stream else fct
    planned = {k: v for k, v in dataclasses.asdict(plan).items() if k not in ("id", "alone_ps", "is_stream")}
    return {
        "flow": plan.id,
        **planned,
        "posted_ps": record.posted_ps,
        "placed_ps": record.placed_ps,
        "cqe_ps": record.cqe_ps,
        "completed": completed,
        "status": record.status,
        "bytes": record.bytes,
        "verified": record.verified,
        "stopped": record.stopped and not completed,
        "sent": record.sent,
        "delivered": record.delivered,
        "fct_s": None if fct is None else fct / 1e12,
        "alone_s": plan.alone_ps / 1e12,
        "slowdown": None if fct is None else fct / plan.alone_ps,
    }


def loss_by_flow(outcome: RunOutcome) -> dict[int, dict[str, int]]:
    """Frames dropped on the way to the sink, and packets that left again, from the event files."""
    index = FlowIndex(outcome)
    sums: dict[int, dict[str, int]] = {}

    def add(flow: int | None, key: str, count: int) -> None:
        if flow is not None:
            entry = sums.setdefault(flow, dict(_NO_LOSS))
            entry[key] += count

    for switch, records in by_node(outcome, switches(outcome.plan)).items():
        drops = records[records["kind"] == DROP]
        for (port, peer, qpn), count in _count(drops, ("port", "peer", "flow")):
            add(index.at_switch(switch, port, peer, qpn), "data_drops", count)
    for host, records in by_node(outcome, hosts(outcome.plan)).items():
        again = records[records["kind"] == RETRANSMIT]
        for (qpn, mark), count in _count(again, ("flow", "mark")):
            flow = index.at_host(host, qpn)
            add(flow, "retransmitted", count)
            if mark == RETRANSMIT_BY_TIMEOUT:
                add(flow, "timeout_retransmitted", count)
    return sums


def _count(records: Array, fields: tuple[str, ...]) -> list[tuple[tuple[int, ...], int]]:
    """How many records there are of each combination of values. (One integer per record: sorting structures is slow.)"""
    if len(records) == 0:
        return []
    columns = [np.unique(records[f], return_inverse=True) for f in fields]
    shape = tuple(len(values) for values, _ in columns)
    keys, counts = np.unique(np.ravel_multi_index([codes for _, codes in columns], shape), return_counts=True)
    indices = np.transpose(np.unravel_index(keys, shape))
    return [
        (tuple(int(c[0][i]) for c, i in zip(columns, index)), int(n)) for index, n in zip(indices, counts)
    ]


def progress(outcome: RunOutcome, groups: Iterable[str]) -> list[tuple[int, int, int]]:
    """(flow, time, bytes) of every message in place, for flows of these groups."""
    wanted = {f.id for f in outcome.plan.flows if f.group in set(groups)}
    if not wanted:
        return []
    index = FlowIndex(outcome)
    steps: list[tuple[int, int, int]] = []
    for host, records in by_node(outcome, hosts(outcome.plan)).items():
        placed = records[records["kind"] == PLACED]
        for qpn in np.unique(placed["flow"]):
            flow = index.at_sink(host, int(qpn))
            if flow in wanted and flow is not None:
                mine = placed[placed["flow"] == qpn]
                steps += [(flow, int(t), int(b)) for t, b in zip(mine["time_ps"], mine["bytes"])]
    return sorted(steps, key=lambda s: (s[1], s[0]))


def rtts(outcome: RunOutcome) -> Array:
    """The records of all round trips that NICs took: `flow` is the QPN at the sender, `bytes` picoseconds."""
    parts = [records[records["kind"] == RTT] for records in by_node(outcome, hosts(outcome.plan)).values()]
    return np.concatenate(parts) if parts else np.empty(0, dtype=[("time_ps", "i8"), ("bytes", "u8")])


def samples_frame(outcomes: Sequence[RunOutcome]) -> pd.DataFrame:
    """`what` is "queue" (of a switch port and class: bytes queued, bytes held from that ingress, pause bits) or "flow" (bytes delivered to the sink so far)."""
    parts = []
    for run, outcome in enumerate(outcomes):
        index = FlowIndex(outcome)
        interfaces = {(p.switch, p.port_id): p.interface for p in outcome.plan.ports}
        for switch, records in by_node(outcome, switches(outcome.plan)).items():
            s = records[records["kind"] == SAMPLE]
            ports = [interfaces.get((switch, int(p)), "") for p in s["port"]]
            part = _sample_part(run, switch, "queue", s)
            parts.append(
                part.assign(
                    port=ports, tc=s["psn"], bytes=s["bytes"], ingress_bytes=s["peer"], pause=s["mark"]
                )
            )
        for host, records in by_node(outcome, hosts(outcome.plan)).items():
            s = records[records["kind"] == SAMPLE]
            known = {int(q): index.at_sink(host, int(q)) for q in np.unique(s["flow"])}
            s = s[np.isin(s["flow"], [q for q, f in known.items() if f is not None])]
            part = _sample_part(run, host, "flow", s)
            parts.append(part.assign(flow=[known[int(q)] for q in s["flow"]], bytes=s["bytes"]))
    columns = ["run", "time_ps", "node", "what", "port", "tc", "flow", "bytes", "ingress_bytes", "pause"]
    parts = [p for p in parts if len(p)]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True).reindex(columns=columns)


def _sample_part(run: int, node: str, what: str, s: Array) -> pd.DataFrame:
    return pd.DataFrame({"time_ps": s["time_ps"]}).assign(run=run, node=node, what=what)


def events_frame(outcome: RunOutcome, run: int) -> pd.DataFrame:
    """Every record of a run but deliveries and what is sampled; `of_flow` is the flow that it is about, where that is known."""
    parts = []
    for source, records in outcome.events.items():
        kept = records[~np.isin(records["kind"], [KINDS.index(k) for k in _ELSEWHERE])]
        part = pd.DataFrame({name: kept[name] for name in kept.dtype.names or ()})
        parts.append(
            part.assign(node=node_of(source), kind=np.array(KINDS)[kept["kind"]] if len(kept) else [])
        )
    if not parts:
        return pd.DataFrame()
    frame = pd.concat(parts, ignore_index=True).sort_values("time_ps", kind="stable", ignore_index=True)
    frame.insert(0, "run", run)
    return frame.assign(of_flow=_flows_of(outcome, frame))


def _flows_of(outcome: RunOutcome, frame: pd.DataFrame) -> pd.Series:
    index = FlowIndex(outcome)
    at_hosts = set(hosts(outcome.plan))
    keys = ["node", "port", "peer", "flow"]
    about = frame[keys].where(~frame["kind"].isin(_OF_PORTS), -1)
    flows = {
        (node, port, peer, qpn): index.at_host(node, qpn)
        if node in at_hosts
        else index.at_switch(node, port, peer, qpn)
        for node, port, peer, qpn in about.drop_duplicates().itertuples(index=False)
    }
    found = [flows[key] for key in about.itertuples(index=False, name=None)]
    return pd.Series(found, index=frame.index, dtype="Int64")


def counters_frame(outcomes: Sequence[RunOutcome]) -> pd.DataFrame:
    """NIC counters per host and VF, port counters per interface; zeros left out."""
    rows = []
    for run, outcome in enumerate(outcomes):
        for (host, vf), counters in outcome.nic_counters.items():
            rows += [(run, host, f"vf{vf}", name, value) for name, value in counters.items() if value]
        for port in outcome.plan.ports:
            counters = outcome.port_counters.get(port.interface, {})
            rows += [
                (run, port.switch, port.interface, name, value) for name, value in counters.items() if value
            ]
    return pd.DataFrame(rows, columns=["run", "node", "unit", "name", "value"])
