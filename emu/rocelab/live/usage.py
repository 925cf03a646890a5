"""Processor time and memory of a run's processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocelab.errors import RocelabError
from rocelab.meminfo import meminfo
from rocelab.model import FlowPlan, RunPlan


def process_cpu_s(pid: int) -> float:
    """User and system time of a process, all threads, in seconds; 0 when it is gone."""
    try:
        text = (Path("/proc") / str(pid) / "stat").read_text()
    except OSError:
        return 0.0
    fields = text[text.rindex(")") + 2 :].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def process_peak_bytes(pid: int) -> int:
    """VmHWM; 0 when it is gone."""
    try:
        status = (Path("/proc") / str(pid) / "status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def check_fits(plan: RunPlan) -> None:
    """Programs write every byte of a flow and compare it at the other end: a run whose flows the machine has no memory for would be
    killed or stand still, after minutes. Raises before anything is started."""
    needed = sum(flow.size * _ends_that_hold(flow) for flow in plan.flows)
    available = meminfo().get("MemAvailable", needed)
    if needed > available:
        raise RocelabError(
            f"{plan.label}, seed {plan.seed}: its flows hold {needed / 1e9:,.1f} GB of memory at both ends, and this machine has "
            f"{available / 1e9:,.1f} GB available: make them smaller or fewer, or say --engine des, which holds none of their bytes"
        )


def _ends_that_hold(flow: FlowPlan) -> int:
    """The sink of a flow that may lose messages has a ring of receives in place of all bytes (verbs_app/flows/transfer_script.h)."""
    return 1 if flow.service != "rc" and flow.op == "send" else 2


class Usage:
    """Of one run: its programs, and what the switch process used meanwhile."""

    def __init__(self) -> None:
        self.programs_cpu_s = 0.0
        self.daemon_cpu_s = 0.0
        self.max_rss_bytes = 0

    @property
    def cpu_s(self) -> float:
        return self.programs_cpu_s + self.daemon_cpu_s

    def take(self, answer: Mapping[str, Any]) -> None:
        """The session's account of the programs that have ended, and of the daemons' memory."""
        self.programs_cpu_s = float(answer["cpu_s"])
        self.max_rss_bytes = int(answer["max_rss_bytes"])
