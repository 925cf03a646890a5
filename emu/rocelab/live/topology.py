"""rocelab.up(): a live topology for scripts, with programs on its hosts (docs/tutorial/python.md). It is one of `./rocelab up`, which ends with the script."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rocelab import native
from rocelab.document import overrides_of
from rocelab.errors import RocelabError
from rocelab.labels import read_label, unknown
from rocelab.live.client import SessionError
from rocelab.live.commands import Kept, counters_of, end, keep, on_host
from rocelab.live.programs import Program, check_program, listens
from rocelab.model import RunPlan, Scenario
from rocelab.privileges import require_root
from rocelab.scenario import plan_of, with_overrides


def up(
    scenario: Path | str | Scenario,
    label: str | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    programs: int = 0,
    pcap: bool = False,
    out: Path | str | None = None,
) -> Topology:
    """Builds a scenario's topology, as root; use it in a `with`, or call down().

    `label`: one of the scenario's, or of a file any other transport, such as "roce+pfc"; default: the first. `set`: values by dotted key. `programs`: time
    begins when so many programs have opened their device and wait, so that they start together. `pcap`: captures of all switches, below `out`
    (default: out/NAME here). `./rocelab stat`, `capture` and `exec` work on it, too. Raises ScenarioError and RocelabError.
    """
    require_root("rocelab.up()")
    overrides = overrides_of(set or {})
    if isinstance(scenario, Scenario):
        read = with_overrides(scenario, overrides) if overrides else scenario
        if label is not None and label not in read.labels:
            raise RocelabError(unknown(read, label))
    else:
        read = read_label(scenario, overrides, label)
    plan = plan_of(read, label or read.labels[0], read.seeds[0])
    return Topology(plan, keep(read, plan, programs, pcap, Path(out) if out else None, stay=False))


class Topology:
    """Hosts and switches that are up. Its time stands while no program waits for it."""

    def __init__(self, plan: RunPlan, kept: Kept) -> None:
        self._kept: Kept | None = kept
        self._programs: list[Program] = []
        self.plan = plan
        self.run_id = kept.directory.run_id  # of `./rocelab stat --run ID`
        self.label = plan.label
        self.hosts = tuple(dict.fromkeys(h.machine for h in plan.hosts))
        self.switches = tuple(s.name for s in plan.switches)

    def host(self, name: str) -> Host:
        """RocelabError: there is none of this name."""
        self._up()
        if name not in self.hosts:
            raise RocelabError(f"no host {name}: this topology has {', '.join(self.hosts)}")
        return Host(self, name, tuple(h.ipv4 for h in self.plan.hosts if h.machine == name))

    @property
    def now_ps(self) -> int:
        """Experiment time."""
        return int(native.runner.open_segment(str(self._up().segment)).now_ps)

    def counters(self, node: str | None = None) -> pd.DataFrame:
        """Counters of NICs and switch ports that are not 0, of one host or switch or all: columns `unit` (`h1.0`, `s1-eth1`), `name`, `value`."""
        found = counters_of(self._up(), node)
        rows = [
            (unit, name, value)
            for kind in ("nics", "cm", "ports")
            for unit, counters in found[kind].items()
            for name, value in counters.items()
            if value
        ]
        return pd.DataFrame(rows, columns=["unit", "name", "value"])

    def down(self) -> None:
        """Ends programs and topology; nothing of them is left. A second time: nothing happens."""
        if self._kept is None:
            return
        kept, self._kept = self._kept, None
        for program in self._programs:
            program.kill()
        end(kept)

    def _start(self, host: str, program: Sequence[str], dlopen: bool) -> Program:
        kept = self._up()
        check_program(program)
        argv, environment = on_host(kept, host, program, dlopen)
        started = Program(argv, environment)
        kept.directory.record_pid(started.process.pid, f"exec {host}")
        self._programs.append(started)
        return started

    def _up(self) -> Kept:
        if self._kept is None:
            raise SessionError(f"topology {self.run_id} is down")
        return self._kept

    def __enter__(self) -> Topology:
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def __repr__(self) -> str:
        state = f"{len(self.hosts)} hosts, {len(self.switches)} switches" if self._kept else "down"
        return f"<rocelab.Topology {self.run_id}: {self.plan.scenario}, {self.label}, {state}>"


@dataclass(frozen=True, repr=False)
class Host:
    """One host of a topology."""

    topology: Topology
    name: str
    ips: tuple[str, ...]  # of its NICs

    @property
    def ip(self) -> str:
        """Of its first NIC."""
        return self.ips[0]

    def start(self, program: Sequence[str], *, dlopen: bool = False) -> Program:
        """Starts a program that uses libibverbs, unmodified, and returns at once. It ends with the topology at the latest.

        `dlopen`: it opens libibverbs itself, instead of being linked with it.
        """
        return self.topology._start(self.name, _words(program), dlopen)

    def run(
        self,
        program: Sequence[str],
        *,
        timeout: float | None = None,
        check: bool = True,
        dlopen: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end: `stdout` of what is returned has its output and its errors.

        RocelabError: it has not ended after `timeout` seconds of wall time, or, with `check`, its exit status is not 0.
        """
        words = _words(program)
        started = self.start(words, dlopen=dlopen)
        status = started.wait(timeout)
        if status is None:
            started.kill()
            raise RocelabError(f"{self.name}: {words[0]}: not done after {timeout:g} s")
        if check:
            started.finished(f"{self.name}: {words[0]}", timeout)
        return subprocess.CompletedProcess(words, status, started.output())

    def wait_for_listener(self, port: int, seconds: float = 30.0) -> None:
        """Until a program there waits for TCP connections, as servers of verbs do to exchange queue pair numbers. RocelabError: none does after so long."""
        until = time.monotonic() + seconds
        while not listens(self.topology._up().host_pid(self.name), port):
            if time.monotonic() > until:
                raise RocelabError(f"{self.name}: nobody listens on port {port} after {seconds:g} s")
            time.sleep(0.02)

    def __repr__(self) -> str:
        return f"<rocelab host {self.name}, {self.ip}>"


def _words(program: Sequence[str]) -> list[str]:
    if isinstance(program, str):
        raise RocelabError(f"write the program as a list of words: {program.split()}")
    return [str(word) for word in program]
