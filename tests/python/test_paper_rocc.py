"""`./rocelab paper rocc`: that every number of the paper has its run, how numbers are judged, and that what settles is the paper's."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from rocelab.des.engine import DesEngine
from rocelab.errors import UsageError
from rocelab.model import Array, RunOutcome
from rocelab.paper import harness, rocc_figures
from rocelab.paper import rocc_measures as measures
from rocelab.paper import rocc_pauses as pauses
from rocelab.paper import rocc_traces as traces
from rocelab.paper.claims import NEAR, Claim, Values, number
from rocelab.paper.results import Results, mean_of
from rocelab.paper.rocc_statements import Means, statements, tails
from rocelab.papers import rocc
from rocelab.report import style
from rocelab.scenario import plan_of, read_scenario
from rocelab.summary import run_summary
from rocelab.sweep.points import Point


SCENARIOS = harness.SCENARIOS / "rocc"
LABEL = "roce+pfc+rocc,websearch"
_OTHERS = (", dcqcn", ", hpcc", ", bfc")  # cases of other schemes, whose numbers are findings


def test_every_number_has_an_experiment_and_every_scenario_one() -> None:
    with rocc.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    figures = {"unlimited"}  # curves and ratios, no numbers: rocc_statements.py
    assert {r["experiment"] for r in rows} | figures == set(measures.EXPERIMENTS)
    for source in (r["source"] for r in rows):
        assert source.startswith("RoCC journal, ") or (
            source.startswith("thesis ") and "page" in source
        ), source
    assert len({(r["experiment"], r["case"], r["quantity"]) for r in rows}) == len(rows)
    assert {f.stem for f in SCENARIOS.glob("*.toml")} - {"base", "recovery"} == set(measures.EXPERIMENTS)


def claim(quantity: str, paper: float, ours: float | None) -> Claim:
    rule = {"settles": rocc.SETTLES}.get(quantity, NEAR)
    return number("fairness", "N=2,40G", quantity, quantity, "", paper, ours, rule=rule)


def test_rates_are_judged_by_distance_and_times_by_their_bound() -> None:
    assert claim("fair_rate", 20, 21.9).holds and not claim("fair_rate", 20, 17.9).holds
    assert claim("settles", 2, 0.1).holds and not claim("settles", 2, 2.1).holds
    assert claim("fair_rate", 20, None).holds is None
    assert claim("settles", 2, None).holds is False, "it never settled"


def point(rates: list[float]) -> traces.Point:
    n = len(rates)
    return traces.Point("s1-eth1", np.arange(n) * 40e-6, np.array(rates), np.full(n, 150.0), np.ones(n))


def test_a_rate_has_settled_when_its_running_mean_stays_near_its_end() -> None:
    span = traces.Span(0.0, 200 * 40e-6, 2)
    found = traces.steady(point([1.0] * 50 + [20.0] * 150), span)
    assert found.rate_gbps == 20 and found.queue_kb == 150
    # With one period of 1 among its ten the mean is 18.1, within a tenth of 20; that window ends with period 58.
    assert found.settles_ms == pytest.approx(58 * 0.04)
    assert traces.steady(point([20.0] * 200), span).settles_ms == 0
    assert traces.steady(point([10.0, 30.0] * 50 + [20.0] * 80 + [90.0] * 20), span).settles_ms is None


def test_settled_rates_and_queues_are_the_papers(tmp_path: Path) -> None:
    only = "fairness,multi_bottleneck,asymmetric,testbed_dpdk_mix,testbed_p4_mix"
    assert harness.run("rocc", False, only, None, 0, tmp_path) == 0
    stem = f"report-{only.replace(',', '-')}"
    report = json.loads((tmp_path / f"{stem}.json").read_text())
    claims = [c for c in report["claims"] if "case" in c]
    assert len(claims) == 18 + 14 + 8 + 2 + 2
    assert all(c["numbers"]["ours"]["ours"] is not None for c in claims)
    of_rocc = [c for c in claims if not c["case"].endswith(_OTHERS)]
    for c in of_rocc:
        if c["quantity"] != "settles":
            assert c["holds"], c
            within = {"fair_rate": 0.03, "flow_rate": 0.05, "queue": 0.1}[c["quantity"]]
            assert c["numbers"]["ours"]["ours"] == pytest.approx(float(c["paper"]), rel=within), c
    assert sum(not c["holds"] for c in of_rocc) <= 4, "times at N = 2 and 10: docs/papers/rocc.md"
    for table in report["tables"]:
        for name, row in table["rows"].items():
            notes = {column: cell["ours"] for column, cell in zip(table["columns"], row)}
            assert notes["drops"] == 0, name
            if not name.endswith(_OTHERS):
                assert notes["CNPs"] == notes["taken in"] > 0, name
                assert 0 < notes["of the bytes, %"] < 5, name  # 100 flows at 40 Gb/s: 84 B each per T
            if table["experiment"] == "fairness":
                fair = next(c for c in claims if c["case"] == name and c["quantity"] == "fair_rate")
                share = float(fair["paper"])
                assert share * 0.97 < notes["least flow, Gb/s"] <= notes["most, Gb/s"] < share * 1.03, name
    page = (tmp_path / f"{stem}.html").read_text()
    assert page.count("<svg") == 5 + 5 and "figure 3.9a" in page


@pytest.mark.parametrize("flows", ["N=2", "N=10"])
def test_hosts_that_are_told_every_period_compute_what_the_switch_does(flows: str) -> None:
    """3.3.6, both forms: the same law from the same queue, so that what settles is the same."""
    scenario = read_scenario(SCENARIOS / "rate_at_host.toml", ())
    found = {}
    for computation in ("switch", "host", "host-registry"):
        label = f"roce+pfc+rocc,{flows},rate_computation={computation},flow_table=age"
        outcome = DesEngine().execute(plan_of(scenario, label, 1))
        assert outcome.error is None
        counters = outcome.nic_counters.values()
        assert sum(c["rp_fair_rates_refused"] + c["rp_fair_rates_unknown_flow"] for c in counters) == 0
        found[computation] = measures.EXPERIMENTS["rate_at_host"](outcome)
    for computation, measured in found.items():
        case = f"{flows}, {computation}, age"
        fair = 40 / int(flows.removeprefix("N="))
        assert measured.values[case, "fair_rate"] == pytest.approx(fair, rel=0.05)
        assert measured.values[case, "queue"] == pytest.approx(150, rel=0.05)
    both = [found[c].notes[f"{flows}, {c}, age"]["cnps"] for c in ("host", "host-registry")]
    assert both[0] == pytest.approx(both[1], rel=0.02), "90 bytes in place of 60"


def test_hosts_that_hear_nothing_of_an_empty_queue_do_not_settle() -> None:
    """docs/papers/rocc.md: why `flow_table` is "age" by default where hosts compute."""
    scenario = read_scenario(SCENARIOS / "rate_at_host.toml", ())
    label = "roce+pfc+rocc,N=2,rate_computation=host,flow_table=queue"
    measured = measures.EXPERIMENTS["rate_at_host"](DesEngine().execute(plan_of(scenario, label, 1)))
    assert measured.values["N=2, host, queue", "settles"] is None
    assert (measured.values["N=2, host, queue", "queue"] or 0.0) < 50


def test_fast_recovery_must_not_be_faster_than_feedback() -> None:
    """scenarios/rocc/recovery.toml: no paper has a number for its period (docs/papers/rocc.md)."""
    scenario = read_scenario(SCENARIOS / "recovery.toml", ())
    queues = []
    for label in scenario.labels[:3]:
        outcome = DesEngine().execute(plan_of(scenario, label, 1))
        assert outcome.error is None
        ten = traces.spans(outcome, 1e-3)[0]
        assert ten.flows == 10
        queues.append(traces.steady(traces.point_of(outcome, traces.bottleneck(outcome)), ten).queue_kb)
    assert queues[0] < 130, "half of T"
    assert queues[1:] == pytest.approx([150, 150], rel=0.02), "T and 2 T"


def test_completion_times_are_split_by_size_and_averaged_over_seeds() -> None:
    scenario = read_scenario(SCENARIOS / "fct.toml", ('workload.flows.duration="300us"',))
    label = next(one for one in scenario.labels if one.endswith("+rocc,hadoop-50"))
    found = measures.by_size(DesEngine().execute(plan_of(scenario, label, 1)))
    plan = plan_of(scenario, label, 1)
    assert sum(v for k, v in found.items() if k.startswith("flows ")) == len(plan.flows) > 50
    assert 0 < found["mean_fct_ms to 10KB"] < found["mean_fct_ms to 1MB"]
    for name, _, _ in measures.SIZES[:2]:
        assert found[f"mean_fct_ms {name}"] <= found[f"p99_fct_ms {name}"]
    assert mean_of([1.0, 3.0]) == 2 and mean_of([1.0, None]) is None


def test_rates_that_sources_are_told_count_once_for_each_flow_that_is() -> None:
    """Of connections that live on: as many as congestion points sent CNPs."""
    scenario = read_scenario(SCENARIOS / "allowed.toml", ('workload.flows.duration="300us"',))
    outcome = DesEngine().execute(plan_of(scenario, "roce+pfc+rocc", 1))
    assert outcome.error is None and len({(f.src, f.dst) for f in outcome.plan.flows}) == 300
    rates, flows = traces.told_mbps(outcome, 0.0, outcome.end_ps / 1e12 + 1)
    assert flows.sum() == sum(c.get("rocc_cnps", 0) for c in outcome.port_counters.values()) > 300
    assert 0 < rates.min() < 1_000 and rates.max() <= 100_000
    early, late = (traces.told_mbps(outcome, *span)[1].sum() for span in ((0.0, 150e-6), (150e-6, 1.0)))
    assert early + late == flows.sum() and early > 0 and late > 0


def test_spreads_are_weighted() -> None:
    found = traces.spread_of(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    assert (found.mean, found.deviation) == pytest.approx((2.0, 2.0**0.5))


def test_tails_are_held_against_the_journals_range_size_by_size() -> None:
    notes = {
        "hadoop, dcqcn": {"p99_fct_ms a": 2.0, "p99_fct_ms b": 21.0, "mean_fct_ms a": 9.0},
        "hadoop, rocc": {"p99_fct_ms a": 1.0, "p99_fct_ms b": 3.0, "mean_fct_ms a": 1.0},
    }
    found = tails(Means({}, notes))
    assert found == {("hadoop, dcqcn", "least_tail"): 2.0, ("hadoop, dcqcn", "most_tail"): 7.0}


def test_unknown_experiments_are_named() -> None:
    with pytest.raises(UsageError, match="did you mean fairness"):
        rocc.PAPER.chosen("fairnes")
    with pytest.raises(UsageError, match="empty"):
        rocc.PAPER.chosen(" , ")


def completions(case: str, times: dict[str, dict[str, float]]) -> Means:
    notes = {
        f"{case}, {scheme}": {"pfc_pause_frames": 0.0, "longest_queue_kb": 100.0}
        | {f"activations {tier}": 0.0 for tier in pauses.TIERS}
        | {f"mean_fct_ms {size}": ms for size, ms in sizes.items()}
        for scheme, sizes in times.items()
    }
    values: Values = {(name, "p99_fct"): 1.0 for name in notes}
    return Means(values, notes)


def test_without_pfc_each_scheme_is_held_against_its_own_times_with_it() -> None:
    """Figure 3.15, not against RoCC's."""
    limited = completions("hadoop", {s: {"a": 1.0, "b": 10.0} for s in ("dcqcn", "hpcc", "rocc")})
    unlimited = completions(
        "hadoop",
        {"dcqcn": {"a": 2.0, "b": 10.0}, "hpcc": {"a": 0.5, "b": 9.0}, "rocc": {"a": 1.05, "b": 9.0}},
    )
    found = {s.text.partition("'")[0]: s for s in statements({"fct": limited, "unlimited": unlimited})}
    assert found["hadoop: dcqcn"].ours == {"a": 2.0, "b": 1.0} and found["hadoop: dcqcn"].holds
    assert found["hadoop: hpcc"].ours == {"a": 0.5, "b": 0.9} and not found["hadoop: hpcc"].holds
    assert found["hadoop: rocc"].holds
    assert all("own" not in s.text for s in statements({"unlimited": unlimited})), "there is nothing to hold"


