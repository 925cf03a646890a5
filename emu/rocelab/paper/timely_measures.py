"""What is measured of the runs of `./rocelab paper timely` (Mittal, chapter 3): round trips, throughput, pauses and rates of the half in which all flows are active."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rocelab import frames
from rocelab.errors import RocelabError
from rocelab.model import Array, RunOutcome
from rocelab.paper import rocc_traces as traces
from rocelab.summary import run_summary
from rocelab.sweep.work import Found, check_complete

# The paper's name of a label of table 3.1; a label of ours has its own.
CASES = {"dctcp": "DCTCP", "roce+pfc": "PFC", "roce+pfc+timely": "TIMELY"}
PERCENTILES = (1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9)
_WINDOW_S = 10e-3  # in which a connection's rate is taken: 38 segments at 500 Mb/s
_STOP_S, _AFTER_S = (
    0.4,
    0.3,
)  # scenarios/timely/figure3.16.toml: when nine of ten connections stop, and how long is looked at
_FULL_MBPS, _NEW_SHARE = 1_500.0, 0.95  # 3.5.1, HAI: 1.5 Gb/s, and the new fair share, near enough
_BACKGROUND_S = (0.454, 0.462)  # scenarios/timely/figure3.20.toml
_TRACKED = (10, 25, 50, 75, 90, 99)  # percentiles at which the two distributions of figure 3.2 are compared
_TO_SERVER = "s1-eth11"  # scenarios/timely: the switch's port to h11


def jain(rates: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all are equal, 1/n when one has everything."""
    x = np.asarray(rates, dtype=float)
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


def measured_half(outcome: RunOutcome) -> traces.Span:
    """The second half of the time in which all flows are active, which ends with the run at the latest."""
    posted = [f.posted_ps for f in outcome.flows if f.posted_ps is not None]
    placed = [f.placed_ps for f in outcome.flows if f.placed_ps is not None]
    begin, end = max(posted) / 1e12, min([*placed, outcome.end_ps]) / 1e12
    return traces.Span((begin + end) / 2, end, len(outcome.flows))


def xoffs_within(outcome: RunOutcome, span: traces.Span) -> int:
    """XOFFs that switches sent to begin a pause."""
    count = 0
    for records in frames.by_node(outcome, frames.switches(outcome.plan)).values():
        at = records["time_ps"][records["kind"] == frames.KINDS.index("xoff")] / 1e12
        count += int(np.count_nonzero((at >= span.begin_s) & (at < span.end_s)))
    return count


def rtts_within(outcome: RunOutcome, span: traces.Span, senders: Sequence[str] = ()) -> Array:
    """In us, sorted, of segments acknowledged within it; of all hosts where none are named."""
    parts = []
    for records in frames.by_node(outcome, senders or frames.hosts(outcome.plan)).values():
        rtts = records[records["kind"] == frames.RTT]
        inside = (rtts["time_ps"] >= span.begin_s * 1e12) & (rtts["time_ps"] < span.end_s * 1e12)
        parts.append(rtts["bytes"][inside].astype(float) / 1e6)
    micros = np.sort(np.concatenate(parts)) if parts else np.empty(0)
    if len(micros) == 0:
        raise RocelabError(f"{outcome.plan.label}: no round trip was measured")
    return micros


def _tail(micros: Array) -> float:
    return float(np.percentile(micros, 99, method="inverted_cdf"))


def _spread(micros: Array) -> dict[str, float]:
    return {"rtts": float(len(micros))} | {f"{p:g} %": float(np.percentile(micros, p)) for p in PERCENTILES}


def window_rates(outcome: RunOutcome, begin_s: float, end_s: float) -> dict[int, Array]:
    """Mb/s of each flow in windows of 10 ms, on the wire."""
    edges = np.arange(begin_s, end_s - _WINDOW_S / 2, _WINDOW_S)
    each = [traces.flow_rates(outcome, a, a + _WINDOW_S) for a in edges]
    flows = {flow for rates in each for flow in rates}
    return {flow: np.array([1e3 * rates.get(flow, 0.0) for rates in each]) for flow in flows}


