"""What is measured of each experiment of `./rocelab paper rocc` (Menikkumbura, 3.5): one function per experiment, from a run's outcome to its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rocelab import frames
from rocelab.model import Array, RunOutcome
from rocelab.paper import rocc_pauses as pauses
from rocelab.paper import rocc_traces as traces
from rocelab.paper.claims import Values
from rocelab.summary import run_summary
from rocelab.sweep.work import Found, check_complete

_FCS_PREAMBLE_GAP = 24
_CNP_BYTES = {"host": 90}  # base/wire/rocc_cnp.h, all values; the other forms fit the shortest frame
# Ranges of sizes in bytes: more than, at most. The paper's figures have curves; these are decades.
SIZES = (
    ("to 10KB", 0, 10_000),
    ("to 100KB", 10_000, 100_000),
    ("to 1MB", 100_000, 1_000_000),
    ("above 1MB", 1_000_000, np.inf),
)


@dataclass(frozen=True)
class Picture:
    title: str
    points: Sequence[traces.Point]

    def arrays(self) -> dict[str, Array]:
        """By "title|interface|what"."""
        return {
            f"{self.title}|{p.interface}|{what}": values
            for p in self.points
            for what, values in (("time_s", p.time_s), ("rate_gbps", p.rate_gbps), ("queue_kb", p.queue_kb))
        }


@dataclass(frozen=True)
class Measured:
    """`notes`, by run, explain its numbers; `arrays`, beside those of `pictures`, are for figures."""

    values: Values
    pictures: Sequence[Picture]
    notes: Mapping[str, Mapping[str, float]]
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def found(self) -> Found:
        arrays = {name: array for picture in self.pictures for name, array in picture.arrays().items()}
        return Found(self.values, self.notes, arrays | dict(self.arrays))


def case_of(label: str) -> str:
    """ "roce+pfc+rocc,N=2,40G": "N=2,40G"."""
    return label.partition(",")[2]


def _steady(outcome: RunOutcome, case: str) -> Measured:
    """One congestion point and flows that are all active from the start."""
    point = traces.point_of(outcome, traces.bottleneck(outcome))
    first = max(traces.spans(outcome, 0.0), key=lambda s: s.end_s - s.begin_s)
    found = traces.steady(point, first)
    values = {
        (case, "fair_rate"): found.rate_gbps,
        (case, "queue"): found.queue_kb,
        (case, "settles"): found.settles_ms,
    }
    notes = _notes(outcome, case)[case] | _spread(outcome)
    return Measured(values, [Picture(case, [point])], {case: notes})


def _spread(outcome: RunOutcome) -> dict[str, float]:
    """What the flows get: the fair rate is what they are told."""
    rates = list(_rates_of_all(outcome)[0].values())
    return {"least_gbps": min(rates), "most_gbps": max(rates)}


def _fairness(outcome: RunOutcome) -> Measured:
    return _steady(outcome, case_of(outcome.plan.label))


def _rate_at_host(outcome: RunOutcome) -> Measured:
    """Where the fair rate is computed (3.3.6): the rates that flows are told or compute, how far apart what they get is, and the queue."""
    case, _, axes = case_of(outcome.plan.label).partition(",")
    computation, table = (axis.partition("=")[2] for axis in axes.split(","))
    name = f"{case}, {computation}, {table}"
    port = traces.bottleneck(outcome)
    point = (traces.point_of if computation == "switch" else traces.host_point_of)(outcome, port)
    first = max(traces.spans(outcome, 0.0), key=lambda s: s.end_s - s.begin_s)
    found = traces.steady(point, first)
    values = {
        (name, "fair_rate"): found.rate_gbps,
        (name, "queue"): found.queue_kb,
        (name, "settles"): found.settles_ms,
    }
    notes = _notes(outcome, name)[name]
    return Measured(values, [Picture(name, [point])], {name: notes | _spread(outcome)})


def _drops(outcome: RunOutcome) -> Measured:
    """As figure 3.5, and the frames that were lost: in all, and in the second half, when all has settled."""
    case = case_of(outcome.plan.label)
    found = _steady(outcome, case)
    late_ps = 0.5e12 * max(traces.spans(outcome, 0.0), key=lambda s: s.end_s - s.begin_s).end_s
    by = frames.by_node(outcome, frames.switches(outcome.plan))
    late = sum(
        int(np.count_nonzero((r["kind"] == frames.DROP) & (r["time_ps"] > late_ps))) for r in by.values()
    )
    drops = {(case, "drops"): float(run_summary(outcome)["drops"]), (case, "late_drops"): float(late)}
    return Measured({**found.values, **drops}, found.pictures, found.notes)


def _headroom(outcome: RunOutcome) -> Measured:
    found = _comparison(outcome)
    case = case_of(outcome.plan.label)
    return Measured({(case, q): v for (_, q), v in found.values.items()}, [], {case: found.notes["hpcc"]})


def _testbed(outcome: RunOutcome) -> Measured:
    return _steady(outcome, "mix" if outcome.plan.scenario.endswith("mix") else "uni")


def _convergence(outcome: RunOutcome) -> Measured:
    point = traces.point_of(outcome, traces.bottleneck(outcome))
    values: dict[tuple[str, str], float | None] = {}
    for number, span in enumerate(traces.spans(outcome, 3e-3), start=1):
        found = traces.steady(point, span)
        case = f"step {number}, N={span.flows}"
        values[case, "fair_rate"] = found.rate_gbps
        values[case, "settles"] = found.settles_ms
    return Measured(values, [Picture("3, 6, .. 100, .. 6, 3 flows", [point])], _notes(outcome, "convergence"))


def scheme_of(outcome: RunOutcome) -> str:
    """ "roce+pfc+rocc,...": "rocc"."""
    return outcome.plan.label.partition(",")[0].rpartition("+")[2]


def _case(outcome: RunOutcome, name: str) -> str:
    """Cases of RoCC have their plain names, those of the others end in the scheme's."""
    scheme = scheme_of(outcome)
    return name if scheme == "rocc" else f"{name}, {scheme}"


