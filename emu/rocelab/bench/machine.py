"""The machine on which numbers were measured: without it they say nothing."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from rocelab.meminfo import meminfo


def machine() -> dict[str, Any]:
    """Call it before the first measurement: the load average is then that of others."""
    cpuinfo = Path("/proc/cpuinfo").read_text(errors="replace")
    model = re.search(r"^model name\s*:\s*(.*)$", cpuinfo, re.M)
    memory = meminfo().get("MemTotal")
    return {
        "cpu": model[1] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 2**30, 1) if memory is not None else None,
        "kernel": platform.release(),
        "load_average_before": [round(x, 2) for x in os.getloadavg()],
    }
