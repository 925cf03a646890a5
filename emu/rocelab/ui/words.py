"""Words for numbers in traces."""

from __future__ import annotations

# SwitchDropReason of ovs_patches/switch_model/counters.h, in its order, and what links do (emu/record/switch_trace.h).
SWITCH_DROPS = (
    "the egress queue is at its limit",
    "the buffer of the input port is full",
    "the ingress buffer is full, headroom included",
    "longer than any frame",
    "no route",
    "no memory for a copy",
    "forged feedback",
    "Escape's queue is full",
    "the PFC watchdog drops",
    "Loop Breaker drops",
    "the queue is at its declared limit (egress_max)",
    "a mechanism drops",
    "pushed out of a full queue",
    "the port's buffer is full",
    "gave way to a higher class",
)
LINK_DROPS = {0x40: "lost on the link", 0x41: "malformed", 0x42: "the link is down"}


def drop_reason(mark: int) -> str:
    """Of a switch's `drop` record."""
    if mark < len(SWITCH_DROPS):
        return SWITCH_DROPS[mark]
    return LINK_DROPS.get(mark, f"reason {mark}")
