"""`./rocelab doctor` says what is missing and why, on machines that lack it, and its exit status is about the run that was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
from rocelab import doctor, packages

ROOT = Path(__file__).resolve().parents[2]
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine that has everything."""
    monkeypatch.setattr(doctor, "is_root", lambda: True)
    monkeypatch.setattr(doctor.packages, "missing", lambda names: [])
    monkeypatch.setattr(doctor, "_namespaces", lambda: doctor.Finding("namespaces", "ok", "", (doctor.LIVE,)))
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: Usage(0, 0, 10**12))
    monkeypatch.setattr(doctor.importable, "folder", lambda: tmp_path)
    return monkeypatch


def said(engine: str = doctor.LIVE) -> tuple[int, str]:
    lines: list[str] = []
    status = doctor.run(engine, lines.append)
    return status, "\n".join(lines)


def test_a_machine_that_has_everything_works(healthy: pytest.MonkeyPatch) -> None:
    status, text = said()
    assert status == 0 and "NO" not in text
    assert text.splitlines()[-1].startswith("live:") and text.splitlines()[-1].endswith("works")


Break = Callable[[pytest.MonkeyPatch], None]


def _without_root(m: pytest.MonkeyPatch) -> None:
    m.setattr(doctor, "is_root", lambda: False)


def _small_shm(m: pytest.MonkeyPatch) -> None:
    m.setattr(
        doctor.shutil, "disk_usage", lambda p: Usage(0, 0, 10**7 if str(p) == "/dev/shm" else 10**12)
    )


def _no_namespaces(m: pytest.MonkeyPatch) -> None:
    no = doctor.Finding("namespaces", "no", "unshare: Operation not permitted", (doctor.LIVE,))
    m.setattr(doctor, "_namespaces", lambda: no)


def _missing(group: str) -> Break:
    def without(m: pytest.MonkeyPatch) -> None:
        _without_root(m)
        mine = set(packages.PACKAGES[group])
        m.setattr(doctor.packages, "missing", lambda names: [n for n in names if n in mine])

    return without


def _arm(m: pytest.MonkeyPatch) -> None:
    m.setattr(doctor.platform, "machine", lambda: "aarch64")


def _full_disk(m: pytest.MonkeyPatch) -> None:
    m.setattr(doctor.paths, "OVS_TREE", Path("/nowhere"))
    m.setattr(
        doctor.shutil, "disk_usage", lambda p: Usage(0, 0, 10**12 if str(p) == "/dev/shm" else 10**7)
    )


@pytest.mark.parametrize(
    ("broken", "words", "des_works"),
    [
        (_without_root, "sudo ./rocelab", True),
        (_small_shm, "docker run --shm-size 1g", True),
        (_no_namespaces, "unshare: Operation not permitted", True),
        (_missing("live"), "run sudo ./rocelab setup once", True),
        (_missing("results"), "run sudo ./rocelab setup once", False),
        (_arm, "x86-64 is needed", False),
        (_full_disk, "10 MB free", False),
    ],
)
def test_missing_parts_are_reported_and_decide_the_exit_status(
    healthy: pytest.MonkeyPatch, broken: Break, words: str, des_works: bool
) -> None:
    broken(healthy)
    status, text = said()
    assert status == 1 and words in text
    assert [line for line in text.splitlines() if line.startswith("  NO")]
    assert (said(doctor.DES)[0] == 0) == des_works


def test_steps_of_the_first_run_are_no_obstacle(healthy: pytest.MonkeyPatch) -> None:
    healthy.setattr(doctor.packages, "missing", lambda names: list(names[:2]))
    healthy.setattr(doctor.packages, "unknown", lambda names: "")
    status, text = said()
    assert status == 0 and "later" in text and "the first run installs them" in text
    healthy.setattr(doctor.packages, "unknown", lambda names: "pybind11-dev")
    status, text = said()
    assert status == 1 and "apt-get does not know pybind11-dev" in text


def test_packages_that_no_source_has_are_named() -> None:
    assert packages.unknown(["libc6"]) == ""
    assert packages.unknown(["libc6", "rocelab-no-such-package"]) == "rocelab-no-such-package"


def test_a_bare_machine_needs_the_standard_library_alone() -> None:
    code = (
        "import sys\n"
        "for name in ('typer', 'rich', 'numpy', 'pandas'): sys.modules[name] = None\n"
        "from rocelab import __main__ as main\n"
        "sys.exit(main.main(['doctor', '--engine', 'des']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "emu")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stderr == "" and "packages: build, results" in done.stdout
    assert done.returncode == ("virtual time" in done.stdout and "(above)" in done.stdout.splitlines()[-2])


@pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces")
def test_namespaces_are_tried_and_gone() -> None:
    before = sorted(path.name for path in Path("/sys/class/net").iterdir())
    found = doctor._namespaces()
    assert found.state == "ok", found.text
    assert sorted(path.name for path in Path("/sys/class/net").iterdir()) == before
    without = [
        "setpriv",
        "--bounding-set",
        "-sys_admin",
        "--inh-caps",
        "-all",
        "--reuid",
        "65534",
        "--clear-groups",
    ]
    code = (
        f"import sys; sys.path[0] = {str(ROOT / 'emu')!r}; from rocelab import doctor; doctor.enter('true')"
    )
    done = subprocess.run([*without, sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0 and "unshare: Operation not permitted" in done.stderr
