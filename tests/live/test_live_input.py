"""Mistakes: one line on stderr that says where, an exit status, and nothing on the machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from live_runs import ROCELAB, ROOT, command, error_of, live

pytestmark = live

_GOOD = """transport = "irn"
[topology]
kind = "star"
hosts = 2
rate = "40Gb/s"
delay = "2us"
[[workload]]
kind = "list"
  [[workload.flow]]
  src = "h1"
  dst = "h2"
  size = "1KB"
"""


@pytest.mark.parametrize(
    ("line", "mistake", "where"),
    [
        ('rate = "40Gb/s"', 'rat = "40Gb/s"', "5:1: unknown key"),
        ('rate = "40Gb/s"', "rate = 40", "5:8: topology.rate has no unit"),
        ('delay = "2us"', 'delay = "0us"', "6:9: topology.delay"),
        ('kind = "star"', 'kind = "wheel"', "3:8: topology.kind"),
        ("hosts = 2", "hosts = ", "4:"),
        ('dst = "h2"', 'dst = "h7"', "11:9: "),
    ],
    ids=["unknown key", "rate without unit", "no delay", "unknown kind", "broken TOML", "unknown host"],
)
def test_a_mistake_in_a_scenario_is_named_with_its_line_and_column(
    tmp_path: Path, line: str, mistake: str, where: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(_GOOD.replace(line, mistake))
    said = error_of(command("run", path, "--out", tmp_path / "out"))
    assert said.startswith(f"{path}:{where}"), said
    assert not (tmp_path / "out").exists()


def test_a_scenario_without_mistake_runs(tmp_path: Path) -> None:
    path = tmp_path / "right.toml"
    path.write_text(_GOOD)
    done = command("run", path, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "summary.json").exists()
    assert f"report: {tmp_path / 'out'}" in done.stdout.replace("\n", "")


def test_a_missing_file_is_named() -> None:
    assert "no scenario file scenarios/incsat.toml: did you mean scenarios/incast.toml?" == error_of(
        command("run", "scenarios/incsat.toml")
    )


def test_an_override_of_an_unknown_key_is_named() -> None:
    assert "topology.rat" in error_of(command("run", "scenarios/quick.toml", "--set", 'topology.rat="1Gb/s"'))


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
@pytest.mark.parametrize("words", [["run"], ["up"]])
def test_without_root_one_line_says_so(words: list[str]) -> None:
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*user, "test", "-x", str(ROCELAB)], check=False).returncode != 0:
        pytest.skip(f"{ROOT} is not readable for others")
    done = subprocess.run(
        [*user, str(ROCELAB), *words, "scenarios/quick.toml"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert "needs root" in error_of(done)
