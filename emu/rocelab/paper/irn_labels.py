"""Labels and metrics of the IRN paper's experiments."""

from __future__ import annotations

CCS = ("none", "timely", "dcqcn")
METRICS = {"avg_slowdown": "slowdown", "avg_fct_s": "mean FCT, ms", "p99_fct_s": "99 % FCT, ms"}
DIAGNOSTICS = {
    "data_drops": "dropped",
    "delivered_data_packets": "delivered",
    "retransmitted_packets": "retransmitted",
    "timeout_retransmissions": "after a timeout",
    "spurious_retransmissions": "spurious",
    "pfc_pause_frames": "pause frames",
    "pfc_paused_s": "paused, s",
    "ecn_marks": "ECN marks",
}


def with_cc(transport: str, cc: str) -> str:
    """The label of a transport behind a congestion control."""
    return transport if cc == "none" else f"{transport}+{cc}"


def as_shown(metric: str, value: float) -> float:
    """In the unit of its title in METRICS."""
    return value * 1e3 if METRICS.get(metric, "").endswith(", ms") else value
