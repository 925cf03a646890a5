"""What `exec` says before a program runs: of one that is not there, and of one that looks for frames where none pass."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from rocelab.errors import RocelabError
from rocelab.live import programs
from rocelab.live.programs import check_program, package_of, warn_of_captures

ROOT = Path(__file__).resolve().parents[2]
_ROW = re.compile(r"^\| `([^`]+)` \| yes \| yes \| [^|]+ \| (\S+) \S+ \|")


def _rows() -> list[tuple[str, str]]:
    """Program and package of each row of docs/reference/compatibility.md; not of those that tests compile, with a library's package."""
    rows = [
        match.groups()
        for line in (ROOT / "docs/reference/compatibility.md").read_text().splitlines()
        if (match := _ROW.match(line))
    ]
    return [
        (next(w for w in text.split() if "=" not in w), package)
        for text, package in rows
        if not package.endswith("-dev")
    ]


def test_every_program_of_the_table_has_its_package() -> None:
    rows = _rows()
    assert len(rows) > 100
    assert {program: package_of(program) for program, _ in rows} == dict(rows)


@pytest.mark.parametrize("package", programs._PACKAGES)
def test_a_package_that_is_installed_has_the_programs(package: str) -> None:
    done = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("is not installed")
    files = {Path(line).name for line in done.stdout.splitlines() if re.search("/s?bin/", line)}
    for name in programs._PACKAGES[package].split():
        assert name in files or shutil.which(name), name  # an alternative is no file of a package


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [["ib_write_bw", "-x", "1"], ["env", "ib_write_bw"], ["env", "A=b", "_C_D=e f", "ib_write_bw", "g=h"]],
)
def test_a_missing_program_is_reported_with_its_package(nothing: Path, words: list[str]) -> None:
    with pytest.raises(RocelabError, match="^ib_write_bw: .* package perftest has it: apt install perftest$"):
        check_program(words)


def test_one_that_nobody_knows_is_reported_without(nothing: Path) -> None:
    with pytest.raises(RocelabError, match="^no_such: there is no such program; is it in PATH"):
        check_program(["no_such"])
    with pytest.raises(RocelabError, match="there is no such file"):
        check_program([str(nothing / "mine")])
    (nothing / "mine").write_text("no program")
    with pytest.raises(RocelabError, match="is not a program that may be run"):
        check_program([str(nothing / "mine")])


def test_one_that_is_there_and_one_that_cannot_be_told_are_let_through(nothing: Path) -> None:
    (nothing / "mine").touch(0o755)
    for words in (["mine"], [str(nothing / "mine")], ["env", "-i", "what"], ["env"], ["env", "A=b", "mine"]):
        check_program(words)


def test_a_capture_on_a_host_says_where_roce_frames_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROCELAB_QUIET", raising=False)
    warn_of_captures(["/usr/bin/tcpdump", "-i", "h1-eth0"], "h1")
    said = capsys.readouterr()
    assert said.out == "" and "./rocelab capture h1 shows them" in said.err
    warn_of_captures(["ping", "10.0.0.1"], "h1")
    monkeypatch.setenv("ROCELAB_QUIET", "1")
    warn_of_captures(["tcpdump"], "h1")
    assert capsys.readouterr().err == ""
