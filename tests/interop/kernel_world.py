"""Programs on our hosts and in a kernel that takes one's place, and how they are made to meet."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from kept_hosts import Hosts
from rocelab.errors import RocelabError
from rocelab.guest.console import Console, Done
from rocelab.live.commands import on_host

KERNEL = "10.0.0.2"

# The programs' queue pairs give up after half a second without an answer, and an emulated processor on a busy machine may stand still that long.
ATTEMPTS = 3


def patiently(talk: Callable[[], None]) -> None:
    """Runs it again when it was a stall that broke it."""
    for attempt in range(ATTEMPTS):
        try:
            return talk()
        except (AssertionError, RocelabError, subprocess.TimeoutExpired) as e:
            stalled = re.search(r"retry counter exceeded|Terminated|has not ended|timed out", str(e))
            if not stalled or attempt == ATTEMPTS - 1:
                raise


PORT = 18515  # of all programs that exchange their addresses by TCP
NO_SERVER_YET = re.compile("Couldn't connect|RDMA_CM_EVENT_REJECTED")


def exchanges_by_tcp(program: str) -> bool:
    return not program.startswith("rping") and "-R" not in program.split()


@dataclass(frozen=True)
class World:
    hosts: Hosts
    machine: Console

    def ours(self, host: str, program: str) -> subprocess.Popen[str]:
        argv, environment = on_host(self.hosts.kept, host, shlex.split(program))
        return subprocess.Popen(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kernel_serves(self, host: str, server: str, client: str) -> tuple[Done, str]:
        """What the kernel's side and ours say; our client tries again until there is a server."""
        name = f"s{time.monotonic_ns()}"
        self.machine.start(server, name)
        for _ in range(100):
            asking = self.ours(host, client)
            said = communicate(asking, 60)
            if asking.returncode == 0 or not NO_SERVER_YET.search(said):
                break
            time.sleep(0.1)
        served = self.machine.wait(name, 20)
        assert asking.returncode == 0, said + served.output
        return served, said

    def we_serve(self, host: str, server: str, client: str) -> tuple[str, Done]:
        serving = self.ours(host, server)
        try:
            if exchanges_by_tcp(server):
                self.hosts.wait_for_listener(host, PORT, serving)
            else:
                time.sleep(0.3)
            asked = self.machine.run(f"timeout 30 {client}")
            said = communicate(serving, 30)
        finally:
            if serving.poll() is None:
                serving.kill()
                serving.wait()
        assert serving.returncode == 0, said + asked.output
        return said, asked


def communicate(program: subprocess.Popen[str], seconds: float) -> str:
    try:
        return program.communicate(timeout=seconds)[0]
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()


def address_of(host: str) -> str:
    return f"10.0.0.{host[1:]}"
