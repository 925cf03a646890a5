"""Sweeps: what runs, what is kept, what becomes of points that fail, of ^C, of a full disk, and of a cluster."""

from __future__ import annotations

import errno
import faulthandler
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from rocelab import files, metrics, native, results
from rocelab.errors import RocelabError, UsageError
from rocelab.files import DiskFull
from rocelab.sweep import command, local, run, work
from rocelab.sweep.points import Point, parse_seeds, points_of
from rocelab.sweep.store import PointStore
from small_sweep import write

ROOT = Path(__file__).resolve().parents[2]
COMPARE = """
[[compare]]
of = "irn"
over = "roce+pfc"
paper = 0.5
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write(tmp_path, COMPARE)


def sweep(scenario: Path, out: Path, **options: Any) -> dict[str, Any]:
    arguments = {"seeds": None, "overrides": (), "cluster": None, "jobs": 2, **options}
    assert command.run_sweep(scenario, out=out, **arguments) == 0
    loaded: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return loaded


def quiet() -> Console:
    return Console(file=io.StringIO())


def test_a_sweep_gives_what_single_runs_give(scenario: Path, tmp_path: Path) -> None:
    swept = sweep(scenario, tmp_path / "out")
    direct = results.run(scenario, "des", out=tmp_path / "direct").summary
    assert [(r["label"], r["seed"]) for r in swept["runs"]] == [
        (label, seed) for label in ("irn", "roce+pfc") for seed in (1, 2)
    ]
    for mine, theirs in zip(swept["runs"], direct["runs"]):
        for metric in (
            "trace_hash",
            "flows",
            "avg_fct_s",
            "p99_fct_s",
            "avg_slowdown",
            "data_drops",
            "pfc_pause_frames",
        ):
            assert mine[metric] == theirs[metric], (mine["label"], metric)
    untraced = {m.name for m in metrics.table() if not m.from_traces}  # the points of a sweep have no traces
    both = [[a for a in s["aggregates"] if a["metric"] in untraced] for s in (swept, direct)]
    assert both[0] == both[1] and swept["comparisons"] == direct["comparisons"]
    fct = next(a for a in swept["aggregates"] if a["metric"] == "avg_fct_s")
    assert swept["complete"] and fct["n"] == 2 and fct["ci95"] > 0


def test_flows_of_a_point_add_up_to_its_metrics(scenario: Path, tmp_path: Path) -> None:
    run_entry = sweep(scenario, tmp_path / "out")["runs"][0]
    flows = np.load(tmp_path / "out" / run_entry["flows_file"])
    fct = (flows["placed_ps"] - flows["posted_ps"]) / 1e12
    assert fct.mean() == pytest.approx(run_entry["avg_fct_s"], rel=1e-12)
    slowdown = (flows["placed_ps"] - flows["posted_ps"]) / flows["alone_ps"]
    assert slowdown.mean() == pytest.approx(run_entry["avg_slowdown"], rel=1e-12)


def test_finished_points_are_not_run_again(scenario: Path, tmp_path: Path) -> None:
    sweep(scenario, tmp_path / "out")
    files = {f: f.stat().st_mtime_ns for f in (tmp_path / "out" / "points").iterdir()}
    swept = sweep(scenario, tmp_path / "out", seeds="1-3")
    assert len(swept["runs"]) == 6
    kept = {f: f.stat().st_mtime_ns for f in files}
    assert kept == files and len(list((tmp_path / "out" / "points").iterdir())) == len(files) + 4


def test_a_damaged_point_is_run_again(scenario: Path, tmp_path: Path) -> None:
    before = sweep(scenario, tmp_path / "out")["runs"][0]
    (tmp_path / "out" / before["flows_file"]).write_bytes(b"lost")
    after = sweep(scenario, tmp_path / "out")["runs"][0]
    assert after["avg_fct_s"] == before["avg_fct_s"]
    assert np.load(tmp_path / "out" / after["flows_file"])["id"].size == 20


def _crash_second(point: Point, report: Any, recordings: Any = None) -> work.PointResult:
    if point.label == "irn" and point.seed == 2:
        os.write(2, b"check failed: something\n")
        faulthandler.disable()
        os.abort()
    return work.execute(point, report)


def _complain(point: Point, report: Any, recordings: Any = None) -> work.PointResult:
    raise RocelabError("not finished after 1 s of experiment time")


def test_a_crash_is_one_points_failure(scenario: Path, tmp_path: Path) -> None:
    _, all_points = points_of(scenario)
    kept = PointStore(tmp_path / "points")
    ended: list[local.Ended] = []
    local.run_local(all_points, kept, 2, lambda _: None, ended.append, _crash_second)
    failed = [e for e in ended if e.error is not None]
    assert [(e.point.label, e.point.seed) for e in failed] == [("irn", 2)]
    assert failed[0].error == "ended by SIGABRT: check failed: something"
    assert sum(p in kept for p in all_points) == 3


def test_a_failed_point_is_reported_and_the_rest_kept(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "execute", _crash_second)
    with pytest.raises(
        RocelabError, match=r"1 of 4 points failed; the others are kept\nirn, seed 2: ended by"
    ):
        sweep(scenario, tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert not summary["complete"] and len(summary["runs"]) == 3 and summary["failed"][0]["seed"] == 2
    monkeypatch.setattr(run, "execute", _complain)
    with pytest.raises(RocelabError, match="not finished after 1 s"):
        sweep(scenario, tmp_path / "out")


def test_a_full_disk_ends_the_sweep_and_loses_nothing(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writing fails as on a full disk, from the second point on."""
    _, all_points = points_of(scenario)
    kept = PointStore(tmp_path / "points")
    run.run_points(all_points[:1], kept, quiet())

    def full(self: io.BufferedWriter, *_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(
        DiskFull, match="disk is full; 1 of 4 points are finished and kept .* repeat the command"
    ):
        run.run_points(all_points, kept, quiet(), jobs=1)
    monkeypatch.undo()
    assert not list(kept.folder.glob("*.part"))
    outcome = run.run_points(all_points, kept, quiet())
    assert outcome.reused == 1 and len(outcome.finished) == 4


def test_half_written_files_of_dead_writers_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for pid in (gone.pid, os.getpid()):
        (tmp_path / f"abc.json.{pid}.part").write_text("{")
    PointStore(tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == [f"abc.json.{os.getpid()}.part"]


def _patient(scenario: Path, out: Path) -> list[str]:
    """A sweep whose second label takes far longer than this test."""
    code = f"""
import sys, time
from pathlib import Path
from rocelab.sweep import command, run, work
def slow(point, report, recordings=None):
    while point.label != "irn":
        report(None)
        time.sleep(0.05)
    return work.execute(point, report)
run.execute = slow
try:
    command.run_sweep(Path({str(scenario)!r}), None, (), None, 2, Path({str(out)!r}))
except KeyboardInterrupt:
    sys.exit(130)
"""
    return [sys.executable, "-c", code]


def _descendants(pid: int) -> list[int]:
    return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _wait(condition: Any, what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_keeps_what_is_finished_and_leaves_no_process(
    scenario: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out = tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "emu")}
    process = subprocess.Popen(
        _patient(scenario, out), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        _wait(lambda: len(list((out / "points").glob("*.json"))) == 2, "two points should be there")
        _wait(lambda: len(_descendants(process.pid)) == 2, "two points should be under way")
        children = _descendants(process.pid)
        process.send_signal(how)
        said = process.communicate(timeout=30)[0]
    finally:
        process.kill()
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "2 of 4 points are finished and kept" in said and "repeat the command" in said
    _wait(lambda: not any(_alive(c) for c in children), "processes should have ended", 10)
    assert len(sweep(scenario, out)["runs"]) == 4


def test_an_interrupt_waits_until_a_process_that_is_being_started_is_known() -> None:
    known = []
    with pytest.raises(KeyboardInterrupt):
        with local._uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            known.append("started")
    assert known == ["started"]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_seeds_are_ranges_and_numbers() -> None:
    assert parse_seeds("1-3, 7") == (1, 2, 3, 7)
    for wrong in ("²", "", "a", "3-1", "1,1", "1-", "0-100000"):
        with pytest.raises(UsageError, match="--seeds"):
            parse_seeds(wrong)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The two commands of docs/tutorial/sweeps.md: a scheduler and two workers."""
    if shutil.which("dask-scheduler") is None:
        pytest.skip("python3-distributed is not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "emu"),
        "ROCELAB_BUILD": str(native.build_directory().resolve()),
    }
    file, log = tmp_path / "scheduler.json", (tmp_path / "dask.log").open("w")
    common: dict[str, Any] = {"env": environment, "stdout": log, "stderr": log, "cwd": tmp_path}
    scheduler = ["dask-scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    started = [subprocess.Popen([*scheduler, "--scheduler-file", str(file)], **common)]
    try:
        _wait(lambda: file.exists() and file.read_text().strip().endswith("}"), "a scheduler")
        address = json.loads(file.read_text())["address"]
        worker = ["dask-worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"]
        started.append(subprocess.Popen([*worker, "--local-directory", str(tmp_path)], **common))
        from distributed import Client

        with Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        yield str(address)
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(timeout=30)
        log.close()


def test_a_cluster_gives_what_the_cores_give(scenario: Path, tmp_path: Path, cluster: str) -> None:
    here = sweep(scenario, tmp_path / "here")
    there = sweep(scenario, tmp_path / "there", cluster=cluster)
    assert there["aggregates"] == here["aggregates"] and there["complete"]
    read, (point, *_) = points_of(scenario)
    failed = run.run_points(
        [Point(point.scenario, point.overrides, point.label, point.seed, "0" * 32)],
        PointStore(tmp_path / "other"),
        quiet(),
        cluster=cluster,
    ).failed
    assert "another build of rocelab" in str(failed[0].error)


def test_an_absent_scheduler_is_one_line() -> None:
    if shutil.which("dask-scheduler") is None:
        pytest.skip("python3-distributed is not installed")
    with pytest.raises(RocelabError, match="no Dask scheduler answers; start one with: dask-scheduler"):
        from rocelab.sweep import cluster

        cluster._CONNECT_S = 1
        cluster.run_cluster("tcp://127.0.0.1:9", [], PointStore(Path("/tmp")), lambda _: None, lambda _: None)
