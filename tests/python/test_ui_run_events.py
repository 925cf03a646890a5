"""Events, causes of pauses and packets of a run, unpacked when a page asks for them: of every seed, once, and nothing of a damaged file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from rocelab import pauses, results, traces
from rocelab.errors import RocelabError
from rocelab.result import Result
from rocelab.ui import causes, flows, run_events
from rocelab.ui.database import opened

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def quick(folder: Path) -> Result:
    return results.run(
        ROOT / "scenarios/quick.toml", "des", overrides=("seeds=[1, 2, 3]",), out=folder / "quick"
    )


def test_other_seeds_have_moments_causes_and_packets_of_their_own(folder: Path, quick: Result) -> None:
    size = (folder / "quick/run.sqlite").stat().st_size
    firsts = set()
    for run, outcome in enumerate(quick.outcomes):
        with opened(folder, "quick", run) as db:
            moments = {m["what"]: m for m in causes.moments(db, run)}
            told = pauses.each(outcome)
            assert ("first pause" in moments) == bool(told) == (outcome.plan.label == "roce+pfc")
            if told:
                first = moments["first pause"]
                assert (first["port"], first["time_ps"]) == (told[0].port, told[0].begin_ps)
                (step,) = causes.chain(db, run, first["port"], first["time_ps"])["steps"]
                assert (step["by"], step["end_ps"]) == (told[0].by, told[0].end_ps)
            life = flows.life(db, run, 1, 100)
            assert life["arrived"]["psn"] and life["waits"] and life["slowest"] and life["filter"]
            firsts.add(moments["longest wait of a packet"]["time_ps"])
    assert len(firsts) > 4, "seeds differ"
    assert (folder / "quick/run.sqlite").stat().st_size == size


def test_a_runs_events_are_unpacked_once_and_again_for_another_result(
    folder: Path, quick: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    write = traces.write_tables
    monkeypatch.setattr(
        traces, "write_tables", lambda f, runs, into: (made.extend(runs), write(f, runs, into))
    )
    kept = run_events.RunEvents()
    (tmp_path / "run.sqlite").write_bytes((folder / "quick/run.sqlite").read_bytes())
    files = [kept.file(tmp_path / "run.sqlite", run) for run in (0, 1, 0)]
    assert made == [0, 1] and files[0] == files[2] != files[1]
    results.run(ROOT / "scenarios/quick.toml", "des", overrides=("seeds=[5]",), out=tmp_path)
    assert kept.file(tmp_path / "run.sqlite", 0) not in files and made == [0, 1, 0]
    monkeypatch.setattr(run_events, "_MOST_BYTES", 0)
    for run in (1, 2, 3):
        kept.file(tmp_path / "run.sqlite", run)
    assert not files[1].exists() and len(list(files[0].parent.glob("*.sqlite"))) == 4
    kept.close()
    assert not files[0].parent.exists()


def test_damaged_traces_are_a_line(folder: Path, quick: Result, tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/run.sqlite").write_bytes((folder / "quick/run.sqlite").read_bytes())
    with sqlite3.connect(tmp_path / "bad/run.sqlite") as db:
        db.execute("UPDATE traces SET data = x'00' WHERE run = 0")
    with pytest.raises(RocelabError, match="traces are damaged; run its scenario again"):
        with opened(tmp_path, "bad", 0):
            pass
    with opened(tmp_path, "bad", 1) as found:
        assert causes.moments(found, 1)
