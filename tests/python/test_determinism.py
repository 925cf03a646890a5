"""Every shipped scenario in virtual time, made short and crowded (shortened.py): windows give the traces of the plain global order, the same seed gives the same ones, another seed others; and what the
scheme is for has happened in these runs, or they would show little. Runs that several scenarios share run once, over all cores."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from rocelab import native
from rocelab.model import RunPlan
from rocelab.sweep.local import Ended, run_local
from rocelab.sweep.run import cores
from shortened import Short, happened, shipped, shortened, totals, wanted

_FEWEST, _MOST = 60_000, 250_000  # trace records of hosts, before and after which no run is cut
_FIRST_STEPS = 64  # windows until somebody looks
_OTHER_SEED = 1000  # further on

_LOWER = "ports are full of packets of lower levels, which are dropped in place of TCP's"
_DATAGRAMS = "UD repairs no loss"
_SHORT = "HPCC keeps the queues short"
_EARLY = "cut short before an ingress port is at XOFF"
# What cannot happen, and then does not: file, label, words, why.
_NEVER: tuple[tuple[str, str, set[str], str], ...] = (
    ("*/pingpong.toml", "*", {"drops", "retransmissions", "timeouts"}, "one flow on an idle network"),
    (
        "*/collectives_mpi.toml",
        "*",
        {"drops", "retransmissions", "timeouts"},
        "each link has one flow at a time, or the buffer holds what three send",
    ),
    (
        "scenarios/rails_allreduce.toml",
        "irn,sprayed",
        {"drops", "retransmissions", "timeouts"},
        "all links are alike, and none has more than its rate",
    ),
    ("scenarios/spraying.toml", "irn,random,nack=1", {"timeouts"}, "later frames tell of all losses"),
    (
        "scenarios/spraying.toml",
        "irn,r*[!1]",
        {"drops", "retransmissions", "timeouts"},
        "all links are alike, and none has more than its rate",
    ),
    ("*/loss.toml", "*", {"timeouts"}, "three frames are lost, and later ones tell of all of them"),
    ("scenarios/streams.toml", "irn+dcqcn", {"timeouts"}, "later frames tell of all losses"),
    ("*/same/scenarios/streams.toml", "irn", {"timeouts"}, "later frames tell of all losses"),
    ("*/same/scenarios/datagrams.toml", "irn", {"timeouts"}, "later frames tell of all losses"),
    ("*/p4qcn_testbed.toml", "*", {"retransmissions", "timeouts"}, "UC and UD repair no loss"),
    ("*/p4qcn/*.toml", "[!t]*", {"retransmissions", "timeouts"}, "UC and UD repair no loss"),
    ("*/p4qcn/starvation.toml", "timer", {"retransmissions", "timeouts"}, "UC and UD repair no loss"),
    ("*/p4qcn/*.toml", "p4qcn", {"drops"}, "sources slow down in time"),
    ("*/p4qcn/*.toml", "p4qcn,*", {"drops"}, "sources slow down in time"),
    ("*/p4qcn/*.toml", "p4qcn+pfc,*", {"pauses"}, "sources slow down in time"),
    ("*/same/scenarios/p4qcn.toml", "clones", {"timeouts"}, "later frames tell of all losses"),
    ("*/p4qcn_testbed.toml", "irn+p4qcn", {"drops"}, "the flow that is controlled makes way and starves"),
    ("*/quick.toml", "roce", {"timeouts"}, "too short: later frames tell of all losses"),
    ("*/quick.toml", "irn+pfc", {"pauses"}, "two windows of a BDP fit into the buffer"),
    (
        "*/classes.toml",
        "irn",
        {"drops", "retransmissions", "timeouts"},
        "each class has a queue that holds a BDP",
    ),
    (
        "*/incast_input_buffered.toml",
        "irn",
        {"drops", "retransmissions", "timeouts"},
        "each input holds a BDP",
    ),
    (
        "*/ups/*[!6].toml",
        "*",
        {"drops", "retransmissions", "timeouts", "many repairs"},
        "its buffers never fill",
    ),
    (
        "*/same/scenarios/lstf_replay.toml",
        "*",
        {"drops", "retransmissions", "timeouts", "many repairs"},
        "its buffers never fill",
    ),
    ("*/ups/figure5.6.toml", "*", {"retransmissions", "timeouts", "many repairs"}, _DATAGRAMS),
    ("*/rc3/*.toml", "*", {"timeouts"}, "TCP's least timeout is longer than these runs"),
    ("scenarios/rc3.toml", "iwarp", {"timeouts", "many repairs"}, "four flows, one after the other"),
    ("scenarios/rc3.toml", "rc3", {"timeouts", "many repairs", "retransmissions"}, _LOWER),
    ("*/rc3/partial.toml", "rc3,none", {"many repairs", "retransmissions"}, _LOWER),
    ("*/rc3/partial.toml", "rc3,[0-9]*", {"many repairs"}, "TCP sends too few packets to lose many"),
    ("*/rc3/[!dlp]*.toml", "rc3*", {"many repairs", "retransmissions"}, _LOWER),
    ("*/rc3/rcp.toml", "irn+rcp", {"drops", "retransmissions"}, "ports begin with a twentieth of their link"),
    ("*/rc3/downlink.toml", "rc3", {"many repairs", "retransmissions"}, _LOWER),
    ("*/rc3/linux.toml", "*", {"drops", "retransmissions", "many repairs"}, "each flow is alone on its path"),
    ("*/rc3/datacenter.toml", "rc3", {"many repairs"}, "TCP sends too few packets to lose many"),
    ("*/rc3/load.toml", "rc3*", {"many repairs", "retransmissions"}, _LOWER),
    ("*/rc3/levels.toml", "rc3,[0-9]*", {"many repairs", "retransmissions"}, _LOWER),
    ("*/rc3/loss.toml", "rc3*", {"many repairs"}, "TCP sends too few packets to lose many"),
    ("*/openqueue/[!belr]*.toml", "*", {"retransmissions", "timeouts"}, _DATAGRAMS),
    ("*/openqueue/base.toml", "*", {"retransmissions", "timeouts"}, _DATAGRAMS),
    ("*/openqueue/algorithms.toml", "*,1[02]", {"drops"}, "the queue of 512 frames holds them"),
    ("*/openqueue/overhead_clients.toml", "*", {"drops"}, "little more arrives than leaves"),
    ("*/openqueue/statistics.toml", "*", {"drops"}, "one sender"),
    ("*/openqueue/crossbar.toml", "*", {"drops"}, "its buffers never fill"),
    ("*/openqueue/lqd.toml", "lqd", {"drops", "retransmissions", "timeouts", "many repairs"}, "one memory"),
    (
        "*/openqueue/lqd.toml",
        "shared",
        {"drops", "retransmissions", "timeouts", "many repairs"},
        "one memory",
    ),
    ("*/ups/table5.4.toml", "*,none,*", {"marks"}, "nobody marks"),
    ("*/ups/table5.4.toml", "*,edge,*", {"marks"}, "NICs mark, and no switch"),
    ("*/same/scenarios/ups.toml", "*,edge-ecn", {"marks"}, "NICs mark, and no switch"),
    ("*/capfc/*", "tcp+pfc,wdrop", {"pauses"}, "a pipeline that drops never fills its ingress memories"),
    ("*/same/scenarios/pipeline.toml", "*,drop", {"pauses"}, "it drops before it pauses"),
    ("*/same/scenarios/pipeline.toml", "*,shared", {"pauses"}, "it drops before it pauses"),
    ("*/same/scenarios/alb.toml", "irn+pfc,pipeline", {"pauses"}, "the memory behind the pipeline suffices"),
    ("*/escape/*", "ideal*", {"drops", "retransmissions", "timeouts"}, "its buffers never fill"),
    ("*/rocc/unlimited.toml", "*", {"drops", "retransmissions", "timeouts"}, "its buffers never fill"),
    ("*/escape/ring_congestion.toml", "irn+pfc+hpcc", {"pauses"}, _SHORT),
    ("*/escape/ring_congestion.toml", "irn+pfc+hpcc+escape", {"pauses", "escapes"}, _SHORT),
    ("*/escape/fat_tree_pinned.toml", "*,500KB", {"pauses", "escapes"}, _EARLY),
    ("*/escape/ring_authors.toml", "roce+pfc*", {"pauses", "escapes"}, _EARLY),
    ("*/escape/ring_testbed.toml", "*,1-connection", {"pauses", "escapes"}, _EARLY),
    ("*/timely/patched.toml", "roce+pfc+timely", {"pauses"}, "the sources slow down in time"),
    ("*/rocc/without_pfc.toml", "*,N=2,*", {"timeouts"}, "later frames tell of all losses"),
    ("*/rocc/fct.toml", "irn+pfc+hpcc*", {"pauses"}, _SHORT),
    ("*/rocc/multi_bottleneck.toml", "irn+pfc+hpcc", {"pauses"}, _SHORT),
    ("*/rocc/allowed.toml", "*", {"pauses"}, "small flows, and 800 KB for each ingress port"),
    ("*/rocc/fct_closed.toml", "*", {"pauses"}, "800 KB for each ingress port"),
    ("*/rocc/fct_authors.toml", "roce+pfc+rocc,*", {"pauses"}, "F begins with little"),
    (
        "*/rocc/testbed_dpdk_mix.toml",
        "roce+pfc+rocc",
        {"pauses"},
        "little more is offered than the link carries",
    ),
)
# Labels of one scenario whose runs are equal, or as good as: file, label, label, why.
_ALIKE: tuple[tuple[str, str, str, str], ...] = (
    (
        "*/timely/figure3.20.toml",
        "roce+pfc,background,*",
        "roce+pfc+timely,background,*",
        "flows of one segment begin at the line's rate",
    ),
    ("*/ups/loads.toml", "*-percent-lstf", "*-percent-lstf", "of one load here"),
    ("*/ups/figure5.8.toml", "iwarp,fq*", "iwarp,fq*", "nothing waits for 5 ms"),
    ("*/escape/ring_congestion.toml", "irn+pfc+hpcc", "irn+pfc+hpcc+escape", "no pause, nothing escapes"),
    ("*/rc3/heterogeneous.toml", "iwarp,95-percent", "iwarp,deep", "so short a run fills neither buffer"),
    ("*/rc3/heterogeneous.toml", "rc3,95-percent", "rc3,deep", "so short a run fills neither buffer"),
    ("*/escape/fat_tree_pinned.toml", "*,500KB", "*+escape,500KB", "no pause, nothing escapes"),
    ("*/escape/ring_authors.toml", "roce+pfc*", "roce+pfc+escape*", "no pause, nothing escapes"),
    ("*/escape/ring_testbed.toml", "roce+pfc,1*", "roce+pfc+escape,1*", "no pause, nothing escapes"),
    ("*/rocc/flow_tables.toml", "*,N=2,*", "*,N=2,*", "two flows, always in the queue: all tables tell them"),
    ("*/timely/figure3.1[034].toml", "*", "*", "low thresholds differ where an RTT is between them only"),
    ("*/timely/figure3.17.toml", "roce+pfc,*", "roce+pfc+timely,*", "over before rates have changed"),
    ("*/irn/window_based.toml", "irn+pfc", "irn+pfc+aimd", "no loss tells AIMD anything"),
    ("*/p4qcn/with_pfc.toml", "p4qcn,*", "p4qcn+pfc,*", "no pause and no loss"),
    ("*/openqueue/overhead_*.toml", "list,*", "heap,*", "one order in two structures"),
    ("*/openqueue/algorithms.toml", "?,1[02]", "?,1[02]", "nothing is dropped"),
    ("*/openqueue/lqd.toml", "lqd", "shared", "two spellings of one policy"),
    ("*/openqueue/backpressure.toml", "program", "pfc", "the same pauses"),
    ("*/rocc/fct_authors.toml", "roce+pfc+rocc,*,pool", "roce+pfc+rocc,*,ports", "no pauses"),
    ("*/rocc/rate_at_host.toml", "*", "*", "two flows, always in the queue: all tell them the same"),
)
# Flows that start at 0 on links that lose nothing.
_NOT_RANDOM = (
    "scenarios/pingpong.toml",
    "scenarios/capfc/stale.toml",
    "scenarios/collectives_mpi.toml",
    "scenarios/rc3/linux.toml",
)


@dataclass(frozen=True)
class Ran:
    windows: str  # hashes over all frames
    again: str
    global_order: str
    other_seed: str
    records: int
    late_frames: int
    counters: Counter[str]


def run(short: Short, _: Any) -> Ran:
    """The first run goes on until all that is expected has happened; where it stopped the others stop, too."""
    awaited = expected(short)
    first, steps = native.module().DesRun(short.plan(short.seed).native), _FIRST_STEPS
    while not (over := first.advance(steps)) and first.records < _MOST:
        if first.records >= _FEWEST and awaited <= happened(totals(first)):
            break
        steps += steps // 4
    stop = None if over else first.now_ps
    plan, other = (short.plan(seed) for seed in (short.seed, short.seed + _OTHER_SEED))
    return Ran(
        windows=_hash(plan, stop_ps=stop),
        again=_hash(plan, stop_ps=stop),
        global_order=_hash(plan, stop_ps=stop, global_order=True),
        other_seed=_hash(other, stop_ps=stop),
        records=first.records,
        late_frames=first.late_frames,
        counters=totals(first),
    )


def _hash(plan: RunPlan, **options: Any) -> str:
    module = native.module()
    run = module.DesRun(plan.native, **options)
    while not run.advance(1 << 12):
        pass
    return str(module.trace_hash(list(run.digests)))


def expected(short: Short) -> frozenset[str]:
    never: set[str] = set()
    for file, label, words, _ in _NEVER:
        if fnmatch(short.file, file) and fnmatch(short.label, label):
            never |= words
    return frozenset(wanted(short) - never)


@dataclass(frozen=True)
class _Folder:
    """Where a sweep's processes leave what they found."""

    path: Path

    def put(self, short: Short, ran: Ran) -> None:
        (self.path / short.key).write_bytes(pickle.dumps(ran))

    def get(self, short: Short) -> Ran:
        ran: Ran = pickle.loads((self.path / short.key).read_bytes())
        return ran


