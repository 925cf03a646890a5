"""What RoCC, Escape, CaPFC, P4QCN and QCN cost in the switch, in instructions per packet and hop against PFC alone (steadier than time), and what taking a frame
out of the middle of a queue costs, however many frames stand ahead of it."""

from __future__ import annotations

import json

import pytest
from callgrind import counted, needs, needs_callgrind
from rocelab import native

BENCH = native.build_directory() / "ovs_patches" / "switch_model" / "switch_bench"
ROCC, ESCAPE, CAPFC, P4QCN, QCN = (f"BM_StandingQueue/{n}" for n in range(1, 6))
PFC_ALONE = "BM_StandingQueue/0"
# Measured: RoCC 1.11, which tells eight flows every 40 us; Escape, where nothing is blocked, 1.156 (1.150 before a flow new at one port was forgotten at the others); CaPFC above its XOFF 1.30, which counts each frame as it comes
# and as it goes; P4QCN 1.34, where every frame finds the threshold and all but one in 28 the gap; QCN 1.23, with a CNM for one frame in 17.
_LIMITS = {ROCC: 1.15, ESCAPE: 1.16, CAPFC: 1.32, P4QCN: 1.36, QCN: 1.25}

pytestmark = [needs_callgrind, needs(BENCH)]


def instructions(benchmark: str) -> float:
    """Per hop, or per frame that was taken out."""
    function = benchmark.split("/")[0]
    program = [BENCH, f"--benchmark_filter=^{benchmark}/", "--benchmark_format=json"]
    # Not the function's lambdas, which would switch the count off.
    found, printed = counted(program, f"*{function}(benchmark::State&)")
    (result,) = json.loads(printed)["benchmarks"]
    per_hop = found / float(result["hops"])
    assert per_hop > 50, f"{benchmark}: {per_hop:.0f} instructions per hop: its function has not been counted"
    return per_hop


@pytest.mark.parametrize("mechanism", _LIMITS)
def test_a_mechanism_costs_little_more_than_pfc_alone(mechanism: str) -> None:
    alone, with_it = instructions(PFC_ALONE), instructions(mechanism)
    assert (
        alone < with_it <= _LIMITS[mechanism] * alone
    ), f"{with_it:.0f} instructions per hop, {alone:.0f} without"


def test_levels_do_not_depend_on_the_queues_length_and_ranks_by_its_logarithm() -> None:
    """Orders 5 (ranked) and 6 (levels) of QueueOrder, each able to push out its last frame."""
    few, many = (instructions(f"BM_Order/order:6/full:1/depth:{depth}") for depth in (16, 16384))
    assert many <= 1.05 * few, f"{many:.0f} instructions with 16,384 frames, {few:.0f} with 16"
    few, many = (instructions(f"BM_Order/order:5/full:1/depth:{depth}") for depth in (128, 16384))
    assert many <= 2.2 * few, f"{many:.0f} instructions with 2^14 frames, {few:.0f} with 2^7"


def slack_hop(slack: int, depth: int) -> float:
    """A hop of a switch in which so many frames wait: 0: without slack, 1: first in, first out with slack, 2: by least slack."""
    return instructions(f"BM_SlackHop/slack:{slack}/depth:{depth}")


def test_a_hop_by_least_slack_costs_half_of_a_hop_more() -> None:
    """Measured: keeping slack 1.08 of a hop without it; LSTF 1.50 of a hop that keeps it at 1,000 frames, 1.57 at 20,000. The way down a heap of 1,000 frames,
    five levels, has 281 of the 465 instructions, so that 1.25 at 1,000, which was the aim, takes another order than a heap's (docs/explanation/lstf.md).
    """
    without, keeps, ranked = (slack_hop(slack, 1_000) for slack in range(3))
    assert without < keeps <= 1.09 * without, f"{keeps:.0f} instructions per hop, {without:.0f} without"
    assert keeps < ranked <= 1.52 * keeps, f"{ranked:.0f} instructions per hop, {keeps:.0f} by arrival"
    keeps, ranked = (slack_hop(slack, 20_000) for slack in (1, 2))
    assert ranked <= 1.60 * keeps, f"{ranked:.0f} instructions per hop, {keeps:.0f} by arrival"


def test_extraction_does_not_depend_on_what_stands_ahead() -> None:
    few, many = instructions("BM_Extract/16"), instructions("BM_Extract/1024")
    assert many <= 1.05 * few, f"{many:.0f} instructions behind 1,024 frames, {few:.0f} behind 16"