def test_pauses_are_counted_by_tier_and_segment() -> None:
    """Figure 3.14b: of records of switches, those with which a pause begins."""
    plan = plan_of(read_scenario(SCENARIOS / "fct.toml", ('workload.flows.duration="100us"',)), LABEL, 1)
    ends = {"leaf1": "ingress", "leaf2": "ingress", "leaf3": "egress"}
    assert pauses.tier_of(plan) == {**{f"spine{n}": "core" for n in range(1, 7)}, **ends}
    us = 1_000_000
    begins = {
        "leaf1": [0, 99 * us],
        "leaf2": [us],
        "spine4": [2 * us, 3 * us],
        "leaf3": [98 * us, 100 * us, 400 * us],
    }
    others = [synthetic.record(kind, 50 * us, mark=3) for kind in ("xon", "paused", "resumed", "mark")]
    events = {
        switch: synthetic.records([*others, *(synthetic.record("xoff", t, mark=3, port=1) for t in times)])
        for switch, times in begins.items()
    } | {"h1.0": synthetic.records([synthetic.record("xoff", us, mark=3)])}
    found = pauses.activations(RunOutcome(plan, events=events), 100e-6)
    filled = {
        tier: {int(i): int(counts[i]) for i in np.flatnonzero(counts)} for tier, counts in found.items()
    }
    assert filled == {"ingress": {0: 2, 49: 1}, "core": {1: 2}, "egress": {49: 1, 50: 2}}, "50: later"
    assert pauses.notes(found) == {
        **{"activations ingress": 3, "activations core": 2, "activations egress": 3},
        "activations later": 2,
    }
    arrays = pauses.arrays("websearch", "rocc", found, 100e-6)
    assert arrays["websearch|rocc|activations"].sum(axis=1).tolist() == [3, 2, 1]
    assert arrays["websearch|rocc|activations"].shape == (len(pauses.TIERS), pauses.SEGMENTS)
    assert sum(a.nbytes for a in arrays.values()) < 1_000


