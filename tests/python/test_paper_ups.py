"""The UPS chapter: its numbers, its scenarios, the setting's arithmetic, and short runs of what it says."""

from __future__ import annotations

import csv
import dataclasses
import functools
import itertools
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import synthetic
from first_seed import measured
from rocelab import frames
from rocelab.des.engine import DesEngine
from rocelab.model import FlowRecord, RunOutcome
from rocelab.paper import harness, ups_delay_statements, ups_measures, ups_statements
from rocelab.papers import ups
from rocelab.papers.ups import PAPER
from rocelab.scenario import plan_of, read_scenario
from rocelab.summary import run_summary
from rocelab.sweep.points import points_of
from rocelab.sweep.work import execute

FOLDER = harness.SCENARIOS / "ups"
_CORE = range(200, 210)  # nodes of the file


def test_every_scenario_of_the_folder_belongs_to_an_experiment() -> None:
    files = {f.stem for f in FOLDER.glob("*.toml")} - {"base", "tcp"}
    assert files == {e.name for e in PAPER.experiments}


def test_every_number_of_the_chapter_belongs_to_a_run() -> None:
    with ups.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = {e.name: read_scenario(e.file).labels for e in PAPER.experiments}
    for row in rows:
        assert f"roce,{row['case']}" in labels[row["experiment"]], row
        assert row["quantity"] in ups.NAMES
    assert len(rows) == 34


def test_loads_and_rates_of_the_claims_are_those_of_the_scenarios() -> None:
    for name in ("figure5.2", "table5.2"):
        labels = set(read_scenario(FOLDER / f"{name}.toml").labels)
        loads = (
            ups_statements.LOADS.values()
            if name == "figure5.2"
            else (ups_statements.LOADS["30 %"], ups_statements.LOADS["70 %"])
        )
        cases = (
            ("fifo", "srpt", "sjf", "lstf")
            if name == "figure5.2"
            else ("fifo", "fq", *(f"lstf-{r}" for r in ups_statements.RATES))
        )
        assert labels == {ups_statements.tcp(case, load) for case in cases for load in loads}
    labels = set(read_scenario(FOLDER / "figure5.3.toml").labels)
    assert labels == {
        f"roce,{case},load={v}" for case in ("fifo", "lstf") for v in ups_statements.UDP_LOADS.values()
    }


def made_up(name: str, label: str, rows: dict[str, list[tuple[int, ...]]]) -> RunOutcome:
    """A run of a scenario in which hosts have these records."""
    plan = plan_of(read_scenario(FOLDER / f"{name}.toml", ("workload.flows.duration=1ms",)), label, 1)
    events = {f"{host}.0": synthetic.records(mine) for host, mine in rows.items()}
    return RunOutcome(plan, events=events)


def test_ratios_of_queueing_delays_are_those_of_packets_that_waited_in_the_original() -> None:
    def slack(used_ns: int, left_ps: int) -> tuple[int, ...]:
        mark = int(left_ps < 0)
        return synthetic.record("slack", 5_000_000, peer=used_ns, bytes=abs(left_ps), mark=mark)

    rows = {
        "h1": [
            slack(250, 750_000),  # 0.25
            slack(0, 400_000),  # 0
            slack(0, 0),  # has waited in neither
            slack(30, -30_975),  # nor in the original: 30.975 ns are 30 in the record
            synthetic.record("placed", 6_000_000, bytes=1024),
        ],
        "h2": [slack(1_000, 0), slack(300, -100_000)],  # 1 and 1.5
        "h3": [],
    }
    found = ups_measures.queueing(made_up("table5.1", "roce,fifo-lstf", rows))
    assert found.values == {
        ("roce,fifo-lstf", "waits_less"): 0.5,
        ("roce,fifo-lstf", "median_ratio"): 0.625,
    }
    cdf = found.arrays["cdf"]
    steps = {0: 0.25, 25: 0.5, 100: 0.75, 150: 1.0}  # where it rises, in hundredths
    assert {int(i): cdf[i] for i in np.flatnonzero(np.diff(cdf, prepend=0))} == steps
    later = found.arrays["later"]  # of six packets one by 30.975 ns, one by 100 ns
    assert [later[np.searchsorted(ups_measures.LATENESS_US, us)] for us in (0.02, 0.05, 0.11)] == [
        2 / 6,
        1 / 6,
        0,
    ]
    for label in ("roce,fifo", "roce,random-priorities", "roce,sjf-preempt", "roce,random-sp-pifo-2"):
        assert not ups_measures.queueing(made_up("table5.1", label, rows)).values