Results = Callable[[str], list[tuple[Short, Ran]]]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Of all scenarios that are asked for, over all cores; one that crashes leaves the others alone."""
    chosen = dict.fromkeys(
        item.callspec.params["file"] for item in request.session.items if item.module is request.module
    )
    shorts = {file: shortened(file) for file in chosen}
    distinct = {short.key: short for several in shorts.values() for short in several}
    folder, failed = _Folder(tmp_path_factory.mktemp("ran")), dict[str, Ended]()

    def on_ended(ended: Ended) -> None:
        if ended.error is not None:
            failed[ended.point.key] = ended

    def of(file: str) -> list[tuple[Short, Ran]]:
        errors = [f"{s.name}: {failed[s.key].error}" for s in shorts[file] if s.key in failed]
        assert not errors, "\n".join(errors)
        return [(short, folder.get(short)) for short in shorts[file]]

    run_local(list(distinct.values()), folder, cores(), lambda _: None, on_ended, run)
    return of


each_scenario = pytest.mark.parametrize("file", shipped())


@each_scenario
def test_windows_give_the_traces_of_the_global_order_again_and_again(results: Results, file: str) -> None:
    for short, ran in results(file):
        assert ran.records > 0 and ran.late_frames == 0, short.name
        assert ran.windows == ran.global_order, short.name
        assert ran.windows == ran.again, short.name


@each_scenario
def test_another_seed_gives_other_traces(results: Results, file: str) -> None:
    for short, ran in results(file):
        assert (ran.other_seed == ran.windows) == (file in _NOT_RANDOM), short.name


@each_scenario
def test_each_scheme_acts_in_these_runs(results: Results, file: str) -> None:
    for short, ran in results(file):
        said = wanted(short) & happened(ran.counters)
        assert said == expected(short), f"{short.name}: {sorted(said)} in {ran.records} records"


@each_scenario
def test_labels_that_differ_run_differently(results: Results, file: str) -> None:
    """A congestion control has changed what is counted, anything else at least the trace."""
    for (a, one), (b, two) in combinations(results(file), 2):
        if any(fnmatch(file, f) and fnmatch(a.label, x) and fnmatch(b.label, y) for f, x, y, _ in _ALIKE):
            continue
        if a.congestion_control == b.congestion_control:
            assert one.windows != two.windows, f"{file}: {a.label} and {b.label}"
        else:
            assert one.counters != two.counters, f"{file}: {a.label} and {b.label}"
