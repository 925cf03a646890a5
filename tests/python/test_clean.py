"""emu/rocelab/clean.py: what is ended and removed, and above all what is not."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocelab import scratch
from rocelab.clean import RUN_VARIABLE, LeftAlone, Places, Removed, RunDirectory, all_runs, clean
from rocelab.errors import RocelabError
from rocelab.processes import ProcessId, network_namespace

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(tmp_path / "shm", tmp_path / "tmp", tmp_path / "netns")
    for folder in (made.shm, made.tmp, made.namespaces):
        folder.mkdir()
    return made


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(SLEEP)
    yield process
    process.kill()
    process.wait()


def dead_runner(run: RunDirectory) -> None:
    """Makes `run` look as if its runner had been killed: the same pid, another start time."""
    lines = (run.shm / "pids").read_text().splitlines()
    pid, start, role = lines[0].split()
    assert role == "runner"
    (run.shm / "pids").write_text("\n".join([f"{pid} {int(start) - 1} runner", *lines[1:]]) + "\n")


def test_a_killed_run_loses_its_processes_and_folders(
    places: Places, sleeper: subprocess.Popen[bytes]
) -> None:
    run = RunDirectory.create(places=places)
    run.record_pid(sleeper.pid, "ovs-vswitchd")
    (run.tmp / "db.sock").touch()
    dead_runner(run)
    assert clean(places=places) == [Removed(run.run_id, 1, (), ())]
    assert sleeper.wait(timeout=5) == -9
    assert not run.shm.exists() and not run.tmp.exists()


def test_a_process_that_ends_while_it_is_recorded_is_no_error(
    places: Places, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two looks at it; its line stays, and is nobody's."""
    run = RunDirectory.create(places=places)
    seen = ProcessId.of

    def ends_after_the_first_look(pid: int) -> ProcessId | None:
        found = seen(pid)
        sleeper.kill()
        sleeper.wait()
        return found

    monkeypatch.setattr(ProcessId, "of", ends_after_the_first_look)
    run.record_pid(sleeper.pid, "gateway")
    assert (run.shm / "pids").read_text().splitlines()[1].endswith(" gateway")
    assert not run.processes("gateway")


def test_a_stopped_process_is_ended_too(places: Places, sleeper: subprocess.Popen[bytes]) -> None:
    run = RunDirectory.create(places=places)
    run.record_pid(sleeper.pid, "program")
    sleeper.send_signal(19)
    dead_runner(run)
    clean(places=places)
    assert sleeper.wait(timeout=5) == -9


def test_a_pid_that_belongs_to_somebody_else_now_is_spared(
    places: Places, sleeper: subprocess.Popen[bytes]
) -> None:
    run = RunDirectory.create(places=places)
    process = ProcessId.of(sleeper.pid)
    assert process is not None
    with (run.shm / "pids").open("a") as file:
        file.write(f"{process.pid} {process.starttime + 1} ovs-vswitchd\n")
    dead_runner(run)
    assert clean(places=places) == [Removed(run.run_id, 0, (), ())]
    assert process.alive()


def test_a_live_run_is_left_alone(places: Places, sleeper: subprocess.Popen[bytes]) -> None:
    run = RunDirectory.create(places=places)
    run.record_pid(sleeper.pid, "program")
    (result,) = clean(places=places)
    assert isinstance(result, LeftAlone) and f"clean --all {run.run_id} ends it" in result.reason
    assert run.shm.exists() and run.tmp.exists() and sleeper.poll() is None


def test_all_asks_a_live_runner_to_end_before_it_is_killed(places: Places, tmp_path: Path) -> None:
    run = RunDirectory.create(places=places)
    code = (
        "import signal,sys,time; signal.signal(15, lambda *_: (open(sys.argv[1], 'w').close(), sys.exit())); "
    )
    witness = tmp_path / "ended"
    runner = subprocess.Popen(
        [sys.executable, "-c", code + "print(flush=True); time.sleep(60)", str(witness)],
        stdout=subprocess.PIPE,
    )
    assert runner.stdout is not None and runner.stdout.readline()
    dead_runner(run)
    run.record_pid(runner.pid, "runner")
    assert isinstance(clean(places=places)[0], LeftAlone)
    assert isinstance(clean(everything=True, places=places)[0], Removed)
    assert runner.wait(timeout=5) == 0 and witness.exists()
    runner.stdout.close()


def test_only_the_named_runs_are_cleaned(places: Places) -> None:
    runs = [RunDirectory.create(places=places) for _ in range(3)]
    for run in runs:
        dead_runner(run)
    clean(only=[runs[1].run_id], places=places)
    assert {run.run_id for run in all_runs(places)} == {runs[0].run_id, runs[2].run_id}


def test_half_of_a_run_is_removed_as_well(places: Places) -> None:
    run = RunDirectory.create(places=places)
    for path in run.shm.iterdir():
        path.unlink()
    run.shm.rmdir()
    assert clean(places=places) == [Removed(run.run_id, 0, (), ())]
    assert not run.tmp.exists()


def test_foreign_names_are_not_touched(places: Places) -> None:
    for name in ("rocelab.notes", "rocelab.ABC123", "other.abcdef", "rocelab."):
        (places.tmp / name).mkdir()
    assert clean(everything=True, places=places) == []
    assert len(list(places.tmp.iterdir())) == 4