def _rates_of_all(outcome: RunOutcome) -> tuple[Mapping[int, float], traces.Span]:
    """Over the second half of the longest time in which the same flows are active: mostly all of them."""
    span = max(traces.spans(outcome, 0.0), key=lambda s: s.end_s - s.begin_s)
    late = traces.Span((span.begin_s + span.end_s) / 2, span.end_s, span.flows)
    return traces.flow_rates(outcome, late.begin_s, late.end_s), late


def _comparison(outcome: RunOutcome) -> Measured:
    """Figure 3.8: what flows get, how far apart, the queue, how busy the link is."""
    scheme, port = scheme_of(outcome), run_summary(outcome)["bottleneck_port"]
    rates, late = _rates_of_all(outcome)
    link = next(p.rate_bps for p in outcome.plan.ports if p.interface == port) / 1e9
    queue = traces.queue_kb(outcome, port, late.begin_s, late.end_s)
    values = {
        (scheme, "flow_rate"): float(np.mean(list(rates.values()))),
        (scheme, "deviation"): float(np.std(list(rates.values()))) * 1e3,
        (scheme, "queue"): queue.mean,
        (scheme, "queue_spread"): queue.deviation,
        (scheme, "busy"): float(100 * sum(rates.values()) / link),
    }
    return Measured(values, [], _notes(outcome, scheme))


def _rates(outcome: RunOutcome) -> Measured:
    """Table 3.3: mean and standard deviation of the flows' rates while all are active; that of a flow to which nothing comes is 0."""
    scheme = scheme_of(outcome)
    begin = max(f.posted_ps for f in outcome.flows if f.posted_ps is not None) / 1e12
    end = min(f.placed_ps for f in outcome.flows if f.placed_ps is not None) / 1e12
    each = traces.rates_of_all(outcome, (begin + end) / 2, end) * 1e3
    values = {(scheme, "flow_rate"): float(each.mean()), (scheme, "deviation"): float(each.std())}
    notes = _notes(outcome, scheme)[scheme]
    if not outcome.plan.pfc:
        return Measured(values, [], {scheme: notes})
    end_s = outcome.end_ps / 1e12
    found = pauses.activations(outcome, end_s)
    arrays = pauses.arrays("1,800 flows", scheme, found, end_s)
    return Measured(values, [], {scheme: notes | pauses.notes(found)}, arrays)


