"""What a live run cannot begin or end with: programs that fail before time begins, and shared memory that is full."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from live_runs import ROCELAB, ROOT, SCENARIOS, live, run
from rocelab import native

pytestmark = live

_LIMIT_S = 30.0  # a stalled clock is waited for twice as long


@pytest.fixture
def failing_h2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build for hosts whose traffic program fails on h2."""
    real, build = native.hosts_build(), tmp_path / "build"
    (build / "verbs_app").mkdir(parents=True)
    (build / "irn_provider").symlink_to(real / "irn_provider")
    program = build / "verbs_app" / "rocelab_flows"
    flows = real / "verbs_app" / "rocelab_flows"
    program.write_text(
        f'#!/bin/sh\n[ "$2" != h2 ] || {{ echo "no memory is left" >&2; exit 3; }}\nexec {flows} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("ROCELAB_HOSTS_BUILD", str(build))


@pytest.mark.usefixtures("failing_h2")
def test_a_program_that_fails_at_its_start_is_the_runs_error(tmp_path: Path) -> None:
    begin = time.monotonic()
    result = run(SCENARIOS / "quick.toml", tmp_path / "out")
    assert time.monotonic() - begin < _LIMIT_S
    assert len(result.outcomes) > 1
    assert {o.error for o in result.outcomes} == {"h2: exit status 3: no memory is left"}
    assert not result.complete


@pytest.mark.parametrize("size", ["16k", "100k", "2m"])
def test_a_full_dev_shm_is_said_and_leaves_nothing(tmp_path: Path, size: str) -> None:
    """No room for a segment, for the programs' parts of it, for the traces of all labels: in a mount namespace of the command's own."""
    words = f"run {SCENARIOS / 'quick.toml'} --out {tmp_path / 'out'}"
    line = f"mount -t tmpfs -o size={size} tmpfs /dev/shm && {ROCELAB} {words}; s=$?; ls -A /dev/shm; exit $s"
    # A program that writes where no memory is left ends by SIGBUS: nothing for a sanitizer to report.
    options = f"{os.environ.get('ASAN_OPTIONS', '')}:handle_sigbus=0"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**os.environ, "ASAN_OPTIONS": options},
    )
    assert done.returncode == 1, done.stderr
    assert "rocelab: error: /dev/shm" in done.stderr and "the disk is full; traces go there" in done.stderr
    left = [name for name in done.stdout.splitlines() if name.startswith(("rocelab.", ".rocelab."))]
    assert left == []
    assert done.stderr.count("error: ") == 1
