"""What judges a run: summary, frames, database, and what remains when runs break off."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic
from rocelab import frames, results, runner, traces
from rocelab.errors import RocelabError
from rocelab.headline import headline
from rocelab.model import FidelityInputs, RunOutcome, RunPlan
from rocelab.result import Result
from rocelab.summary import fidelity

ROOT = Path(__file__).resolve().parents[2]
INCAST = ROOT / "scenarios" / "incast.toml"
QUICK = ROOT / "scenarios" / "quick.toml"

# docs/explanation/architecture.md: may grow, must not lose or rename.
RUN_FIELDS = """label parameters fidelity trace_hash seed flows completed goodput_bps avg_slowdown p99_slowdown avg_fct_s p99_fct_s rct_s drops
data_drops lossless_drops retransmitted_packets timeout_retransmissions spurious_retransmissions timeouts pfc_pause_frames pfc_paused_s ecn_marks
cnps wall_s cpu_s events delivered_data_packets max_rss_bytes""".split()
FIDELITY_FIELDS = (
    "verdict clock detaches violations late_p99_ns late_p999_ns socket_drops base_rtt_ns dilation".split()
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return results.run(INCAST, out=tmp_path_factory.mktemp("out"), execute=synthetic.outcome)


def test_summary_has_every_field_that_others_rely_on(result: Result) -> None:
    summary = json.loads((result.folder or Path()).joinpath("summary.json").read_text())
    for key in ("scenario", "engine", "seed", "version", "parameters", "runs", "aggregates", "comparisons"):
        assert key in summary
    assert len(summary["runs"]) == 20
    for run in summary["runs"]:
        assert set(RUN_FIELDS) <= set(run)
        assert set(FIDELITY_FIELDS) <= set(run["fidelity"])
    assert set(summary["aggregates"][0]) == {"label", "metric", "mean", "median", "ci95", "n"}
    assert {"of", "over", "metric", "ratio", "paper"} <= set(summary["comparisons"][0])


def test_parameters_stand_once_and_labels_show_their_own(result: Result) -> None:
    assert result.summary["parameters"]["topology.rate"] == '"40Gbps"'
    own = {r["label"]: r["parameters"] for r in result.summary["runs"]}
    assert own["irn+pfc"] == {"mode": '"irn"', "pfc": "true", "timers.timeouts": '"off"'}
    assert own["roce"] == {"mode": '"roce"', "pfc": "false", "timers.timeouts": '"on"'}


def test_aggregates_are_over_seeds(result: Result) -> None:
    values = [r["rct_s"] for r in result.summary["runs"] if r["label"] == "irn"]
    found = next(a for a in result.summary["aggregates"] if a["label"] == "irn" and a["metric"] == "rct_s")
    assert found["n"] == 5
    assert found["mean"] == pytest.approx(np.mean(values))
    assert found["ci95"] == pytest.approx(2.7764451 * np.std(values, ddof=1) / np.sqrt(5))


def test_comparison_is_the_ratio_of_means(result: Result) -> None:
    mean = {a["label"]: a["mean"] for a in result.summary["aggregates"] if a["metric"] == "rct_s"}
    found = next(c for c in result.summary["comparisons"] if c["metric"] == "rct_s")
    assert found["ratio"] == pytest.approx(mean["irn"] / mean["roce+pfc"])
    assert found["paper"] is None


def test_flows_know_their_losses(result: Result) -> None:
    flows = result.flows
    assert len(flows) == 160
    lossy = flows[(flows["label"] == "roce") & (flows["seed"] == 1)]
    run = result.summary["runs"][0]
    assert lossy["retransmitted"].sum() == run["retransmitted_packets"] > 0
    assert lossy["timeout_retransmitted"].sum() == run["timeout_retransmissions"] > 0
    assert lossy["data_drops"].sum() == run["data_drops"] > 0
    assert (flows[flows["label"] == "irn+pfc"][["data_drops", "retransmitted"]] == 0).all(axis=None)
    assert (flows["slowdown"] >= 1).all()


def test_database_answers_questions(result: Result) -> None:
    with sqlite3.connect((result.folder or Path()) / "run.sqlite") as db:
        assert db.execute("SELECT COUNT(*) FROM runs WHERE complete").fetchone() == (20,)
        assert db.execute("SELECT COUNT(*) FROM flows").fetchone() == (160,)
        types = db.execute(
            "SELECT DISTINCT typeof(posted_ps), typeof(placed_ps), typeof(fct_s), typeof(completed) FROM flows"
        ).fetchall()
        assert types == [("integer", "integer", "real", "integer")]
        peak, port = db.execute(
            "SELECT MAX(bytes), port FROM samples WHERE what = 'queue' AND run = 0"
        ).fetchone()
        assert 0 < peak <= 240_000 and port == "s1-eth9"
        traced = traces.outcome_of(db, 0).events["s1"]
        drops = int((traced["kind"] == frames.DROP).sum())
        assert drops == result.summary["runs"][0]["drops"]
        types = db.execute(
            "SELECT DISTINCT typeof(time_ps), typeof(tc), typeof(flow) FROM samples WHERE what = 'flow'"
        ).fetchall()
        assert types == [("integer", "null", "integer")]
        assert db.execute(
            "SELECT value FROM counters WHERE run = 0 AND unit = 's1-eth9' AND name = 'drops'"
        ).fetchone() == (drops,)


def test_same_outcomes_give_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        results.run(QUICK, out=tmp_path / name, execute=synthetic.outcome)
    for file in ("summary.json", "report.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_failed_runs_are_saved_and_marked(tmp_path: Path) -> None:
    def execute(plan: RunPlan) -> RunOutcome:
        return synthetic.outcome(plan, "h1: killed by signal 9" if plan.label == "irn" else None)

    result = results.run(QUICK, out=tmp_path, execute=execute)
    assert not result.complete
    assert result.errors() == ["irn, seed 1: h1: killed by signal 9"]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [r["complete"] for r in summary["runs"]] == [True, True, False, True]
    assert summary["runs"][2]["completed"] < summary["runs"][2]["flows"]
    irn = next(a for a in summary["aggregates"] if a["label"] == "irn" and a["metric"] == "rct_s")
    assert (irn["n"], irn["mean"]) == (0, None)


def breaking_off(after: int) -> Callable[[RunPlan], RunOutcome]:
    done: list[RunPlan] = []

    def execute(plan: RunPlan) -> RunOutcome:
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(plan)
        return synthetic.outcome(plan)

    return execute


def test_finished_runs_of_an_interrupted_scenario_are_saved(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        results.run(QUICK, out=tmp_path, execute=breaking_off(after=2))
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (len(summary["runs"]), summary["planned_runs"], summary["complete"]) == (2, 4, False)
    assert "2 of 4 runs did not start" in (tmp_path / "report.html").read_text()


def test_outcome_without_anything_is_still_a_result(tmp_path: Path) -> None:
    result = results.run(
        QUICK, out=tmp_path, execute=lambda plan: RunOutcome(plan, error="ovs-vswitchd ended")
    )
    assert [r["trace_hash"] for r in result.summary["runs"]] == [None] * 4
    assert result.flows["fct_s"].isna().all()
    assert "ovs-vswitchd ended" in (tmp_path / "report.html").read_text()


def test_scenario_without_workload_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bare.toml").write_text('transport = "irn"\n[topology]\nkind = "star"\nhosts = 2\n')
    with pytest.raises(RocelabError, match="no \\[\\[workload\\]\\]"):
        results.run(tmp_path / "bare.toml", out=tmp_path, execute=synthetic.outcome)


def test_a_detach_while_flows_run_is_not_exact() -> None:
    from rocelab.scenario import make_plans, read_scenario

    outcome = synthetic.outcome(make_plans(read_scenario(QUICK))[0])
    first = min(r.posted_ps for r in outcome.flows if r.posted_ps is not None)

    def verdict(**inputs: int) -> str:
        return str(fidelity(replace(outcome, fidelity=FidelityInputs(**inputs)))["verdict"])

    assert verdict() == "exact"
    assert verdict(detaches=1, first_detach_ps=first - 1, last_detach_ps=first - 1) == "exact"
    assert verdict(detaches=1, first_detach_ps=first, last_detach_ps=first) == "detached"
    assert verdict(late_frames=1) == "detached"


def test_the_table_has_rows_of_mechanisms_only_where_they_did_something(tmp_path: Path) -> None:
    def rows(scenario: Path, *overrides: str) -> list[str]:
        result = results.run(scenario, "des", overrides=overrides, out=tmp_path / scenario.stem)
        (table,) = runner.tables_of(headline(result.summary), "", 200)
        return [str(cell).strip() for cell in table.columns[0].cells]

    plain = rows(QUICK)
    assert "dropped (packets)" in plain and "CNPs (frames)" not in plain and "escaped (frames)" not in plain
    assert "CNPs (frames)" in rows(ROOT / "tests" / "same" / "scenarios" / "rocc.toml")
    ring = rows(ROOT / "scenarios" / "escape" / "ring_deadlock.toml", 'transport=["roce+pfc+escape"]')
    assert "escaped (frames)" in ring and "CNPs (frames)" not in ring