def test_refreshes_of_a_pause_are_no_activations() -> None:
    """A short pause time, so that an XOFF that still holds is sent again and again; with the default the frames are the activations."""
    frames_of_each = {}
    for quanta in (65535, 100):
        changes = ('workload.flows.size="10KB"', f"switch.pfc.quanta={quanta}")
        outcome = DesEngine().execute(
            plan_of(read_scenario(SCENARIOS / "rates.toml", changes), "roce+pfc+dcqcn", 1)
        )
        notes = pauses.notes(pauses.activations(outcome, outcome.end_ps / 1e12))
        total = sum(notes[f"activations {tier}"] for tier in pauses.TIERS)
        assert total > 100 and notes["activations later"] == 0
        frames_of_each[quanta] = run_summary(outcome)["pfc_pause_frames"] / total
    assert frames_of_each[65535] == pytest.approx(1, abs=0.1)
    assert frames_of_each[100] > 2


def test_completion_times_come_with_pauses_by_tier() -> None:
    """Of a run at 140 % of the core's links, in which a core switch pauses."""
    overload = ("workload.flows.load=0.35", "workload.flows.overload=true", 'workload.flows.duration="600us"')
    scenario = read_scenario(SCENARIOS / "fct.toml", overload)
    measured = measures.EXPERIMENTS["fct"](DesEngine().execute(plan_of(scenario, "roce+pfc+rocc,hadoop", 1)))
    notes = measured.notes["hadoop, rocc"]
    total = sum(notes[f"activations {tier}"] for tier in pauses.TIERS)
    segments = measured.found().arrays["hadoop|rocc|activations"]
    assert total == segments.sum() + notes["activations later"] > 0
    assert total == pytest.approx(notes["pfc_pause_frames"], rel=0.1)


