"""The report's tables as plain values: cells are texts that are already rounded and carry no markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocelab import pauses
from rocelab.model import PortPlan, RunOutcome, RunPlan

Number = float | int | None


@dataclass(frozen=True)
class Column:
    metric: str
    title: str
    unit: str
    scale: float
    why: str  # shown on hover
    only_if_any: bool = False  # left out when zero everywhere


COLUMNS = (
    Column("rct_s", "completion", "ms", 1e3, "first start to last end of all flows"),
    Column("goodput_bps", "goodput", "Gb/s", 1e-9, "payload of all flows over that time"),
    Column("avg_fct_s", "mean FCT", "ms", 1e3, "mean over flows of first work request to last byte in place"),
    Column("p99_fct_s", "99th % FCT", "ms", 1e3, "nearest rank"),
    Column("avg_slowdown", "slowdown", "", 1, "mean over flows of FCT over FCT alone on an idle network"),
    Column(
        "bottleneck_utilization",
        "port busy",
        "%",
        1e2,
        "wire bytes of the busiest switch port over what it could carry in the completion time",
    ),
    Column("data_drops", "dropped", "packets", 1, "packets with payload that a switch or link dropped"),
    Column("retransmitted_packets", "retx", "packets", 1, "packets that a sender retransmitted"),
    Column(
        "timeout_retransmissions",
        "timeout retx",
        "packets",
        1,
        "retransmitted in recovery that a timer began",
        True,
    ),
    Column(
        "spurious_retransmissions",
        "spurious",
        "packets",
        1,
        "packets that the receiver already had",
        True,
    ),
    Column("pfc_pause_frames", "pauses", "frames", 1, "PFC frames that asked a neighbour to stop", True),
    Column(
        "pfc_paused_s",
        "paused",
        "ms",
        1e3,
        "time in which NICs and switch ports might not send a class, summed",
        True,
    ),
    Column("ecn_marks", "ECN marks", "packets", 1, "packets marked CE", True),
    Column(
        "avg_rtt_s",
        "mean RTT",
        "us",
        1e6,
        "mean over segments of first packet out to ACK, without their serialisation",
        True,
    ),
    Column("p99_rtt_s", "99th % RTT", "us", 1e6, "nearest rank", True),
    Column("declared_drops", "declared drops", "packets", 1, "lossless frames beyond egress_max", True),
    Column("pushed_out", "pushed out", "packets", 1, "frames that gave way in full queues", True),
    Column("unknown_dscp", "unknown DSCP", "packets", 1, "frames that a node could not classify", True),
    Column("stopped", "stopped", "flows", 1, "flows that their stop ended before all was sent", True),
    Column("lost_messages", "lost", "messages", 1, "messages that were sent and did not arrive", True),
    Column(
        "avg_message_latency_s",
        "message latency",
        "us",
        1e6,
        "of streams: mean from the time of a message until it was in place",
        True,
    ),
    Column("max_message_latency_s", "longest", "us", 1e6, "of all messages of streams", True),
    Column("lossless_drops", "lossless drops", "packets", 1, "drops in a lossless class: must be 0", True),
)


@dataclass(frozen=True)
class Cell:
    text: str
    spread: str = ""  # half width of the confidence interval
    bar: float = 0.0  # share of the largest value of the column


@dataclass(frozen=True)
class Headline:
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...]], ...]  # label, number of seeds, cells


def headline(summary: dict[str, Any]) -> Headline:
    labels = list(dict.fromkeys(r["label"] for r in summary["runs"]))
    values = {(a["label"], a["metric"]): a for a in summary["aggregates"]}
    columns = tuple(
        c for c in COLUMNS if not c.only_if_any or any(values[label, c.metric]["mean"] for label in labels)
    )
    rows = []
    for label in labels:
        runs = [r for r in summary["runs"] if r["label"] == label]
        complete = sum(r["complete"] for r in runs)
        seeds = f"{complete}" if complete == len(runs) else f"{complete} of {len(runs)}"
        rows.append((label, seeds, tuple(_cell(values, labels, label, c) for c in columns)))
    return Headline(columns, tuple(rows))


def _cell(values: dict[tuple[str, str], Any], labels: Sequence[str], label: str, column: Column) -> Cell:
    estimate = values[label, column.metric]
    if estimate["mean"] is None:
        return Cell("–")
    largest = max((values[other, column.metric]["mean"] or 0.0) for other in labels)
    spread = estimate["ci95"]
    digits = _digits(largest * column.scale, column.scale == 1 and bool(column.unit))
    return Cell(
        number(estimate["mean"] * column.scale, digits),
        "" if spread is None else "±" + (number(spread * column.scale, digits) if spread else "0"),
        estimate["mean"] / largest if largest else 0.0,
    )


def _digits(largest: float, counted: bool) -> int:
    """Decimals that leave about four figures in the column; counts are shown whole once they are no longer small."""
    if largest == 0 or largest >= 1000 or (counted and largest >= 50):
        return 0
    return 1 if counted else max(0, 3 - math.floor(math.log10(largest)))


def number(value: Number, digits: int = 0) -> str:
    if value is None or not math.isfinite(value):
        return "–"
    return f"{value:,.{digits}f}".replace(",", "\u2009")


def bytes_text(value: int) -> str:
    return number(value) if value else "–"


def rate_text(bps: int) -> str:
    return f"{bps / 1e9:g} Gb/s"


def duration_text(ps: int) -> str:
    for unit, size in (("ms", 10**9), ("µs", 10**6), ("ns", 10**3)):
        if ps >= size:
            return f"{ps / size:.4g} {unit}"
    return f"{ps} ps"


@dataclass(frozen=True)
class LimitRow:
    ports: str
    link: str
    buffer: str
    headroom: str
    xoff: str
    xon: str


def limits(plan: RunPlan) -> list[LimitRow]:
    """Ports with equal numbers share a row."""
    groups: dict[tuple[int, ...], list[PortPlan]] = {}
    for port in plan.ports:
        groups.setdefault(
            (port.rate_bps, port.delay_ps, port.buffer, port.headroom, port.xoff, port.xon), []
        ).append(port)
    return [
        LimitRow(
            _port_names(ports),
            f"{rate_text(key[0])}, {duration_text(key[1])}",
            *(bytes_text(v) for v in key[2:]),
        )
        for key, ports in groups.items()
    ]


@dataclass(frozen=True)
class PauseRow:
    port: str
    tc: int
    pauses: str
    paused: str
    longest: str
    depth: str


def pause_rows(outcome: RunOutcome, most: int = 12) -> list[PauseRow]:
    """The ports that were paused for longest."""
    return [
        PauseRow(
            row.interface,
            row.tc,
            number(row.pauses) if row.depth else "–",
            duration_text(row.paused_ps),
            duration_text(row.longest_ps),
            str(row.depth or "–"),
        )
        for row in pauses.by_port(outcome)[:most]
    ]


def _port_names(ports: Sequence[PortPlan]) -> str:
    names = [p.interface for p in ports]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]} ({len(names)} ports)"


def grouped_parameters(parameters: dict[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """By the first word of the key, in the file's order."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, value in parameters.items():
        head, dot, rest = key.partition(".")
        groups.setdefault(head if dot else "label", []).append((rest or head, value.strip('"')))
    return list(groups.items())


