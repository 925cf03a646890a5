"""RPCs in results: what summary.json says of them is what their two flows say, by workload and for the run."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from rocelab import metrics, results
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.model import RunOutcome
from rocelab.scenario import make_plans, parse_scenario, read_scenario
from rocelab.summary import run_summary

ROOT = Path(__file__).resolve().parents[2]
_STAR = 'transport = "roce+pfc"\n[topology]\nkind = "star"\nhosts = 5\nrate = "10Gb/s"\n[engine]\nlimit = "100ms"\n'
_OPEN = """
[[workload]]
name = "open"
kind = "rpc"
load = 0.3
duration = "3ms"
size = "2KB"
response_size = "30KB"
outstanding = 2
"""
_PINGERS = """
[[workload]]
name = "pingers"
kind = "rpc"
every = "20us"
duration = "3ms"
size = "64B"
"""
_OTHER = '[[workload]]\nname = "other"\nkind = "permutation"\nsize = "100KB"\n'


def _run(text: str) -> RunOutcome:
    (plan,) = make_plans(parse_scenario(_STAR + text, "t.toml"))
    return DesEngine().execute(plan)


@pytest.fixture(scope="module")
def outcome() -> RunOutcome:
    return _run(_OPEN + _PINGERS + _OTHER)


def _latencies(outcome: RunOutcome, group: str) -> list[float]:
    records = {r.id: r for r in outcome.flows}
    posted, placed = {}, {}
    for flow in outcome.plan.flows:
        if flow.group != group:
            continue
        if flow.step == 0:
            posted[flow.request] = records[flow.id].posted_ps or 0
        else:
            placed[flow.request] = records[flow.id].placed_ps or 0
    return sorted((placed[n] - posted[n]) / 1e12 for n in posted)


def test_latencies_are_from_the_request_to_the_response_of_each_rpc(outcome: RunOutcome) -> None:
    groups = {g["name"]: g for g in run_summary(outcome)["groups"]}
    for name in ("open", "pingers"):
        mine, group = _latencies(outcome, name), groups[name]
        assert group["rpcs"] == len(mine) > 100
        assert group["avg_rpc_s"] == pytest.approx(sum(mine) / len(mine))
        for key, share in (("median_rpc_s", 0.5), ("p99_rpc_s", 0.99), ("p999_rpc_s", 0.999)):
            assert group[key] == pytest.approx(mine[math.ceil(share * len(mine)) - 1])
    assert groups["pingers"]["median_rpc_s"] < groups["open"]["median_rpc_s"]


def test_of_a_run_rpcs_of_all_workloads_count(outcome: RunOutcome) -> None:
    run = run_summary(outcome)
    groups = {g["name"]: g for g in run["groups"]}
    assert run["rpcs"] == groups["open"]["rpcs"] + groups["pingers"]["rpcs"]
    offered = groups["open"]["rpc_offered_bps"] + groups["pingers"]["rpc_offered_bps"]
    assert run["rpc_offered_bps"] == pytest.approx(offered)
    assert 0.9 * offered < run["rpc_accepted_bps"] <= offered


def test_other_workloads_have_no_rpcs(outcome: RunOutcome) -> None:
    other = next(g for g in run_summary(outcome)["groups"] if g["name"] == "other")
    assert other["rpcs"] == 0
    for key in ("median_rpc_s", "rpc_accepted_bps", "avg_rpc_wait_s"):
        assert other[key] is None or math.isnan(other[key])


def test_a_bound_makes_requests_wait_and_takes_less_than_is_offered() -> None:
    text = _OPEN.replace("load = 0.3", "load = 0.9\noverload = true")
    free = run_summary(_run(text.replace("outstanding = 2", "")))["groups"][0]
    bound = run_summary(_run(text))["groups"][0]
    assert free["p99_rpc_wait_s"] < 1e-8 < 1e-5 < bound["p99_rpc_wait_s"]
    assert bound["p99_rpc_s"] < free["p99_rpc_s"], "what waits is not on its way"
    for group in (free, bound):
        assert group["rpc_accepted_bps"] < 0.95 * group["rpc_offered_bps"]


def test_tables_show_rpcs_where_there_are_any(tmp_path: Path) -> None:
    for text, there in ((_OPEN, True), (_OTHER, False)):
        folder = tmp_path / str(there)
        scenario = parse_scenario(_STAR + text, str(tmp_path / "t.toml"))
        result = results.run(scenario, out=folder, execute=DesEngine().execute)
        names = {metric.name for metric in metrics.shown_of(result.summary)}
        assert ({"median_rpc_s", "p99_rpc_s", "rpc_accepted_bps"} <= names) == there
        assert ("99.9th % RPC" in (folder / "report.html").read_text()) == there


def test_the_example_has_pingers_far_below_the_rpcs_beside_them() -> None:
    plans = make_plans(read_scenario(ROOT / "scenarios" / "rpc.toml"))
    groups = {g["name"]: g for g in run_summary(DesEngine().execute(plans[0]))["groups"]}
    assert set(groups) == {"open", "closed", "pingers"}
    assert 4e-6 < groups["pingers"]["median_rpc_s"] < groups["closed"]["median_rpc_s"]
    assert groups["closed"]["rpcs"] == 4 * 2 * 20


def test_a_closed_loop_says_what_does_not_belong_to_it() -> None:
    with pytest.raises(RocelabError, match="duration is of an open loop"):
        parse_scenario(_STAR + _OPEN.replace("load = 0.3", "requests = 5"), "t.toml")