def test_runs_without_pfc_have_no_activations() -> None:
    for name, label in (("fct", "roce+bfc,hadoop-50"), ("unlimited", "roce+rocc,hadoop")):
        scenario = read_scenario(SCENARIOS / f"{name}.toml", ('workload.flows.duration="100us"',))
        measured = measures.EXPERIMENTS[name](DesEngine().execute(plan_of(scenario, label, 1)))
        (notes,) = measured.notes.values()
        assert not measured.found().arrays and not any("activations" in key for key in notes)


class Kept:
    """A store of what measures kept for figures, by label and seed."""

    def __init__(self, arrays: dict[tuple[str, int], dict[str, Array]]) -> None:
        self._arrays = arrays

    def __contains__(self, point: Point) -> bool:
        return (point.label, point.seed) in self._arrays

    def run(self, point: Point) -> dict[str, object]:
        return {}

    def flows(self, point: Point) -> dict[str, Array]:
        return {}

    def arrays(self, point: Point) -> dict[str, Array]:
        return self._arrays[point.label, point.seed]


def kept(label: str, core: dict[int, list[int]]) -> dict[tuple[str, int], dict[str, Array]]:
    """Of each seed, activations of the core in the first segments."""
    found = {}
    for seed, counts in core.items():
        of = {tier: np.zeros(pauses.SEGMENTS + 1, dtype=np.int32) for tier in pauses.TIERS}
        of["core"][: len(counts)] = counts
        case, _, scheme = label.partition(",")
        found[label, seed] = pauses.arrays(case, scheme, of, 3e-3)
    return found


