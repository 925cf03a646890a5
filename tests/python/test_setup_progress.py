"""emu/rocelab/setup_progress.py: what long steps print, and that nothing they start outlives them."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rocelab.errors import RocelabError
from rocelab.processes import ProcessId
from rocelab.setup_progress import OUT_OF_TIME, Step, run_logged, run_to_end

EMU = Path(__file__).resolve().parents[2] / "emu"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_step_without_work_prints_nothing(tmp_path: Path) -> None:
    out = io.StringIO()
    with Step("build", out) as step:
        run_logged(["true"], step, tmp_path / "log")
    assert out.getvalue() == ""


def test_a_long_step_prints_that_it_starts_and_that_it_ends(tmp_path: Path) -> None:
    out = io.StringIO()
    with Step("build", out) as step:
        run_logged(["sleep", "0.6"], step, tmp_path / "log")
    first, last = out.getvalue().splitlines()
    assert first == "build ..." and last.startswith("build: done (0.")


def test_a_terminal_shows_the_percentage_that_the_tool_reports(tmp_path: Path) -> None:
    out = Terminal()
    with Step("build", out) as step:
        argv = ["sh", "-c", "echo 42; sleep 0.6"]
        run_logged(argv, step, tmp_path / "log", lambda line: (int(line) / 100, "units.cc"))
    assert "build  42 %" in out.getvalue() and "units.cc" in out.getvalue()
    assert out.getvalue().endswith("s)\n")


def test_a_failure_names_the_log_and_shows_its_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(RocelabError) as raised, Step("build", io.StringIO()) as step:
        run_logged(["sh", "-c", "seq 1 100; echo 'units.cc: error' >&2; exit 3"], step, log)
    lines = str(raised.value).splitlines()
    assert lines[0] == f"build failed (exit status 3); the whole log is {log}"
    assert lines[-1] == "  | units.cc: error" and len(lines) == 16
    assert "\n1\n" in log.read_text()


def test_a_missing_tool_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(RocelabError, match="no-such-tool is missing: run ./rocelab setup"):
        run_logged(["no-such-tool"], Step("build", io.StringIO()), tmp_path / "log")


def test_a_daemon_that_keeps_the_output_open_does_not_hold_the_step(tmp_path: Path) -> None:
    begin = time.monotonic()
    pid_file = tmp_path / "pid"
    argv = ["sh", "-c", f"sleep 30 & echo $! > {pid_file}"]
    assert run_to_end(argv, Step("start", io.StringIO()), tmp_path / "log") == 0
    assert time.monotonic() - begin < 10
    os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_a_tool_beyond_its_limit_is_ended_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    argv = ["sh", "-c", f"sleep 30 & echo $! > {pid_file}; wait"]
    assert run_to_end(argv, Step("hang", io.StringIO()), tmp_path / "log", limit=0.5) == OUT_OF_TIME
    assert ended(int(pid_file.read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_set_up_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import io, sys; from pathlib import Path; from rocelab import __main__ as main, packages, setup_progress as p\n"
        "def work(groups, install):\n"
        "    p.run_logged(['sh', '-c', f'sleep 30 & echo $! > {sys.argv[1]}; wait'], p.Step('x'), Path(sys.argv[1] + '.log'))\n"
        "packages.ensure = work\n"
        "sys.exit(main.main(['setup']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(EMU)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(pid_file)], env=environment, stderr=subprocess.PIPE
    )
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert b"Traceback" not in errors
    assert ended(int(pid_file.read_text()))


def test_two_set_ups_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    """The second says whom it waits for, and is not inside before the first has left."""
    code = (
        "import sys; from pathlib import Path; from rocelab import paths, setup_all\n"
        "paths.BUILD = Path(sys.argv[1])\n"
        "with setup_all.setup_lock():\n"
        "    print('inside', flush=True); sys.stdin.readline(); print('leaves', flush=True)"
    )
    environment = {**os.environ, "PYTHONPATH": str(EMU)}
    argv = [sys.executable, "-c", code, str(tmp_path)]

    def start() -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    (tmp_path / "setup.lock").write_text("4711")  # a set-up that was killed
    first = start()
    assert first.stdout is not None and first.stdout.readline() == "inside\n"
    second = start()
    assert second.stderr is not None
    assert second.stderr.readline() == f"rocelab: waiting for another set-up (process {first.pid})\n"
    assert select.select([second.stdout], [], [], 0.2)[0] == []
    assert first.communicate("\n", timeout=30) == ("leaves\n", "")
    assert second.communicate("\n", timeout=30) == ("inside\nleaves\n", "")
    assert [first.returncode, second.returncode] == [0, 0]
    assert (tmp_path / "setup.lock").read_text() == ""


def ended(pid: int, seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while ProcessId.of(pid) is not None and time.monotonic() < end:
        time.sleep(0.02)
    return ProcessId.of(pid) is None
