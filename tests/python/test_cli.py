"""The command line: wrong use is one clear line and a status, and help is there for every command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rocelab import cli, cli_live, commands
from rocelab.errors import RocelabError, UsageError

ROOT = Path(__file__).resolve().parents[2]


def rocelab(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run([str(ROOT / "rocelab"), *words], capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rum"], "unknown command `rum`, did you mean `run`?"),
        (["run"], "Missing argument 'SCENARIO'"),
        (["run", "no/such.toml"], "no scenario file no/such.toml"),
        (["run", "LICENSE", "--sed", "3"], "No such option: --sed"),
        (["run", "LICENSE", "--seed", "-1"], "Invalid value for '--seed'"),
        (["run", "LICENSE", "--engine", "ns3"], "'ns3' is not one of 'live', 'des'"),
        (["run", "LICENSE", "--set", "topology.rate"], "--set topology.rate: write it as KEY=VALUE"),
        (["run", "LICENSE", "--engine", "des", "--clock", "wall"], "--clock is for --engine live"),
        (["exec", "--host", "h1"], "Missing argument"),
        (["exec", "--", "ls"], "give either a host of a kept topology or --interface DEV"),
        (["exec", "--host", "h1", "--interface", "eth0", "--", "ls"], "give either a host"),
        (["exec", "--host", "h1", "--transport", "irn", "--", "ls"], "are for --interface"),
        (["exec", "--interface", "eth0", "--transport", "tcp", "--", "ls"], "'tcp' is not one of"),
        (["exec", "--interface", "eth0", "--plain", "--", "ls"], "--plain is for --host"),
        (["exec", "--interface", "eth0", "--run", "abcdef", "--", "ls"], "--run is for --host"),
        (["env"], "give either a host"),
        (["export", "LICENSE", "--epoch", "nan"], "--epoch must be 0 to 1000000 seconds"),
        (["export", "LICENSE", "--epoch", "1e300"], "--epoch must be 0 to 1000000 seconds"),
        (["test", "--label", "unti"], "no tests are labelled `unti`"),
        (["bench", "ns3"], "is not one of 'live', 'des', 'scale', 'wall'"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(words: list[str], said: str) -> None:
    done = rocelab(*words)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("rocelab: error: ")
    assert said in done.stderr


def test_cleaning_an_unknown_run_is_an_error() -> None:
    done = rocelab("clean", "zzzzzz")
    assert done.returncode == 1 and "no run zzzzzz on this machine" in done.stderr


def test_every_command_has_help_with_an_example() -> None:
    for command in commands.COMMANDS:
        done = rocelab(command.name, "--help", COLUMNS="200")
        assert done.returncode == 0
        assert f"Example: ./rocelab {command.name}" in done.stdout


def test_the_bare_machine_knows_the_same_commands() -> None:
    names = {info.name or getattr(info.callback, "__name__") for info in cli.app.registered_commands}
    names |= {group.name for group in cli.app.registered_groups}
    assert names == {command.name for command in commands.COMMANDS}


def test_an_unexpected_error_has_a_traceback_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys; from rocelab import __main__ as main, packages\n"
        "def fail(*_, **__): raise ValueError('a bug')\n"
        "packages.ensure = fail\n"
        "sys.exit(main.main(['setup']))"
    )
    for debug, traceback in (("", False), ("1", True)):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "emu"), "ROCELAB_DEBUG": debug}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 1
        assert ("Traceback" in done.stderr) == traceback and "a bug" in done.stderr


def test_root_is_asked_for_before_anything_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocelab.privileges.is_root", lambda: False)
    monkeypatch.setattr(cli, "set_up", lambda: pytest.fail("built"))
    for words in (
        ["run", str(ROOT / "LICENSE")],
        ["run", str(ROOT / "LICENSE"), "--engine", "live"],
        ["exec", "--host", "h1", "--", "ls"],
        ["down"],
    ):
        with pytest.raises(RocelabError, match="needs root: run it with sudo"):
            cli.main(words)


def test_the_words_of_an_executed_program_pass_through(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []
    monkeypatch.setattr("rocelab.privileges.is_root", lambda: True)
    monkeypatch.setattr(cli_live, "call", lambda *words, **options: seen.append(words) or 7)
    assert cli.main(["exec", "--host", "h1", "--", "ib_write_bw", "--help", "-d", "x", "--", "y"]) == 7
    assert seen[0][2:] == ("h1", ("ib_write_bw", "--help", "-d", "x", "--", "y"))


def test_a_scenario_with_a_typing_error_is_guessed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "incast.toml").touch()
    monkeypatch.setattr(cli.paths, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path / "scenarios")
    with pytest.raises(UsageError, match=f"did you mean {tmp_path}/scenarios/incast.toml"):
        cli.main(["run", "scenarios/incast.toml"])  # right but for the folder that the user is in
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="did you mean scenarios/incast.toml"):
        cli.main(["run", "scenarios/incats.toml"])