def test_the_report_draws_pauses_of_each_tier_for_each_workload() -> None:
    runs = kept("websearch,dcqcn", {1: [4, 0], 2: [2, 6]}) | kept("websearch,rocc", {1: [0], 2: [1]})
    runs |= kept("hadoop,rocc", {1: [0]})
    points = [Point("", (), label, seed, f"{label} {seed}") for label, seed in runs]
    results = Results({"fct": [*points, Point("", (), "hadoop,rocc", 9, "absent")]}, Kept(runs))
    means = rocc_figures.means(results, "fct")
    core = pauses.TIERS.index("core")
    assert means["websearch"]["dcqcn"]["activations"][core, :3].tolist() == [3, 3, 0], "of both seeds"
    assert means["websearch"]["rocc"]["activations"].sum() == 0.5
    with style.looks():
        (figure,) = rocc_figures.figures(results)
    assert "figure 3.14b" in figure.title and figure.note.endswith("None in hadoop.")
    for words in (
        "websearch: ingress edge switches",
        "websearch: core switches",
        "websearch: egress edge switch",
    ):
        assert figure.svg.count(f">{words}<") == 1
    assert ">dcqcn<" in figure.svg and ">rocc<" in figure.svg and "hadoop:" not in figure.svg
    assert not rocc_figures.figures(Results({"fct": [points[-1]]}, Kept(runs))), "nobody paused"


@pytest.mark.parametrize("rocc_pauses,holds", [(3.0, True), (12.0, False)])
def test_pauses_of_all_tiers_are_held_against_dcqcns(rocc_pauses: float, holds: bool) -> None:
    """Figure 3.14b, after the text: many with DCQCN, few with HPCC and RoCC."""
    made = completions("hadoop", {s: {"a": 1.0} for s in ("dcqcn", "hpcc", "rocc")})
    made.notes["hadoop, dcqcn"] |= {"activations ingress": 5.0, "activations core": 5.0}
    made.notes["hadoop, rocc"] |= {"activations egress": rocc_pauses}
    (found,) = (c for c in statements({"fct": made}) if c.source == "figure 3.14b")
    assert found.holds is holds
    assert found.ours["dcqcn, core"] == 5 and found.ours["rocc, egress"] == rocc_pauses


def test_a_part_of_an_experiments_runs_makes_no_statement_about_all(tmp_path: Path) -> None:
    options: dict[str, Any] = {"cluster": None, "jobs": 2, "out": tmp_path, "seeds": "1", "where": "rocc"}
    assert harness.run("rocc", False, "comparison", **options) == 0
    (report,) = tmp_path.glob("report-*.json")
    claims = json.loads(report.read_text())["claims"]
    assert {c["text"] for c in claims if c["verdict"] == "holds"} == {"rocc: queue", "rocc: rate per flow"}
    assert not any("PI controller" in c["text"] for c in claims)
