"""Shared by the tests of live runs: scenarios run in this process, `./rocelab` as a child, and what either leaves on the machine."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rocelab import native, results
from rocelab.clean import RUN_VARIABLE
from rocelab.errors import RocelabError
from rocelab.processes import ProcessId, all_pids, environment_value

ROOT = Path(__file__).resolve().parents[2]
ROCELAB = ROOT / "rocelab"
SCENARIOS = ROOT / "scenarios"
HERE = Path(__file__).resolve().parent


def _missing() -> str | None:
    if os.geteuid() != 0:
        return "needs root: network namespaces"
    try:
        native.module()
    except RocelabError as e:
        return str(e)
    return None


live = pytest.mark.skipif((_missing() or "") != "", reason=_missing() or "runs")


def run(scenario: Path, out: Path, *overrides: str, **options: Any) -> results.Result:
    return results.run(scenario, overrides=overrides, out=out, **options)


def entries(result: results.Result) -> dict[str, list[dict[str, Any]]]:
    """The runs of summary.json by label, seeds in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in json.loads((result.folder / "summary.json").read_text())["runs"]:
        found.setdefault(entry["label"], []).append(entry)
    return found


def deterministic(entry: dict[str, Any]) -> dict[str, Any]:
    """A run without what the machine decides."""
    return {k: v for k, v in entry.items() if k not in ("wall_s", "cpu_s", "max_rss_bytes")}


@contextmanager
def busy_processors(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# --- processes of a run --------------------------------------------------------------------------------------------------


def runs_of(pid: int) -> list[str]:
    """Ids of the runs whose runner this process is."""
    found = []
    for path in Path("/dev/shm").glob("rocelab.*/pids"):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        if any(line.split()[0] == str(pid) and line.endswith(" runner") for line in lines):
            found.append(path.parent.name.removeprefix("rocelab."))
    return found


def programs(run_id: str) -> dict[str, int]:
    """Traffic programs of a run: host name to pid."""
    found = {}
    for pid in all_pids():
        if environment_value(pid, RUN_VARIABLE) != run_id or ProcessId.of(pid) is None:
            continue
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if Path(os.fsdecode(argv[0])).name == "rocelab_flows":
            found[argv[argv.index(b"--me") + 1].decode()] = pid
    return found


def recorded(run_id: str) -> list[tuple[ProcessId, str]]:
    """All processes on a run's record, with their roles."""
    lines = (
        line.split(maxsplit=2) for line in Path(f"/dev/shm/rocelab.{run_id}/pids").read_text().splitlines()
    )
    return [(ProcessId(int(pid), int(start)), role) for pid, start, role in lines]


def daemon(run_id: str, name: str) -> int:
    """The pid of one of a run's Open vSwitch daemons."""
    for process, role in recorded(run_id):
        if role == "ovs" and Path(f"/proc/{process.pid}/comm").read_text().strip() == name[:15]:
            return process.pid
    raise LookupError(name)


def leftovers(run_id: str, processes: list[tuple[ProcessId, str]]) -> list[str]:
    """What a run that is over still has on the machine."""
    left = [str(p) for folder in ("/dev/shm", "/tmp") for p in Path(folder).glob(f"rocelab.{run_id}*")]
    for folder in ("/sys/class/net", "/run/netns"):
        left += [str(p) for p in Path(folder).glob(f"rl{run_id}*")]
    left += [f"{role} (process {p.pid})" for p, role in processes if p.alive()]
    known = {p.pid for p, _ in processes}
    left += [
        f"process {p}" for p in all_pids() if p not in known and environment_value(p, RUN_VARIABLE) == run_id
    ]
    return left


def stays(run_id: str, processes: list[tuple[ProcessId, str]], seconds: float = 20.0) -> list[str]:
    """What is still left after a while, for a run that cleans up behind the back of its killed command."""
    end = time.monotonic() + seconds
    while (left := leftovers(run_id, processes)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def wait_for(condition: Callable[[], Any], what: str, seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {what}")


# --- ./rocelab as a child -----------------------------------------------------------------------------------------------


def command(*arguments: str | Path, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROCELAB), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, cwd=ROOT
    )


def error_of(done: subprocess.CompletedProcess[str]) -> str:
    """The one line with which a command failed."""
    assert done.returncode != 0, done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("rocelab: error: ")]
    assert len(lines) == 1 and "Traceback" not in done.stderr, done.stderr
    return lines[0].removeprefix("rocelab: error: ")


@contextmanager
def background(*arguments: str | Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process group of its own; ended at the end, if it still runs."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(ROCELAB), *map(str, arguments)],
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd=ROOT,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def topology(scenario: Path, *arguments: str) -> Iterator[str]:
    """A topology kept by `up`; its run id."""
    done = command("up", scenario, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    match = re.match(r"([a-z0-9]{6}):", done.stdout)
    assert match, done.stdout
    try:
        yield match[1]
    finally:
        down = command("down", "--run", match[1])
        assert down.returncode == 0, down.stderr


def nothing_refused(*said: str) -> None:
    """Programs that work ask what the device has, and are refused in passing: that is no line for their user (docs/tutorial/my-program-fails.md)."""
    lines = [line for text in said for line in text.splitlines() if "ROCELAB_QUIET=1" in line]
    assert lines == []


def server_and_client(
    run_id: str, server: Sequence[str], client: Sequence[str], refused: str = ""
) -> tuple[str, str]:
    """Runs a server on h1 and a client on h2 of a kept topology; what the two print. A client that fails and says `refused` came too early."""
    words = [str(ROCELAB), "exec", "--run", run_id, "--host"]
    serving = subprocess.Popen(
        [*words, "h1", "--", *server],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
    )
    try:
        end = time.monotonic() + 60
        while True:
            asking = subprocess.run(
                [*words, "h2", "--", *client], capture_output=True, text=True, timeout=120, cwd=ROOT
            )
            too_early = asking.returncode != 0 and refused in asking.stdout + asking.stderr
            if not too_early or serving.poll() is not None or time.monotonic() > end:
                break
            time.sleep(0.2)
        said = serving.communicate(timeout=60)[0]
    finally:
        if serving.poll() is None:
            serving.kill()
            serving.wait()
    assert asking.returncode == serving.returncode == 0, f"{said}\n{asking.stdout}{asking.stderr}"
    nothing_refused(said, asking.stderr)
    return said, asking.stdout
