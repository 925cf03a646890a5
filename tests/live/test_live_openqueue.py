"""Policies that are loaded by hand while unmodified programs run, with what they are told when they are wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from kept_hosts import kept_hosts
from live_runs import SCENARIOS, command, error_of, live, topology

pytestmark = live

_PROGRAMS = SCENARIOS / "openqueue"
_ON = ("--set", "switch.openqueue=builtin")


def _openqueue(*words: str) -> subprocess.CompletedProcess[str]:
    return command("openqueue", *words)


def test_a_policy_is_changed_under_a_program_that_loses_nothing(tmp_path: Path) -> None:
    with kept_hosts(SCENARIOS / "pingpong.toml", "roce+pfc", *_ON) as hosts:
        run = hosts.kept.directory.run_id
        words = ["ib_write_bw", "-d", "rocelab0", "-x", "1", "-n", "2000", "-s", "65536"]
        with hosts.program("h1", words, tmp_path / "server") as serving:
            hosts.wait_for_listener("h1", 18515, serving)
            address = hosts.kept.state["addresses"]["h1"]
            with hosts.program("h2", [*words, address], tmp_path / "client") as asking:
                for policy in ("lqd.oq", "wrr.oq", "steps.oq"):
                    done = _openqueue("load", str(_PROGRAMS / policy), "--run", run, "--change", "requeue")
                    assert done.returncode == 0 and done.stdout.startswith("from "), done.stderr
                assert asking.wait(300) == 0, (tmp_path / "client").read_text()
            assert serving.wait(60) == 0
        shown = _openqueue("show", "--run", run)
        assert "steps.oq" in shown.stdout and "dropped" in shown.stdout, shown.stdout + shown.stderr
        ports = json.loads(command("stat", "--run", run, "--json").stdout)["ports"].values()
        assert sum(p["drops"] for p in ports) == 0 < sum(p["tx_frames"] for p in ports)


def test_bad_input_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.oq"
    bad.write_text("on every port { q = Queue(240KB); out = Port(100%, q); select { else -> p; } }\n")
    with topology(SCENARIOS / "pingpong.toml", "--label", "roce+pfc", *_ON) as run:
        for words, said in (
            ((str(bad),), "bad.oq:1:"),
            ((str(_PROGRAMS / "lqd.oq"), "--switch", "s9"), "no switch s9: there are s1"),
            ((str(_PROGRAMS / "lqd.oq"), "--at", "5 bananas"), "5 bananas"),
            ((str(_PROGRAMS / "a.oq"), "--const", "kk=1"), "kk"),
        ):
            failed = _openqueue("load", *words, "--run", run)
            assert failed.returncode != 0 and said in failed.stderr, failed.stderr
        assert "s1 at" in _openqueue("show", "--run", run).stdout
        assert ": builtin, 0 policies drain" in _openqueue("show", "--run", run).stdout


def test_a_topology_without_policies_says_how_to_have_them() -> None:
    with topology(SCENARIOS / "pingpong.toml", "--label", "roce+pfc") as run:
        failed = _openqueue("load", str(_PROGRAMS / "lqd.oq"), "--run", run)
        assert "has no policies to change" in failed.stderr and "switch.openqueue=builtin" in failed.stderr


@pytest.mark.parametrize("words", (("check",), ("load", "nothing.oq"), ("explain", "nothing.oq")))
def test_a_command_line_that_cannot_be_is_refused(words: tuple[str, ...]) -> None:
    failed = _openqueue(*words)
    assert failed.returncode != 0 and error_of(failed), failed.stderr
