"""The virtual-time engine alone: `des_bench`, built on demand, one process per case so that its memory is its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from rocelab import paths, setup_build
from rocelab.errors import RocelabError
from rocelab.setup_all import setup_lock
from rocelab.setup_progress import Step

_HERE = Path(__file__).resolve().parent
_LIMIT_SECONDS = 900
# Name in the document, scenario, label, delivered data packets per second of processor time that are aimed at.
CASES = (
    ("roce_pfc_ack_16", "permutation_128.toml", "roce+pfc,ack=16", 2_500_000),
    ("roce_pfc_ack_1", "permutation_128.toml", "roce+pfc,ack=1", 1_300_000),
    ("irn", "permutation_128.toml", "irn", 1_300_000),
    ("roce_pfc_ack_16_1024_hosts", "permutation_1024.toml", "roce+pfc,ack=16", 1_000_000),
    ("rc3_internet2", "rc3_internet2.toml", "rc3", 500_000),
)


def program(step: Step) -> Path:
    with setup_lock():
        setup_build.build("release", step, ["des_bench"])
    return paths.RELEASE / "emu" / "des" / "des_bench"


def case(step: Step, scenario: str, label: str, aim: int) -> dict[str, Any]:
    path = program(step)
    step.update(note="running")
    return {**measured(path, scenario, label), "aim": aim}


def measured(path: Path, scenario: str, label: str, *options: str) -> dict[str, Any]:
    """What one run of des_bench, `path`, says of itself."""
    try:
        done = subprocess.run(
            [path, _HERE / scenario, label, *options], capture_output=True, text=True, timeout=_LIMIT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        raise RocelabError(f"{path.name}: {e}") from e
    if done.returncode != 0:
        raise RocelabError(f"{path.name} ended with status {done.returncode}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
