"""The start of `./rocelab ui`: its port, its browser, and what a page that is not there says."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
import ui_server
from rocelab import layout
from rocelab.errors import RocelabError
from rocelab.scenario import plan_of, read_scenario
from rocelab.ui import reader
from rocelab.ui import server as servers
from ui_server import ROOT


def test_the_first_free_port_from_8899_on_is_taken() -> None:
    with servers.listen(None) as first, servers.listen(None) as second:
        ports = [sock.getsockname()[1] for sock in (first, second)]
        assert 8899 <= ports[0] < ports[1] < 8899 + 20
        assert first.getsockname()[0] == "127.0.0.1"


def test_any_port_is_taken_where_all_of_these_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.listen(None) as taken:
        monkeypatch.setattr(servers, "_FIRST_PORT", taken.getsockname()[1])
        monkeypatch.setattr(servers, "_PORTS", 1)
        with servers.listen(None) as other:
            assert other.getsockname()[1] not in (0, taken.getsockname()[1])


def test_a_port_that_is_asked_for_is_that_or_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(RocelabError, match=f"port {port} of 127.0.0.1 is taken: choose another"):
            servers.listen(port)


def test_a_browser_is_opened_with_the_whole_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first opener that there is; as the user behind sudo, whose desktop it is."""
    for name, text in (
        ("sensible-browser", 'echo "$@" > {0}/opened'),
        ("sudo", 'echo "$1 $2" > {0}/user; shift 3; exec "$@"'),
    ):
        file = tmp_path / name
        file.write_text("#!/bin/sh\n" + text.format(tmp_path) + "\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(servers, "_OPENERS", ("no-such-opener", "sensible-browser"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "ada")
    servers._open("http://127.0.0.1:8899/?token=x")
    assert (tmp_path / "opened").read_text() == "http://127.0.0.1:8899/?token=x\n"
    assert (tmp_path / "user").read_text() == "-u ada\n"


def test_without_a_browser_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(servers, "_OPENERS", ("no-such-opener",))
    monkeypatch.delenv("SUDO_USER", raising=False)
    servers._open("http://127.0.0.1:1/")
    assert "open the address above" in capsys.readouterr().err


def test_wrong_folders_are_a_line() -> None:
    words = [str(ui_server.ROOT / "rocelab"), "ui", "--no-install", "--scenarios", "/no/such"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2 and "--scenarios /no/such: no such folder" in done.stderr


def test_errors_are_json_for_the_pages(tmp_path: Path) -> None:
    for name in ("results", "scenarios"):
        (tmp_path / name).mkdir()
    with ui_server.started(tmp_path, tmp_path / "results", tmp_path / "scenarios") as running:
        for path, status in (
            ("/nothing", 404),
            ("/api/nothing", 404),
            ("/api/runs", 400),
            ("/api/network?result=x&run=-1", 400),
            ("/api/network?result=x&run=99999999999999999999", 400),
            ("/api/compare?points=9", 400),
        ):
            answer = running.ask(path)
            assert answer.status == status, path
            assert answer.headers["Content-Type"].startswith("application/json") and answer.json
        assert running.ask("/api/queue", "DELETE").status == 405


@pytest.mark.parametrize(
    "name", ["quick", "incast", "fattree_small", "escape/ring", "parking_lot", "leaf_spine_54", "streams"]
)
def test_a_sketch_is_the_topology_of_the_plan(name: str) -> None:
    """Without making it."""
    file = ROOT / f"scenarios/{name}.toml"
    scenario = read_scenario(file)
    plan = plan_of(scenario, scenario.labels[0], scenario.seeds[0])
    graph = layout.graph_of(plan)
    drawn = reader.draw(scenario)
    names = [node[0] for node in drawn["nodes"]]
    assert names == [h.name for h in plan.hosts] + [s.name for s in plan.switches]
    links = {(frozenset((names[a], names[b])), n) for a, b, n in drawn["links"]}
    assert links == {(frozenset((a, b)), n) for a, b, n in graph.edges(data="links")}
    at = layout.positions(graph)
    assert all(at[n] == pytest.approx((x, y), abs=0.001) for n, x, y in drawn["nodes"])
    sinks = {f.dst for f in plan.flows}
    assert {names[i] for i in drawn["sinks"]} == (sinks if len(plan.hosts) <= 32 else set())
