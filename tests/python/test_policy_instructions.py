"""What a queueing policy costs in the switch, in instructions of the whole benchmark against the switch as it is configured (steadier than time)."""

from __future__ import annotations

import pytest
from callgrind import counted, needs, needs_callgrind
from rocelab import native

BENCH = native.build_directory() / "ovs_patches" / "openqueue" / "policy_bench"
NONE, BUILTIN, ONE_QUEUE, LONGEST_QUEUE_DROP, SMALLEST_FIRST = range(5)
# Measured: 2.46, 2.43, 2.82, 4.4. A frame is kept by egress port and class, and once more by the policy; a program's code is interpreted.
_LIMITS = {BUILTIN: 2.6, ONE_QUEUE: 2.6, LONGEST_QUEUE_DROP: 3.0, SMALLEST_FIRST: 4.7}

pytestmark = [needs_callgrind, needs(BENCH)]


def instructions(program: int, depth: int = 128) -> int:
    return counted([BENCH, f"--benchmark_filter=program:{program}/depth:{depth}/"])[0]


@pytest.mark.parametrize("program", _LIMITS)
def test_a_policy_costs_so_much_more_than_the_configured_switch(program: int) -> None:
    without, with_it = instructions(NONE), instructions(program)
    assert without < with_it <= _LIMITS[program] * without, f"{with_it / without:.2f}"


def test_an_order_by_key_grows_with_the_logarithm_of_the_queue() -> None:
    few, many = instructions(SMALLEST_FIRST), instructions(SMALLEST_FIRST, 4096)
    assert many <= 1.5 * few, f"{many / few:.2f} with 4,096 frames for 128"
