"""Each test that DEVIATIONS.md names exists, by its full name, and each file that it names does."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_CASE = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\)")
_PYTHON_TEST = re.compile(r"^\s*def (test_\w+)", re.M)
# A word in backticks that is the name of a test: a suite, Suite.Case, a case alone, or a function of pytest.
_SUITE = re.compile(r"[A-Z]\w*(?:Test|Probe)")
_NAMES_A_TEST = re.compile(r"[A-Z]\w*(?:Test|Probe)(?:[./*].*)?|test_\w+.*|[A-Z][a-z]\w{18,}|.*\.\.\.")


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines()]


def names(files: list[Path]) -> set[str]:
    """Suites, cases with and without their suite, functions of pytest, and the files themselves."""
    found: set[str] = set()
    for path in files:
        found |= {path.name, path.stem, str(path.relative_to(ROOT))}
        if path.suffix in (".cc", ".h"):
            for suite, case in _CASE.findall(path.read_text()):
                found |= {suite, case, f"{suite}.{case}"}
        elif path.suffix == ".py":
            found |= set(_PYTHON_TEST.findall(path.read_text()))
    return found


def unresolved(text: str, known: set[str]) -> list[str]:
    words = re.findall(r"`([^`\n]+)`", text)
    return [word for word in words if _NAMES_A_TEST.fullmatch(word) and word not in known]


def test_every_named_test_exists() -> None:
    assert unresolved((ROOT / "DEVIATIONS.md").read_text(), names(tracked())) == []


def test_a_name_that_is_cut_short_or_wrong_is_found() -> None:
    known = {"RtoTest", "RtoTest.ADynamicTimerFollowsTheRtt", "test_runs"}
    assert unresolved("`RtoTest.ADynamic...` and `RtoTest` and `test_runs`", known) == ["RtoTest.ADynamic..."]
    assert unresolved("`RtoTest.AStaticTimer`, `test_walks`, `irn.rto`", known) == [
        "RtoTest.AStaticTimer",
        "test_walks",
    ]