def test_of_a_run_the_kinds_of_records_that_a_measure_reads_are_kept() -> None:
    plan = plan_of(read_scenario(harness.SCENARIOS / "lstf.toml"), "irn,first", 1)
    every, some = DesEngine().execute(plan), DesEngine(kinds=("slack",)).execute(plan)
    assert every.node_digests == some.node_digests
    kept = {
        source: records[records["kind"] == frames.KINDS.index("slack")]
        for source, records in every.events.items()
    }
    assert sum(len(records) for records in kept.values()) > 1000
    assert all(np.array_equal(some.events[source], records) for source, records in kept.items())
    assert getattr(ups_measures.queueing, "kinds") == ("slack",)
    columns = getattr(ups_measures.queueing, "columns")
    few = DesEngine(kinds=("slack",), columns=columns).execute(plan)
    for source, records in few.events.items():
        assert records.itemsize == 14 and records.dtype.names == columns
        assert all(np.array_equal(records[name], kept[source][name]) for name in columns)


def test_a_point_of_the_table_is_measured_with_the_columns_that_its_measure_reads() -> None:
    """Records without their other columns tell no metric of traces."""
    experiment = next(e for e in PAPER.experiments if e.name == "table5.1")
    (of_paper,) = [p for p in experiment.points(full=False) if p.label == "roce,sjf-lstf" and p.seed == 1]
    _, points = points_of(experiment.file, ("workload.flows.duration=10ms",), measure=of_paper.measure)
    (point,) = [p for p in points if p.label == of_paper.label]
    result = execute(point)
    assert of_paper.measure and result.run["complete"] and result.run["pfc_depth"] is None
    later = result.flows["found/later"]
    assert 0 < later[0] <= result.run["overdue"] and np.all(np.diff(later) <= 0)
    assert result.flows["found/cdf"][-1] == pytest.approx(1, abs=0.1)


def test_flows_with_weights_share_as_max_min_fairness_has_it(tmp_path: Path) -> None:
    claims = PAPER.claims(measured(PAPER, "figure5.6", tmp_path))
    assert len(claims) == 5 and all(c.holds for c in claims), [(c.text, dict(c.ours)) for c in claims]


def test_replays_of_figure_5_1_are_those_that_are_measured() -> None:
    labels = read_scenario(FOLDER / "table5.1.toml").labels
    measured_ones = {label for label in labels if label.endswith(ups_measures.REPLAY)}
    assert measured_ones == {
        ups_delay_statements.replay(original) for original in ups_delay_statements.ORIGINALS
    }


def test_round_trips_are_averaged_by_flow_and_then_by_byte() -> None:
    def rtt(qpn: int, at: int, ms: int) -> tuple[int, ...]:
        return synthetic.record("rtt", at, flow=qpn, bytes=ms * 1_000_000_000)

    # Flow 0 of 1000 bytes: 50 and 70 ms. Flow 1 of 3000: 40 ms, and two that were acknowledged together.
    rows = {
        "h1": [rtt(7, 100, 50), rtt(8, 100, 40), rtt(7, 200, 70), rtt(8, 300, 90), rtt(8, 300, 80)],
        "h2": [rtt(7, 100, 999)],  # of no flow's source
    }
    run = made_up("figure5.8", "iwarp,fifo", rows)
    sizes = {0: 1000, 1: 3000}
    plans = [
        dataclasses.replace(run.plan.flows[0], id=flow, src="h1", dst="h2", size=size)
        for flow, size in sizes.items()
    ]
    run = dataclasses.replace(
        run,
        plan=dataclasses.replace(run.plan, flows=tuple(plans)),
        flows=tuple(FlowRecord(flow, 0, 1, 1, src_qpn=7 + flow, dst_qpn=20 + flow) for flow in sizes),
    )
    assert ups_measures.round_trips(run).values == {
        ("iwarp,fifo", "rtt_per_byte"): pytest.approx((1000 * 0.060 + 3000 * 0.040) / 4000),
        ("iwarp,fifo", "rtt_with_gaps"): pytest.approx((1000 * 0.060 + 3000 * 0.070) / 4000),
    }


def test_taking_round_trips_changes_nothing() -> None:
    def hash_of(*overrides: str) -> object:
        return short("figure5.8", "iwarp,fq-edge", "workload.flows.duration=100ms", *overrides)["trace_hash"]

    assert hash_of() == hash_of("congestion_control.rtt_segment=0B")


def links(name: str) -> dict[tuple[int, int], float]:
    """Mb/s of the links between core switches."""
    found = {}
    for line in (FOLDER / name).read_text().splitlines()[2:]:
        a, b, rate, *_ = line.split()
        if int(a) in _CORE and int(b) in _CORE:
            found[int(a), int(b)] = float(rate.removesuffix("Mbps"))
    return found


@functools.cache
def _towards(edges: tuple[tuple[int, int], ...], nodes: tuple[int, ...], to: int) -> dict[int, int]:
    """The next node of a shortest path to `to`: the lowest neighbour that is nearer, as the authors' routing."""
    near = {n: sorted(x + y - n for x, y in edges if n in (x, y)) for n in nodes}
    distance, ring = {to: 0}, [to]
    while ring:
        found = []
        for n in ring:
            for m in near[n]:
                if m not in distance:
                    distance[m] = distance[n] + 1
                    found.append(m)
        ring = found
    return {n: next(m for m in near[n] if distance[m] == distance[n] - 1) for n in nodes if n != to}


