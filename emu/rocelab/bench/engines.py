"""The two state machines, and the wire format, alone, in one thread without processes: the Google Benchmark programs of their folders, built on demand."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from rocelab import paths, setup_build
from rocelab.errors import RocelabError
from rocelab.setup_all import setup_lock
from rocelab.setup_progress import Step

_LIMIT_SECONDS = 300
LIKE_A_LEAF = "BM_PermutationLossless/8"  # about as many ports as the switches of the scenarios


def switch_model(step: Step) -> dict[str, Any]:
    """SwitchNode: nanoseconds per frame and hop; the number in a name is the ports."""
    return {"ns_per_hop": _run(step, "ovs_patches/switch_model/switch_bench", "per_hop")}


def nic_engine(step: Step) -> dict[str, Any]:
    """Two Nics: nanoseconds per frame, sending and receiving together; the number in a name is the queue pairs."""
    return {"ns_per_packet": _run(step, "irn_provider/nic/nic_bench", "per_frame")}


def wire_format(step: Step) -> dict[str, Any]:
    """ICRC and copy of packets, headers of a small message: nanoseconds; the number in a name is the bytes of payload."""
    return {"ns": _run(step, "base/wire/wire_bench", "per_packet")}


def _run(step: Step, program: str, counter: str) -> dict[str, float]:
    """Counter (nanoseconds) by benchmark."""
    path = paths.RELEASE / program
    with setup_lock():
        setup_build.build("release", step, [path.name])
    step.update(note="running")
    argv = [str(path), "--benchmark_format=json", "--benchmark_min_time=0.3"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_LIMIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise RocelabError(f"{path.name}: {e}") from e
    if done.returncode != 0:
        raise RocelabError(f"{path.name} ended with status {done.returncode}: {done.stderr.strip()}")
    found = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row.get("error_occurred"):
            raise RocelabError(f"{row['name']}: {row['error_message']}")
        found[row["name"]] = round(float(row[counter]) * 1e9, 1)
    return found
