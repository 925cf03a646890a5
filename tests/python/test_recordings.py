"""Of what several labels replay the original runs once, in a run and in a sweep, and what comes out is what comes out of a replay that runs its original itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rocelab import native, results
from rocelab.des.engine import DesEngine
from rocelab.errors import RocelabError
from rocelab.live.commands import keep
from rocelab.live.engine import create_segment
from rocelab.model import RunOutcome
from rocelab.recordings import Recordings
from rocelab.scenario import make_plans, plan_of, read_scenario
from rocelab.sweep.points import points_of
from rocelab.sweep.run import make_console, run_points
from rocelab.sweep.store import PointStore

SCENARIO = Path(__file__).resolve().parents[1] / "same" / "scenarios" / "lstf_replay.toml"
LABELS = ("roce,random", "roce,lstf", "roce,lstf-preempt", "roce,priorities", "roce,omniscient")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often a run of each label begins in this process."""
    counted: Counter[str] = Counter()
    made = native.runner.DesRun

    def count(plan: Any, *args: Any, **kwargs: Any) -> Any:
        counted[plan.settings["label"]] += 1
        return made(plan, *args, **kwargs)

    monkeypatch.setattr(native.runner, "DesRun", count)
    yield counted


def _hashes(outcomes: list[RunOutcome]) -> list[Any]:
    assert all(o.error is None for o in outcomes)
    return [o.node_digests for o in outcomes]


def test_a_run_runs_each_original_once(tmp_path: Path, runs: Counter[str]) -> None:
    result = results.run(SCENARIO, "des", out=tmp_path, overrides=("seeds=[1,2]",))
    assert result.complete and runs == {label: 2 for label in LABELS}
    alone = [DesEngine().execute(plan) for plan in make_plans(read_scenario(SCENARIO, ("seeds=[1,2]",)))]
    assert _hashes(list(result.outcomes)) == _hashes(alone), "whoever has run the original"
    overdue = {o.plan.label: sum(c["rx_overdue_packets"] for c in o.nic_counters.values()) for o in alone}
    assert overdue["roce,omniscient"] == 0 < overdue["roce,lstf"] < overdue["roce,priorities"]


def test_a_sweep_records_each_original_once_whichever_label_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PointStore(tmp_path)
    save = Recordings.save

    def note(self: Recordings, run: Any, original: Any) -> None:
        with (tmp_path / "recorded.log").open("a") as log:  # points run in processes of their own
            print(original.settings["label"], file=log)
        save(self, run, original)

    monkeypatch.setattr(Recordings, "save", note)
    _, points = points_of(SCENARIO)
    assert [p.replays for p in points] == [False, True, True, True, True]
    run_points(points[2:], store, make_console(), jobs=2)  # without the original's own point
    outcome = run_points(list(reversed(points)), store, make_console(), jobs=2)
    recorded = (tmp_path / "recorded.log").read_text().splitlines()
    assert not outcome.failed and outcome.reused == 3 and recorded == ["roce,random"] * 2, "once a sweep"
    assert not [*tmp_path.glob("*.schedule"), *tmp_path.glob("*.lock")]
    hashes = {p.label: store.run(p)["trace_hash"] for p in points}
    alone = results.run(SCENARIO, "des", out=tmp_path / "alone")
    assert hashes == {run["label"]: run["trace_hash"] for run in alone.summary["runs"]}


def test_a_schedule_of_another_run_is_refused(tmp_path: Path) -> None:
    scenario = read_scenario(SCENARIO)
    recordings = Recordings(tmp_path)
    replay = plan_of(scenario, "roce,lstf", 1)
    DesEngine(recordings=recordings).execute(replay)
    (mine,) = tmp_path.glob("*.schedule")
    other = recordings._path(plan_of(scenario, "roce,lstf", 2).native.original)
    mine.rename(other)
    with pytest.raises(RocelabError, match="it is the schedule of another run"):
        DesEngine(recordings=recordings).execute(plan_of(scenario, "roce,lstf", 2))


def test_the_live_engine_refuses_a_replay_without_its_recording_or_with_another_runs(tmp_path: Path) -> None:
    scenario = read_scenario(SCENARIO)
    replay = plan_of(scenario, "roce,lstf", 1)
    segment = tmp_path / "segment"
    with pytest.raises(RocelabError, match="the recorded schedule: No such file"):
        create_segment(replay, segment, "run-1")
    recorded = Recordings(tmp_path).of(replay.native)
    (file,) = tmp_path.glob("*.schedule")
    other = native.runner.ScheduleFile(str(file), "of another run")
    with pytest.raises(RocelabError, match="it is the schedule of another run"):
        create_segment(replay, segment, "run-1", schedule=other)
    assert not segment.exists()
    made = create_segment(replay, segment, "run-1", schedule=recorded)
    assert made.replay_problem("roce,random") == ""
    create_segment(plan_of(scenario, "roce,random", 1), tmp_path / "original", "run-1")


def test_programs_of_ones_own_replay_nothing() -> None:
    scenario = read_scenario(SCENARIO)
    with pytest.raises(
        RocelabError, match="roce,lstf replays the packets of another label .* use `./rocelab run`"
    ):
        keep(scenario, plan_of(scenario, "roce,lstf", 1))


def test_a_change_of_the_original_is_another_recording(tmp_path: Path) -> None:
    def path(*overrides: str) -> Path:
        plan = plan_of(read_scenario(SCENARIO, overrides), "roce,lstf", 1)
        return Recordings(tmp_path)._path(plan.native.original)

    assert path() == path() != path("topology.delay=3us")
