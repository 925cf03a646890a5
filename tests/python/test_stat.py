"""What `rocelab stat` shows of a run's segment: counters of NICs and of connection managers by virtual function, and of switch ports."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rocelab import native
from rocelab.live import commands


def _vf(host: str, vf: int, pid: int, nic: dict[str, int], cm: dict[str, int]) -> dict[str, Any]:
    return {"host": host, "vf": vf, "pid": pid, "counters": nic, "cm": cm}


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hosts: on h1 a program with a connection manager, and one that is gone; on h2 one without."""
    none = {"rx_mads": 0, "rx_malformed": 0}
    segment = SimpleNamespace(
        now_ps=5_000_000,
        vfs=[
            _vf("h1", 0, 17, {"rx_packets": 7, "rx_wrong_peer": 3}, {"rx_mads": 4, "rx_malformed": 2}),
            _vf("h1", 1, 0, {"rx_packets": 0, "rx_wrong_peer": 0}, {"rx_mads": 1, "rx_malformed": 0}),
            _vf("h2", 0, 18, {"rx_packets": 0, "rx_wrong_peer": 0}, none),
        ],
        ports=[{"interface": "s1-eth1", "switch": "s1", "counters": {}}],
    )
    run = SimpleNamespace(state={"hosts": {"h1": 1, "h2": 2}}, segment=Path("segment"))
    monkeypatch.setattr(commands, "find", lambda run_id: run)
    monkeypatch.setattr(native, "module", lambda: SimpleNamespace(open_segment=lambda path: segment))
    monkeypatch.setattr(commands, "_port_counters", lambda kept, segment: {"s1-eth1": {"rx_frames": 9}})


def _shown(capsys: pytest.CaptureFixture[str], node: str | None) -> dict[str, Any]:
    assert commands.stat(node, None, as_json=True) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


@pytest.mark.usefixtures("kept")
def test_connection_managers_that_have_counted_stand_beside_the_nics(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = _shown(capsys, None)
    assert shown["cm"] == {
        "h1.0": {"rx_mads": 4, "rx_malformed": 2},
        "h1.1": {"rx_mads": 1, "rx_malformed": 0},
    }
    assert list(shown["nics"]) == ["h1.0", "h2.0"]
    assert shown["ports"] == {"s1-eth1": {"rx_frames": 9}}


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(("node", "managers"), [("h1", ["h1.0", "h1.1"]), ("h2", []), ("s1", [])])
def test_a_node_has_its_own(capsys: pytest.CaptureFixture[str], node: str, managers: list[str]) -> None:
    assert list(_shown(capsys, node)["cm"]) == managers


@pytest.mark.usefixtures("kept")
def test_the_table_names_the_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.stat("h1", None, as_json=False) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["connection", "manager", "h1.0", "h1.1"] in lines
    assert ["rx_malformed", "2", "0"] in lines and ["rx_wrong_peer", "3"] in lines
