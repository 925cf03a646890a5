"""`capture`: frames at ports of a kept topology, in pcapng with experiment time, into a file or a pipe while programs run.

The switch writes the file (ovs_patches/netdev/captures.h) as long as this process holds a lock on it: however it ends, the capture ends, too.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from rocelab.clean import RunDirectory
from rocelab.errors import RocelabError, UsageError
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.commands import Kept, find
from rocelab.live.layout import Layout

_LOOK_MS = 50  # how often the pipe gets what there is
PIPE = "-"


def capture(where: str, file: str | None, run_id: str | None) -> int:
    """Until ^C, SIGTERM, or the end of the topology or of the pipe's reader. `where`: as ports_at(); `file`: a name, or PIPE."""
    kept = find(run_id)
    ports = ports_at(kept.layout(), where)
    if file == PIPE:
        if sys.stdout.isatty():
            raise UsageError("-w - writes a binary file: give it to a program, such as | tshark -r -")
        path = kept.directory.tmp / f"capture-{os.getpid()}.pcapng"
    else:
        path = Path(file or f"{where.replace(':', '-')}.pcapng").absolute()
    with _locked(path) as written:
        session = _start(kept, path, ports)
        try:
            if file == PIPE:
                path.unlink()
                _say(ports, "the pipe")
                _pass_on(written, kept.directory)
            else:
                _say(ports, str(path))
                _wait(kept.directory)
        except KeyboardInterrupt:  # SIGTERM, too
            pass
        finally:
            problem = _stop(session, path)
        if file == PIPE:
            _copy(written)
    if problem:
        raise RocelabError(problem)
    return 0


def ports_at(layout: Layout, where: str) -> list[str]:
    """Interface names of switch ports. `where`: a host or NIC (the switches' ports to it), a switch (all its ports), or SWITCH:PORT, where PORT is an
    interface, with or without the switch's name, an OpenFlow number, or the name of the host or switch at its other end.
    """
    node, colon, port = where.partition(":")
    if to_host := [h.peer for h in layout.hosts if node in (h.name, h.machine) and not colon]:
        return to_host
    for switch in layout.switches:
        if switch.name != node:
            continue
        if not colon:
            return [p.interface for p in switch.ports]
        known = {p.interface: layout.neighbour(p) for p in switch.ports}
        names = {
            p.interface: (p.interface, p.interface.partition("-")[2], str(p.ofport)) for p in switch.ports
        }
        if found := [i for i in known if port in (*names[i], known[i])]:
            return found
        ports = ", ".join(f"{interface} (to {peer})" for interface, peer in known.items())
        raise UsageError(f"{node} has no port {port}; it has {ports}")
    nodes = [h.name for h in layout.hosts] + [s.name for s in layout.switches]
    if node in nodes:
        raise UsageError(f"{where}: a host's port is captured by its name, {node}")
    raise UsageError(f"no node {node}: there are {', '.join(nodes)}")


def _locked(path: Path) -> IO[bytes]:
    """The file, empty and ours."""
    if path.exists() and not path.is_file():
        raise UsageError(f"-w {path}: not a regular file; -w - writes to standard output")
    try:
        file = path.open("w+b")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        raise RocelabError(f"{path}: another capture writes to this file") from e
    except OSError as e:
        raise RocelabError(f"{path}: {e.strerror}") from e
    return file


def _start(kept: Kept, path: Path, ports: Sequence[str]) -> Path:
    try:
        SessionClient.connect(kept.directory.tmp).appctl("lossless/capture", str(path), *ports)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return kept.directory.tmp


def _stop(session: Path, path: Path) -> str:
    """What was wrong with the capture, or nothing; a topology that has ended has ended it."""
    try:
        SessionClient.connect(session).appctl("lossless/capture-stop", str(path))
    except SessionError as e:
        return str(e) if "could not be written" in str(e) else ""
    return ""


def _say(ports: Sequence[str], where: str) -> None:
    what = ports[0] if len(ports) == 1 else f"{len(ports)} ports, {ports[0]} to {ports[-1]}"
    print(
        f"rocelab: frames at {what} go to {where} in experiment time; ^C ends it", file=sys.stderr, flush=True
    )


def _wait(directory: RunDirectory) -> None:
    while directory.alive():
        select.select([], [], [], _LOOK_MS / 1000)


def _pass_on(written: IO[bytes], directory: RunDirectory) -> None:
    reader = select.poll()
    reader.register(sys.stdout, 0)  # of a pipe without a reader it tells all the same
    while directory.alive() and not reader.poll(_LOOK_MS):
        _copy(written)


def _copy(written: IO[bytes]) -> None:
    """What has come since the last time; BrokenPipeError is the command line's to handle."""
    shutil.copyfileobj(written, sys.stdout.buffer)
    sys.stdout.buffer.flush()
