"""How virtual time scales: with threads, by turns in one run, and with the size of the network. What cores that this machine lacks would give is read off the parts:
the work of all of them over that of the longest one of each round."""

from __future__ import annotations

import functools
import os
import statistics
from pathlib import Path
from typing import Any

from rocelab.bench import virtual
from rocelab.bench.turns import in_turns
from rocelab.setup_progress import Step

# Name in the document, scenario, label.
SIZES = (
    ("128_hosts", "permutation_128.toml", "roce+pfc,ack=16"),
    ("1024_hosts", "permutation_1024.toml", "roce+pfc,ack=16"),
    ("8192_hosts", "permutation_8192.toml", "roce+pfc,ack=16"),
)
# Those that threads share; the last one's parts meet more seldom, as the links between them are long.
SHARED = (*SIZES[:2], ("cable_lengths", "permutation_lengths.toml", "roce+pfc,ack=16"))
_PARTS = (2, 4, 8, 16)
_ROUNDS = 5


def threads(step: Step, scenario: str, label: str) -> dict[str, Any]:
    """Wall time of one thread over that of several, and what bounds it."""
    path = virtual.program(step)
    step.update(note="running")
    counts = [n for n in (2, 4, 8, 16, 32, 64) if n <= len(os.sched_getaffinity(0))]

    def wall(count: int) -> float:
        return float(virtual.measured(path, scenario, label, "--threads", str(count))["wall_s"])

    others = {f"{n}_threads": functools.partial(wall, n) for n in counts}
    by_turns = in_turns(functools.partial(wall, 1), others, "wall_s", _ROUNDS)
    bound = {str(parts): _bound(path, scenario, label, parts) for parts in _PARTS}
    return {**by_turns, "parts": bound}


def _bound(path: Path, scenario: str, label: str, parts: int) -> dict[str, float]:
    """Of a run on one thread: `speedup_at_most` is that of as many cores as parts; `balance` the mean part's work over the largest part's."""
    found = virtual.measured(path, scenario, label, "--parts", str(parts))
    busy = found["part_busy_s"]
    return {
        "rounds": found["rounds"],
        "speedup_at_most": round(found["speedup_of_parts"], 2),
        "balance": round(statistics.mean(busy) / max(busy), 3),
        "outside_parts": round(1 - sum(busy) / found["wall_s"], 3),
    }


def size(step: Step, scenario: str, label: str) -> dict[str, Any]:
    path = virtual.program(step)
    step.update(note="running")
    found = virtual.measured(path, scenario, label)
    kept = ("hosts", "switches", "packet_hops", "setup_cpu_s", "cpu_s", "ns_per_packet_hop", "peak_packets")
    return {key: found[key] for key in kept} | {"peak_mb": round(found["peak_bytes"] / 1e6)}
