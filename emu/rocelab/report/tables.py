"""The report's tables as plain values: cells are texts that are already rounded and carry no markup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rocelab import culprits, link_bytes, native, pauses
from rocelab.headline import number
from rocelab.model import PortPlan, RunOutcome, RunPlan


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


def pause_rows(outcome: RunOutcome, most: int = 16) -> list[PauseRow]:
    """The hosts and ports that were paused for longest."""
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


def link_byte_rows(summary: dict[str, Any]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Labels, and for each kind of frame its share of the bytes that links carried, in per cent."""
    found = link_bytes.shares(summary["runs"])
    labels = list(found.get("data", {}))
    rows = [(link_bytes.KINDS[kind], [_percent(of[label]) for label in labels]) for kind, of in found.items()]
    return labels, rows


def _percent(share: float) -> str:
    return f"{100 * share:.3g}" if share else "–"


@dataclass(frozen=True)
class NicRow:
    host: str
    sent: list[str]  # by NIC, Gb/s over the run
    received: list[str]
    retransmitted: list[str]  # packets


def hosts_text(plan: RunPlan) -> str:
    each = f" with {plan.nics_per_host} NICs each" if plan.nics_per_host > 1 else ""
    return f"{len(plan.machines)} hosts{each}"


def nic_rows(outcome: RunOutcome, most: int = 32) -> list[NicRow]:
    """What each NIC of the first hosts has sent and received."""
    seconds = outcome.end_ps / 1e12

    def of(machine: str, text: Callable[[dict[str, int]], str]) -> list[str]:
        nics = [h.name for h in outcome.plan.hosts if h.machine == machine]
        return [
            text({k: v for (nic, _), c in outcome.nic_counters.items() if nic == name for k, v in c.items()})
            for name in nics
        ]

    def rate(key: str) -> Callable[[dict[str, int]], str]:
        return lambda c: number(c.get(key, 0) * 8 / seconds / 1e9, 2) if seconds else "–"

    return [
        NicRow(
            machine,
            of(machine, rate("tx_bytes")),
            of(machine, rate("rx_bytes")),
            of(machine, lambda c: number(c.get("retransmitted_packets", 0))),
        )
        for machine in outcome.plan.machines[:most]
    ]


@dataclass(frozen=True)
class PolicyRow:
    switch: str
    queue: str
    arrived: str
    dropped: str
    peak: str
    room: str
    unit: str


def policy_rows(outcome: RunOutcome, most: int = 32) -> list[PolicyRow]:
    """Queues of the last queueing policy of each switch, by the names that its program gives them: those with the longest peaks."""
    found = [
        (switch, queue)
        for switch, policy in outcome.policies.items()
        for queue in policy["queues"]
        if queue["total"]
    ]
    found.sort(key=lambda entry: -int(entry[1]["peak"]))
    return [
        PolicyRow(
            switch,
            queue["queue"],
            number(queue["total"]),
            number(queue["dropped"]),
            number(queue["peak"]),
            number(queue["max"]),
            queue["unit"],
        )
        for switch, queue in found[:most]
    ]


def policy_changes(outcome: RunOutcome, most: int = 8) -> list[str]:
    """What was in force from when on, a line for switches that are alike."""
    by_line: dict[str, list[str]] = {}
    for switch, policy in outcome.policies.items():
        steps = [
            f"{each['program']} from {duration_text(each['at_ps'])}{' (by hand)' if each['by_hand'] else ''}"
            for each in policy["policies"]
        ]
        more = f", and {len(steps) - most} more" if len(steps) > most else ""
        by_line.setdefault(", ".join(steps[:most]) + more, []).append(switch)
    return [f"{', '.join(switches)}: {line}" for line, switches in by_line.items()]


@dataclass(frozen=True)
class CulpritRow:
    queue: str
    tc: int
    port: str
    times: str
    held: str
    longest: str
    first: str
    queue_bytes: str


def culprit_rows(found: Sequence[culprits.Culprit]) -> list[CulpritRow]:
    return [
        CulpritRow(
            c.queue,
            c.tc,
            c.port,
            number(len(c.spans)),
            duration_text(c.held_ps),
            duration_text(max(s.end_ps - s.begin_ps for s in c.spans)),
            duration_text(c.spans[0].begin_ps),
            bytes_text(c.longest_queue),
        )
        for c in found
    ]


