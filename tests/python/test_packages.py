"""emu/rocelab/packages.py and the bootstrap on a machine that lacks packages: dpkg-query and apt-get are played by scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rocelab import commands, packages

ROOT = Path(__file__).resolve().parents[2]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="drops privileges")

DPKG_QUERY = """#!/bin/sh
while read -r package state; do echo "$package $state"; done < "$FAKE/status"
exit 1
"""
APT_GET = """#!/bin/sh
echo "$@" >> "$FAKE/apt.log"
case "$*" in
  *update*) touch "$FAKE/updated"; exit 0 ;;
  *--simulate*) [ -e "$FAKE/updated" ] || [ ! -e "$FAKE/no-lists" ]; exit $? ;;
esac
if [ -e "$FAKE/stale" ] && [ ! -e "$FAKE/updated" ]; then echo "E: Failed to fetch"; exit 100; fi
if [ -e "$FAKE/unknown" ]; then echo "E: Unable to locate package $(cat "$FAKE/unknown")"; exit 100; fi
echo "pmstatus:mininet:50.0:Unpacking mininet"
for word in "$@"; do case "$word" in -*|*::*|install) ;; *) echo "$word ii" >> "$FAKE/status" ;; esac; done
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Everything is installed but what a test removes from `status`."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("dpkg", "#!/bin/sh\n")):
        (bin_folder / name).write_text(text)
        (bin_folder / name).chmod(0o755)
    lines = [f"{package} ii" for package in packages.wanted(packages.PACKAGES)]
    (tmp_path / "status").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE", str(tmp_path))
    monkeypatch.setattr(packages, "LOG", tmp_path / "packages.log")
    monkeypatch.setattr(packages, "is_root", lambda: True)
    return tmp_path


def remove(machine: Path, *names: str) -> None:
    kept = [line for line in (machine / "status").read_text().splitlines() if line.split()[0] not in names]
    (machine / "status").write_text("\n".join(kept) + "\n")


def apt_calls(machine: Path) -> list[str]:
    log = machine / "apt.log"
    return log.read_text().splitlines() if log.exists() else []


def test_no_package_is_listed_twice() -> None:
    everything = packages.wanted(packages.PACKAGES)
    assert len(everything) == len(set(everything))


def test_nothing_missing_means_nothing_is_called(machine: Path) -> None:
    packages.ensure(["build", "results", "live"])
    assert apt_calls(machine) == []


def test_the_list_is_printed_before_it_is_installed(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remove(machine, "mininet", "g++")
    packages.ensure(["build", "results", "live"])
    assert "missing Debian packages: g++ mininet" in capsys.readouterr().err
    assert len(apt_calls(machine)) == 2 and "--simulate" in apt_calls(machine)[0]
    assert apt_calls(machine)[1].endswith("--no-install-recommends install g++ mininet")


def test_unpacked_but_unconfigured_counts_as_missing(machine: Path) -> None:
    status = (machine / "status").read_text().replace("mininet ii", "mininet iU")
    (machine / "status").write_text(status)
    assert packages.missing(["mininet", "g++"]) == ["mininet"]


def test_package_lists_are_updated_only_when_they_do_not_suffice(machine: Path) -> None:
    remove(machine, "mininet")
    (machine / "no-lists").touch()
    packages.ensure(["live"])
    assert [("update" in call) for call in apt_calls(machine)] == [False, True, False]


def test_stale_lists_are_updated_and_the_installation_tried_again(machine: Path) -> None:
    remove(machine, "mininet")
    (machine / "stale").touch()
    packages.ensure(["live"])
    assert packages.missing(["mininet"]) == []


def test_a_package_that_the_system_does_not_have_is_named(machine: Path) -> None:
    remove(machine, "openvswitch-source")
    (machine / "unknown").write_text("openvswitch-source")
    with pytest.raises(packages.RocelabError, match="do not have openvswitch-source: Debian 12 has"):
        packages.ensure(["live"])


def test_a_command_that_is_there_from_elsewhere_is_not_installed_again(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's npm would remove another nodejs than Debian's."""
    remove(machine, "nodejs", "npm", "mininet")
    monkeypatch.setattr(packages.shutil, "which", lambda name: f"/opt/bin/{name}" if name == "node" else None)
    assert packages.missing(["nodejs", "npm", "mininet"]) == ["npm", "mininet"]
    packages.ensure(["ui"])
    assert apt_calls(machine)[-1].endswith("install npm")


def test_no_install_only_prints_and_fails(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remove(machine, "mininet")
    with pytest.raises(packages.RocelabError, match="--no-install"):
        packages.ensure(["live"], install=False)
    assert "mininet" in capsys.readouterr().err and apt_calls(machine) == []


def test_without_root_one_line_says_what_to_do(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remove(machine, "mininet")
    monkeypatch.setattr(packages, "is_root", lambda: False)
    with pytest.raises(packages.RocelabError, match="needs root: run `sudo ./rocelab setup`"):
        packages.ensure(["live"])
    assert apt_calls(machine) == []


def test_progress_is_read_from_apt() -> None:
    assert packages._apt_line("dlstatus:3:40.0:Retrieving file") == (0.2, "Retrieving file")
    assert packages._apt_line("pmstatus:g++:60.0:Unpacking g++") == (0.8, "Unpacking g++")
    assert packages._apt_line("Setting up g++ (4:12.2.0-3) ...") is None


def test_the_bootstrap_needs_nothing_but_the_standard_library(machine: Path) -> None:
    """`./rocelab run` on a bare machine comes as far as the packages: -S hides all of Debian's Python packages."""
    remove(machine, "python3-typer", "python3-rich")
    main = ROOT / "emu/rocelab/__main__.py"
    done = subprocess.run(
        [sys.executable, "-S", str(main), "run", "x.toml", "--no-install"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "rocelab: missing Debian packages: python3-rich python3-typer"
    assert "Traceback" not in done.stderr
    helped = subprocess.run([sys.executable, "-S", str(main), "--help"], capture_output=True, text=True)
    assert helped.returncode == 0 and "./rocelab run scenarios/incast.toml" in helped.stdout


def test_words_behind_two_dashes_are_not_ours(machine: Path) -> None:
    remove(machine, "mininet")
    main = ROOT / "emu/rocelab/__main__.py"
    done = subprocess.run(
        [sys.executable, str(main), "run", "--no-install", "--", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 1 and "mininet" in done.stderr


def test_virtual_time_needs_neither_mininet_nor_open_vswitch(machine: Path) -> None:
    remove(machine, *packages.PACKAGES["live"])
    run, bench = commands.find("run"), commands.find("bench")
    assert run is not None and bench is not None
    for words in (["run", "x.toml", "--engine", "des"], ["run", "--engine=des", "x.toml"]):
        packages.ensure(commands.needs(run, words))
    packages.ensure(commands.needs(bench, ["bench", "des"]))
    assert apt_calls(machine) == []
    assert "live" in commands.needs(run, ["run", "x.toml"]) and "live" in commands.needs(
        bench, ["bench", "live"]
    )
