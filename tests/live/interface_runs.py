"""Programs in real time, in network namespaces made for a test: on interfaces, and over shared memory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from rocelab.live.veth_pair import End, Program

SECONDS = 60.0


def shared_files() -> set[str]:
    """What programs on interfaces and of shared memory have in /dev/shm."""
    return {path.name for path in Path("/dev/shm").glob("rocelab-interface-*")}


def finish(program: Program) -> str:
    status = program.wait(SECONDS)
    assert status == 0, f"status {status}: {program.output()}"
    return program.output()


def wait_for(end: End, *ports: int) -> None:
    until = time.monotonic() + SECONDS
    while not all(end.listens(port) for port in ports) and time.monotonic() < until:
        time.sleep(0.05)


def run_pair(
    ends: tuple[End, End], server: list[str], client: list[str], variables: Mapping[str, str], port: int
) -> tuple[str, str]:
    """The server's and the client's output. `port`: where the server listens by TCP; 0: not by TCP."""
    serving = ends[0].start(server, variables)
    if port == 0:
        time.sleep(1.0)
    else:
        wait_for(ends[0], port)
    calling = ends[1].start(client, variables)
    try:
        return finish(serving), finish(calling)
    finally:
        for program in (serving, calling):
            program.end()
