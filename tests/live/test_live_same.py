"""One result from two engines: what was simulated is what runs. The same plan live in lock step and in virtual time: every flow to the picosecond, every
counter of every NIC and switch port, and the trace of every node, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from live_runs import HERE, SCENARIOS, live
from rocelab import deadlock
from rocelab.des.engine import DesEngine
from rocelab.live.engine import LiveEngine
from rocelab.model import RunOutcome, RunPlan
from rocelab.scenario import make_plans, read_scenario
from rocelab.summary import run_summary

pytestmark = live

_SMALL = HERE.parent / "same" / "scenarios"
_RING = SCENARIOS / "escape" / "ring_deadlock.toml"
_ROCC = SCENARIOS / "rocc"
_CASES: list[tuple[Path, tuple[str, ...]]] = [
    (SCENARIOS / "incast.toml", ("seeds=[1, 2]",)),
    (SCENARIOS / "incast_crosstraffic.toml", ("seeds=[1]",)),
    (SCENARIOS / "incast_input_buffered.toml", ("seeds=[1]",)),
    (SCENARIOS / "loss.toml", ()),
    (SCENARIOS / "pingpong.toml", ()),
    (SCENARIOS / "quick.toml", ()),
    # All-to-all; everybody to one other host, through three tiers, past several switches and around a ring.
    (SCENARIOS / "all_to_all.toml", ()),
    (SCENARIOS / "fattree_small.toml", ('transport=["roce+pfc"]',)),
    (SCENARIOS / "parking_lot.toml", ('transport=["roce+pfc"]',)),
    (SCENARIOS / "ring.toml", ('transport=["roce"]',)),
    # A periodic incast whose senders are drawn, over Poisson arrivals.
    (SCENARIOS / "incast_background.toml", ('transport=["irn"]',)),
    (_SMALL / "leaf_spine_16.toml", ()),
    # One path for each pair, and losses on every link.
    (_SMALL / "leaf_spine_16.toml", ('topology.paths="single"', "topology.drop_rate=0.0005")),
    (_SMALL / "controls.toml", ()),
    (_SMALL / "files.toml", ()),
    (_SMALL / "side_by_side.toml", ()),
    (_SMALL / "pinned_paths.toml", ()),
    (_SMALL / "closed_loops.toml", ()),
    # Hosts with two NICs: along rails and across, and in two planes.
    (_SMALL / "several_nics.toml", ()),
    (_SMALL / "planes.toml", ()),
    (_SMALL / "operations.toml", ()),
    # Flows that share the queue pairs of their hosts.
    (_SMALL / "connections.toml", ()),
    (_SMALL / "connections.toml", ('workload.requests.stop="400us"', 'workload.answers.stop="70us"')),
    # Queue pairs that are created for a flow's start, connected at it, and destroyed behind its end.
    (_SMALL / "flow_lifetimes.toml", ()),
    # Flows that wait for others, on queue pairs that they share.
    (SCENARIOS / "collectives.toml", ()),
    (_SMALL / "collectives.toml", ()),
    (SCENARIOS / "rpc.toml", ()),
    (_SMALL / "rpc.toml", ()),
    # Messages by the clock, in bursts, and more than a link carries.
    (SCENARIOS / "streams.toml", ()),
    (_SMALL / "streams.toml", ()),
    (_SMALL / "datagrams.toml", ()),
    # Classes share a switch's port and a NIC; maps differ from node to node.
    (SCENARIOS / "classes.toml", ()),
    (_SMALL / "class_maps.toml", ()),
    # Queues in the order of arrival, fair among flows, with push-out.
    (SCENARIOS / "queues.toml", ()),
    # Slack in frames, LSTF.
    (_SMALL / "lstf.toml", ()),
    # A schedule and its replays, from a recording.
    (_SMALL / "lstf_replay.toml", ()),
    # Preemption, orders beside LSTF, CoDel in the switch and at the edge.
    (_SMALL / "ups.toml", ()),
    # Messages sent from both ends, at levels of their own.
    (_SMALL / "rc3.toml", ()),
    # Programs in place of queues and schedulers, changed under traffic.
    (_SMALL / "openqueue.toml", ()),
    (SCENARIOS / "openqueue" / "reload.toml", ()),
    (_SMALL / "switch_groups.toml", ()),
    # Egress queues pause the links that fill them, and drop to the letter.
    (_SMALL / "capfc.toml", ()),
    (_SMALL / "pipeline.toml", ()),
    (_SMALL / "alb.toml", ()),
    (_SMALL / "rocc.toml", ()),
    (_SMALL / "p4qcn.toml", ()),
    (_SMALL / "qcn.toml", ()),
    (_SMALL / "rocc.toml", ('congestion_control.rocc.rate_computation="host"',)),
    (
        _SMALL / "rocc.toml",
        (
            'congestion_control.rocc.rate_computation="host-registry"',
            'congestion_control.rocc.flow_table="queue"',
        ),
    ),
    # The RoCC paper's micro-benchmarks: ten flows, two bottlenecks, sources behind different links.
    (_ROCC / "base.toml", ("topology.hosts=11", 'workload.flows.total="20MB"')),
    (_ROCC / "fairness.toml", ('workload.flows.total="4MB"',)),
    (_ROCC / "multi_bottleneck.toml", ('transport=["roce+pfc+rocc"]',)),
    (_ROCC / "asymmetric.toml", ('workload.flows.total="20MB"',)),
    (_SMALL / "hpcc.toml", ()),
    (_SMALL / "hpcc.toml", ('transport=["roce+pfc+hpcc"]', "workload.reads.flow.0.op=write")),
    (_SMALL / "rcp.toml", ()),
    (_SMALL / "rcp.toml", ('transport=["roce+pfc+rcp"]', "workload.reads.flow.0.op=write")),
    (_SMALL / "bfc.toml", ()),
    (_SMALL / "host_link.toml", ()),
    (SCENARIOS / "link_failure.toml", ()),
    (_RING, ('transport=["roce+pfc+escape", "roce+pfc+loopbreaker"]',)),
    (SCENARIOS / "escape" / "ring.toml", ('transport=["roce+pfc+escape", "ideal"]', "seeds=[1]")),
    # What Escape's chapter has not: flows are announced, tokens come back.
    (
        _RING,
        (
            'transport=["roce+pfc+escape"]',
            "switch.escape.announce=true",
            "switch.escape.return_tokens=true",
            'switch.lossless_buffer="150KB"',
        ),
    ),
    # Flows that share only paused links with an incast.
    (
        SCENARIOS / "escape" / "innocent.toml",
        (
            'transport=["roce+pfc", "roce+pfc+escape", "roce+pfc+escape+announce"]',
            "seeds=[1]",
            'workload.heavy.duration="4ms"',
            'workload.innocent.duration="4ms"',
        ),
    ),
    # HPCC on it, with buffers so small that frames escape, with their telemetry.
    (_RING, ('transport=["irn+pfc+hpcc"]', "switch.escape.enabled=true", 'switch.lossless_buffer="60KB"')),
]
_MOST_HOSTS = 32  # of a case: each is a namespace and a program
_CROWDED = ("controls", "files", "side_by_side")  # scenarios that are about losses, pauses and marks
_TRIES = 4
# Of a live run alone: programs compare payload, and lock step has its own clock.
_APART = ("wall_s", "cpu_s", "max_rss_bytes", "verified", "fidelity")


@pytest.fixture(scope="module")
def live_engine() -> Iterator[LiveEngine]:
    with LiveEngine() as engine:
        yield engine


def _summary(outcome: RunOutcome) -> dict[str, Any]:
    return {k: v for k, v in run_summary(outcome).items() if k not in _APART}


def _flows(outcome: RunOutcome) -> list[dict[str, Any]]:
    return [{k: v for k, v in asdict(f).items() if k != "verified"} for f in outcome.flows]


def _counters(outcome: RunOutcome) -> dict[str, dict[str, int]]:
    nics = {f"{host}.{vf}": dict(c) for (host, vf), c in outcome.nic_counters.items()}
    return nics | {name: dict(c) for name, c in outcome.port_counters.items()}


@pytest.mark.parametrize(("scenario", "overrides"), _CASES, ids=[path.stem for path, _ in _CASES])
def test_both_engines_give_one_result(
    live_engine: LiveEngine, scenario: Path, overrides: tuple[str, ...]
) -> None:
    plans = [p for p in make_plans(read_scenario(scenario, overrides)) if len(p.hosts) <= _MOST_HOSTS]
    assert plans
    for plan in plans:
        virtual = DesEngine().execute(plan)
        if scenario.stem in _CROWDED:
            missing = [metric for metric in _trouble(plan.label) if not run_summary(virtual)[metric]]
            assert not missing, plan.label
        _compare(plan, _exact(live_engine, plan), virtual)


def _trouble(label: str) -> list[str]:
    """What a run must have, or it says little about its recovery and its congestion control."""
    metrics = ["data_drops", "retransmitted_packets", "timeout_retransmissions"]
    if "+pfc" in label:
        metrics = ["pfc_pause_frames"]
    if label.endswith(("+dcqcn", "+dctcp")):
        metrics.append("ecn_marks")
    if label.endswith("+dcqcn"):
        metrics.append("cnps")
    return metrics


def _exact(engine: LiveEngine, plan: RunPlan) -> RunOutcome:
    """A program that the machine holds up is left behind and its run says so; that is no difference between the engines, so it runs again.
    A replay ends with an error then."""
    for _ in range(_TRIES):
        outcome = engine.execute(plan)
        exact = run_summary(outcome)["fidelity"]["verdict"] == "exact"
        if exact or outcome.error and plan.native.original is None:
            break
    return outcome


def test_a_deadlock_is_the_same_in_both_engines(live_engine: LiveEngine) -> None:
    """Both end at the limit, paused in the same circle since the same instant."""
    (plan,) = make_plans(read_scenario(_RING, ('transport=["roce+pfc"]', "engine.limit=5ms")))
    real, virtual = live_engine.execute(plan), DesEngine().execute(plan)
    for outcome in (real, virtual):
        assert outcome.error is not None and "routing deadlock" in outcome.error
    found, expected = deadlock.find(real), deadlock.find(virtual)
    assert found is not None and expected is not None
    assert (found.since_ps, found.tc, found.interfaces) == (
        expected.since_ps,
        expected.tc,
        expected.interfaces,
    )
    # The clock stops at the limit, whenever somebody looks.
    again = live_engine.execute(plan)
    assert again.node_digests == real.node_digests and _counters(again) == _counters(real)
    assert max(run_summary(real)["end_s"], run_summary(virtual)["end_s"]) <= 5e-3


def _compare(plan: RunPlan, real: RunOutcome, virtual: RunOutcome) -> None:
    name = f"{plan.label}, seed {plan.seed}"
    assert real.error is None and virtual.error is None, name
    assert run_summary(real)["fidelity"]["verdict"] == "exact", f"{name}: {_TRIES} live runs were held up"
    assert _flows(real) == _flows(virtual), name
    assert _counters(real) == _counters(virtual), name
    assert real.node_digests == virtual.node_digests, name
    assert repr(_summary(real)) == repr(
        _summary(virtual)
    ), name  # a group of streams has no FCT, and NaN equals nothing
    assert run_summary(virtual)["fidelity"]["verdict"] == "exact"
