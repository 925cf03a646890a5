"""What the runs of `./rocelab paper escape` show: of one run, and of several side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rocelab import deadlock, frames
from rocelab.model import RunOutcome
from rocelab.paper import escape_queues
from rocelab.paper import rocc_traces as traces
from rocelab.sweep.work import Found

LEAST_PS = 10_000_000_000  # a circle of paused links for so long is a deadlock: 10 ms
_FCS_PREAMBLE_GAP = 24
_CARRIED = frames.KINDS.index("carried")
_ADDED_S = 20e-3  # scenarios/escape/ring_congestion.toml: when flows are added
_END_S = 60e-3
_FAIL_S = 10e-3  # scenarios/escape/fat_tree.toml: when links fail
_SETTLED_S = 30e-3  # and "in ~20 ms" (4.6.3) the system has converged
_SHORT = 1_000_000  # bytes; figure 4.17a: "flows smaller than 1 MB"
# The chapter's form, and ours beside it: flows are announced, tokens come back (docs/explanation/escape.md).
ESCAPE, ANNOUNCED = "roce+pfc+escape", "roce+pfc+escape+announce"
OPEN = "roce+pfc+escape+open"  # ours: no tokens for flows of long queues (escape.open_below)
RETURN = "roce+pfc+escape+return"  # ours: tokens that nobody can use come back (escape.return_tokens)
XOFF_OVER, P99_OVER = "xoff_over_pfc", "p99_over_pfc"
PFC, ROCC, BOTH = "roce+pfc", "roce+pfc+rocc", "roce+pfc+rocc+escape"


@dataclass(frozen=True)
class Run:
    """What one run shows, whatever the paper says of it."""

    label: str
    seed: int
    values: Mapping[str, float]

    @property
    def scheme(self) -> str:
        return self.label.partition(",")[0]

    @property
    def case(self) -> str:
        """ "roce+pfc,web_search": "web_search"."""
        return self.label.partition(",")[2]


def utilization(outcome: RunOutcome) -> float:
    """Per cent of the time until the run's end in which the links of the ring carry something; those the other way round have CNPs at most."""
    busy = []
    for port in outcome.plan.ports:
        counters = outcome.port_counters.get(port.interface, {})
        on_wire = counters.get("tx_bytes", 0) + _FCS_PREAMBLE_GAP * counters.get("tx_frames", 0)
        if not port.peer_is_host:
            busy.append(100 * 8e12 * on_wire / (port.rate_bps * outcome.end_ps))
    return float(np.mean([share for share in busy if share > 0.1 * max(busy)]))


def busy_under_load(outcome: RunOutcome) -> float:
    """The same until the last flow begins: what comes later is the end of what has piled up, which differs by link."""
    end_ps = max(f.posted_ps for f in outcome.flows if f.posted_ps is not None)
    busy = []
    for switch, records in frames.by_node(outcome, frames.switches(outcome.plan)).items():
        sent = records[
            (records["kind"] == _CARRIED) & (records["mark"] == 0) & (records["time_ps"] <= end_ps)
        ]
        for port in outcome.plan.ports:
            mine = sent[sent["port"] == port.port_id]
            if port.switch == switch and not port.peer_is_host and len(mine):
                time = float(mine["time_ps"][-1])
                busy.append(100 * 8e12 * float(mine["bytes"][-1]) / (port.rate_bps * time))
    return float(np.mean([share for share in busy if share > 0.1 * max(busy)]))


def common(outcome: RunOutcome) -> dict[str, float]:
    ports, nics = outcome.port_counters.values(), outcome.nic_counters.values()
    dead = deadlock.find(outcome, LEAST_PS)
    since = {} if dead is None else {"deadlock_ms": dead.since_ps / 1e9}
    ended = {f.id for f in outcome.flows if f.placed_ps is not None}
    return since | {
        "deadlocks": 0.0 if dead is None else 100.0,
        "left": float(sum(f.id not in ended for f in outcome.plan.flows)),
        "drops": float(sum(c["drops"] for c in ports)),
        "out_of_order": float(sum(c["out_of_sequence"] for c in nics)),
        "xoff": float(sum(c["xoff_sent_prio3"] for c in ports)),
        "escaped": float(sum(c["escaped_frames"] for c in ports)),
        "tokens": float(sum(c["escape_tokens_sent"] for c in ports)),
        "loops": float(sum(c["loops_broken"] for c in ports)),
        "end_ms": outcome.end_ps / 1e9,
        "utilization": utilization(outcome),
    }


