"""`import rocelab`: the link that set-up makes and `clean --python` removes, and `./rocelab python`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rocelab.importable import PACKAGE, Link

ROOT = Path(__file__).resolve().parents[2]


def imported(*words: str, search: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if search is not None:
        environment["PYTHONPATH"] = str(search)
    return subprocess.run(words, capture_output=True, text=True, cwd="/", env=environment)


def test_the_link_makes_the_package_importable_and_is_removed(tmp_path: Path) -> None:
    link = Link(tmp_path / "site")
    assert link.make() is None and link.make() is None
    code = (
        "import rocelab, rocelab.native; print(rocelab.__file__, rocelab.native.module().TRACE_RECORD_SIZE)"
    )
    done = imported(sys.executable, "-c", code, search=link.folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(link.path / "__init__.py"), "32"]
    assert link.remove() and not link.remove()
    assert not link.path.is_symlink() and PACKAGE.is_dir()


def test_a_link_of_another_work_tree_stays_while_that_is_there(tmp_path: Path) -> None:
    other = tmp_path / "other" / "emu" / "rocelab"
    other.mkdir(parents=True)
    link = Link(tmp_path / "site")
    link.folder.mkdir()
    link.path.symlink_to(other)
    said = link.make()
    assert said is not None and str(tmp_path / "other") in said and "./rocelab python" in said
    assert not link.remove() and link.target() == other
    other.rmdir()
    assert link.make() is None and link.target() == PACKAGE


def test_an_installed_package_is_not_replaced(tmp_path: Path) -> None:
    link = Link(tmp_path)
    link.path.mkdir()
    said = link.make()
    assert said is not None and "is in the way" in said
    assert not link.remove() and link.path.is_dir()


def test_a_folder_that_takes_no_link_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = Link(tmp_path / "file" / "site").make()
    assert said is not None and "./rocelab python" in said


def test_the_command_starts_python_with_the_words_as_they_are(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys, rocelab\nprint(sys.argv[1:], rocelab.Scenario.__name__)\nsys.exit(7)\n")
    done = imported(str(ROOT / "rocelab"), "python", str(script), "--help", "-x")
    assert (done.returncode, done.stdout) == (7, "['--help', '-x'] Scenario\n"), done.stderr


def test_another_python_says_what_is_missing(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pandas'] = None\nimport rocelab\nrocelab.run"
    done = imported(sys.executable, "-c", code, search=ROOT / "emu")
    assert "use ./rocelab python, or run ./rocelab setup" in done.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    import rocelab

    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        rocelab.rum
    assert set(rocelab.__all__) < set(dir(rocelab))