def _incast(outcome: RunOutcome, case: str) -> Found:
    """`rtts_us`: of segments acknowledged in the measured half, sorted."""
    half = measured_half(outcome)
    rates = traces.flow_rates(outcome, half.begin_s, half.end_s)
    micros = rtts_within(outcome, half)
    values = {
        "throughput": sum(rates.values()),
        "average_rtt": float(micros.mean()),
        "p99_rtt": _tail(micros),
        "jain": jain(list(rates.values())),
        "pauses": float(xoffs_within(outcome, half)),
        "drops": float(run_summary(outcome)["drops"]),
    }
    return Found(
        {(case, name): value for name, value in values.items()}, {case: _spread(micros)}, {"rtts_us": micros}
    )


def _table(outcome: RunOutcome) -> Found:
    """Table 3.1, and of TIMELY what single connections get (figure 3.12)."""
    case = CASES.get(outcome.plan.label, outcome.plan.label.removeprefix("roce+"))
    found = _incast(outcome, case)
    return Found({**found.values, **_smoothness(outcome, case)}, found.notes, found.arrays)


def _smoothness(outcome: RunOutcome, case: str) -> dict[tuple[str, str], float]:
    """Mean over the connections of how much the rate of each deviates over time, and the least and most of their means."""
    half = measured_half(outcome)
    windows = window_rates(outcome, half.begin_s, half.end_s)
    means = [float(rates.mean()) for rates in windows.values()]
    deviation = float(np.mean([rates.std() for rates in windows.values()]))
    return {(case, "deviation"): deviation, (case, "least_rate"): min(means), (case, "most_rate"): max(means)}


def _by_case(outcome: RunOutcome) -> Found:
    return _incast(outcome, _case(outcome))


def _case(outcome: RunOutcome) -> str:
    return outcome.plan.label.partition(",")[2]


def _gradient(outcome: RunOutcome) -> Found:
    found = _incast(outcome, _case(outcome))
    return Found({**found.values, **_smoothness(outcome, _case(outcome))}, found.notes)


def _queue(outcome: RunOutcome) -> Found:
    """Figure 3.2: percentiles of what round trips are longer than the shortest one, over those of the queue's time to leave."""
    half = measured_half(outcome)
    micros = rtts_within(outcome, half)
    rate = next(p.rate_bps for p in outcome.plan.ports if p.interface == _TO_SERVER)
    samples = frames.samples_frame([outcome])
    mine = samples[(samples["what"] == "queue") & (samples["port"] == _TO_SERVER) & (samples["tc"] == 3)]
    time = mine["time_ps"].to_numpy(dtype=float) / 1e12
    grid = np.arange(half.begin_s, half.end_s, 1e-6)
    held = mine["bytes"].to_numpy(dtype=float)[np.maximum(np.searchsorted(time, grid, side="right") - 1, 0)]
    queue = np.sort(held * 8e6 / rate)
    shortest = float(micros.min())
    waits = {f"{p} %": float(np.percentile(micros, p)) - shortest for p in _TRACKED}
    queues = {f"{p} %": float(np.percentile(queue, p)) for p in _TRACKED}
    values = {("round trips / queue", name): waits[name] / queues[name] for name in waits if queues[name] > 0}
    notes = {"round trips": waits | {"shortest": shortest}, "queue": queues}
    return Found(dict(values), notes, {"waits_us": micros - shortest, "queue_us": queue})


def _ack_priority(outcome: RunOutcome) -> Found:
    """Figure 3.3: of the primary incast."""
    primary = [f for f in outcome.plan.flows if f.group == "primary"]
    ids = {f.id for f in primary}
    placed = [f.placed_ps for f in outcome.flows if f.id in ids and f.placed_ps is not None]
    end = min(placed) / 1e12
    half = traces.Span(end / 2, end, len(primary))
    micros = rtts_within(outcome, half, [f.src for f in primary])
    rates = traces.flow_rates(outcome, half.begin_s, half.end_s)
    values = {
        "throughput": sum(rate for flow, rate in rates.items() if flow in ids),
        "average_rtt": float(micros.mean()),
        "median_rtt": float(np.median(micros)),
        "p99_rtt": _tail(micros),
    }
    case = _case(outcome)
    return Found(
        {(case, name): value for name, value in values.items()}, {case: _spread(micros)}, {"rtts_us": micros}
    )


