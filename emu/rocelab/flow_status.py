"""What became of flows, in words: the same for both engines."""

from __future__ import annotations

from collections.abc import Sequence

from rocelab.model import FlowPlan, FlowRecord

# ibv_wc_status_str() of libibverbs, in the order of ibv_wc_status.
TEXTS = (
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
)
OTHER_STATUS = 21  # IBV_WC_GENERAL_ERR: what is no completion's status, such as wrong payload
_NAMED = 5  # flows that a message names


def text_of(status: int) -> str:
    """An ibv_wc_status; 0 of a flow that did not complete: nothing failed, it was not finished."""
    if status == 0:
        return "not finished"
    return TEXTS[status] if 0 < status < len(TEXTS) else f"error (status {status})"


def incomplete(plans: Sequence[FlowPlan], records: Sequence[FlowRecord]) -> str | None:
    """One line that names the flows that did not complete and why; None: all of them did, or stopped when they were to."""
    ends = {f.id: f"flow {f.id} ({f.src} -> {f.dst})" for f in plans}
    missing = [r for r in records if r.status != 0 or (r.placed_ps is None and not r.settled)]
    if not missing:
        return None
    lines = [f"{ends[r.id]}: {text_of(r.status)}" for r in missing[:_NAMED]]
    if len(missing) > _NAMED:
        lines.append(f"and {len(missing) - _NAMED} more flows")
    return "; ".join(lines)
