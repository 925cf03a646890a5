"""Runs that the pages start: in order, with progress, stopped as by ^C, and never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ui_server
from rocelab.errors import RocelabError
from rocelab.ui.queue import Order
from ui_server import ROOT, Server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "results").mkdir()
    shutil.copy(ROOT / "scenarios/quick.toml", tmp_path / "scenarios")
    long = (
        (ROOT / "scenarios/quick.toml").read_text().replace('"500KB"', '"20GB"').replace('"100ms"', '"60s"')
    )
    (tmp_path / "scenarios/long.toml").write_text(long.replace("5us", "5ms"))
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    with ui_server.started(folder, folder / "results", folder / "scenarios") as running:
        yield running


def order(**changes: Any) -> dict[str, Any]:
    return {"scenario": "quick.toml", "engine": "des", "result": "quick", **changes}


def until(
    server: Server, reached: Callable[[list[dict[str, Any]]], bool], seconds: float = 90
) -> list[dict[str, Any]]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        runs: list[dict[str, Any]] = server.ask("/api/queue").json
        if reached(runs):
            return runs
        time.sleep(0.1)
    raise AssertionError(runs)


def children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_run_leaves_its_result_and_its_output(server: Server, folder: Path) -> None:
    chosen = order(labels=["irn", "roce"], seeds=[3, 4], overrides=["workload.incast.size=50KB"])
    assert server.post("/api/queue", chosen).status == 200
    (run,) = until(server, lambda runs: runs[0]["ended_at"] is not None)
    assert (run["state"], run["status"]) == ("done", 0), run["lines"]
    assert any("report:" in line for line in run["lines"])
    (result,) = server.ask("/api/results").json
    assert (result["name"], result["labels"], result["seeds"]) == ("quick", ["irn", "roce"], [3, 4])
    assert (folder / "results/quick/report.html").is_file()


def test_progress_says_which_run_and_how_far(server: Server) -> None:
    server.post("/api/queue", order(scenario="long.toml", result="long"))
    runs = until(server, lambda runs: bool((runs[0]["progress"] or {}).get("now_ps")))
    at = runs[0]["progress"]
    assert (at["run"], at["runs"], at["label"], at["phase"]) == (0, 4, "roce", "run")
    assert at["limit_ps"] == 60 * 10**12
    later = until(server, lambda runs: runs[0]["progress"]["now_ps"] > at["now_ps"])
    server.post("/api/stop", {"number": later[0]["number"]})


def test_a_stopped_run_ends_with_all_that_it_started_and_the_next_begins(
    server: Server, folder: Path
) -> None:
    for scenario in ("long", "quick", "quick"):
        server.post("/api/queue", order(scenario=f"{scenario}.toml", result=scenario))
    until(server, lambda runs: runs[0]["progress"] is not None)
    (process,) = children(server.process.pid)
    assert os.getpgid(process) == process, "a group of its own"
    assert server.post("/api/stop", {"number": 2}).status == 200
    assert server.post("/api/stop", {"number": 1}).status == 200
    runs = until(server, lambda runs: all(run["ended_at"] for run in runs))
    assert [run["state"] for run in runs] == ["stopped", "stopped", "done"]
    assert not Path("/proc", str(process)).exists()
    assert server.post("/api/stop", {"number": 1}).status == 400


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_servers_end_is_its_runs_end(folder: Path, number: signal.Signals) -> None:
    with ui_server.started(folder, folder / "results", folder / "scenarios") as server:
        server.post("/api/queue", order(scenario="long.toml", result="long"))
        until(server, lambda runs: runs[0]["progress"] is not None)
        (process,) = children(server.process.pid)
        server.process.send_signal(number)
        assert server.process.wait(timeout=60) == 0
        assert not Path("/proc", str(process)).exists()


def test_a_second_end_kills_what_does_not_end(folder: Path, tmp_path: Path) -> None:
    """As when a run saves for long: here one that is stopped cannot hear it."""
    with ui_server.started(folder, folder / "results", folder / "scenarios") as server:
        server.post("/api/queue", order(scenario="long.toml", result="long"))
        until(server, lambda runs: runs[0]["progress"] is not None)
        (process,) = children(server.process.pid)
        os.kill(process, signal.SIGSTOP)
        server.process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(timeout=1.5)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=30) == 0
        assert not Path("/proc", str(process)).exists()


def test_a_run_that_fails_says_why(server: Server) -> None:
    server.post("/api/queue", order(overrides=["topology.rate=fast"]))
    (run,) = until(server, lambda runs: runs[0]["ended_at"] is not None)
    assert run["state"] == "failed" and any("topology.rate" in line for line in run["lines"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "ns3"}, "engine ns3 does not exist"),
        ({"result": "../x"}, "a result's name"),
        ({"result": "-x"}, "a result's name"),
        ({"result": ""}, "a result's name"),
        ({"result": "a/b"}, "a result's name"),
        ({"scenario": "../quick.toml"}, "no scenario"),
        ({"scenario": "none.toml"}, "no scenario"),
        ({"labels": ['irn"]\n[x']}, "may have letters, digits, blanks and . _ + = , - only"),
        ({"overrides": ["--pcap"]}, "write it as KEY=VALUE"),
        ({"overrides": ["a=1\nb=2"]}, "write it as KEY=VALUE"),
        ({"seeds": ["x"]}, "seeds"),
        ({"seeds": list(range(1001))}, "seeds"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_in_a_line(
    server: Server, changes: dict[str, Any], said: str
) -> None:
    answer = server.post("/api/queue", order(**changes))
    assert answer.status == 400
    assert said in answer.json["error"] and "\n" not in answer.json["error"]
    assert server.ask("/api/queue").json == []


def test_a_result_that_leads_elsewhere_is_refused(server: Server, folder: Path) -> None:
    (folder / "results/away").symlink_to(folder / "scenarios")
    answer = server.post("/api/queue", order(result="away"))
    assert answer.status == 400 and "leads out of" in answer.json["error"]


def test_the_live_engine_needs_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(RocelabError, match="needs root: start `./rocelab ui` with sudo"):
        Order("quick.toml", "live", "quick").check(ROOT / "scenarios", tmp_path)


def test_choices_are_overrides_as_the_command_line_takes_them() -> None:
    chosen = Order("a.toml", "des", "a", ("roce+pfc", "irn"), (1, 2), ("nic.path_mtu=1024B",))
    assert chosen.settings() == ["nic.path_mtu=1024B", 'transport=["roce+pfc", "irn"]', "seeds=[1, 2]"]
