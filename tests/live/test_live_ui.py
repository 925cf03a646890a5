"""Live runs that `./rocelab ui` starts: stopped by a click, by the server's end, or killed with it, they leave nothing on the machine."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_runs import HERE, ROOT, leftovers, live, recorded, runs_of, stays, wait_for

sys.path.insert(0, str(ROOT / "tests/python"))

import ui_server  # noqa: E402

pytestmark = live


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ui_server.Server]:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "results").mkdir()
    shutil.copy(HERE / "long.toml", tmp_path / "scenarios")
    shutil.copy(ROOT / "scenarios/quick.toml", tmp_path / "scenarios")
    with ui_server.started(tmp_path, tmp_path / "results", tmp_path / "scenarios") as running:
        yield running


def begin(server: ui_server.Server, scenario: str) -> tuple[str, list[tuple[object, str]]]:
    """A live run, once its clock goes: its id and processes."""
    order = {"scenario": f"{scenario}.toml", "engine": "live", "result": scenario}
    assert server.post("/api/queue", order).status == 200

    def going() -> bool:
        (run, *_) = server.ask("/api/queue").json
        assert run["ended_at"] is None, run["lines"]
        return bool((run["progress"] or {}).get("now_ps"))

    wait_for(going, "the run's clock goes", 120)
    children = [
        int(p.parent.name) for p in Path("/proc").glob("[0-9]*/stat") if _parent(p) == server.process.pid
    ]
    (run_id,) = [found for child in children for found in runs_of(child)]
    processes = recorded(run_id)
    assert leftovers(run_id, processes), "it is there"
    return run_id, list(processes)


def _parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_live_run_gives_its_result(server: ui_server.Server, tmp_path: Path) -> None:
    server.post(
        "/api/queue", {"scenario": "quick.toml", "engine": "live", "result": "quick", "labels": ["irn"]}
    )
    (run,) = wait_for(lambda: (r := server.ask("/api/queue").json) and r[0]["ended_at"] and r, "it ends", 120)
    assert run["state"] == "done", run["lines"]
    network = server.ask("/api/network?result=quick&run=0").json
    assert network["frames"]["bytes"]
    moments = server.ask("/api/moments?result=quick&run=0").json
    assert any(m["what"] == "longest wait of a packet" for m in moments)


def test_a_live_run_is_watched_while_it_lasts(server: ui_server.Server) -> None:
    begin(server, "long")

    def look() -> dict[str, Any]:
        found: dict[str, Any] = server.ask("/api/now?number=1").json["network"]
        return found

    first = wait_for(lambda: (n := look()).get("end_ps") and n, "the first look", 60)
    assert {node["name"] for node in first["nodes"]} >= {"h1", "s1"}
    later = wait_for(lambda: (n := look())["end_ps"] > first["end_ps"] and n, "time goes on", 60)
    assert sum(later["frames"]["bytes"]) > 0 and max(later["frames"]["queue"]) > 0
    assert max(later["frames"]["bin"]) == later["bins"] - 1, "up to the present"
    assert server.post("/api/stop", {"number": 1}).status == 200
    wait_for(lambda: server.ask("/api/queue").json[0]["state"] == "stopped", "it is stopped", 90)
    assert server.ask("/api/now?number=1").json["network"] == {"nodes": []}


def test_a_click_ends_a_live_run(server: ui_server.Server) -> None:
    run_id, processes = begin(server, "long")
    assert server.post("/api/stop", {"number": 1}).status == 200
    wait_for(lambda: server.ask("/api/queue").json[0]["state"] == "stopped", "it is stopped", 90)
    assert leftovers(run_id, processes) == []


def test_the_servers_end_ends_a_live_run(server: ui_server.Server) -> None:
    run_id, processes = begin(server, "long")
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=90) == 0
    assert leftovers(run_id, processes) == []


def test_an_impatient_end_leaves_nothing_either(server: ui_server.Server) -> None:
    run_id, processes = begin(server, "long")
    server.process.send_signal(signal.SIGINT)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(timeout=90) == 0
    assert stays(run_id, processes) == []
