"""Drives run plans one after the other over live topologies: programs on Mininet hosts, frames through Open vSwitch, in lock step.

A topology is kept as long as plans fit it; every run has a segment, programs and traces of its own.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from rocelab import native
from rocelab.clean import RUN_VARIABLE, RunDirectory
from rocelab.deadlock import explain
from rocelab.errors import RocelabError
from rocelab.files import check_not_full, explained, is_full
from rocelab.flow_status import incomplete
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.flow_records import read_records
from rocelab.live.layout import Layout
from rocelab.live.plan_layout import layout_of
from rocelab.live.reroutes import Reroutes
from rocelab.live.usage import Usage, check_fits
from rocelab.model import TRACE_DTYPE, FidelityInputs, HostPlan, RunOutcome, RunPlan, end_ps
from rocelab.processes import is_stopped
from rocelab.progress import Flushes, Progress, Report
from rocelab.recordings import Recordings
from rocelab.scratch import scratch_folder

_POLL_SECONDS = 0.02
_MORE_SHM = "traces go there: give it more (mount -o remount,size=1G; docker run --shm-size 1g), and repeat the command"
_STALL_SECONDS = 60.0  # wall time without any progress of the clock


class LiveEngine:
    """Use as a context manager: at its end nothing of it is left on the machine. `watched`: as of DesEngine."""

    def __init__(self, report: Report = lambda _: None, watched: bool = False) -> None:
        self.report = report
        self.flushes = Flushes(watched)
        self.directory = RunDirectory.create()
        self.session: SessionClient | None = None
        self.layout: Layout | None = None
        self.runs = 0
        self.recordings: Recordings | None = None  # from the first replay on
        self.scratch = ExitStack()

    def __enter__(self) -> LiveEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._end_session()
        finally:
            self.scratch.close()
            self.directory.remove()

    def execute(self, plan: RunPlan, out: Path | None = None, pcap: bool = False) -> RunOutcome:
        """One run. What goes wrong in it is in the outcome's `error`, with what there is; a topology that cannot be built raises, and flows
        that the machine has no memory for."""
        check_fits(plan)
        self.report(Progress(plan, "start"))
        schedule = self._schedule_of(plan)
        session = self._session_for(plan)
        self.runs += 1
        run = _Run(
            plan,
            session,
            self.directory,
            f"run{self.runs}",
            (out / "pcap" / plan.name) if pcap and out else None,
            schedule,
        )
        try:
            return run.execute(self.report, self.flushes)
        except BaseException as e:
            self._end_session()  # programs and switch are in the middle of something
            if isinstance(e, OSError) and is_full(e):
                raise explained(e, self.directory.places.shm, _MORE_SHM) from e
            raise
        finally:
            run.remove()
            if run.broken:
                self._end_session()

    def _schedule_of(self, plan: RunPlan) -> Any:
        """Of what it replays: recorded in virtual time, which gives the live engine's schedule to the picosecond."""
        if plan.native.original is None:
            return native.runner.ScheduleFile()
        if self.recordings is None:
            self.recordings = Recordings(self.scratch.enter_context(scratch_folder()))
        try:
            return self.recordings.of(plan.native)
        except RuntimeError as e:
            raise RocelabError(f"{plan.label}, seed {plan.seed}: {e}") from e

    def _session_for(self, plan: RunPlan) -> SessionClient:
        layout = layout_of(plan)
        if self.session is not None and layout == self.layout:
            return self.session
        self._end_session()
        try:
            self.session = start_session(self.directory, layout)
        except RocelabError:
            self._empty_directory()  # for a plan that comes after it
            raise
        self.layout = layout
        return self.session

    def _end_session(self) -> None:
        if self.session is not None:
            self.session.stop()
            self.session = None
            self._empty_directory()

    def _empty_directory(self) -> None:
        shutil.rmtree(self.directory.tmp, ignore_errors=True)
        self.directory.tmp.mkdir(mode=0o700)


def start_session(directory: RunDirectory, layout: Layout, stay: bool = False) -> SessionClient:
    """A session whose processes and namespaces are on the run's record."""
    try:
        session = SessionClient.start(
            directory.tmp, layout, native.ovs_tree(), stay, lambda pid: directory.record_pid(pid, "session")
        )
    except SessionError as e:
        raise RocelabError(f"the topology could not be built: {e}") from e
    directory.record_namespace(session.info["session"])
    for pid in session.info["daemons"]:
        directory.record_pid(pid, "ovs")
    for name, pid in session.info["hosts"].items():
        directory.record_pid(pid, f"host {name}")
    return session


