"""What a queue pair costs in memory in the virtual-time engine: the IRN paper's scenario at full length has a quarter of a million, few of them active at
a time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from rocelab import native, paths

BENCH = native.build_directory() / "emu" / "des" / "des_bench"
SCENARIO = paths.ROOT / "scenarios" / "irn" / "base.toml"

# Both ends of a flow with its entries in plan and program: measured 6.1 KB, and 19.7 KB when each end had room for what few need.
_LIMIT = 7_000


def peak_and_flows(folder: Path, duration: str) -> tuple[int, int]:
    text = SCENARIO.read_text()
    for old, new in (
        ('duration = "120ms"', f'duration = "{duration}"'),
        ('warmup = "20ms"', 'warmup = "0us"'),
        ('"../workloads/', f'"{paths.ROOT}/scenarios/workloads/'),
        ("load = 0.7", "load = 0.05"),  # few packets at a time, so that queue pairs are what grows
    ):
        assert old in text
        text = text.replace(old, new)
    file = folder / f"{duration}.toml"
    file.write_text(text)
    done = subprocess.run([BENCH, file, "irn"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return result["peak_bytes"], result["flows"]


@pytest.mark.skipif(not BENCH.exists(), reason=f"{BENCH} is not built")
def test_a_flow_takes_little_memory(tmp_path: Path) -> None:
    (small, few), (large, many) = (peak_and_flows(tmp_path, duration) for duration in ("5ms", "40ms"))
    assert many > 4 * few
    per_flow = (large - small) / (many - few)
    assert 1_000 < per_flow <= _LIMIT, f"{per_flow:.0f} bytes per flow"
