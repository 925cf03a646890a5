"""iSER (iSCSI over RDMA) between a target and initiators of user space, both unmodified: tgt's tgtd, libiscsi's programs. Through Open
vSwitch in lock step, and over shared memory in real time. The rows of docs/reference/compatibility.md that name libiscsi."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import program_table
import pytest
from interface_runs import finish
from live_runs import SCENARIOS, background, command, live, topology, wait_for
from rocelab import unpacked
from rocelab.live.interface import environment
from rocelab.live.veth_pair import veth_pair

pytestmark = live

_ROWS = [row for row in program_table.rows() if row.source == "libiscsi"]
assert _ROWS and all(row.modes == ("roce", "irn") for row in _ROWS), "these tests run every row in both modes"

_INITIATOR, _TARGET = "iqn.2026-01.lab:initiator", "iqn.2026-01.lab:target"
_BYTES = 4 << 20
# libiscsi's list of descriptors begins with what malloc gives: docs/reference/compatibility.md.
_ZEROS = {"MALLOC_PERTURB_": "255"}


class Target:
    """A disk behind tgtd, told what to be through its socket."""

    def __init__(self, folder: Path) -> None:
        self._programs = unpacked.ensure("tgt") / "usr/sbin"
        self.variables = {"TGT_IPC_SOCKET": str(folder / "tgtd")}  # else a name that all of root's share
        self.server = [str(self._programs / "tgtd"), "-f"]
        self._disk = folder / "disk"
        self._disk.write_bytes(os.urandom(_BYTES))

    def _tell(self, *words: str) -> bool:
        argv = [str(self._programs / "tgtadm"), "--lld", "iser", *words]
        done = subprocess.run(argv, env=os.environ | self.variables, capture_output=True, timeout=30)
        return done.returncode == 0

    def offer(self) -> None:
        wait_for(lambda: self._tell("--op", "show", "--mode", "sys"), "tgtd")
        target = ("--mode", "target", "--tid", "1")
        assert self._tell("--op", "new", *target, "-T", _TARGET)
        assert self._tell(
            *("--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "-b", str(self._disk))
        )
        assert self._tell("--op", "bind", *target, "-I", "ALL")
        assert self._tell("--op", "bind", *target, "-Q", _INITIATOR)


@contextmanager
def _on_h1(run_id: str, folder: Path) -> Iterator[None]:
    target = Target(folder)
    words = ["env", *(f"{name}={value}" for name, value in target.variables.items()), *target.server]
    with background("exec", "--run", run_id, "--host", "h1", "--", *words, log=folder / "log") as serving:
        target.offer()
        try:
            yield
        finally:
            serving.kill()  # it takes no SIGTERM, and cancels threads that wait, which lock step has no way to
            serving.wait()


@pytest.fixture(scope="module", params=["roce", "irn"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A run in which h1 has the target."""
    with topology(SCENARIOS / "pingpong.toml", "--label", request.param) as run_id:
        with _on_h1(run_id, tmp_path_factory.mktemp("iser")):
            yield run_id


def _expect(program: str, said: str) -> None:
    if program == "iscsi-inq":
        assert "Vendor:IET" in said and "Product:VIRTUAL-DISK" in said, said
    elif program == "iscsi-readcapacity16":
        assert f"Total size:{_BYTES}" in said, said
    else:
        tests = re.search(r"tests +(\d+) +(\d+) +(\d+) +0 +0", said)
        assert tests and int(tests[1]) == int(tests[2]) == int(tests[3]) > 0 and "SKIPPED" not in said, said


def _words(row: str, address: str) -> list[str]:
    settings = (f"{name}={value}" for name, value in _ZEROS.items())
    return ["env", *settings, *shlex.split(row), "-i", _INITIATOR, f"iser://{address}/{_TARGET}/1"]


@pytest.mark.parametrize("row", [row.text for row in _ROWS])
def test_initiators(kept: str, row: str) -> None:
    done = command("exec", "--run", kept, "--host", "h2", "--", *_words(row, "10.0.0.1"))
    assert done.returncode == 0, done.stdout + done.stderr
    _expect(row.split()[0], done.stdout)


@pytest.mark.parametrize("transport", ["roce", "irn"])
def test_over_shared_memory(transport: str, tmp_path: Path) -> None:
    variables = environment("shm:iser", transport)
    with veth_pair() as (here, _):
        target = Target(tmp_path)
        serving = here.start(target.server, {**variables, **target.variables})
        try:
            target.offer()
            for row in _ROWS:
                _expect(row.program, finish(here.start(_words(row.text, "127.0.0.1"), variables)))
            said = finish(here.start(_words("iscsi-perf -t 2", "127.0.0.1"), variables))
            average = re.search(r"iops average (\d+) \(\d+ MB/s\) +\S*\s*\n", said + "\n")
            assert "finished." in said and average and int(average[1]) > 100, said
        finally:
            serving.end()
            finish(here.start(["ibv_devinfo"], variables))  # takes away what a killed one has left