def create_segment(
    plan: RunPlan,
    path: Path,
    run_id: str,
    traces: str = "",
    pcap: str = "",
    participants: int = 0,
    reserve: bool = False,
    schedule: Any = None,
) -> Any:
    """The shared memory of one run. `traces`, `pcap`: folders, or none; `participants`: for whom time waits before it begins. `reserve`: all
    of it, for programs that nobody watches, which would die of a bus error where none is left later. `schedule`: the file (native) that a replay's NICs read.
    """
    check_not_full(path.parent, _MORE_SHM)  # a page that is not there is a bus error
    try:
        return native.runner.create_segment(
            plan.native,
            str(path),
            run_id,
            traces,
            pcap,
            participants,
            reserve,
            schedule or native.runner.ScheduleFile(),
        )
    except RuntimeError as e:
        raise RocelabError(str(e)) from e


def host_environment(run_id: str, segment: Path, host: str) -> dict[str, str]:
    """What a program on a host needs to find its NIC."""
    return {
        RUN_VARIABLE: run_id,
        "ROCELAB_SEGMENT": str(segment),
        "ROCELAB_HOST": host,
        "LD_PRELOAD": native.preload(),
        "PATH": native.programs_path(),
    }


class _Run:
    """One run plan: segment, programs, traces."""

    def __init__(
        self,
        plan: RunPlan,
        session: SessionClient,
        directory: RunDirectory,
        name: str,
        pcap: Path | None,
        schedule: Any,
    ) -> None:
        self.plan = plan
        self.session = session
        self.run_id = directory.run_id
        self.dir = directory.shm / name
        self.dir.mkdir()
        self.path = self.dir / "segment"
        self.pcap = pcap
        self.schedule = schedule
        self.broken = False  # the session cannot be used again
        self.programs: dict[str, int] = {}
        self.usage = Usage()
        self.reroutes = Reroutes(plan, session)

    def remove(self) -> None:
        shutil.rmtree(self.dir, ignore_errors=True)

    def execute(self, report: Report, flushes: Flushes) -> RunOutcome:
        begin = time.monotonic()
        segment = self._create_segment()
        error: str | None = None
        try:
            cpu_before = self._daemon_cpu()
            self.reroutes.announce(segment)
            self.session.appctl("lossless/attach", str(self.path))
            self._start_programs()
            error = self._wait(segment, report, flushes)
            report(Progress(self.plan, "collect", segment.now_ps))
            self.session.ask("forget")
            self.session.appctl("lossless/detach")
            self.reroutes.restore()
            self.usage.daemon_cpu_s = self._daemon_cpu() - cpu_before
        except SessionError as e:
            self.broken = True
            error = error or str(e)
        self._check_disks()
        outcome = self._collect(segment, error)
        return replace(outcome, wall_s=time.monotonic() - begin)

    def _create_segment(self) -> Any:
        if self.pcap is not None:
            self.pcap.mkdir(parents=True, exist_ok=True)
        pcap = str(self.pcap.resolve()) if self.pcap else ""
        participants = self.plan.expected_participants
        return create_segment(
            self.plan, self.path, self.run_id, str(self.dir), pcap, participants, schedule=self.schedule
        )

    def _check_disks(self) -> None:
        check_not_full(self.dir.parent.parent, _MORE_SHM)
        if self.pcap is not None:
            check_not_full(self.pcap, "free some space or say --out DIR, and repeat the command")

    def _start_programs(self) -> None:
        plan = self.plan
        (self.dir / "flows").write_text(plan.native.flow_lines())
        (self.dir / "hosts").write_text(plan.native.host_lines())
        program = native.hosts_build() / "verbs_app" / "rocelab_flows"
        active = {f.src for f in plan.flows} | {f.dst for f in plan.flows}
        machines: dict[str, list[HostPlan]] = {}
        for nic in plan.hosts:
            if nic.name in active:
                machines.setdefault(nic.machine, []).append(nic)
        for machine, nics in machines.items():
            argv = [
                str(program),
                "--me",
                ",".join(nic.name for nic in nics),
                "--flows",
                str(self.dir / "flows"),
                "--hosts",
                str(self.dir / "hosts"),
            ]
            argv += ["--device", ",".join(f"rocelab{nic.nic}" for nic in nics), "--gid-index", "1"]
            argv += ["--mtu", str(plan.path_mtu), "--verify"]
            argv += ["--exact-starts"] if plan.native.exact_starts else []
            argv += ["--timeout", str(plan.verbs_timeout), "--retry-cnt", str(plan.verbs_retry_cnt)]
            argv += ["--out", str(self.dir / f"{machine}.json")]
            env = host_environment(self.run_id, self.path, machine)
            self.programs[machine] = self.session.spawn(
                machine, argv, env, self.dir / f"{machine}.out", self.dir / f"{machine}.err"
            )

    def _wait(self, segment: Any, report: Report, flushes: Flushes) -> str | None:
        """Until all programs have ended; what went wrong, or None."""
        last_now, last_change, flushed = -1, time.monotonic(), -1
        while True:
            at_limit = self.reroutes.follow(segment)
            answer = self.session.ask("poll")
            statuses = {host: answer["programs"][str(pid)] for host, pid in self.programs.items()}
            now = segment.now_ps
            if segment.state == "running" and flushes.is_due():
                self.session.appctl("lossless/flush")
                flushed = now
            done = sum(s is not None for s in statuses.values())
            report(Progress(self.plan, "run", now, done, self.dir, flushed))
            if answer["ended_daemon"]:
                self.broken = True
                return str(answer["ended_daemon"])
            if segment.state == "failed":
                self.broken = True
                return str(segment.error)
            if all(s is not None for s in statuses.values()):
                self.usage.take(answer["usage"])
                return self._failures(statuses)
            if segment.state == "setup" and (failures := self._failures(statuses)):
                return (
                    failures  # time begins when all have opened their device, and this one does not any more
                )
            if now != last_now:
                last_now, last_change = now, time.monotonic()
            if at_limit:
                return f"not finished after {self.plan.limit_ps / 1e12:g} s of experiment time (engine.limit)"
            if time.monotonic() - last_change > _STALL_SECONDS:
                self.broken = True
                return self._failures(statuses) or self._stall(segment, now)
            time.sleep(_POLL_SECONDS)

    def _replay_problem(self, segment: Any) -> str | None:
        """Why a replay is none."""
        original = self.plan.native.original
        if original is None:
            return None
        problem: str = segment.replay_problem(original.scalars["label"])
        if problem and segment.detaches + segment.late_frames > 0:
            problem += f"; time went on {segment.detaches} times without a program that the machine held up: repeat the run"
        return problem or None

    def _stall(self, segment: Any, now: int) -> str:
        seconds = f"{_STALL_SECONDS:.0f} s of wall time"
        there = {v["host"].partition(".")[0] for v in segment.vfs if v["pid"] != 0}
        missing = [host for host in self.programs if host not in there]
        if segment.state == "setup" and missing:
            return f"time has not begun after {seconds}: no device is open on {', '.join(missing)}"
        stopped = [f"{host}'s program" for host, pid in self.programs.items() if is_stopped(pid)]
        stopped += ["ovs-vswitchd"] if is_stopped(segment.coordinator_pid) else []
        why = f": {', '.join(stopped)} stopped" if stopped else ""
        return f"the clock has stood still for {seconds} at {now / 1e6:.3f} us{why}"

    def _failures(self, statuses: Mapping[str, int | None]) -> str | None:
        """Of the programs that have ended: how, and their last words."""
        failed = []
        for host, status in statuses.items():
            if status is None or status == 0:
                continue
            text = (self.dir / f"{host}.err").read_text(errors="replace").strip().splitlines()
            how = f"killed by signal {-status}" if status < 0 else f"exit status {status}"
            failed.append(f"{host}: {how}{': ' + text[-1] if text else ''}")
        return "; ".join(failed) or None

    def _daemon_cpu(self) -> float:
        return float(self.session.ask("usage")["daemon_cpu_s"])

    # --- results --------------------------------------------------------------------------------------------------

    def _collect(self, segment: Any, error: str | None) -> RunOutcome:
        vfs = segment.vfs
        digests = [bytes(v["digest"]) for v in vfs if v["records"] > 0]
        for switch in self.plan.switches:
            path = self.dir / f"{switch.name}.digest"
            if path.exists() and re.fullmatch("[0-9a-f]{64}", text := path.read_text().strip()):
                digests.append(bytes.fromhex(text))  # not a part of one: of a switch process that was killed
        events = {p.stem: np.fromfile(p, dtype=TRACE_DTYPE) for p in sorted(self.dir.glob("*.events"))}
        flows = read_records(self.plan.flows, {h: self.dir / f"{h}.json" for h in self.programs}, events)
        error = error or incomplete(self.plan.flows, flows) or self._replay_problem(segment)
        outcome = RunOutcome(
            plan=self.plan,
            flows=flows,
            nic_counters={
                (v["host"], v["vf"]): v["counters"] for v in vfs if v["records"] > 0 or v["pid"] != 0
            },
            port_counters={p["interface"]: p["counters"] for p in segment.ports},
            node_digests=tuple(digests),
            policies={p.stem: json.loads(p.read_text()) for p in sorted(self.dir.glob("*.policy"))},
            events=events,
            records=sum(v["records"] for v in vfs),
            fidelity=FidelityInputs(
                clock=self.plan.clock,
                dilation=self.plan.dilation if self.plan.clock == "wall" else None,
                wall_slips=segment.wall_slips,
                windows=segment.windows,
                detaches=segment.detaches,
                late_frames=segment.late_frames,
                first_detach_ps=segment.first_detach_ps,
                last_detach_ps=segment.last_detach_ps,
            ),
            end_ps=end_ps(flows) if error is None else segment.now_ps,
            cpu_s=self.usage.cpu_s,
            max_rss_bytes=self.usage.max_rss_bytes,
            error=error,
        )
        return explain(outcome)
