"""A kept topology whose clients go away, and one whose session does: `./rocelab` as a user calls it, Open vSwitch, hosts."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from live_runs import (
    ROCELAB,
    ROOT,
    SCENARIOS,
    background,
    command,
    daemon,
    error_of,
    leftovers,
    live,
    recorded,
    runs_of,
    stays,
    topology,
    wait_for,
)
from rocelab.processes import all_pids

pytestmark = live

_PINGPONG = SCENARIOS / "pingpong.toml"


def _ask_and_go(run_id: str, requests: bytes) -> None:
    """As a client that is interrupted: what it asked for is not read."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(f"/tmp/rocelab.{run_id}/control.sock")
        client.sendall(requests)


def test_a_kept_topology_outlives_clients_that_go_away() -> None:
    with topology(_PINGPONG) as run_id:
        counters = b'{"op": "appctl", "argv": ["lossless/counters"]}\n'
        for requests in (counters, counters * 20, counters + b"nonsense\n", b'{"op": "poll"'):
            _ask_and_go(run_id, requests)
        for delay in (0.3, 0.6, 0.9, 1.2):
            asking = subprocess.Popen(
                [str(ROCELAB), "stat", "--run", run_id],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
            )
            try:
                asking.wait(delay)
            except subprocess.TimeoutExpired:
                asking.send_signal(signal.SIGINT)
                asking.wait(30)
        done = command("stat", "--run", run_id, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["ports"]
        assert command("exec", "--run", run_id, "--host", "h1", "--plain", "--", "true").returncode == 0


def test_down_removes_a_topology_whose_session_was_killed() -> None:
    done = command("up", _PINGPONG)
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.partition(":")[0]
    processes = recorded(run_id)
    (session,) = [p for p, role in processes if role == "session"]
    assert daemon(run_id, "ovs-vswitchd")
    session.send(signal.SIGKILL)
    wait_for(lambda: not session.alive(), "the session's end")
    assert f"{run_id} has ended; ./rocelab down removes" in error_of(command("stat", "--run", run_id))
    done = command("down", "--run", run_id)
    assert done.returncode == 0 and f"{run_id} had ended" in done.stdout, done.stderr
    assert leftovers(run_id, processes) == []


def _processes_in(folder: str) -> list[str]:
    """Command lines with this folder."""
    lines = []
    for pid in all_pids():
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        if folder in line:
            lines.append(line)
    return lines


def test_daemons_end_with_their_session_before_they_are_on_record(tmp_path: Path) -> None:
    """A session that is killed while it builds can tell nobody of them."""
    with background("up", _PINGPONG, log=tmp_path / "log") as building:
        (run_id,) = wait_for(lambda: runs_of(building.pid), "a run of the command", 120)
        wait_for(Path(f"/tmp/rocelab.{run_id}/ovs/ovs-vswitchd.log").exists, "a daemon")
        processes = recorded(run_id)
        (session,) = [p for p, role in processes if role == "session"]
        session.send(signal.SIGKILL)
        assert building.wait(30) == 1, (tmp_path / "log").read_text()
    wait_for(lambda: _processes_in(f"/tmp/rocelab.{run_id}") == [], "the daemons' end", 5)
    assert stays(run_id, processes, 5) == []


@pytest.mark.parametrize(
    "file", ["session.log", "ovs/conf.db", "ovs/ovs-vswitchd.log", "ovs/ovs-vswitchd.ctl"]
)
def test_up_that_is_interrupted_while_it_builds_leaves_nothing(tmp_path: Path, file: str) -> None:
    with background("up", _PINGPONG, log=tmp_path / "log") as building:
        (run_id,) = wait_for(lambda: runs_of(building.pid), "a run of the command", 120)
        folder = f"/tmp/rocelab.{run_id}"
        wait_for(Path(folder, file).exists, file)
        processes = recorded(run_id)
        os.killpg(building.pid, signal.SIGINT)  # as the terminal does
        assert building.wait(30) == 130, (tmp_path / "log").read_text()
    # A session that has only begun to start sees by itself that its runner is gone.
    wait_for(lambda: _processes_in(folder) == [], "the processes' end", 5)
    assert leftovers(run_id, processes) == []
