"""What the bytes that links carried were for: data, acknowledgements and each other kind of frame (base/wire/sent_kinds.h), out of the counters of NICs and switch ports.

A frame counts on each link that it is sent on, whatever becomes of it there, with the 24 bytes that it takes on the wire beside its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rocelab.model import RunOutcome

_ON_WIRE = 24  # FCS, preamble, gap
# The switches' kinds, in the order of tables. `int`: what HPCC's telemetry adds to data frames.
KINDS: Mapping[str, str] = {
    "data": "data, with headers",
    "int": "INT in data frames",
    "request": "READ and atomic requests",
    "ack": "ACKs",
    "nack": "NACKs",
    "cnp": "CNPs",
    "feedback": "feedback of switches",
    "escape_token": "Escape's tokens",
    "escape_announcement": "Escape's announcements",
    "clcm": "Loop Breaker's messages",
    "bfc_pause": "BFC's pauses of queues",
    "pfc": "PFC",
    "other": "other",
}
_OF_NICS = ("request", "ack", "nack", "cnp")  # of their tx_packets; the rest is data
_OF_SWITCHES = tuple(kind for kind in KINDS if kind != "int")


def by_kind(outcome: RunOutcome) -> dict[str, dict[str, float]]:
    """`frames`, `bytes` and `share` of all bytes, of each kind that was sent; `int` has no frames of its own."""
    frames, sizes = dict.fromkeys(KINDS, 0), dict.fromkeys(KINDS, 0)

    def add(kind: str, count: int, size: int) -> None:
        frames[kind] += count
        sizes[kind] += size + _ON_WIRE * count

    for counters in outcome.nic_counters.values():
        control = [_sent(counters, kind) for kind in _OF_NICS]
        for kind, (count, size) in zip(_OF_NICS, control, strict=True):
            add(kind, count, size)
        add(
            "data",
            counters.get("tx_packets", 0) - sum(count for count, _ in control),
            counters.get("tx_bytes", 0) - sum(size for _, size in control),
        )
    for counters in outcome.port_counters.values():
        for kind in _OF_SWITCHES:
            add(kind, *_sent(counters, kind))
        stamped = counters.get("int_bytes", 0)
        sizes["int"] += stamped
        sizes["data"] += counters.get("int_added_bytes", 0) - stamped
    total = sum(sizes.values())
    return {
        kind: {"frames": frames[kind], "bytes": sizes[kind], "share": sizes[kind] / total}
        for kind in KINDS
        if sizes[kind]
    }


def _sent(counters: Mapping[str, int], kind: str) -> tuple[int, int]:
    return counters.get(f"tx_{kind}_frames", 0), counters.get(f"tx_{kind}_bytes", 0)


def rows(runs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of a summary's runs, a row for each kind of each; columns.py: `link_bytes`."""
    return [
        {"run": number, "label": run["label"], "seed": run["seed"], "kind": kind, **values}
        for number, run in enumerate(runs)
        for kind, values in run["link_bytes"].items()
    ]


def shares(runs: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """By kind and label, means over the runs that came to their end, of those kinds that any label has."""
    complete = [run for run in runs if run["complete"] and run["link_bytes"]]
    labels = list(dict.fromkeys(run["label"] for run in complete))
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        of = {
            label: [
                run["link_bytes"].get(kind, {"share": 0.0})["share"]
                for run in complete
                if run["label"] == label
            ]
            for label in labels
        }
        if any(any(values) for values in of.values()):
            found[kind] = {label: sum(values) / len(values) for label, values in of.items()}
    return found
