"""Two network namespaces with a veth between them, for what runs on interfaces in real time: `bench wall` and tests. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rocelab.errors import RocelabError
from rocelab.live.programs import Program

DEVICE = "rl0"  # in either namespace


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