def ring_congestion(outcome: RunOutcome) -> dict[str, float]:
    """Rates on the wire of the flows that were there from the start, over the second half of the time before and after flows are added."""
    first = [f.id for f in outcome.plan.flows if f.group == "first"]
    everybody = [f.id for f in outcome.plan.flows]
    before = traces.flow_rates(outcome, _ADDED_S / 2, _ADDED_S)
    after = traces.flow_rates(outcome, (_ADDED_S + _END_S) / 2, _END_S)
    rates = {}
    for name, flows, found in (("rate_before", first, before), ("rate_after", everybody, after)):
        if all(f in found for f in flows):
            rates[name] = traces.mean_of(found, flows)
    return common(outcome) | rates


def fat_tree(outcome: RunOutcome) -> dict[str, float]:
    """What h1's and h3's, h13's and h15's links to their switches carry, each, before links fail; and those of all that compete afterwards, when rates have settled."""
    bottled = ("h1", "h3", "h13", "h15")
    found = common(outcome)
    for name, sources, begin, end in (
        ("rate_before", bottled, _FAIL_S / 2, _FAIL_S),
        ("rate_after", (*bottled, "h7", "h11"), _SETTLED_S, outcome.end_ps / 1e12),
    ):
        rates = traces.flow_rates(outcome, begin, end)
        mine = [f.id for f in outcome.plan.flows if f.src in sources]
        if all(f in rates for f in mine):
            found[name] = traces.mean_of(rates, mine)
            found |= {f"{name} {f.src}": rates[f.id] for f in outcome.plan.flows if f.id in mine}
    return found


def _times_ms(outcome: RunOutcome, group: str | None, below: float = np.inf) -> list[float]:
    wanted = {f.id for f in outcome.plan.flows if (group is None or f.group == group) and f.size < below}
    return [
        (f.placed_ps - f.posted_ps) / 1e9
        for f in outcome.flows
        if f.id in wanted and f.placed_ps is not None and f.posted_ps is not None
    ]


def innocent(outcome: RunOutcome) -> dict[str, float]:
    """Mean FCT of the flows that share no congested link: with WebSearch of those below 1 MB (4.6.5)."""
    web = "web_search" in outcome.plan.label
    times = _times_ms(outcome, "innocent", _SHORT if web else np.inf)
    return common(outcome) | {"innocent_fct_ms": float(np.mean(times))}


def tails(outcome: RunOutcome) -> dict[str, float]:
    """The tail is that of all flows: there is none where some never end."""
    times = _times_ms(outcome, None)
    found = common(outcome) | {"unfinished": float(len(outcome.plan.flows) - len(times))}
    if len(times) == len(outcome.plan.flows):
        found["p99_fct_ms"] = float(np.percentile(times, 99, method="inverted_cdf"))
    return found


def leaf_spine(outcome: RunOutcome) -> dict[str, float]:
    """FCTs, and with Escape how many of the frames that ports sent had left a paused queue, per cent."""
    found = tails(outcome) | {
        "mean_fct_ms": float(np.mean(_times_ms(outcome, None))),
        "short_fct_ms": float(np.mean(_times_ms(outcome, None, _SHORT))),
    }
    if outcome.plan.label.startswith(BOTH):
        sent = sum(c.get("tx_frames", 0) for c in outcome.port_counters.values())
        found["escaped_percent"] = 100 * found["escaped"] / sent
    return found


def _side_by_side(runs: Sequence[Run], quantity: str, over: str, under: str) -> dict[str, float]:
    """By case: the mean over the seeds of one scheme's quantity over that of the other; none where a run lacks it."""
    found = {}
    for case in dict.fromkeys(r.case for r in runs):
        both = [[r for r in runs if r.case == case and r.scheme == s] for s in (over, under)]
        if both[0] and all(quantity in r.values for each in both for r in each) and both[1]:
            above, below = (float(np.mean([r.values[quantity] for r in each])) for each in both)
            if below > 0:
                found[case] = above / below
    return found


def ring_authors(outcome: RunOutcome) -> dict[str, float]:
    return tails(outcome) | {"busy": busy_under_load(outcome)}


