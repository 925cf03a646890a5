"""The start of a live topology, without one: daemons that are slow, and what a start that fails leaves behind."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rocelab.errors import RocelabError
from rocelab.live import usage
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.engine import LiveEngine
from rocelab.live.ovs import STDERR_VARIABLE, Ovs, OvsError
from rocelab.scenario import make_plans, read_scenario

ROOT = Path(__file__).resolve().parents[2]
QUICK = ROOT / "scenarios" / "quick.toml"

# Between the two calls the socket is there and refuses whoever connects.
_DAEMON = """
import socket, sys, time
path = next(a for a in sys.argv if a.startswith(OPTION)).removeprefix(OPTION)
with socket.socket(socket.AF_UNIX) as server:
    server.bind(path)
    time.sleep(0.3)
    server.listen()
    time.sleep(60)
"""
_CLIENT = """
import socket, sys
path = next(a for a in sys.argv if a.startswith("--db=unix:")).removeprefix("--db=unix:")
socket.socket(socket.AF_UNIX).connect(path)
"""
_PROGRAMS = {
    "ovsdb/ovsdb-tool": "",
    "ovsdb/ovsdb-server": _DAEMON.replace("OPTION", "'--remote=punix:'"),
    "utilities/ovs-vsctl": _CLIENT,
    "vswitchd/ovs-vswitchd": _DAEMON.replace("OPTION", "'--unixctl='"),
}


_LOADER = "ovs-vswitchd: error while loading shared libraries: libubsan.so.1"
_FINDING = "netdev-lossless.c:7:3: runtime error: signed integer overflow"


def _ovs(folder: Path, **programs: str) -> Ovs:
    """Its programs stand in for Open vSwitch's; `programs` for some of them, by the name behind the dash."""
    for name, text in _PROGRAMS.items():
        program = folder / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable}\n{programs.get(name.rpartition('-')[2], text)}")
        program.chmod(0o755)
    (folder / "ovs").mkdir()
    return Ovs(folder, folder / "ovs")


def test_a_daemon_is_there_when_it_listens(tmp_path: Path) -> None:
    ovs = _ovs(tmp_path)
    try:
        ovs.start()
        assert ovs.ended() is None
    finally:
        ovs.stop()


def test_why_a_daemon_did_not_start_is_said_though_it_has_no_log(tmp_path: Path) -> None:
    ovs = _ovs(tmp_path, vswitchd=f"import sys; sys.exit('{_LOADER}')")
    try:
        with pytest.raises(OvsError, match=f"ovs-vswitchd did not start: {_LOADER}"):
            ovs.start()
    finally:
        ovs.stop()


def test_how_a_daemon_ended_and_its_last_words_are_known(tmp_path: Path) -> None:
    program = _PROGRAMS["vswitchd/ovs-vswitchd"].replace(
        "sleep(60)", f"sleep(0.5)\n    sys.exit('{_FINDING}')"
    )
    ovs = _ovs(tmp_path, vswitchd=program)
    try:
        ovs.start()
        ovs.daemons[-1].wait(10)
        assert ovs.ended() == f"ovs-vswitchd ended in the middle of the run: exit status 1: {_FINDING}"
    finally:
        ovs.stop()


def test_daemons_stderr_goes_to_the_requested_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, logs = tmp_path / "rocelab.abc123", tmp_path / "logs"
    folder.mkdir()
    logs.mkdir()
    monkeypatch.setenv(STDERR_VARIABLE, str(logs))
    ovs = _ovs(folder, vswitchd=f"import sys; sys.exit('{_FINDING}')")
    try:
        with pytest.raises(OvsError, match="runtime error"):
            ovs.start()
    finally:
        ovs.stop()
    assert (logs / "rocelab.abc123.ovs-vswitchd.err").read_text() == f"{_FINDING}\n"


def test_a_start_that_fails_leaves_nothing_for_the_next_to_stumble_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[list[str]] = []

    def fail(directory: Path, *_: object) -> SessionClient:
        found.append(os.listdir(directory))
        (directory / "error.txt").touch()
        raise SessionError("no database")

    monkeypatch.setattr(SessionClient, "start", fail)
    with LiveEngine() as engine:
        for plan in make_plans(read_scenario(QUICK))[:2]:
            with pytest.raises(RocelabError, match="the topology could not be built: no database"):
                engine.execute(plan)
    assert found == [[], []]


def test_flows_that_memory_cannot_hold_are_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two of 500 MB, each at both ends."""
    plan = make_plans(read_scenario(QUICK, ("workload.incast.size=500MB",)))[0]
    started: list[Path] = []

    def start(directory: Path, *_: object) -> SessionClient:
        started.append(directory)
        raise SessionError("it is only a test")

    monkeypatch.setattr(SessionClient, "start", start)
    with LiveEngine() as engine:
        monkeypatch.setattr(usage, "meminfo", lambda: {"MemAvailable": 1_999_999_999})
        with pytest.raises(RocelabError, match="roce, seed 1: its flows hold 2.0 GB .* smaller or fewer"):
            engine.execute(plan)
        assert not started
        monkeypatch.setattr(usage, "meminfo", lambda: {"MemAvailable": 2_000_000_000})
        with pytest.raises(RocelabError, match="it is only a test"):
            engine.execute(plan)


def test_a_sink_of_datagrams_holds_no_more_than_its_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plans(read_scenario(QUICK, ("workload.incast.size=500MB",)))[0]
    datagrams = replace(plan, flows=tuple(replace(flow, service="ud", op="send") for flow in plan.flows))
    monkeypatch.setattr(usage, "meminfo", lambda: {"MemAvailable": 1_000_000_000})
    usage.check_fits(datagrams)
    with pytest.raises(RocelabError, match="2.0 GB"):
        usage.check_fits(plan)
