"""The wall clock: the same result as lock step, at the machine's pace; and what `plug` says when it cannot."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_runs import SCENARIOS, command, entries, error_of, live, run, topology
from rocelab.live.commands import find

pytestmark = live


def test_programs_and_switches_are_as_exact_under_the_wall_clock(tmp_path: Path) -> None:
    lockstep = entries(run(SCENARIOS / "quick.toml", tmp_path / "lockstep"))
    wall = entries(run(SCENARIOS / "quick.toml", tmp_path / "wall", "engine.clock=wall"))
    for label, (expected,) in lockstep.items():
        (got,) = wall[label]
        assert got["trace_hash"] == expected["trace_hash"], label
        assert got["fidelity"]["clock"] == "wall" and got["fidelity"]["verdict"] in ("ok", "degraded")


def test_it_does_not_run_ahead_of_the_machine(tmp_path: Path) -> None:
    result = run(
        SCENARIOS / "quick.toml", tmp_path, "engine.clock=wall", "engine.dilation=3000", 'transport="irn"'
    )
    ((entry,),) = entries(result).values()
    assert entry["fidelity"]["dilation"] == 3000
    assert entry["wall_s"] >= 3000 * entry["rct_s"] > 0.5


@pytest.fixture(scope="module")
def kept() -> Iterator[str]:
    with topology(SCENARIOS / "pingpong.toml") as run_id:
        yield run_id


def plug(run_id: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command("plug", "--run", run_id, *arguments)


def addresses(run_id: str) -> str:
    inside = ["mnexec", "-a", str(find(run_id).host_pid("h2"))]
    return subprocess.run([*inside, "ip", "-br", "addr"], capture_output=True, text=True, check=True).stdout


def test_a_device_needs_the_wall_clock_and_leaves_the_host_as_it_was(kept: str) -> None:
    before = addresses(kept)
    assert "--clock wall" in error_of(plug(kept, "--host", "h2", "--tap", "wire0"))
    assert addresses(kept) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--host", "h2"), "--kernel"),
        (("--host", "h2", "--tap", "wire0", "--kernel"), "one of"),
        (("--host", "h2", "--tap", "wire0", "--program", "/bin/true"), "--kernel"),
        (("--host", "h2", "--kernel", "--program", "/nowhere"), "no such program: /nowhere"),
        (("--host", "h9", "--tap", "wire0"), "no host h9"),
        (("--host", "h2", "--interface", "nowhere0"), "no such network device"),
    ],
    ids=[
        "no device",
        "two devices",
        "program without kernel",
        "no program",
        "unknown host",
        "unknown device",
    ],
)
def test_devices_that_cannot_be_plugged_in_are_named(
    kept: str, arguments: tuple[str, ...], says: str
) -> None:
    assert says in error_of(plug(kept, *arguments))
