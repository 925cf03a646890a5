"""Starts the pages' server on the loopback address and ends it, with the runs that it has started."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import uvicorn

from rocelab.errors import RocelabError
from rocelab.ui.app import make_app
from rocelab.ui.database import EVENTS
from rocelab.ui.guard import Guard
from rocelab.ui.queue import RunQueue

_FIRST_PORT, _PORTS = 8899, 20
_OPENERS = ("xdg-open", "x-www-browser", "sensible-browser")


@dataclass(frozen=True)
class Settings:
    pages: Path
    results: Path
    scenarios: Path
    port: int | None
    open_browser: bool


def serve(settings: Settings) -> int:
    sock = listen(settings.port)
    port = sock.getsockname()[1]
    runs = RunQueue(settings.scenarios, settings.results)
    guard = Guard(make_app(settings.pages, settings.scenarios, settings.results, runs), port)
    # No lines for requests: the token is in the first one.
    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, lifespan="off", ws="none", http="h11"
    )
    address = f"http://127.0.0.1:{port}/?token={guard.token}"
    print(f"rocelab ui: {address}\nresults: {settings.results}; ^C ends it and its runs", flush=True)
    if settings.open_browser:
        _open(address)
    with sock:
        asyncio.run(_run(_Server(config, runs), sock, runs))
    return 0


def listen(port: int | None) -> socket.socket:
    """A socket of the loopback address: `port`, or the first free one from 8899 on, or any."""
    tried = [port] if port is not None else [*range(_FIRST_PORT, _FIRST_PORT + _PORTS), 0]
    for number in tried:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", number))
            sock.listen(64)
            return sock
        except OSError:
            sock.close()
    raise RocelabError(f"port {port} of 127.0.0.1 is taken: choose another with --port, or leave it out")


class _Server(uvicorn.Server):  # type: ignore[misc]
    """Waits for its end instead of looking for it ten times a second: an idle server costs nothing."""

    def __init__(self, config: uvicorn.Config, runs: RunQueue) -> None:
        super().__init__(config)
        self._runs = runs
        self._ended = asyncio.Event()

    async def main_loop(self) -> None:
        await self._ended.wait()

    def install_signal_handlers(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.end)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.end()

    def end(self) -> None:
        """Connections that are open do not hold it up; the second time, neither does a run."""
        if self._ended.is_set():
            self._runs.hurry()
        self.should_exit = self.force_exit = True
        self._ended.set()


async def _run(server: _Server, sock: socket.socket, runs: RunQueue) -> None:
    try:
        await server.serve([sock])
    finally:
        if runs.active:
            print(
                "rocelab ui: ending the run that is under way, which saves what it has; ^C again kills it",
                file=sys.stderr,
                flush=True,
            )
        await runs.close()
        EVENTS.close()


def _open(address: str) -> None:
    """As the user whose desktop it is: browsers do not run as root."""
    user = os.environ.get("SUDO_USER")
    before = ["sudo", "-u", user, "--"] if user and os.geteuid() == 0 else []
    for opener in _OPENERS:
        try:
            done = subprocess.run(
                [*before, opener, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return
    print("rocelab ui: no browser could be opened: open the address above", file=sys.stderr, flush=True)
