"""Spin looks at every interleaving of two switches with a packet processor (tests/models/capfc.pml): one that stops where a queue is full deadlocks, without a circle of routes; one that
skips the ingress port does not, and neither overflows its ingress memory."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[1] / "models" / "capfc.pml"

pytestmark = pytest.mark.skipif(shutil.which("spin") is None, reason="Debian's package spin is not installed")


def verify(folder: Path, *defines: str) -> str:
    """What the verifier says."""
    subprocess.run(
        ["spin", *(f"-D{name}" for name in defines), "-a", str(MODEL)],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    subprocess.run(["gcc", "-O2", "-w", "-DSAFETY", "-o", "pan", "pan.c"], cwd=folder, check=True)
    done = subprocess.run(["./pan", "-m100000"], cwd=folder, capture_output=True, text=True)
    assert "errors:" in done.stdout and "max search depth too small" not in done.stdout, done.stdout
    return done.stdout


def test_a_processor_that_stops_deadlocks_between_two_switches(tmp_path: Path) -> None:
    assert "invalid end state" in verify(tmp_path, "STOP")


@pytest.mark.parametrize(
    "defines", [(), ("ONE_WAY",), ("STOP", "ONE_WAY")], ids=["skip-port", "skip-port one way", "stop one way"]
)
def test_every_frame_arrives_otherwise(tmp_path: Path, defines: tuple[str, ...]) -> None:
    assert "errors: 0" in verify(tmp_path, *defines)
