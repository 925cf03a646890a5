"""Collectives in results, pictures and files: what summary.json says of them adds up, and a schedule that is written and read again runs as before."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest
from rocelab import interchange, results
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError, UsageError
from rocelab.model import RunOutcome
from rocelab.report import steps, tables
from rocelab.scenario import make_plans, parse_scenario, read_scenario
from rocelab.summary import run_summary

ROOT = Path(__file__).resolve().parents[2]
_STAR = 'transport = "irn"\n[topology]\nkind = "star"\nhosts = 4\n[engine]\nlimit = "100ms"\n'
_RING = """
[[workload]]
name = "ring"
kind = "collective"
operation = "all-reduce"
size = "400KB"
iterations = 2
gap = "10us"
jitter = "0us"
"""


def _run(text: str, name: str = "t.toml") -> RunOutcome:
    (plan,) = make_plans(parse_scenario(_STAR + text, name))
    return DesEngine().execute(plan)


@pytest.fixture(scope="module")
def ring() -> RunOutcome:
    return _run(_RING)


def test_bandwidths_follow_from_size_and_completion(ring: RunOutcome) -> None:
    run = run_summary(ring)
    assert [c["iteration"] for c in run["collectives"]] == [0, 1]
    for c in run["collectives"]:
        assert (c["operation"], c["algorithm"], c["ranks"], c["size"]) == ("all-reduce", "ring", 4, 400_000)
        assert c["algbw_bps"] == pytest.approx(400_000 * 8 / c["completion_s"])
        assert c["busbw_bps"] == pytest.approx(1.5 * c["algbw_bps"])
        assert c["completion_s"] == pytest.approx(6 * c["step_avg_s"], rel=0.02)
        assert c["straggler"] in ("h1", "h2", "h3", "h4") and c["straggler_ratio"] >= 1
    assert run["collective_s"] == pytest.approx(fmean(c["completion_s"] for c in run["collectives"]))
    (group,) = run["groups"]
    assert len(group["steps"]) == 6 and group["requests"] == 2
    assert max(s["max_s"] for s in group["steps"]) == pytest.approx(run["step_max_s"])


def test_other_workloads_have_no_collectives() -> None:
    run = run_summary(_run('[[workload]]\nkind = "all-to-all"\nsize = "1KB"\n'))
    assert run["collectives"] == [] and run["groups"][0]["steps"] == []
    assert run["collective_s"] is None or run["collective_s"] != run["collective_s"]


def test_the_picture_has_a_bar_for_each_step_of_each_rank(ring: RunOutcome) -> None:
    found = steps.steps_of(ring)
    assert len(found) == 2 * 6 * 4
    for step in found:
        assert step.begin_ps < step.end_ps
    chart = steps.over_time([ring])
    assert chart is not None and chart.svg.startswith("<svg")
    assert steps.over_time([_run('[[workload]]\nkind = "all-to-all"\nsize = "1KB"\n')]) is None


def test_a_result_has_the_table_the_picture_and_the_columns(tmp_path: Path) -> None:
    scenario = parse_scenario(_STAR + _RING, str(tmp_path / "t.toml"))
    result = results.run(scenario, out=tmp_path / "out", execute=DesEngine().execute)
    (row,) = tables.collective_rows(result.summary, fmean)
    assert (row.workload, row.operation, row.ranks, row.number) == ("ring", "all-reduce, ring", 4, 2)
    assert "Steps of collectives" in (tmp_path / "out" / "report.html").read_text()
    assert sorted(set(result.flows["step"])) == [0, 1, 2, 3, 4, 5]
    assert sorted(set(result.flows["request"])) == [0, 1]
    assert result.plot.steps().svg.startswith("<svg")


def _times(outcome: RunOutcome) -> list[tuple[str, str, int | None, int | None]]:
    ends = {f.id: (f.src, f.dst) for f in outcome.plan.flows}
    return sorted((*ends[r.id], r.posted_ps, r.placed_ps) for r in outcome.flows)


@pytest.mark.parametrize(
    "change", ["", 'chunk = "30KB"\nstep_gap = "1us"\n', 'algorithm = "halving-doubling"\n']
)
def test_a_schedule_in_goal_runs_as_the_workload_that_it_was_written_of(tmp_path: Path, change: str) -> None:
    (tmp_path / "t.toml").write_text(_STAR + _RING + change)
    said: list[str] = []
    interchange.export(tmp_path / "t.toml", "goal", tmp_path, warn=said.append)
    assert said == []
    again = f'[[workload]]\nkind = "file"\ndialect = "goal"\nfile = "{tmp_path}/flow-seed1.goal"\nqueue_pairs = "persistent"\n'
    assert _times(_run(again)) == _times(_run(_RING + change))


def test_a_ring_as_a_connection_matrix_runs_as_the_workload_without_gaps(tmp_path: Path) -> None:
    ring = _RING.replace('gap = "10us"\n', "")
    (tmp_path / "t.toml").write_text(_STAR + ring)
    said: list[str] = []
    interchange.export(tmp_path / "t.toml", "htsim", tmp_path, warn=said.append)
    assert said == []
    again = f'[[workload]]\nkind = "file"\ndialect = "htsim"\nfile = "{tmp_path}/flow-seed1.cm"\nqueue_pairs = "persistent"\n'
    assert _times(_run(again)) == _times(_run(ring))


def test_what_a_file_cannot_say_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    interchange.export(
        ROOT / "scenarios" / "collectives.toml",
        "htsim",
        tmp_path,
        overrides=("transport=irn",),
        warn=said.append,
    )
    assert len(said) >= 2 and all(
        text.startswith("flow.cm has no form for, and leaves out, ") for text in said
    )
    with pytest.raises(UsageError, match="--epoch is not for --dialect goal"):
        interchange.export(ROOT / "scenarios" / "quick.toml", "goal", tmp_path, epoch_s=1.0)


def test_the_shipped_scenario_reads() -> None:
    plans = make_plans(read_scenario(ROOT / "scenarios" / "collectives.toml"))
    assert {p.label for p in plans} == {"roce+pfc,ring", "roce+pfc,halving", "irn,ring", "irn,halving"}
    with pytest.raises(RocelabError, match="queue_pairs must be .persistent."):
        _run(
            '[[workload]]\nkind = "collective"\noperation = "broadcast"\nsize = "1KB"\nqueue_pairs = "per-flow"\n'
        )
