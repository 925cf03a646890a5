"""How a live run's wait for its programs ends, without programs: what is said of those that fail before time begins, and of time that stands still."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rocelab.live import engine
from rocelab.live.engine import _Run
from rocelab.progress import Flushes


class Waiting:
    """A run with programs on h1, h2 and h3, and its segment; nothing moves."""

    def __init__(self, folder: Path) -> None:
        self.statuses: dict[str, int | None] = {"11": None, "12": None, "13": None}
        self.segment = SimpleNamespace(
            state="setup",
            now_ps=0,
            error="",
            stop_due=False,
            vfs=[{"host": "h1", "pid": 11}],
            coordinator_pid=0,
        )
        self.polls = 0
        run = _Run.__new__(_Run)
        run.plan = SimpleNamespace(limit_ps=10**12)  # type: ignore[assignment]
        run.session = SimpleNamespace(ask=self._ask)  # type: ignore[assignment]
        run.reroutes = SimpleNamespace(follow=lambda segment: False)  # type: ignore[assignment]
        run.dir = folder
        run.broken = False
        run.programs = {"h1": 11, "h2": 12, "h3": 13}
        run.usage = engine.Usage()
        for host in run.programs:
            (folder / f"{host}.err").touch()
        self.run = run

    def _ask(self, op: str) -> dict[str, Any]:
        assert op == "poll"
        self.polls += 1
        usage = {"cpu_s": 0.0, "max_rss_bytes": 0}
        return {"programs": self.statuses, "ended_daemon": None, "usage": usage}

    def error(self) -> str | None:
        return self.run._wait(self.segment, lambda progress: None, Flushes(False))


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Waiting:
    monkeypatch.setattr(engine, "_STALL_SECONDS", 1.0)
    return Waiting(tmp_path)


def test_a_program_that_fails_before_time_begins_ends_the_wait_at_once(waiting: Waiting) -> None:
    waiting.statuses["12"] = 3
    (waiting.run.dir / "h2.err").write_text("warning\nrocelab_flows: no device rocelab0\n")
    assert waiting.error() == "h2: exit status 3: rocelab_flows: no device rocelab0"
    assert waiting.polls == 1


def test_one_that_is_killed_before_time_begins_does_too(waiting: Waiting) -> None:
    waiting.statuses["13"] = -9
    assert waiting.error() == "h3: killed by signal 9"


def test_when_time_stands_still_the_reason_is_a_program_that_has_failed(waiting: Waiting) -> None:
    waiting.segment.state = "running"
    waiting.segment.now_ps = 5_000_000
    waiting.statuses["12"] = 3
    (waiting.run.dir / "h2.err").write_text("out of memory\n")
    assert waiting.error() == "h2: exit status 3: out of memory"
    assert waiting.run.broken


def test_when_time_stands_still_and_no_program_has_failed_that_is_said(waiting: Waiting) -> None:
    waiting.segment.state = "running"
    waiting.segment.now_ps = 5_000_000
    waiting.statuses["12"] = 0
    assert waiting.error() == "the clock has stood still for 1 s of wall time at 5.000 us"


def test_when_time_stands_still_the_reason_is_who_is_stopped(waiting: Waiting) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        sleeper.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, sleeper.pid, os.WSTOPPED | os.WNOWAIT)
        waiting.segment.state = "running"
        waiting.run.programs["h2"] = sleeper.pid
        waiting.statuses[str(sleeper.pid)] = None
        waiting.segment.coordinator_pid = sleeper.pid
        error = waiting.error()
    finally:
        sleeper.kill()
        sleeper.wait()
    assert error is not None and error.endswith("at 0.000 us: h2's program, ovs-vswitchd stopped")


def test_when_time_does_not_begin_the_hosts_without_a_device_are_named(waiting: Waiting) -> None:
    waiting.statuses["12"] = 0
    assert waiting.error() == "time has not begun after 1 s of wall time: no device is open on h2, h3"