_SETTLED_S = 2e-3  # of the rates that sources set: from then on


def _allowed(outcome: RunOutcome) -> Measured:
    """Table 3.3 as its authors' simulator records it, while flows begin: each rate that a channel sets. Of RoCC's it has the told ones, too: they are noted."""
    scheme = scheme_of(outcome)
    end_s = _last_begins_s(outcome)
    rates = traces.spread_of(traces.allowed_mbps(outcome, _SETTLED_S, end_s))
    values: dict[tuple[str, str], float | None] = {
        (scheme, "flow_rate"): rates.mean,
        (scheme, "deviation"): rates.deviation,
    }
    notes = _notes(outcome, scheme)[scheme] | _tier_queues(outcome)
    if scheme == "rocc":
        told = traces.spread_of(*traces.told_mbps(outcome, _SETTLED_S, end_s))
        notes |= {"told_mbps": told.mean, "told_deviation": told.deviation}
    return Measured(values, [], {scheme: notes})


def by_size(outcome: RunOutcome) -> dict[str, float]:
    """Mean and 99th percentile of FCT, and how many flows, of each range of sizes that has any."""
    sizes = {f.id: f.size for f in outcome.plan.flows}
    flows = [
        (sizes[f.id], (f.placed_ps - f.posted_ps) / 1e9)
        for f in outcome.flows
        if f.placed_ps is not None and f.posted_ps is not None
    ]
    found: dict[str, float] = {}
    for name, least, most in SIZES:
        times = [ms for size, ms in flows if least < size <= most]
        if times:
            found[f"flows {name}"] = float(len(times))
            found[f"mean_fct_ms {name}"] = float(np.mean(times))
            found[f"p99_fct_ms {name}"] = float(np.percentile(times, 99, method="inverted_cdf"))
    return found


def _completion(outcome: RunOutcome) -> Measured:
    """Figures 3.12 to 3.15."""
    summary = run_summary(outcome)
    case, scheme = case_of(outcome.plan.label), scheme_of(outcome)
    name = f"{case}, {scheme}"
    values = {
        (name, "average_fct"): summary["avg_fct_s"] * 1e3,
        (name, "p99_fct"): summary["p99_fct_s"] * 1e3,
    }
    notes = _notes(outcome, name)[name] | by_size(outcome) | _tier_queues(outcome)
    if not outcome.plan.pfc:
        return Measured(values, [], {name: notes})
    end_s = _last_begins_s(outcome)
    found = pauses.activations(outcome, end_s)
    return Measured(
        values, [], {name: notes | pauses.notes(found)}, pauses.arrays(case, scheme, found, end_s)
    )


def _last_begins_s(outcome: RunOutcome) -> float:
    """When the last flow begins: the end of the time for which the load is offered."""
    return max(f.posted_ps for f in outcome.flows if f.posted_ps is not None) / 1e12


def _tier_queues(outcome: RunOutcome) -> dict[str, float]:
    """Figure 3.14a: the mean over time, and over the ports of each tier, of the class-3 queues towards the receivers, while flows begin."""
    end_s = _last_begins_s(outcome)
    tier = pauses.tier_of(outcome.plan)
    after = {
        "ingress": "core",
        "core": "egress",
        "egress": "",
    }  # what a tier's ports towards the receivers lead to; hosts: none
    tiers: dict[str, list[str]] = {name: [] for name in after}
    for port in outcome.plan.ports:
        here, there = tier[port.switch], "" if port.peer_is_host else tier[port.peer.partition("-")[0]]
        if after[here] == there:
            tiers[here].append(port.interface)
    queues = traces.mean_queues_kb(outcome, 0.0, end_s)
    return {
        f"mean_queue_kb {tier}": float(np.mean([queues.get(i, 0.0) for i in ports]))
        for tier, ports in tiers.items()
        if ports
    }


