"""Spin looks at every interleaving of PFC and Escape on a small ring (tests/models/escape.pml): PFC alone deadlocks, the letter of the algorithm loses or reorders
frames, each of its fixes but one is needed, and with all of them no property is violated; flows that are new where a circle closes leave it by announcements only. (That of headroom needs longer flows than can be searched.)"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[1] / "models" / "escape.pml"
FIXES = ("FIX_POOL", "FIX_ORDER", "FIX_RECLAIM", "FIX_HEADROOM")

pytestmark = pytest.mark.skipif(shutil.which("spin") is None, reason="Debian's package spin is not installed")


def verify(folder: Path, *defines: str, breadth_first: bool = False) -> str:
    """What the verifier says. Breadth first finds a short way to a violation; hash compaction keeps a search without one below 400 MB."""
    flags = [f"-D{name}" for name in ("FRAMES=2", *defines)]
    subprocess.run(["spin", *flags, "-a", str(MODEL)], cwd=folder, check=True, capture_output=True)
    search = ["-DHC4", "-DBFS"] if breadth_first else ["-DHC4"]
    build = ["gcc", "-O2", "-w", "-DSAFETY", "-DVECTORSZ=2048", *search, "-o", "pan", "pan.c"]
    subprocess.run(build, cwd=folder, check=True)
    bounds = [] if breadth_first else ["-m20000"]
    done = subprocess.run(["./pan", *bounds, "-w24"], cwd=folder, capture_output=True, text=True)
    assert "errors:" in done.stdout, done.stdout + done.stderr
    return done.stdout


def test_pfc_alone_deadlocks(tmp_path: Path) -> None:
    assert "invalid end state" in verify(tmp_path, "PFC_ONLY")


@pytest.mark.parametrize(
    ("without", "violated"),
    [
        (FIXES, "assertion violated (held"),  # a frame that nothing has a place for: a drop
        (("FIX_POOL",), "assertion violated (held"),
        (("FIX_ORDER",), "assertion violated (s==arrived[f])"),
        (("FIX_RECLAIM",), "assertion violated"),
    ],
    ids=["letter", "pool", "order", "reclaim"],
)
def test_without_its_fixes_the_algorithm_breaks_its_properties(
    tmp_path: Path, without: tuple[str, ...], violated: str
) -> None:
    kept = [fix for fix in FIXES if fix not in without]
    assert violated in verify(tmp_path, *kept, breadth_first="FIX_RECLAIM" in without and len(without) == 1)


def test_a_circle_of_new_flows_stays_closed_without_announcements(tmp_path: Path) -> None:
    """Against theorem 4.4.1: no flow has traversed an open port, and nothing can happen any more."""
    assert "invalid end state" in verify(tmp_path, *FIXES, "TABLES")


def test_with_announcements_no_interleaving_breaks_a_property(tmp_path: Path) -> None:
    said = verify(tmp_path, *FIXES, "TABLES", "ANNOUNCE")
    assert "errors: 0" in said and "max search depth too small" not in said, said


def test_with_its_fixes_no_interleaving_breaks_one(tmp_path: Path) -> None:
    said = verify(tmp_path, *FIXES)
    assert "errors: 0" in said and "max search depth too small" not in said, said
