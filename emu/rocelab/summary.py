"""summary.json: its fields are not renamed (docs/explanation/architecture.md). Computed by the C++ metrics from what runs left behind.

Everything but wall_s, cpu_s, max_rss_bytes and processes is the same for the same seed: nothing here may look at the machine or the hour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rocelab import __version__, frames, link_bytes, metrics, native, pauses
from rocelab.model import RunOutcome, Scenario

Summary = dict[str, Any]


def summarise(scenario: Scenario, outcomes: Sequence[RunOutcome], engine: str) -> Summary:
    return summarise_runs(scenario, [run_summary(outcome) for outcome in outcomes], engine)


def summarise_runs(scenario: Scenario, runs: Sequence[Summary], engine: str) -> Summary:
    """`runs` are entries as run_summary() makes them; parameters that all have in common go to the top."""
    common = _common([run["parameters"] for run in runs])
    runs = [
        {**run, "parameters": {k: v for k, v in run["parameters"].items() if k not in common}} for run in runs
    ]
    summary: Summary = _clean(
        {
            "scenario": scenario.name,
            "title": scenario.title,
            "engine": engine,
            "seed": scenario.seeds[0],
            "seeds": list(scenario.seeds),
            "version": __version__,
            "parameters": common,
            "runs": runs,
            "aggregates": aggregates(runs),
            "comparisons": comparisons(scenario, runs),
        }
    )
    return summary


def run_summary(outcome: RunOutcome) -> Summary:
    plan = outcome.plan
    measured = native.runner.measure(
        plan.native,
        [(r.id, r.posted_ps, r.placed_ps, r.cqe_ps, r.status, r.stopped, r.settled) for r in outcome.flows],
        [dict(c) for c in outcome.nic_counters.values()],
        [dict(outcome.port_counters.get(p.interface, {})) for p in plan.ports],
        frames.progress(outcome, _watched_groups(outcome)),
        [
            (r.id, r.sent, r.delivered, r.bytes, r.latency_sum_ps, r.latency_max_ps, r.last_ps)
            for r in outcome.flows
            if r.sent or r.delivered
        ],
    )
    return {
        "label": plan.label,
        "seed": plan.seed,
        "complete": outcome.error is None,
        "error": outcome.error,
        "parameters": {p.key: p.value for p in plan.parameters},
        "fidelity": fidelity(outcome),
        "trace_hash": native.runner.trace_hash(list(outcome.node_digests)) if outcome.node_digests else None,
        **measured,
        **_from_traces(outcome),
        "verified": sum(r.verified for r in outcome.flows),
        "bdp_cap": plan.bdp_cap,
        "policies": outcome.policies,
        "link_bytes": link_bytes.by_kind(outcome),
        "wall_s": outcome.wall_s,
        "cpu_s": outcome.cpu_s,
        "max_rss_bytes": outcome.max_rss_bytes,
        "events": outcome.records,
        "end_s": outcome.end_ps / 1e12,
        **_by_nic(outcome),
        **({"processes": list(outcome.processes)} if outcome.processes else {}),
    }


def _by_nic(outcome: RunOutcome) -> Summary:
    """`nics`: counters that are not 0 by NIC, over its virtual functions; where hosts have several."""
    if outcome.plan.nics_per_host == 1:
        return {}
    nics: dict[str, dict[str, int]] = {h.name: {} for h in outcome.plan.hosts}
    for (nic, _), counters in outcome.nic_counters.items():
        for name, value in counters.items():
            if value:
                nics[nic][name] = nics[nic].get(name, 0) + value
    return {"nics": nics}


def _from_traces(outcome: RunOutcome) -> Summary:
    """The metrics that emu/runner leaves to Python; None where there are no traces, and of round trips where no NIC took any."""
    spread = pauses.spread(outcome)
    picoseconds = frames.rtts(outcome)["bytes"].astype(float)
    taken = len(picoseconds) > 0
    values = {
        "pfc_depth": None if spread is None else spread.depth,
        "avg_rtt_s": float(picoseconds.mean()) / 1e12 if taken else None,
        "p99_rtt_s": native.runner.percentile(list(picoseconds), 99) / 1e12 if taken else None,
    }
    return {m.name: values[m.name] for m in metrics.table() if m.from_traces}


def _watched_groups(outcome: RunOutcome) -> list[str]:
    """Workloads that say `during`: their progress is measured while another group runs."""
    suffix = ".during"
    return [
        p.key.removeprefix("workload.").removesuffix(suffix)
        for p in outcome.plan.parameters
        if p.key.endswith(suffix)
    ]


_VERDICTS = {
    (False, True): "exact",
    (False, False): "detached",
    (True, True): "ok",
    (True, False): "degraded",
}


def fidelity(outcome: RunOutcome) -> Summary:
    """A run is exact unless the clock went on without a thread while flows were running. Under the wall clock programs and switches are in
    lock step, too."""
    f = outcome.fidelity
    posted = [r.posted_ps for r in outcome.flows if r.posted_ps is not None]
    before = f.last_detach_ps < min(posted, default=0)
    # Programs that write their results on a busy machine may be detached after the last flow.
    after = outcome.error is None and f.first_detach_ps > outcome.end_ps
    exact = f.late_frames == 0 and (f.detaches == 0 or before or after)
    return {
        "verdict": _VERDICTS[f.clock == "wall", exact and f.wall_slips == 0],
        "clock": f.clock,
        "detaches": f.detaches,
        "first_detach_ps": f.first_detach_ps,
        "last_detach_ps": f.last_detach_ps,
        "violations": f.late_frames,
        # In lock step, under the wall clock too, nothing is late but the frames that `violations` counts, and no frame goes through a
        # socket. A run has no gateway: foreign devices are plugged into kept topologies, and `plug` reports what they saw.
        "late_p99_ns": 0,
        "late_p999_ns": 0,
        "socket_drops": 0,
        "base_rtt_ns": outcome.plan.base_rtt_ps / 1000,
        "wall_slips": f.wall_slips,
        "dilation": f.dilation,
    }


def aggregates(runs: Sequence[Summary]) -> list[Summary]:
    """Over the seeds of each label; runs that broke off are left out, and those that did not take a metric."""
    result = []
    for label in dict.fromkeys(r["label"] for r in runs):
        mine = [r for r in runs if r["label"] == label and r["complete"]]
        for metric in metrics.by_name():
            taken = [float(r[metric]) for r in mine if r[metric] is not None and math.isfinite(r[metric])]
            estimate = native.runner.estimate(taken)
            result.append({"label": label, "metric": metric, **estimate})
    return result


def comparisons(scenario: Scenario, runs: Sequence[Summary]) -> list[Summary]:
    """Ratios of means; `ci95` is that of the ratios seed by seed, which share start times and paths."""
    result = []
    for c in scenario.comparisons:
        over, of = (
            {
                r["seed"]: float(r[c.metric])
                for r in runs
                if r["label"] == label and r["complete"] and r[c.metric] is not None
            }
            for label in (c.over, c.of)
        )
        seeds = [s for s in of if s in over]
        if not seeds:
            continue
        ratio = _ratio(sum(of[s] for s in seeds), sum(over[s] for s in seeds))
        each = native.runner.estimate([_ratio(of[s], over[s]) for s in seeds])
        result.append(
            {
                "of": c.of,
                "over": c.over,
                "metric": c.metric,
                "ratio": ratio,
                "median": each["median"],
                "ci95": each["ci95"],
                "n": each["n"],
                "paper": c.paper,
            }
        )
    return result


def _ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def _common(parameters: Sequence[dict[str, str]]) -> dict[str, str]:
    if not parameters:
        return {}
    first, *rest = parameters
    return {k: v for k, v in first.items() if all(p.get(k) == v for p in rest)}


def _clean(value: Any) -> Any:
    """JSON has no NaN: what is not defined is null."""
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