def test_a_link_in_place_of_a_folder_is_not_followed(places: Places, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    (places.tmp / "rocelab.abc123").symlink_to(precious)
    assert isinstance(clean(everything=True, places=places)[0], LeftAlone)
    assert (precious / "file").exists()


@needs_root
def test_records_of_another_user_are_not_obeyed(places: Places, sleeper: subprocess.Popen[bytes]) -> None:
    run = RunDirectory.create(places=places)
    run.record_pid(sleeper.pid, "program")
    dead_runner(run)
    os.chown(run.shm, 12345, -1)
    assert clean(everything=True, places=places) == [LeftAlone(run.run_id, "belongs to another user")]
    assert sleeper.poll() is None


def test_broken_records_are_ignored(places: Places) -> None:
    run = RunDirectory.create(places=places)
    (run.shm / "pids").write_bytes(b"\xff\xfe\nabc\n1\n-1 -1 runner\n1 0 runner\n99999999999 1 runner\n")
    assert clean(places=places) == [Removed(run.run_id, 0, (), ())]


def test_a_busy_run_id_is_one_clear_error_and_harms_nobody(places: Places) -> None:
    run = RunDirectory.create("abc123", places)
    with pytest.raises(RocelabError, match="abc123.*./rocelab clean"):
        RunDirectory.create("abc123", places)
    assert run.alive() and run.tmp.exists()
    assert sorted(path.name for path in places.shm.iterdir()) == ["rocelab.abc123"]


def test_a_run_whose_second_folder_is_taken_leaves_no_first_one(places: Places) -> None:
    (places.tmp / "rocelab.abc123").mkdir()
    with pytest.raises(RocelabError):
        RunDirectory.create("abc123", places)
    assert list(places.shm.iterdir()) == []


def test_interface_names_fit_the_kernel_and_carry_the_run(places: Places) -> None:
    run = RunDirectory.create("abc123", places)
    assert run.interface_name("s12e64") == "rlabc123s12e64"
    with pytest.raises(RocelabError, match="too long"):
        run.interface_name("switch12e64")
    with pytest.raises(ValueError):
        run.record_interface("eth0")


@needs_root
def test_interfaces_of_a_killed_run_go(places: Places) -> None:
    run = RunDirectory.create(places=places)
    names = [run.interface_name(name) for name in ("a", "b", "c", "d")]
    for left, right in (names[:2], names[2:]):
        subprocess.run(["ip", "link", "add", left, "type", "veth", "peer", "name", right], check=True)
    run.record_interface(names[0])
    dead_runner(run)
    (result,) = clean(places=places)
    assert isinstance(result, Removed) and len(result.interfaces) >= 2
    assert not any(Path("/sys/class/net", name).exists() for name in names)


@needs_root
def test_orphans_in_a_namespace_of_the_run_are_ended_and_strangers_there_are_not(places: Places) -> None:
    run = RunDirectory.create(places=places)
    shell = subprocess.Popen(["unshare", "--net", *SLEEP])
    try:
        while network_namespace(shell.pid) == network_namespace(os.getpid()):
            time.sleep(0.01)
        run.record_pid(shell.pid, "host h1")
        inside = ["nsenter", f"--net=/proc/{shell.pid}/ns/net", *SLEEP]
        orphan = subprocess.Popen(inside, env={**os.environ, RUN_VARIABLE: run.run_id})
        stranger = subprocess.Popen(inside)
        outside = subprocess.Popen(SLEEP, env={**os.environ, RUN_VARIABLE: run.run_id})
        while any(network_namespace(p.pid) != network_namespace(shell.pid) for p in (orphan, stranger)):
            time.sleep(0.01)
        dead_runner(run)
        assert clean(places=places) == [Removed(run.run_id, 2, (), ())]
        assert shell.wait(timeout=5) == -9 and orphan.wait(timeout=5) == -9
        assert stranger.poll() is None and outside.poll() is None
    finally:
        for process in (shell, orphan, stranger, outside):
            process.kill()
            process.wait()


def test_leftovers_of_killed_virtual_time_runs_are_removed_and_folders_in_use_stay(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(places.tmp))
    left, fresh = places.tmp / "rocelab.des.left", places.tmp / "rocelab.des.fresh"
    for folder in (left, fresh):
        folder.mkdir()
        (folder / "s1.events").touch()
    (places.tmp / "rocelab.des.link").symlink_to(places.shm)
    with scratch.scratch_folder() as used:
        for folder in (left, used):
            os.utime(folder, (0, 0))
        clean(places=places)
        assert sorted(path.name for path in places.tmp.iterdir()) == sorted(
            ["rocelab.des.fresh", "rocelab.des.link", used.name]
        )
    assert not used.exists() and places.shm.exists()


def test_files_of_killed_programs_on_interfaces_are_removed_and_those_in_use_stay(places: Places) -> None:
    left, used, fresh = (
        places.shm / f"rocelab-interface-4026531840-{name}" for name in ("2", "3", "4.rings")
    )
    for path in (left, used, fresh):
        path.touch()
    files = places.shm / "rocelab-sysfs-4026531840-2-0"  # of the device, a folder
    (files / "sys").mkdir(parents=True)
    for path in (left, used, files):
        os.utime(path, (0, 0))
    (places.shm / "rocelab-interface-link").symlink_to(places.tmp)
    with used.open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)  # as each program does
        assert clean(only=["abc123"], places=places) == []
        assert clean(places=places) == [Removed("interfaces", 0, (), (), 2)]
        assert clean(places=places) == []
    assert (
        not left.exists() and not files.exists() and used.exists() and fresh.exists() and places.tmp.exists()
    )
    assert clean(places=places) == [Removed("interfaces", 0, (), (), 1)]
