"""Processes by (pid, start time): a pid alone may belong to somebody else by now.

The start time is field 22 of /proc/PID/stat, clock ticks since boot (proc(5)). Signals go through a pidfd, so that
between the check and the signal the number cannot change hands.
"""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessId:
    pid: int
    starttime: int

    @staticmethod
    def of(pid: int) -> ProcessId | None:
        """The process that has this number now; None if there is none, or only its zombie."""
        try:
            fields = _stat_fields(pid)
        except OSError:
            return None
        return None if fields[0] in ("Z", "X") else ProcessId(pid, int(fields[19]))

    def alive(self) -> bool:
        return ProcessId.of(self.pid) == self

    def send(self, number: signal.Signals) -> bool:
        """False: it is gone already."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if not self.alive():  # the descriptor pins the process; is it the one we mean?
                return False
            signal.pidfd_send_signal(descriptor, number)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(descriptor)

    def wait_gone(self, seconds: float) -> bool:
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return True
        try:
            return not self.alive() or bool(select.select([descriptor], [], [], seconds)[0])
        finally:
            os.close(descriptor)


def _stat_fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third (state) on; the second may hold blanks and parentheses."""
    text = (PROC / str(pid) / "stat").read_text(errors="replace")
    return text[text.rindex(")") + 2 :].split()


def is_stopped(pid: int) -> bool:
    """By a signal (SIGSTOP, ^Z) or by a debugger."""
    try:
        return _stat_fields(pid)[0] in ("T", "t")
    except OSError:
        return False


def network_namespace(pid: int) -> int | None:
    """Inode of the network namespace of a process."""
    try:
        return os.stat(PROC / str(pid) / "ns" / "net").st_ino
    except OSError:
        return None


def all_pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def environment_value(pid: int, name: str) -> str | None:
    """A variable of the environment that the process was started with."""
    try:
        block = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    prefix = name.encode() + b"="
    for entry in block.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode(errors="replace")
    return None


def kill_all(processes: list[ProcessId], seconds: float = 5.0) -> list[ProcessId]:
    """SIGKILL to each that is still the same process; returns those that were there."""
    hit = [process for process in processes if process.send(signal.SIGKILL)]
    end = time.monotonic() + seconds
    for process in hit:
        process.wait_gone(max(0.0, end - time.monotonic()))
    return hit
