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


# rping's thread for events may ask for one more when main has destroyed the channel already, and then ends the program
# with 255: a race of its own, which a slow machine loses now and then.
RPING_RACE = "rdma_get_cm_event: Bad file descriptor"


def finish(program: Program, forgiven: str | None = None) -> str:
    """What it printed. Status 0 is asked for, unless it says `forgiven`."""
    status, output = program.wait(SECONDS), program.output()
    assert status == 0 or (
        status is not None and forgiven is not None and forgiven in output
    ), f"status {status}: {output}"
    return output


def wait_for(end: End, *ports: int) -> None:
    until = time.monotonic() + SECONDS
    while not all(end.listens(port) for port in ports) and time.monotonic() < until:
        time.sleep(0.05)


def run_pair(
    ends: tuple[End, End],
    server: list[str],
    client: list[str],
    variables: Mapping[str, str],
    port: int,
    forgiven: str | None = None,
) -> tuple[str, str]:
    """The server's and the client's output. `port`: where the server listens by TCP; 0: not by TCP. `forgiven`: of finish()."""
    serving = ends[0].start(server, variables)
    if port == 0:
        time.sleep(2.5)
    else:
        wait_for(ends[0], port)
    calling = ends[1].start(client, variables)
    try:
        return finish(serving, forgiven), finish(calling, forgiven)
    finally:
        for program in (serving, calling):
            program.end()
