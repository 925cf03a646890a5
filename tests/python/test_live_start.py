"""The start of a live topology, without one: daemons that are slow, and what a start that fails leaves behind."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from rocelab.errors import RocelabError
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.engine import LiveEngine
from rocelab.live.ovs import Ovs
from rocelab.scenario import make_plans, read_scenario

QUICK = Path(__file__).resolve().parents[2] / "scenarios" / "quick.toml"

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


def test_a_daemon_is_there_when_it_listens(tmp_path: Path) -> None:
    for name, text in _PROGRAMS.items():
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
    ovs = Ovs(tmp_path, tmp_path)
    try:
        ovs.start()
    finally:
        ovs.stop()


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
