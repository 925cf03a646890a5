"""What breaks in the middle of a run: it ends soon, says what happened, keeps what it has and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_runs import (
    HERE,
    background,
    command,
    daemon,
    leftovers,
    live,
    programs,
    recorded,
    run,
    runs_of,
    stays,
    wait_for,
)
from rocelab import native

pytestmark = live

_LONG = HERE / "long.toml"
_SENDERS = ("h1", "h2", "h3")


def _run_and_break(out: Path, at_ps: int, act: Callable[[str], None], *overrides: str) -> Any:
    """Runs long.toml; `act` is called once with the run's id, when the clock has passed `at_ps`."""
    done: list[str] = []

    def report(progress: Any) -> None:
        if progress.phase == "run" and progress.now_ps >= at_ps and not done:
            (run_id,) = runs_of(os.getpid())
            done.append(run_id)
            act(run_id)

    result = run(_LONG, out, *overrides, report=report)
    assert done, "the run was over before anything broke"
    return result


def _saved(folder: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    assert (folder / "report.html").stat().st_size > 0
    with sqlite3.connect(folder / "run.sqlite") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    return summary


@pytest.mark.parametrize("mode", ["irn", "roce", "roce+pfc"])
def test_when_a_receiver_dies_its_peers_end_with_an_error_and_the_rest_is_saved(
    tmp_path: Path, mode: str
) -> None:
    begin = time.monotonic()
    result = _run_and_break(
        tmp_path,
        2_000_000_000,
        lambda run_id: os.kill(programs(run_id)["h4"], signal.SIGKILL),
        f"transport={mode}",
    )
    assert time.monotonic() - begin < 60
    (outcome,) = result.outcomes
    assert "h4: killed by signal 9" in outcome.error
    for sender in _SENDERS:
        assert f"{sender}: " in outcome.error
    summary = _saved(tmp_path)
    (entry,) = summary["runs"]
    assert summary["complete"] is entry["complete"] is False
    assert entry["error"] == outcome.error and entry["completed"] == 0 and entry["flows"] == 3
    assert sum(counters["tx_packets"] for counters in outcome.nic_counters.values()) > 1000


def test_a_stopped_sender_stops_the_experiment_which_stays_exact(tmp_path: Path) -> None:
    clock: list[int] = []

    def stop_for_a_while(run_id: str) -> None:
        segment = native.module().open_segment(
            str(next(Path(f"/dev/shm/rocelab.{run_id}").glob("run*/segment")))
        )
        pid = programs(run_id)["h1"]
        os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(2):
                time.sleep(0.3)
                clock.append(segment.now_ps)
        finally:
            os.kill(pid, signal.SIGCONT)

    result = _run_and_break(tmp_path, 2_000_000_000, stop_for_a_while, "workload.incast.size=20MB")
    assert clock[1] == clock[0], "time went on without one sender"
    assert result.complete, result.errors()
    (entry,) = _saved(tmp_path)["runs"]
    assert entry["fidelity"]["verdict"] == "exact" and entry["fidelity"]["detaches"] == 0
    assert entry["verified"] == 3


def test_when_the_switch_dies_the_run_says_so_at_once(tmp_path: Path) -> None:
    begin: list[float] = []

    def kill(run_id: str) -> None:
        begin.append(time.monotonic())
        os.kill(daemon(run_id, "ovs-vswitchd"), signal.SIGKILL)

    result = _run_and_break(tmp_path, 2_000_000_000, kill)
    assert time.monotonic() - begin[0] < 20
    (outcome,) = result.outcomes
    assert (
        "ovs-vswitchd ended in the middle of the run: killed by signal 9 (its log ends with: "
        in outcome.error
    )
    assert _saved(tmp_path)["complete"] is False
    assert runs_of(os.getpid()) == []


def _in_mid_run(pid: int) -> str:
    """Waits until the command's run is under way; its id."""
    (run_id,) = wait_for(lambda: runs_of(pid), "a run of the command", 120)
    wait_for(lambda: set(programs(run_id)) == {*_SENDERS, "h4"}, "the traffic programs")
    module = native.module()
    (path,) = Path(f"/dev/shm/rocelab.{run_id}").glob("run*/segment")
    wait_for(
        lambda: module.open_segment(str(path)).now_ps > 1_000_000_000, "a millisecond of experiment time"
    )
    return str(run_id)


def test_clean_removes_what_a_killed_run_left(tmp_path: Path) -> None:
    with background("run", _LONG, "--out", tmp_path / "out", log=tmp_path / "log") as process:
        run_id = _in_mid_run(process.pid)
        processes = recorded(run_id)
        process.kill()
        process.wait()
        done = command("clean", run_id)
        # Its session notices the death, too, and may clean up first; then it is the last to end.
        assert done.returncode == 0 or f"no run {run_id}" in done.stderr, done.stderr
        assert stays(run_id, processes) == []


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, (130,)), (signal.SIGTERM, (130, 143))],
    ids=["interrupt", "terminate"],
)
def test_a_run_that_is_told_to_end_cleans_up_itself(
    tmp_path: Path, number: signal.Signals, status: tuple[int, ...]
) -> None:
    with background("run", _LONG, "--out", tmp_path / "out", log=tmp_path / "log") as process:
        run_id = _in_mid_run(process.pid)
        processes = recorded(run_id)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as the terminal does
        else:
            process.send_signal(number)
        assert process.wait(30) in status
        assert leftovers(run_id, processes) == []
        assert "Traceback" not in (tmp_path / "log").read_text()


def test_roce_against_irn_is_a_clear_error_inside_the_retry_limits(tmp_path: Path) -> None:
    result = run(HERE / "mixed_modes.toml", tmp_path)
    assert not result.complete
    (outcome,) = result.outcomes
    retries_ps = 8 * 1_048_576_000  # 4.096 us * 2^8, retry_cnt 7
    # The other end looks every millisecond, lingers for one, and is looked at a millisecond later; a message over
    # TCP takes wall time and may miss one look.
    parting_ps = 4_000_000_000
    assert retries_ps < outcome.end_ps < retries_ps + parting_ps
    assert outcome.error is not None
    assert "flow 1" in outcome.error and "transport retry counter exceeded" in outcome.error, outcome.error
    assert sum(c["rx_malformed"] for c in outcome.nic_counters.values()) == 0


def test_corrupted_frames_are_counted_dropped_and_sent_again(tmp_path: Path) -> None:
    result = run(HERE / "corrupt.toml", tmp_path)
    assert result.complete, result.errors()
    assert [o.plan.label for o in result.outcomes] == ["roce", "irn"]
    for outcome, entry in zip(result.outcomes, _saved(tmp_path)["runs"], strict=True):
        refused = sum(c["rx_icrc_encapsulated"] + c["rx_malformed"] for c in outcome.nic_counters.values())
        at_the_switch = sum(c["link_in_malformed_frames"] for c in outcome.port_counters.values())
        assert entry["corrupted_frames"] > 0
        assert 0 < refused + at_the_switch <= entry["corrupted_frames"]
        assert entry["retransmitted_packets"] > 0
        assert outcome.flows[0].verified and outcome.flows[0].bytes == 2_000_000
