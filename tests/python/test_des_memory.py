"""What the virtual-time engine takes in memory: per queue pair (the IRN paper's scenario at full length has a quarter of a million, few of them active at a
time), at the peak of the benchmark's cases, and, in the steady state, nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rocelab import native, paths
from rocelab.bench import virtual

BENCH = native.build_directory() / "emu" / "des" / "des_bench"
# Of a label, that of the scenario's folder: two durations, and bytes per flow: both ends with their entries in plan and program. IRN: measured 6.1 KB, and 19.7 KB
# when each end had room for what few need. RC3, whose ends keep account of 4,096 packets and have queues by level: 8.6 KB, and 14.4 KB in the same way.
_PER_FLOW = [("irn", ("5ms", "40ms"), 7_000), ("rc3", ("1s", "4s"), 9_000)]
PERMUTATION = Path(virtual.__file__).with_name("permutation_128.toml")
LABELS = [label for _, file, label, _ in virtual.CASES if file == PERMUTATION.name]
_PEAK = 40_000_000  # the aim; measured 12 to 21 MB
_PACKETS_PER_ALLOCATION = 500  # more traffic: slabs and rings reach their sizes late; measured 1,800 and more


def peak_and_flows(folder: Path, label: str, duration: str) -> tuple[int, int]:
    """With few packets at a time, so that queue pairs are what grows."""
    source = paths.ROOT / "scenarios" / label
    text = (source / "base.toml").read_text()
    for old, new, times in (
        (r'(?m)^duration = "\w+"', f'duration = "{duration}"', 1),
        (r"(?m)^load = [\d.]+", "load = 0.05", 1),
        (r'(?m)^warmup = "\w+"', 'warmup = "0us"', label == "irn"),
        (r'(?m)^(file|cdf) = "', rf'\1 = "{source}/', 1 + (label == "rc3")),
    ):
        text, found = re.subn(old, new, text)
        assert found == times, old
    file = folder / f"{duration}.toml"
    file.write_text(text)
    done = subprocess.run([BENCH, file, label], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return result["peak_bytes"], result["flows"]


@pytest.mark.skipif(not BENCH.exists(), reason=f"{BENCH} is not built")
@pytest.mark.parametrize("label, durations, limit", _PER_FLOW)
def test_a_flow_takes_little_memory(
    tmp_path: Path, label: str, durations: tuple[str, str], limit: int
) -> None:
    (small, few), (large, many) = (peak_and_flows(tmp_path, label, duration) for duration in durations)
    assert many > 3.5 * few
    per_flow = (large - small) / (many - few)
    assert 1_000 < per_flow <= limit, f"{per_flow:.0f} bytes per flow"


# RC3 is of no benchmark's permutation: with what it needs to begin from both ends.
_RC3 = """
[irn]
bitmap_packets = 8192
[congestion_control]
aimd.initial_window = 4
[switch]
port_buffer = "1MB"
port_when_full = "push-out-lower"
strict_classes = [0, 1, 2, 3, 6, 7]
"""


def run_permutation(file: Path, label: str, size: str, preload: str = "") -> tuple[dict[str, Any], str]:
    text = PERMUTATION.read_text()
    if label == "rc3":
        text, found = re.subn(r"(?m)^transport = .*", 'transport = ["rc3"]', text)
        assert found == 1
        text = text.replace("[nic]\n", _RC3 + "[nic]\n")
    assert 'size = "10MB"' in text
    file.write_text(text.replace('size = "10MB"', f'size = "{size}"'))
    environment = {**os.environ, **({"LD_PRELOAD": preload} if preload else {})}
    done = subprocess.run([BENCH, file, label], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.skipif(not BENCH.exists(), reason=f"{BENCH} is not built")
@pytest.mark.parametrize("label", LABELS)
def test_128_hosts_stay_below_40_mb(tmp_path: Path, label: str) -> None:
    peak = run_permutation(tmp_path / "p.toml", label, "10MB")[0]["peak_bytes"]
    assert 4_000_000 < peak <= _PEAK, f"{peak / 1e6:.1f} MB"


def allocations_and_packets(folder: Path, label: str, size: str) -> tuple[int, int]:
    """The C library counts: libmemusage.so, which comes with it."""
    result, said = run_permutation(folder / f"{size}.toml", label, size, preload="libmemusage.so")
    calls = re.findall(r"(?:malloc|realloc|calloc)\|\S*\s+(\d+)", said)
    assert len(calls) == 3, said
    return sum(map(int, calls)), result["delivered_data_packets"]


@pytest.mark.skipif(not BENCH.exists(), reason=f"{BENCH} is not built")
@pytest.mark.parametrize("label", [*LABELS, "rc3"])
def test_traffic_in_the_steady_state_allocates_nothing(tmp_path: Path, label: str) -> None:
    (before, few), (after, many) = (allocations_and_packets(tmp_path, label, size) for size in ("1MB", "4MB"))
    assert before > 1_000 and many - few > 300_000
    assert after - before < (many - few) / _PACKETS_PER_ALLOCATION, f"{after - before} allocations more"


@pytest.mark.skipif(not BENCH.exists(), reason=f"{BENCH} is not built")
def test_16000_hosts_take_less_than_700_mb(tmp_path: Path) -> None:
    """A fat-tree of arity 40 and 2,000 switches: routes by prefix, and no table of all pairs; measured 549 MB."""
    text = Path(virtual.__file__).with_name("permutation_8192.toml").read_text()
    for old, new in (("arity = 32", "arity = 40"), ('"1MB"', '"8kB"')):
        assert old in text
        text = text.replace(old, new)
    file = tmp_path / "large.toml"
    file.write_text(text)
    done = subprocess.run([BENCH, file, "roce+pfc,ack=16"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["hosts"] == result["completed"] == 16_000
    assert result["peak_bytes"] <= 700_000_000, f"{result['peak_bytes'] / 1e6:.0f} MB"
