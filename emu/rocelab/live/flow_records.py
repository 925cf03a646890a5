"""Joins what both ends of each flow recorded, and what their NICs did, into one record per flow.

The traffic program reads a clock of 1 ns; the NICs' event files hold the same instants to the picosecond: the first message posted at the requester and
the last one placed at the sink. Where there is an event file its times are taken; of queue pair numbers that flows share, or have one after the other, those
that the program's clock may mean. All times are experiment time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rocelab.flow_status import OTHER_STATUS, TEXTS
from rocelab.model import Array, FlowPlan, FlowRecord

# CLOCK_REALTIME of programs at experiment time 0 (irn_provider/verbs/libc/program_clocks.h): 2035-01-01T00:00:00Z.
REALTIME_EPOCH_PS = 2_051_222_400 * 10**12
_PLACED, _POSTED = 8, 13  # base/trace.h, TraceKind


def read_records(
    flows: tuple[FlowPlan, ...], programs: Mapping[str, Path], events: Mapping[str, Array]
) -> tuple[FlowRecord, ...]:
    """`programs`: the JSON file of each host's program, if it wrote one. `events`: as RunOutcome.events."""
    ends: dict[tuple[int, str], dict[str, Any]] = {}
    for path in programs.values():
        if not path.exists():
            continue
        read = json.loads(path.read_text())
        for document in read if isinstance(read, list) else [read]:  # one for each NIC of a host with several
            epoch = int(document["epoch_realtime_ns"]) * 1000 - REALTIME_EPOCH_PS
            for record in document["flows"]:
                for key in ("posted_ps", "placed_ps", "cqe_ps", "last_ps"):
                    if record.get(key) is not None:
                        record[key] += epoch
                ends[(record["id"], record["role"])] = record
    users = Counter((_host(role, f), q) for f in flows for role, r in _ends(ends, f) for q in r["local_qpns"])
    shared = {
        f.id
        for f in flows
        for role, r in _ends(ends, f)
        if any(users[_host(role, f), q] > 1 for q in r["local_qpns"])
    }
    return tuple(
        _join(f, ends.get((f.id, "source"), {}), ends.get((f.id, "sink"), {}), events, f.id in shared)
        for f in flows
    )


def _ends(ends: Mapping[tuple[int, str], dict[str, Any]], flow: FlowPlan) -> list[tuple[str, dict[str, Any]]]:
    return [(role, ends[flow.id, role]) for role in ("source", "sink") if (flow.id, role) in ends]


def _host(role: str, flow: FlowPlan) -> str:
    return flow.src if role == "source" else flow.dst


def _join(
    flow: FlowPlan,
    source: Mapping[str, Any],
    sink: Mapping[str, Any],
    events: Mapping[str, Array],
    shared: bool,
) -> FlowRecord:
    status = next((s for s in map(_status, (source, sink)) if s != 0), 0)
    requester, requester_host = (sink, flow.dst) if flow.op == "read" else (source, flow.src)
    posted, placed = requester.get("posted_ps"), sink.get("placed_ps")
    if posted is not None:
        found = _instants(events, requester_host, _POSTED, requester["local_qpns"])
        if shared:  # it is posted when its time comes, perhaps behind requests of other flows
            found = [t for t in found if abs(t - posted) < 1000]
        posted = min(found, default=posted)
    if placed is not None:
        found = _instants(events, flow.dst, _PLACED, sink["local_qpns"])
        if shared:
            found = [t for t in found if t < placed + 1000]
        placed = max(found, default=placed)
    return FlowRecord(
        id=flow.id,
        posted_ps=posted,
        placed_ps=placed,
        cqe_ps=requester.get("cqe_ps"),
        status=status,
        bytes=sink.get("bytes", 0),
        verified=bool(sink.get("verified", False)),
        src_qpn=(source.get("local_qpns") or [0])[0],
        dst_qpn=(sink.get("local_qpns") or [0])[0],
        src_qpns=tuple(source.get("local_qpns") or ()),
        dst_qpns=tuple(sink.get("local_qpns") or ()),
        stopped=source.get("status") == "stopped",
        settled=sink.get("status") == "settled",
        sent=source.get("sent", 0),
        delivered=sink.get("delivered", 0),
        latency_sum_ps=sink.get("latency_sum_ps", 0),
        latency_max_ps=sink.get("latency_max_ps", 0),
        last_ps=sink.get("last_ps"),
    )


def _status(end: Mapping[str, Any]) -> int:
    text = end.get("status", "not finished")
    if text in ("ok", "stopped", "settled", "not finished"):
        return 0  # of the latter the times that are missing tell
    return TEXTS.index(text) if text in TEXTS else OTHER_STATUS


def _instants(events: Mapping[str, Array], host: str, kind: int, qpns: list[int]) -> list[int]:
    """Times of the records of `kind` for these local QPNs, over all VFs of the host."""
    found: list[int] = []
    for name, array in events.items():
        if name.rpartition(".")[0] == host and len(array):
            found += array["time_ps"][(array["kind"] == kind) & np.isin(array["flow"], qpns)].tolist()
    return found
