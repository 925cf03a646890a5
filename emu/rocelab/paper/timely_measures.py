"""What is measured of a run of `./rocelab paper timely` (Mittal, 3.5.1): round trips, throughput and pauses of the half in which all flows are active."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rocelab import frames
from rocelab.errors import RocelabError
from rocelab.model import RunOutcome
from rocelab.paper import rocc_traces as traces
from rocelab.summary import run_summary
from rocelab.sweep.work import Found, check_complete

# The paper's name of a label.
CASES = {"dctcp": "DCTCP", "roce+pfc": "PFC", "roce+pfc+timely": "TIMELY"}
PERCENTILES = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9)


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all are equal, 1/n when one has everything."""
    x = np.asarray(rates, dtype=float)
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


def measured_half(outcome: RunOutcome) -> traces.Span:
    """The second half of the time in which all flows are active."""
    posted = [f.posted_ps for f in outcome.flows if f.posted_ps is not None]
    placed = [f.placed_ps for f in outcome.flows if f.placed_ps is not None]
    begin, end = max(posted) / 1e12, min(placed) / 1e12
    return traces.Span((begin + end) / 2, end, len(outcome.flows))


def xoffs_within(outcome: RunOutcome, span: traces.Span) -> int:
    """XOFFs that switches sent to begin a pause."""
    count = 0
    for records in frames.by_node(outcome, frames.switches(outcome.plan)).values():
        at = records["time_ps"][records["kind"] == frames.KINDS.index("xoff")] / 1e12
        count += int(np.count_nonzero((at >= span.begin_s) & (at < span.end_s)))
    return count


def measure(outcome: RunOutcome) -> Found:
    """`rtts_us`: of segments acknowledged in the measured half, sorted."""
    check_complete(outcome)
    half = measured_half(outcome)
    rates = traces.flow_rates(outcome, half.begin_s, half.end_s)
    rtts = frames.rtts(outcome)
    inside = (rtts["time_ps"] >= half.begin_s * 1e12) & (rtts["time_ps"] < half.end_s * 1e12)
    micros = np.sort(rtts["bytes"][inside].astype(float) / 1e6)
    if len(micros) == 0:
        raise RocelabError(f"{outcome.plan.label}: no round trip was measured")
    values = {
        "throughput": sum(rates.values()),
        "average_rtt": float(micros.mean()),
        "p99_rtt": float(np.percentile(micros, 99, method="inverted_cdf")),
        "jain": jain(list(rates.values())),
        "pauses": float(xoffs_within(outcome, half)),
        "drops": float(run_summary(outcome)["drops"]),
    }
    case = CASES[outcome.plan.label]
    percentiles = {f"{p:g} %": float(np.percentile(micros, p)) for p in PERCENTILES}
    notes = {case: {"rtts": float(len(micros))} | percentiles}
    return Found({(case, name): value for name, value in values.items()}, notes, {"rtts_us": micros})