def _hai(outcome: RunOutcome) -> Found:
    """Figure 3.16: how long after the others have stopped the mean rate of those that stay reaches 1.5 Gb/s and the new share."""
    stay = {f.id for f in outcome.plan.flows if f.group == "a"}
    windows = window_rates(outcome, _STOP_S - 0.1, _STOP_S + _AFTER_S)
    mean = np.mean([rates for flow, rates in windows.items() if flow in stay], axis=0)
    ends = np.arange(1, len(mean) + 1) * _WINDOW_S * 1e3 - 100.0  # ms after the stop
    server = next(p.rate_bps for p in outcome.plan.ports if p.interface == _TO_SERVER) / 1e6
    case = "HAI" if outcome.plan.label.endswith("hai") else "fixed increment"

    def reached(mbps: float) -> float | None:
        found = np.flatnonzero((mean >= mbps) & (ends > 0))
        return float(ends[found[0]]) if len(found) else None

    values = {
        (case, "rate_before"): float(mean[ends <= 0].mean()),
        (case, "to_1500" if case == "HAI" else "fixed_to_1500"): reached(_FULL_MBPS),
        (case, "to_share"): reached(_NEW_SHARE * server / len(stay)),
    }
    return Found(values, {}, {"ms": ends, "mean_mbps": mean})


def _beside_incast(outcome: RunOutcome) -> Found:
    """Figure 3.20: what of the background arrives in 8 ms of it, and what the incast carries meanwhile."""
    begin_s, end_s = _BACKGROUND_S
    background = {f.id: f.size for f in outcome.plan.flows if f.group == "background"}
    placed = [
        background[f.id]
        for f in outcome.flows
        if f.id in background and f.placed_ps is not None and begin_s <= f.placed_ps / 1e12 < end_s
    ]
    incast = [r for f, r in traces.flow_rates(outcome, begin_s, end_s).items() if f not in background]
    scheme, _, case = outcome.plan.label.partition(",")
    name = f"{CASES[scheme]},{case}"
    return Found(
        {(name, "goodput"): 8e-9 * sum(placed) / (end_s - begin_s), (name, "incast_rate"): sum(incast)}
    )


def _patched(outcome: RunOutcome) -> Found:
    case = "patched" if outcome.plan.label.endswith("patched") else "TIMELY"
    return Found({**_incast(outcome, case).values, **_smoothness(outcome, case)})


def _rpcs(outcome: RunOutcome) -> Found:
    """Figures 3.17 to 3.19: Gb/s of RPCs, latencies of RPCs and pingers in us."""
    scheme, _, case = outcome.plan.label.partition(",")
    name = f"{CASES[scheme]},{case}"
    summary = run_summary(outcome)
    groups = {group["name"]: group for group in summary["groups"]}
    rpcs, pingers = groups["rpcs"], groups["pingers"]
    values = {
        "offered": 1e-9 * rpcs["rpc_offered_bps"],
        "accepted": 1e-9 * rpcs["rpc_accepted_bps"],
        "rpc_median": 1e6 * rpcs["median_rpc_s"],
        "rpc_p99": 1e6 * rpcs["p99_rpc_s"],
        "ping_median": 1e6 * pingers["median_rpc_s"],
        "ping_p99": 1e6 * pingers["p99_rpc_s"],
        "pauses": float(summary["pfc_pause_frames"]),
    }
    return Found({(name, quantity): value for quantity, value in values.items()})


EXPERIMENTS: Mapping[str, Callable[[RunOutcome], Found]] = {
    "incast": _table,
    "figure3.2": _queue,
    "figure3.3": _ack_priority,
    "figure3.7": _gradient,
    "figure3.10": _by_case,
    "figure3.13": _by_case,
    "figure3.14": _by_case,
    "figure3.15": _by_case,
    "figure3.16": _hai,
    "figure3.17": _rpcs,
    "figure3.20": _beside_incast,
    "patched": _patched,
}


_AT_LIMIT = {"figure3.10"}  # rates are measured there: with much noise next to nothing arrives


def measure(outcome: RunOutcome) -> Found:
    """By the scenario's name, as EXPERIMENTS has it."""
    if outcome.plan.scenario not in _AT_LIMIT:
        check_complete(outcome)
    return EXPERIMENTS[outcome.plan.scenario](outcome)