def path(graph: Iterable[tuple[int, int]], a: int, b: int, nodes: Iterable[int] = _CORE) -> list[int]:
    towards = _towards(tuple(graph), tuple(nodes), b)
    way = [a]
    while way[-1] != b:
        way.append(towards[way[-1]])
    return way


def test_the_core_links_are_as_wide_as_the_pairs_that_are_routed_over_them() -> None:
    """So that each carries the same share: 1 Gb/s of each host, over nine other cores."""
    graph = links("internet2_1g_10g.txt")
    pairs: Counter[tuple[int, int]] = Counter()
    for a, b in itertools.permutations(_CORE, 2):
        nodes = path(graph, a, b)
        pairs.update(zip(nodes, nodes[1:]))
    for (a, b), rate in graph.items():
        assert pairs[a, b] * 10_000 / 9 == pytest.approx(rate, abs=1)
    hops = [len(path(graph, a, b)) - 1 for a, b in itertools.permutations(_CORE, 2)]
    assert 2 * (4 + 10 * np.mean(hops)) == pytest.approx(47.6, abs=0.05)  # ms, of a round trip
    assert {k: v / 10 for k, v in graph.items()} == pytest.approx(links("internet2_tenth.txt"), abs=0.06)


def rocketfuel(nodes: int = 83, links: int = 131, seed: int = 1) -> list[str]:
    """How rocketfuel.txt was drawn: well-connected switches attract links; each is as wide as the pairs that are routed over it, of 1 Gb/s to all others together."""
    rng = random.Random(seed)
    edges: set[tuple[int, int]] = set()
    ends = [0]
    for n in range(1, nodes):
        m = rng.choice(ends)
        edges.add((m, n))
        ends += [m, n]
    while len(edges) < links:
        a, b = rng.choice(ends), rng.choice(ends)
        if a != b:
            edges.add((min(a, b), max(a, b)))
    pairs: Counter[tuple[int, int]] = Counter()
    for a, b in itertools.permutations(range(nodes), 2):
        way = path(sorted(edges), a, b, range(nodes))
        pairs.update(zip(way, way[1:]))
    lines = [
        f"{3 * nodes} {2 * nodes} {2 * nodes + links}",
        " ".join(str(n) for n in range(nodes, 3 * nodes)),
    ]
    lines += [f"{n} {nodes + n} 10000Mbps 1ms 0" for n in range(nodes)]
    lines += [f"{nodes + n} {2 * nodes + n} 1000Mbps 1ms 0" for n in range(nodes)]
    for a, b in sorted(edges):
        mbps = -(-max(pairs[a, b], pairs[b, a]) * 1000 // (nodes - 1))
        lines.append(f"{2 * nodes + a} {2 * nodes + b} {mbps}Mbps {rng.randint(1, 10)}ms 0")
    return lines


def test_the_drawn_map_is_what_it_is_said_to_be() -> None:
    assert (FOLDER / "rocketfuel.txt").read_text().splitlines() == rocketfuel()


def short(name: str, label: str, *overrides: str) -> dict[str, float]:
    plan = plan_of(read_scenario(FOLDER / f"{name}.toml", overrides), label, 1)
    summary = run_summary(DesEngine(events=False).execute(plan))
    assert summary["complete"], summary["error"]
    return summary


def test_lstf_replays_better_than_priorities_and_best_with_preemption() -> None:
    """The engine itself holds every replay to equal departures, and to lateness = - slack of each packet."""
    overrides = ("workload.flows.duration=60ms",)
    late = {
        case: short("table5.1", f"roce,{case}", *overrides)
        for case in ("random-lstf", "random-priorities", "sjf-lstf", "sjf-preempt")
    }
    assert late["random-priorities"]["overdue_beyond"] > 20 * late["random-lstf"]["overdue_beyond"]
    assert late["sjf-lstf"]["overdue"] > 0.02
    assert late["sjf-preempt"]["overdue"] < 0.1 * late["sjf-lstf"]["overdue"]
    waited = [late["random-lstf"][f"waited_{n}"] for n in ("1", "2", "3", "more")]
    assert 0.5 < sum(waited) <= 1


@pytest.mark.parametrize("name", ["figure5.4", "figure5.5"])
def test_the_figures_of_fairness_hold(name: str, tmp_path: Path) -> None:
    claims = PAPER.claims(measured(PAPER, name, tmp_path))
    assert len(claims) == 2 and all(c.holds for c in claims), [(c.text, dict(c.ours)) for c in claims]


def test_marks_from_the_edge_shorten_flows() -> None:
    load = "0.3"
    marked = short("table5.4", f"irn+dctcp,edge,load={load}", "workload.flows.duration=2ms")
    assert marked["ecn_marks"] == 0  # of switches
    assert (
        marked["avg_fct_s"]
        < short("table5.4", f"irn+dctcp,none,load={load}", "workload.flows.duration=2ms")["avg_fct_s"]
    )
