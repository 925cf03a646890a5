"""Commands in a virtual machine, over the socket of its control port (initramfs.py has the other end). One client at a time, one command after the other."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path

from rocelab.errors import RocelabError


@dataclass(frozen=True)
class Done:
    status: int
    output: str  # of stdout and stderr


class Console:
    def __init__(self, control: Path) -> None:
        """Raises OSError when nothing listens there."""
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(str(control))
        except OSError:
            self.socket.close()
            raise
        self.commands = 0

    def close(self) -> None:
        self.socket.close()

    def run(self, command: str, timeout: float | None = 60.0) -> Done:
        """A line for the guest's shell. RocelabError: no answer in time (seconds)."""
        self.commands += 1
        token = f"done-{time.monotonic_ns()}-{self.commands}"
        self.socket.settimeout(timeout)
        try:
            self.socket.sendall(f"{token} {command}\n".encode())
            lines = []
            while not (line := self.line()).startswith(token + " "):
                lines.append(line)
        except OSError as e:
            raise RocelabError(f"the virtual machine does not answer `{command}`: {e}") from e
        return Done(int(line.split()[1]), "\n".join(lines).removesuffix("\n"))

    def start(self, command: str, name: str) -> None:
        """In the background; output() shows what it has written, wait() its end."""
        files = f"rm -f /tmp/{name}.*"
        self.run(
            f"{files}; (({command}) > /tmp/{name}.out 2>&1; echo $? > /tmp/{name}.status) > /dev/null 2>&1 & true"
        )

    def output(self, name: str) -> str:
        return self.run(f"cat /tmp/{name}.out").output

    def wait(self, name: str, timeout: float = 30.0) -> Done:
        """Until what start() began has ended."""
        turns = 10 * max(int(timeout), 1)
        loop = f"n=0; while [ ! -s /tmp/{name}.status ] && [ $n -lt {turns} ]; do usleep 100000; n=$((n+1)); done"
        status = self.run(f"{loop}; cat /tmp/{name}.status 2>/dev/null", timeout + 60).output.strip()
        if not status:
            raise RocelabError(
                f"`{name}` in the virtual machine has not ended after {timeout:.0f} s:\n{self.output(name)}"
            )
        return Done(int(status), self.output(name))

    def line(self) -> str:
        data = bytearray()
        while not data.endswith(b"\n"):
            byte = self.socket.recv(1)
            if not byte:
                raise OSError("the virtual machine is gone")
            data += byte
        return data.decode(errors="replace").strip("\r\n")
