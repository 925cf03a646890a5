"""Which kept topology a command finds, and what `down` does with those that have ended; no topology is built."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rocelab import native
from rocelab.clean import RUNNER, Places, RunDirectory, all_runs
from rocelab.errors import RocelabError
from rocelab.files import write_whole
from rocelab.live import commands
from rocelab.live.client import SessionError

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
Keep = Callable[..., RunDirectory]


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Keep:
    """Makes what `up` leaves of a topology; this process is its session, or nobody is."""
    places = Places(tmp_path / "shm", tmp_path / "tmp", tmp_path / "netns")
    for folder in (places.shm, places.tmp, places.namespaces):
        folder.mkdir()
    monkeypatch.setattr(commands, "all_runs", lambda: all_runs(places))

    def make(run_id: str, up: bool = True) -> RunDirectory:
        run = RunDirectory.create(run_id, places)
        if not up:
            pid, start, _ = (run.shm / "pids").read_text().split()
            (run.shm / "pids").write_text(f"{pid} {int(start) - 1} {RUNNER}\n")
        run.record_pid(os.getpid(), "host h1")
        write_whole(
            run.tmp / "state.json", json.dumps({"segment": run_id, "hosts": {"h1": os.getpid()}}).encode()
        )
        return run

    return make


def test_the_one_that_is_up_is_found_beside_one_that_has_ended(keep: Keep) -> None:
    keep("ended1", up=False)
    keep("upup11")
    assert commands.find(None).directory.run_id == "upup11"
    with pytest.raises(RocelabError, match="ended1 has ended; ./rocelab down removes"):
        commands.find("ended1")


def test_none_and_several_are_errors_that_say_what_to_do(keep: Keep) -> None:
    with pytest.raises(RocelabError, match="no topology is up: ./rocelab up"):
        commands.find(None)
    keep("first1")
    keep("second")
    with pytest.raises(RocelabError, match=r"--run first1\|second"):
        commands.find(None)
    with pytest.raises(RocelabError, match="several topologies"):
        commands.down(None)
    assert commands.find("second").state["segment"] == "second"
    with pytest.raises(RocelabError, match="no topology third1 is up"):
        commands.find("third1")


def test_down_removes_what_is_left_of_a_session_that_has_ended(
    keep: Keep, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = keep("ended1", up=False)
    assert commands.down(None) == 0
    assert not ended.tmp.exists() and not ended.shm.exists()
    assert "ended1 had ended" in capsys.readouterr().out
    with pytest.raises(RocelabError, match="no topology is up"):
        commands.down(None)


def test_down_of_the_one_that_is_up_removes_those_that_have_ended_unless_one_is_named(keep: Keep) -> None:
    ended, other, up = keep("ended1", up=False), keep("ended2", up=False), keep("upup11")
    assert commands.down("ended1") == 0
    assert not ended.tmp.exists() and other.tmp.exists() and up.tmp.exists()
    assert commands.down(None) == 0
    assert not other.tmp.exists() and not up.tmp.exists()


def test_a_run_that_is_no_topology_and_one_on_its_way_out_are_passed_over(keep: Keep) -> None:
    (keep("norun1").tmp / "state.json").unlink()
    gone = keep("gone11")
    (gone.tmp / "state.json").unlink()
    gone.tmp.rmdir()
    keep("upup11")
    assert commands.find(None).directory.run_id == "upup11"


def test_one_whose_folder_is_gone_is_ended_by_its_id_and_the_others_stay(keep: Keep) -> None:
    lost, other = keep("lost11"), keep("upup11")
    session = subprocess.Popen(["sleep", "60"])
    try:
        (lost.shm / "pids").unlink()
        for role in (RUNNER, "session"):
            lost.record_pid(session.pid, role)
        shutil.rmtree(lost.tmp)
        assert commands.find(None).directory.run_id == "upup11"  # the one that is of use
        with pytest.raises(RocelabError, match="state.json is gone: ./rocelab down --run lost11 ends lost11"):
            commands.find("lost11")
        with pytest.raises(RocelabError, match=r"several .*--run lost11\|upup11"):
            commands.down(None)
        session.send_signal(signal.SIGSTOP)
        assert commands.down("lost11") == 0
        assert session.wait(5) != 0
    finally:
        session.kill()
        session.wait()
    assert not lost.shm.exists() and other.shm.exists() and other.tmp.exists()


def test_down_does_not_end_a_run(keep: Keep) -> None:
    run = keep("norun1")
    (run.tmp / "state.json").unlink()
    with pytest.raises(RocelabError, match="no topology norun1 is up"):
        commands.down("norun1")
    assert run.shm.exists() and run.tmp.exists()


def test_a_host_whose_process_was_killed_is_not_entered(keep: Keep) -> None:
    """Its number may be another process's."""
    run = keep("upup11")
    lines = (run.shm / "pids").read_text().splitlines()
    (run.shm / "pids").write_text("\n".join(line for line in lines if "host h1" not in line) + "\n")
    with pytest.raises(
        RocelabError, match=f"h1 is gone, its process {os.getpid()} was killed: ./rocelab down"
    ):
        commands.execute("h1", ("true",), None)


def test_another_topologys_down_does_not_disturb_the_search(keep: Keep) -> None:
    """Its files go one after the other while they are looked for."""
    keep("upup11")
    over = threading.Event()

    def come_and_go() -> None:
        for _ in range(200):
            run = keep("zzzzzz")
            for folder in (run.tmp, run.shm):
                for path in folder.iterdir():
                    path.unlink()
                folder.rmdir()
        over.set()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        while not over.is_set():
            assert commands.find("upup11").directory.run_id == "upup11"
            try:
                commands.find(None)
            except RocelabError as e:
                assert "several topologies" in str(e)
    finally:
        other.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away")
@pytest.mark.parametrize("programs", [5, 5_000_000_000])
def test_up_waits_for_no_more_programs_than_there_is_room_for(
    programs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "start_session", lambda *_, **__: pytest.fail("built"))
    with pytest.raises(
        RocelabError, match=f"--programs {programs} exceeds capacity: 2 hosts x nic.vfs = 2 allow 4 programs"
    ):
        commands.up(SCENARIOS / "pingpong.toml", (), programs=programs)


def test_another_users_topology_is_not_obeyed(keep: Keep) -> None:
    run = keep("theirs")
    os.chown(run.tmp, 12345, -1)
    for command in (commands.find, commands.down):
        with pytest.raises(RocelabError, match="another user's: theirs"):
            command(None)
    assert run.tmp.exists()


def test_a_topology_whose_memory_is_gone_is_one_clear_error(
    keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: str) -> Any:
        raise RuntimeError(f"{path}: cannot open the run's shared memory; is the topology up?")

    monkeypatch.setattr(native, "module", lambda: SimpleNamespace(open_segment=gone))
    keep("upup11")
    with pytest.raises(RocelabError, match="upup11: cannot open the run's shared memory"):
        commands.stat(None, None, as_json=True)


def test_a_virtual_machine_that_was_killed_is_one_clear_error(keep: Keep) -> None:
    guest = keep("upup11").tmp / "guest-h1"
    guest.mkdir()
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(guest / "control"))
    with pytest.raises(RocelabError, match="virtual machine does not answer .* start it again"):
        commands.execute("h1", ("true",), None)


def test_a_sessions_answer_to_a_bad_request_is_a_user_error() -> None:
    assert issubclass(SessionError, RocelabError)
