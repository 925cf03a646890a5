"""Two network namespaces with a veth between them, for what runs on interfaces in real time: `bench wall` and tests. Needs root."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rocelab.errors import RocelabError

DEVICE = "rl0"  # in either namespace


class Program:
    """A program that runs. What it says goes to a file: a pipe that nobody reads would stop it."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._file = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=self._file, stderr=subprocess.STDOUT
        )

    def running(self) -> bool:
        return self.process.poll() is None

    def wait(self, seconds: float) -> int | None:
        """Its status; None: it still runs."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def output(self) -> str:
        """So far."""
        self._file.seek(0)
        return self._file.read()

    def finished(self, name: str, seconds: float) -> str:
        """What it said. RocelabError: it failed, or still runs after so long."""
        status = self.wait(seconds)
        words = self.output().strip().splitlines()
        if status is None:
            raise RocelabError(f"{name}: not done after {seconds:.0f} s")
        if status != 0:
            raise RocelabError(f"{name}: {words[-1] if words else 'failed without a word'}")
        return self.output()

    def end(self) -> None:
        """Kills it if it still runs."""
        self.process.kill()
        self.process.wait()
        self._file.close()


@dataclass(frozen=True)
class End:
    namespace: str
    ipv4: str

    def inside(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespace, *words]

    def start(self, argv: Sequence[str], variables: Mapping[str, str] | None = None) -> Program:
        """A program there; `variables` are set for it alone, not for `ip`."""
        assignments = [f"{name}={value}" for name, value in (variables or {}).items()]
        return Program(self.inside("env", *assignments, *argv))

    def listens(self, port: int) -> bool:
        """Whether a program there waits for TCP connections."""
        words = self.inside("ss", "-Hltn", f"sport = :{port}")
        return bool(subprocess.run(words, capture_output=True, text=True).stdout.strip())


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RocelabError(f"ip {' '.join(words)}: {done.stderr.strip()}")


@contextmanager
def veth_pair(mtu: int = 1500) -> Iterator[tuple[End, End]]:
    """Both ends are up and have addresses; they are gone afterwards, with what still runs in them left to the caller."""
    name = f"rlv{os.getpid()}"
    ends = (End(f"{name}a", "10.99.0.1"), End(f"{name}b", "10.99.0.2"))
    made: list[End] = []
    try:
        for end in ends:
            _ip("netns", "add", end.namespace)
            made.append(end)
        peer = ("peer", "name", DEVICE, "netns", ends[1].namespace)
        _ip("link", "add", DEVICE, "netns", ends[0].namespace, "type", "veth", *peer)
        for end in ends:
            _ip("-n", end.namespace, "link", "set", "lo", "up")
            _ip("-n", end.namespace, "link", "set", DEVICE, "mtu", str(mtu), "up")
            _ip("-n", end.namespace, "address", "add", f"{end.ipv4}/24", "dev", DEVICE)
        yield ends
    finally:
        for end in made:
            _ip("netns", "delete", end.namespace)