def differing_parameters(summary: dict[str, Any]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Labels, and for each key in which they differ the value of each."""
    first = {r["label"]: r["parameters"] for r in reversed(summary["runs"])}
    labels = list(dict.fromkeys(r["label"] for r in summary["runs"]))
    keys = list(dict.fromkeys(k for label in labels for k in first[label]))
    return labels, [(key, [first[label].get(key, "–").strip('"') for label in labels]) for key in keys]


def group_rows(summary: dict[str, Any], mean: Callable[[list[float]], float]) -> Sequence[tuple[str, ...]]:
    """Per label and workload, means over seeds; nothing when there is one workload only."""
    rows: list[tuple[str, ...]] = []
    for label in dict.fromkeys(r["label"] for r in summary["runs"]):
        runs = [r for r in summary["runs"] if r["label"] == label and r["complete"]]
        for i, group in enumerate(runs[0]["groups"] if runs else []):
            each = [r["groups"][i] for r in runs]
            notes = []
            if group["during"]:
                during = number(mean([g["goodput_during_bps"] for g in each]) / 1e9, 2)
                notes.append(f"{during} Gb/s while {group['during']} ran")
            if group["messages"]["sent"]:
                sent, lost = (mean([g["messages"][key] for g in each]) for key in ("sent", "lost"))
                notes.append(f"{number(sent, 0)} messages, {number(lost, 0)} lost")
            rows.append(
                (
                    label,
                    group["name"],
                    str(group["flows"]),
                    number(mean([g["rct_s"] for g in each]) * 1e3, 3),
                    number(mean([g["goodput_bps"] for g in each]) / 1e9, 2),
                    "; ".join(notes),
                )
            )
    return rows if any(r[5] for r in rows) or len({r[1] for r in rows}) > 1 else []
