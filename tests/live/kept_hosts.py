"""Programs on hosts of a kept topology, as `./rocelab exec` starts them, without a command for each: tests that run hundreds."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from live_runs import topology, wait_for
from program_table import Commands, polls_memory
from rocelab.live.commands import Kept, find, on_host
from rocelab.live.programs import listens
from sanitizer import THREAD_SANITIZER

PATIENCE = 300.0  # a hang is a failure


@dataclass(frozen=True)
class Said:
    server: str
    client: str
    statuses: tuple[int | None, int]  # None: the server has no end


@dataclass(frozen=True)
class Hosts:
    kept: Kept
    label: str

    @contextmanager
    def program(self, host: str, words: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Ended at the end, if it still runs."""
        if THREAD_SANITIZER and polls_memory(words):
            pytest.skip("ThreadSanitizer delivers signals late: nobody finds a thread that polls memory")
        argv, environment = on_host(self.kept, host, words)
        with log.open("wb") as out:
            process = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def listens(self, host: str, port: int) -> bool:
        """For TCP."""
        return listens(self.kept.host_pid(host), port)

    def serve_and_ask(self, commands: Commands, folder: Path) -> Said:
        """A server on h1 and a client on h2. A client over rdma_cm that came too early asks again."""
        log = folder / "server"
        with self.program("h1", commands.server, log) as serving:
            if commands.port:
                self.wait_for_listener("h1", commands.port, serving)
            elif commands.says:
                wait_for(
                    lambda: commands.says in log.read_text() or serving.poll() is not None, commands.says
                )
            end = time.monotonic() + 60
            while True:
                with self.program("h2", commands.client, folder / "client") as asking:
                    status = asking.wait(PATIENCE)
                early = status != 0 and commands.port == 0 and serving.poll() is None
                if not early or time.monotonic() > end:
                    break
                time.sleep(0.1)
            served = None if commands.endless else serving.wait(PATIENCE)
        said = [(folder / name).read_text(errors="replace") for name in ("server", "client")]
        return Said(said[0], said[1], (served, status))

    def wait_for_listener(self, host: str, port: int, server: subprocess.Popen[bytes]) -> None:
        wait_for(lambda: self.listens(host, port) or server.poll() is not None, f"a server on port {port}")


@contextmanager
def kept_hosts(scenario: Path, label: str, *arguments: str) -> Iterator[Hosts]:
    with topology(scenario, "--label", label, *arguments) as run_id:
        yield Hosts(find(run_id), label)
