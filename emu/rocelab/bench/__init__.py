"""`./rocelab bench live|des|scale|wall`: what rocelab itself costs on this machine, as one JSON document. What each number includes is in docs/benchmarks/README.md.

Nothing here passes or fails on time. A measurement that could not be made has an `error` in its place, and the exit status is 1.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from typing import Any

from rocelab.bench import engines, hosts, scenarios
from rocelab.bench.machine import machine
from rocelab.errors import RocelabError
from rocelab.setup_progress import Step

Measure = Callable[[Step], dict[str, Any]]

# In the order of the document. The engines come first: what a switch model costs is part of what is said of the incast.
_LIVE: tuple[tuple[str, str, Measure], ...] = (
    ("switch_model", "switch model alone", engines.switch_model),
    ("nic_engine", "NIC engine alone", engines.nic_engine),
    ("incast", "incast, 8 -> 1", scenarios.incast),
    ("ping_pong", "ping-pong", hosts.ping_pong),
    ("start_up", "start-up of 4, 16, 64 hosts", hosts.start_up),
    ("leaf_spine_54", "leaf-spine, 54 hosts", scenarios.leaf_spine_54),
)


def live() -> int:
    """Prints the document on stdout, progress on stderr."""
    document = _measure(_LIVE)
    _split_hop(document)
    return _print(document)


def des() -> int:
    """The same for the virtual-time engine; needs neither root nor Open vSwitch."""
    from rocelab.bench import virtual

    def measure(scenario: str, label: str, aim: int) -> Measure:
        return lambda step: virtual.case(step, scenario, label, aim)

    return _print(
        _measure(
            [(name, name, measure(scenario, label, aim)) for name, scenario, label, aim in virtual.CASES]
        )
    )


def scale() -> int:
    """Virtual time on several threads, and by the number of hosts."""
    from rocelab.bench import scaling as measures

    def of(measure: Callable[[Step, str, str], dict[str, Any]], scenario: str, label: str) -> Measure:
        return lambda step: measure(step, scenario, label)

    cases = [(name, of(measures.size, scenario, label)) for name, scenario, label in measures.SIZES]
    cases += [
        (f"threads_{name}", of(measures.threads, scenario, label))
        for name, scenario, label in measures.SHARED
    ]
    return _print(_measure([(name, name, measure) for name, measure in cases]))


def wall() -> int:
    """Programs on network interfaces and over shared memory, in real time: needs root, but no Open vSwitch."""
    from rocelab.bench import interfaces as measures
    from rocelab.bench import ucx

    return _print(
        _measure(
            (
                ("wire_format", "wire format alone", engines.wire_format),
                ("bandwidth", "bandwidth over a veth", measures.bandwidth),
                ("latency", "latency", measures.latency),
                ("message_rate", "message rate", measures.message_rate),
                ("queue_pairs", "queue pairs", measures.queue_pairs),
                ("shared_memory", "shared memory", measures.shared_memory),
                ("ucx_tag_latency", "UCX beside its tcp", ucx.tag_latency),
            )
        )
    )


def _measure(cases: Sequence[tuple[str, str, Measure]]) -> dict[str, Any]:
    signal.signal(signal.SIGTERM, _interrupt)  # the same way out as ^C: nothing stays behind
    document: dict[str, Any] = {"machine": machine()}
    for name, title, measure in cases:
        try:
            with Step(title) as step:
                document[name] = measure(step)
        except (RocelabError, OSError) as e:
            document[name] = {"error": str(e)}
    return document


def _print(document: dict[str, Any]) -> int:
    print(json.dumps(document, indent=2))
    return 1 if any("error" in part for part in document.values()) else 0


def _split_hop(document: dict[str, Any]) -> None:
    """Of the switch process's time per frame and hop, what is not the model's: the OVS pipeline, with rings, clock and wake-ups."""
    model = document["switch_model"].get("ns_per_hop", {}).get(engines.LIKE_A_LEAF)
    for name in ("incast", "leaf_spine_54"):
        for run in document[name].get("labels", {}).values():
            run["switch_model_ns_per_hop"] = model
            whole = run["switch_process_cpu_ns_per_hop"]
            run["ovs_and_clock_ns_per_hop"] = None if model is None else round(whole - model, 1)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