def busy_of_ideal(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """How busy the links are under load, in per cent of what they are with buffers that never fill."""
    return {
        (f"{name},{case}", "of_ideal"): 100 * ratio
        for scheme, name in ((ESCAPE, "escape"), (RETURN, "pfc+escape+return"))
        for case, ratio in _side_by_side(runs, "busy", scheme, "ideal").items()
    }


def of_ideal(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """The same bytes: what the links carried per time, in per cent of what they do with buffers that never fill; none where flows never end."""
    return {
        (f"{scheme.removeprefix('roce+pfc+')},{case}", "of_ideal"): 100 * ratio
        for scheme in (ESCAPE, ANNOUNCED)
        for case, ratio in _side_by_side(runs, "end_ms", "ideal", scheme).items()
        if not any(r.values.get("unfinished") for r in runs if r.scheme == scheme and r.case == case)
    }


def innocent_ratios(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """Without Escape over with it, and over what the innocent need where no heavy flow is in their way: no mechanism's ratio is higher."""
    found: dict[tuple[str, str], float] = {}
    for quantity, under, whose in (
        ("fct_without_over_with", ESCAPE, ""),
        ("fct_without_over_with", ANNOUNCED, "announce,"),
        ("fct_without_over_with", OPEN, "open,"),
        ("fct_bound", "no-heavy", ""),
    ):
        ratios = _side_by_side(runs, "innocent_fct_ms", "roce+pfc", under)
        found |= {(whose + case, quantity): ratio for case, ratio in ratios.items()}
    return found


def tail_ratios(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """Of those that drop, over Escape's, in the chapter's form and with announcements."""
    found: dict[tuple[str, str], float] = {}
    for scheme in ("loopbreaker", "watchdog"):
        for quantity, under in (("p99_over_escape", ESCAPE), ("p99_over_announced", ANNOUNCED)):
            ratios = _side_by_side(runs, "p99_fct_ms", f"roce+pfc+{scheme}", under)
            found |= {(f"{scheme},{case}", quantity): ratio for case, ratio in ratios.items()}
    return found


def both_over_rocc(runs: Sequence[Run]) -> dict[tuple[str, str], float]:
    """FCTs of RoCC with Escape over those of RoCC alone; pauses and tail of either over those of PFC alone."""
    found: dict[tuple[str, str], float] = {}
    for quantity, name, over, under in (
        ("mean_fct_ms", "mean_over_rocc", BOTH, ROCC),
        ("short_fct_ms", "short_over_rocc", BOTH, ROCC),
        ("p99_fct_ms", "p99_over_rocc", BOTH, ROCC),
        *((q, n, o, PFC) for q, n in (("xoff", XOFF_OVER), ("p99_fct_ms", P99_OVER)) for o in (ROCC, BOTH)),
    ):
        scheme = over.removeprefix("roce+")
        ratios = _side_by_side(runs, quantity, over, under)
        found |= {(f"{scheme},{case}", name): ratio for case, ratio in ratios.items()}
    return found


@dataclass(frozen=True)
class Experiment:
    of_run: Callable[[RunOutcome], dict[str, float]] = common
    of_runs: Callable[[Sequence[Run]], dict[tuple[str, str], float]] = lambda runs: {}


EXPERIMENTS: Mapping[str, Experiment] = {
    "ring": Experiment(),
    "ring_load": Experiment(tails, lambda runs: of_ideal(runs) | tail_ratios(runs)),
    "ring_authors": Experiment(ring_authors, busy_of_ideal),
    "ring_testbed": Experiment(),
    "ring_connections": Experiment(tails, lambda runs: of_ideal(runs) | tail_ratios(runs)),
    "pool": Experiment(),
    "ring_congestion": Experiment(ring_congestion),
    "fat_tree": Experiment(fat_tree),
    "fat_tree_pinned": Experiment(fat_tree),
    "two_level": Experiment(tails, tail_ratios),
    "two_level_connections": Experiment(tails),
    "innocent": Experiment(innocent, innocent_ratios),
    "innocent_authors": Experiment(innocent, innocent_ratios),
    "rocc_leaf_spine": Experiment(leaf_spine, both_over_rocc),
}


def measure(outcome: RunOutcome) -> Found:
    """By the scenario's name, as EXPERIMENTS has it. A run that ends at its limit is a finding: deadlocks do."""
    values = EXPERIMENTS[outcome.plan.scenario].of_run(outcome)
    return Found(
        {(outcome.plan.label, quantity): value for quantity, value in values.items()},
        arrays=escape_queues.arrays_of(outcome, values.get("deadlock_ms")),
    )