def _port_names(ports: Sequence[PortPlan]) -> str:
    names = [p.interface for p in ports]
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} … {names[-1]} ({len(names)} ports)"


def grouped_parameters(summary: dict[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """By the first word of the key, in the file's order; of what is off for all labels nothing but that."""
    parameters = summary["parameters"]
    off = _unused(summary)
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, value in parameters.items():
        if key.rpartition(".")[0] in off and not key.endswith(".enabled"):
            continue
        head, dot, rest = key.partition(".")
        groups.setdefault(head if dot else "label", []).append((rest or head, value.strip('"')))
    return list(groups.items())


def _unused(summary: dict[str, Any]) -> set[str]:
    """Sections of mechanisms that no label has on, and of switches' parts of congestion controls that none runs."""
    labels = [summary["parameters"] | run["parameters"] for run in summary["runs"]]
    switched = {key.removesuffix(".enabled") for p in labels for key in p if key.endswith(".enabled")}
    on = {key.removesuffix(".enabled") for p in labels for key, value in p.items() if value == "true"}
    controls = {
        name for name, _, _ in native.runner.schema_tables() if name.startswith("congestion_control.")
    }
    running = {"congestion_control." + p["congestion_control.name"].strip('"') for p in labels}
    return (switched - on) | {name.replace("congestion_control.", "switch.") for name in controls - running}


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
            if group["rpcs"]:
                notes.append(_rpcs_text(each, mean))
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


def _rpcs_text(each: list[dict[str, Any]], mean: Callable[[list[float]], float]) -> str:
    """Of an open loop what was offered stands before what was accepted."""

    def of(key: str, scale: float, digits: int) -> str:
        found = [g[key] for g in each if g[key] is not None]
        return number(mean(found) * scale, digits) if found else ""

    offered = of("rpc_offered_bps", 1e-9, 1)
    rates = (
        f"{offered} Gb/s offered, " if offered else ""
    ) + f"{of('rpc_accepted_bps', 1e-9, 1)} Gb/s accepted"
    latency = f"median {of('median_rpc_s', 1e6, 1)} µs, 99 % {of('p99_rpc_s', 1e6, 1)} µs"
    return f"{of('rpcs', 1, 0)} RPCs: {latency}, {rates}"


@dataclass(frozen=True)
class CollectiveRow:
    label: str
    workload: str
    operation: str  # and algorithm
    ranks: int
    size: str
    number: int
    completion: str
    mean_step: str
    longest_step: str
    algorithm_bandwidth: str
    bus_bandwidth: str
    straggler: str


def collective_rows(summary: dict[str, Any], mean: Callable[[list[float]], float]) -> list[CollectiveRow]:
    """Per label and workload, over seeds, iterations and groups."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in summary["runs"]:
        for collective in run.get("collectives", []) if run["complete"] else []:
            found.setdefault((run["label"], collective["workload"]), []).append(collective)
    return [_collective_row(*key, each, mean) for key, each in found.items()]


def _collective_row(
    label: str, workload: str, each: list[dict[str, Any]], mean: Callable[[list[float]], float]
) -> CollectiveRow:
    first = each[0]

    def text(key: str, scale: float, digits: int) -> str:
        return number(mean([c[key] for c in each]) * scale, digits)

    hosts = [c["straggler"] for c in each]
    most = max(dict.fromkeys(hosts), key=hosts.count)
    often = "" if len(hosts) == 1 else f" in {hosts.count(most)} of {len(hosts)}"
    return CollectiveRow(
        label,
        workload,
        f"{first['operation']}, {first['algorithm']}",
        first["ranks"],
        number(first["size"]),
        len(each),
        text("completion_s", 1e3, 4),
        text("step_avg_s", 1e6, 2),
        number(max(c["step_max_s"] for c in each) * 1e6, 2),
        text("algbw_bps", 1e-9, 2),
        text("busbw_bps", 1e-9, 2),
        f"{most}{often}, x {text('straggler_ratio', 1, 3)}",
    )
