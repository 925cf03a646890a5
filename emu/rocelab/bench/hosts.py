"""What does not need traffic of a scenario: a ping-pong between two hosts, and how long a topology takes to start."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocelab import paths
from rocelab.clean import RunDirectory
from rocelab.errors import RocelabError
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.engine import create_segment, host_environment, start_session
from rocelab.live.plan_layout import layout_of
from rocelab.model import RunPlan
from rocelab.scenario import make_plans, read_scenario
from rocelab.setup_progress import Step

_SCENARIO = paths.ROOT / "scenarios" / "pingpong.toml"
_ITERATIONS = (2_000, 12_000)  # the difference is free of process start, connection and exit
_BYTES = 1_024  # one frame of the path MTU each way
_LIMIT_SECONDS = 60.0
_POLL_SECONDS = 0.002
_HOSTS = (4, 16, 64)


def ping_pong(step: Step) -> dict[str, Any]:
    """ibv_rc_pingpong, unmodified, in both modes."""
    if shutil.which("ibv_rc_pingpong") is None:
        raise RocelabError("ibv_rc_pingpong is not installed (Debian package ibverbs-utils)")
    result: dict[str, Any] = {"bytes": _BYTES, "iterations": _ITERATIONS[1] - _ITERATIONS[0]}
    wall: dict[str, float] = {}
    cpu: dict[str, float] = {}
    for plan in make_plans(read_scenario(_SCENARIO)):
        step.update(note=plan.label)
        with _topology(plan) as topology:
            few, many = (topology.ping_pong(n, step) for n in _ITERATIONS)
        more = _ITERATIONS[1] - _ITERATIONS[0]
        wall[plan.label] = round((many[0] - few[0]) * 1e6 / more, 2)
        cpu[plan.label] = round((many[1] - few[1]) * 1e6 / more, 2)
    return {**result, "wall_us_per_ping_pong_iteration": wall, "cpu_us_per_ping_pong_iteration": cpu}


def start_up(step: Step) -> dict[str, Any]:
    """Until programs can be started: namespaces, hosts, Open vSwitch, its ports and rules, the shared segment."""
    started, stopped = {}, {}
    for hosts in _HOSTS:
        step.update(note=f"{hosts} hosts")
        plan = make_plans(read_scenario(_SCENARIO, [f"topology.hosts={hosts}"]))[0]
        begin = time.monotonic()
        with _topology(plan):
            up = time.monotonic()
        started[str(hosts)] = round(up - begin, 2)
        stopped[str(hosts)] = round(time.monotonic() - up, 2)
    return {"start_up_s": started, "shut_down_s": stopped}


@dataclass
class _Topology:
    plan: RunPlan
    session: SessionClient
    directory: RunDirectory
    segment: Path

    def ping_pong(self, iterations: int, step: Step) -> tuple[float, float]:
        """Seconds from the client's start to the end of both: wall time, processor time of both and the switch."""
        client, server = self.plan.hosts[1].name, self.plan.hosts[0]
        argv = ["ibv_rc_pingpong", "-g", "1", "-s", str(_BYTES), "-n", str(iterations)]
        end = time.monotonic() + _LIMIT_SECONDS
        serving = self._spawn(server.name, argv)
        while True:
            begin, cpu = time.monotonic(), self._cpu_s()
            calling = self._spawn(client, [*argv, server.ipv4])
            status = self._wait(calling, end, step)
            if status == 0 and self._wait(serving, end, step) == 0:
                break
            if self._status(serving) is not None or time.monotonic() > end:
                raise RocelabError(f"ibv_rc_pingpong, {self.plan.label}: {self._last_words(client)}")
            time.sleep(0.05)  # the server does not listen yet
        wall, cpu = time.monotonic() - begin, self._cpu_s() - cpu
        self.session.ask("forget")
        return wall, cpu

    def _cpu_s(self) -> float:
        """Of the programs that have ended, and of the switch process so far."""
        programs, daemons = (
            self.session.ask("poll")["usage"]["cpu_s"],
            self.session.ask("usage")["daemon_cpu_s"],
        )
        return float(programs) + float(daemons)

    def _spawn(self, host: str, argv: list[str]) -> int:
        environment = host_environment(self.directory.run_id, self.segment, host)
        out, err = (self.directory.shm / f"{host}.{end}" for end in ("out", "err"))
        return self.session.spawn(host, argv, environment, out, err)

    def _status(self, pid: int) -> int | None:
        status: int | None = self.session.ask("poll")["programs"][str(pid)]
        return status

    def _wait(self, pid: int, end: float, step: Step) -> int:
        while (status := self._status(pid)) is None:
            if time.monotonic() > end:
                raise RocelabError(
                    f"ibv_rc_pingpong, {self.plan.label}: not done after {_LIMIT_SECONDS:.0f} s"
                )
            step.tick()
            time.sleep(_POLL_SECONDS)
        return status

    def _last_words(self, host: str) -> str:
        lines = (self.directory.shm / f"{host}.err").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it failed without a word"


@contextmanager
def _topology(plan: RunPlan) -> Iterator[_Topology]:
    """Hosts and switch of a plan with a segment attached, for programs of our own."""
    directory = RunDirectory.create()
    try:
        session = start_session(directory, layout_of(plan))
        try:
            segment = directory.shm / "segment"
            create_segment(plan, segment, directory.run_id)
            session.appctl("lossless/attach", str(segment))
            yield _Topology(plan, session, directory, segment)
            session.ask("forget")
            session.appctl("lossless/detach")
        finally:
            session.stop()
    except SessionError as e:
        raise RocelabError(f"{plan.label}: {e}") from e
    finally:
        directory.remove()
