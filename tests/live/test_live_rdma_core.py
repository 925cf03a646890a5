"""rdma-core's own tests (pyverbs, as Debian ships them), unmodified, on our device: in real time over shared memory, and in lock step on a
Mininet host through Open vSwitch. docs/reference/compatibility.md says which of them run, and why the others skip themselves."""

from __future__ import annotations

import dataclasses
import gzip
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_runs import ROCELAB, ROOT, SCENARIOS, live, topology
from rocelab.live.interface import environment
from rocelab.live.veth_pair import veth_pair

pytestmark = live

_PACKAGE, _INSTALLED = "python3-pyverbs", Path("/usr/share/doc/rdma-core/tests")
_SECONDS = 300.0
_TABLE = (ROOT / "docs/reference/compatibility.md").read_text()
_REASONS = tuple(re.findall(r"^\| `([^`]+)` \| \d+ \|", _TABLE, re.MULTILINE))
# It posts and expects completions at once, without a call that lets time pass.
_NOT_IN_LOCK_STEP = {"test_resize_cq"}
# Two processes that find one another by Python's barriers and pipes, in wall time: on a busy machine they are left behind, and lose
# datagrams that the other one counts on.
_IN_REAL_TIME_ONLY, _TESTS_OF_IT = "test_rdmacm", 10


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of run_tests.py. Debian compresses the longer files; a system without documentation has none of them."""
    folder = tmp_path_factory.mktemp("rdma-core")
    installed = _INSTALLED
    if not installed.is_dir():
        subprocess.run(["apt-get", "download", _PACKAGE], cwd=folder, check=True, capture_output=True)
        subprocess.run(
            ["dpkg", "-x", *(p.name for p in folder.glob("*.deb")), "package"], cwd=folder, check=True
        )
        installed = folder / "package" / _INSTALLED.relative_to("/")
    tests = folder / "tests"
    shutil.copytree(installed, tests)
    for packed in tests.glob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    return tests


def _command(suite: Path, *modules: str) -> list[str]:
    return [
        "/usr/bin/python3",
        str(suite / "run_tests.py"),
        "-v",
        "--dev",
        "rocelab0",
        "--gid",
        "1",
        *modules,
    ]


def _check(said: str, known_failures: set[str], left_out: int = 0) -> None:
    end = said[-3000:]
    ran = re.search(r"^Ran (\d+) tests in", said, re.MULTILINE)
    assert ran, end
    failed = set(re.findall(r"^(?:ERROR|FAIL): (\w+)", said, re.MULTILINE))
    assert failed <= known_failures, said[said.index("======") :][:6000]
    reasons = re.findall(r"""skipped ['"](.*)['"]$""", said, re.MULTILINE)
    strange = {reason for reason in reasons if not reason.startswith(_REASONS)}
    assert not strange, "skipped for a reason that docs/reference/compatibility.md does not give"
    passed = int(ran[1]) - len(reasons) - len(failed)
    claimed = re.search(r"\*\*(\d+) pass\*\*", _TABLE)
    assert claimed and passed >= int(claimed[1]) - len(known_failures) - left_out, end


@pytest.fixture
def shared_memory() -> Iterator[str]:
    name = f"shm:rdma-core.{os.getpid()}"
    yield name
    for left in Path("/dev/shm").glob(f"rocelab-interface-*rdma-core.{os.getpid()}*"):
        left.unlink()


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_in_real_time(suite: Path, shared_memory: str, transport: str) -> None:
    with veth_pair() as (end, _):
        here = dataclasses.replace(end, ipv4="127.0.0.1")
        program = here.start(_command(suite), environment(shared_memory, transport))
        try:
            program.wait(_SECONDS)
            _check(program.output(), set())
        finally:
            program.end()


@pytest.mark.parametrize("label", ["roce", "irn"])
def test_in_lock_step(suite: Path, label: str) -> None:
    modules = sorted(f"tests.{p.stem}" for p in suite.glob("test_*.py") if p.stem != _IN_REAL_TIME_ONLY)
    with topology(SCENARIOS / "pingpong.toml", "--label", label) as run_id:
        done = subprocess.run(
            [str(ROCELAB), "exec", "--run", run_id, "--host", "h1", "--", *_command(suite, *modules)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
        )
        _check(done.stdout, _NOT_IN_LOCK_STEP, _TESTS_OF_IT)
