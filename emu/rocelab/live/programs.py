"""Programs on hosts: whether they are there, what there is to say of some before they run, and one that runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocelab.errors import RocelabError

QUIET_VARIABLE = "ROCELAB_QUIET"  # also irn_provider/verbs/refused.cc
# Debian's packages of RDMA's programs, for one that is not installed: nothing on the machine tells.
_PACKAGES = {
    "ibverbs-utils": "ibv_asyncwatch ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong ibv_uc_pingpong ibv_ud_pingpong "
    "ibv_xsrq_pingpong",
    "rdmacm-utils": "cmtime mckey rcopy rdma_client rdma_server rdma_xclient rdma_xserver riostream rping rstream ucmatose udaddy udpong",
    "perftest": "ib_atomic_bw ib_atomic_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_write_bw ib_write_lat",
    "infiniband-diags": "ibaddr ibstat ibstatus ibping ibnetdiscover perfquery",
    "iproute2": "ip ss rdma",
    "qperf": "qperf",
    "iperf3": "iperf3",
    "ucx-utils": "ucx_info ucx_perftest",
    "libfabric-bin": "fi_info fi_pingpong fi_strerror",
    "openmpi-bin": "mpirun mpiexec mpirun.openmpi mpiexec.openmpi ompi_info",
    "libopenmpi-dev": "mpicc mpic++ mpicxx mpifort",
    "mpich": "mpirun.mpich mpiexec.mpich mpiexec.hydra",
    "fio": "fio",
    "dapl2-utils": "dapltest dtest dtestcm dtestsrq dtestx",
    "libiscsi-bin": "iscsi-inq iscsi-ls iscsi-perf iscsi-readcapacity16 iscsi-swp iscsi-test-cu",
    "tgt": "tgtd tgtadm",
    "qemu-system-x86": "qemu-system-x86_64 qemu-system-i386",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "wireshark-common": "dumpcap",
    "wireshark": "wireshark",
    "strace": "strace",
    "gdb": "gdb",
}
_CAPTURERS = ("tcpdump", "tshark", "dumpcap", "wireshark")


def package_of(program: str) -> str | None:
    return next((package for package, names in _PACKAGES.items() if program in names.split()), None)


def check_program(words: Sequence[str]) -> None:
    """RocelabError: there is no such program. Of `env NAME=VALUE... PROGRAM` it is the last that counts."""
    program = _program(words)
    if program is None or shutil.which(program) is not None:
        return
    if "/" in program:
        reason = "is not a program that may be run" if Path(program).exists() else "there is no such file"
        raise RocelabError(f"{program}: {reason}")
    package = package_of(program)
    raise RocelabError(
        f"{program}: there is no such program; "
        + (f"Debian's package {package} has it: apt install {package}" if package else "is it in PATH?")
    )


def warn_of_captures(words: Sequence[str], host: str) -> None:
    """Who captures on a host's interface looks for frames that do not pass there."""
    program = Path(_program(words) or "").name
    if program in _CAPTURERS and not os.environ.get(QUIET_VARIABLE):
        print(
            f"rocelab: RoCE frames do not pass {host}'s interface, only TCP, ARP and the like do: ./rocelab capture {host} shows them",
            file=sys.stderr,
            flush=True,
        )


def _program(words: Sequence[str]) -> str | None:
    """None: that cannot be told."""
    if words[0] != "env":
        return words[0]
    rest = [word for word in words[1:] if not re.match(r"\w+=", word)]
    return rest[0] if rest and not rest[0].startswith("-") else None


def listens(pid: int, port: int) -> bool:
    """Whether a program in this process's network namespace waits for TCP connections."""
    tables = (Path(f"/proc/{pid}/net/{name}") for name in ("tcp", "tcp6"))
    lines = (line.split() for table in tables if table.exists() for line in table.read_text().splitlines())
    return any(words[1].endswith(f":{port:04X}") and words[3] == "0A" for words in lines)


class Program:
    """A program that runs. What it says goes to a file: a pipe that nobody reads would stop it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._file = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    def wait(self, seconds: float | None = None) -> int | None:
        """Its exit status, negative: the signal that killed it. None: it still runs after so many seconds of wall time."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def output(self) -> str:
        """What it has said so far, standard output and errors together."""
        self._file.seek(0)
        return self._file.read()

    def finished(self, name: str, seconds: float | None) -> str:
        """What it said. RocelabError: it failed, or still runs after so long."""
        status = self.wait(seconds)
        words = self.output().strip().splitlines()
        if status is None:
            raise RocelabError(f"{name}: not done after {seconds:.0f} s")
        if status != 0:
            raise RocelabError(f"{name}: {words[-1] if words else 'failed without a word'}")
        return self.output()

    def kill(self) -> None:
        """Ends it, and what it has started, if it still runs; its output stays."""
        if self.running():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> None:
        """kill(), when its output is not needed any more, either."""
        self.kill()
        self._file.close()