def _shares(outcome: RunOutcome, groups: Mapping[str, Sequence[int]]) -> Measured:
    """Of flows that are all active from the start, over the second half of the time until the first ends."""
    rates, _ = _rates_of_all(outcome)
    values = {
        (_case(outcome, name), "flow_rate"): traces.mean_of(rates, flows) for name, flows in groups.items()
    }
    busy = [i for i, c in outcome.port_counters.items() if c.get("rocc_cnps", 0) > len(outcome.plan.flows)]
    points = [traces.point_of(outcome, i) for i in sorted(busy)]
    title = _case(outcome, outcome.plan.scenario)
    pictures = [Picture(title, points)] if points else []
    return Measured(values, pictures, _notes(outcome, title))


def _multi_bottleneck(outcome: RunOutcome) -> Measured:
    by_source = {f.src: f.id for f in outcome.plan.flows}
    ends = {f"D{i}": [by_source[s]] for i, s in enumerate(("a0", "a1", "a2", "a3", "a4", "b5"))}
    return _shares(outcome, ends)


def _asymmetric(outcome: RunOutcome) -> Measured:
    by_source = {f.src: f.id for f in outcome.plan.flows}
    slow, fast = ([by_source[f"a{i}"] for i in numbers] for numbers in (range(5), range(5, 7)))
    return _shares(outcome, {"D0-D4": slow, "D5-D6": fast})


def _notes(outcome: RunOutcome, name: str) -> dict[str, dict[str, float]]:
    summary = run_summary(outcome)
    cnps = sum(c.get("rocc_cnps", 0) for c in outcome.port_counters.values())
    carried = sum(
        c.get("tx_bytes", 0) + _FCS_PREAMBLE_GAP * c.get("tx_frames", 0)
        for c in outcome.port_counters.values()
        if c.get("rocc_cnps", 0)
    )
    key = "congestion_control.rocc.rate_computation"
    computation = next((p.value.strip('"') for p in outcome.plan.parameters if p.key == key), "switch")
    cnp_wire_bytes = _CNP_BYTES.get(computation, 60) + _FCS_PREAMBLE_GAP
    longest = max(c.get("queue_peak_bytes_prio3", 0) for c in outcome.port_counters.values())
    return {
        name: {
            "cnps": float(summary["cnps"]),
            "cnps_taken": float(
                sum(c.get("rp_fair_rates_handled", 0) for c in outcome.nic_counters.values())
            ),
            "pfc_pause_frames": float(summary["pfc_pause_frames"]),
            "drops": float(summary["drops"]),
            "feedback_percent": 100 * cnps * cnp_wire_bytes / carried if carried else 0.0,
            "longest_queue_kb": longest / 1e3,
            "end_ms": outcome.end_ps / 1e9,
        }
    }


EXPERIMENTS: Mapping[str, Callable[[RunOutcome], Measured]] = {
    "fairness": _fairness,
    "convergence": _convergence,
    "multi_bottleneck": _multi_bottleneck,
    "asymmetric": _asymmetric,
    "comparison": _comparison,
    "rates": _rates,
    "allowed": _allowed,
    "fct": _completion,
    "fct_authors": _completion,
    "fct_closed": _completion,
    "unlimited": _completion,
    "gains": _fairness,
    "flow_tables": _fairness,
    "without_pfc": _drops,
    "headroom": _headroom,
    "rate_at_host": _rate_at_host,
    "testbed_dpdk": _testbed,
    "testbed_dpdk_mix": _testbed,
    "testbed_p4": _testbed,
    "testbed_p4_mix": _testbed,
}


def measure(outcome: RunOutcome) -> Found:
    """By the scenario's name, as EXPERIMENTS has it."""
    check_complete(outcome)
    return EXPERIMENTS[outcome.plan.scenario](outcome).found()
