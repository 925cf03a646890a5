"""Drives run plans in virtual time: no processes, no Open vSwitch, no root. The outcome has the form of a live run's."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields

from rocelab import native
from rocelab.deadlock import explain
from rocelab.des.ranks import Found, Ranks
from rocelab.errors import RocelabError
from rocelab.files import check_not_full, check_writable
from rocelab.flow_status import incomplete
from rocelab.frames import KINDS
from rocelab.model import TRACE_DTYPE, Array, FidelityInputs, FlowRecord, RunOutcome, RunPlan, end_ps
from rocelab.live.usage import process_peak_bytes
from rocelab.progress import Flushes, Progress, Report
from rocelab.recordings import Recordings
from rocelab.scratch import scratch_folder

_REPORT_SECONDS = 0.1
_FIRST_STEPS = 64  # rounds between looks at the clock; adapted to how long they take


class DesEngine:
    """`events` off: no event files and samples, only the trace_hash. `trace` off: not even that, and the run is as fast as it can be. `threads`: of runs whose scenario
    leaves them to us (engine.threads = "auto"); 0: by the cores and the size of the run. `ranks`: this process among those that share each run (ranks.py).
    `watched`: event files are flushed once a second, for a reader that shows the run while it lasts. `kinds`: of records that the outcome's events are to have, and `columns`; none: all.
    `recordings`: of what is replayed; without them a replay runs its original itself.
    """

    def __init__(
        self,
        report: Report = lambda _: None,
        trace: bool = True,
        events: bool = True,
        threads: int = 0,
        ranks: Ranks | None = None,
        watched: bool = False,
        kinds: Sequence[str] = (),
        columns: Sequence[str] = (),
        recordings: Recordings | None = None,
    ) -> None:
        self.report = report
        self.flushes = Flushes(watched)
        self.trace = trace
        self.events = events
        self.threads = threads
        self.ranks = ranks
        self.kinds = [KINDS.index(kind) for kind in kinds]
        self.columns = list(columns)
        self.recordings = recordings

    def execute(self, plan: RunPlan, out: Path | None = None, pcap: bool = False) -> RunOutcome:
        """One run. What goes wrong in it is in the outcome's `error`, with what there is; a plan that cannot be run raises."""
        found, wall_s, cpu_s = self.run(plan, out, pcap)
        if self.ranks is not None:
            everything = self.ranks.gathered(found)
            assert everything is not None
            found = everything
        return _outcome(plan, found, wall_s, cpu_s)

    def run(self, plan: RunPlan, out: Path | None, pcap: bool) -> tuple[Found, float, float]:
        """What this process finds of it, in how many seconds of wall and processor time."""
        self.report(Progress(plan, "start"))
        captures = (out / "pcap" / plan.name) if pcap and out else None
        if captures is not None:
            check_writable(captures, "free some space or say --out DIR, and repeat the command")
        begin, cpu = time.monotonic(), time.process_time()
        before = self.ranks.used() if self.ranks else {}
        with (
            scratch_folder() if self.trace and self.events else nullcontext() as folder,
            self._turn(plan) as record,
        ):
            try:
                run = native.runner.DesRun(
                    plan.native,
                    trace=self.trace,
                    trace_dir=str(folder or ""),
                    pcap_dir=str(captures.resolve()) if captures else "",
                    threads=plan.native.threads or self.threads,
                    peers=self.ranks.peers if self.ranks else None,
                    record=record,
                    schedule=self._schedule(plan),
                )
                self._drive(run, plan, folder)
                if record and run.complete:
                    self._save(run, plan)
            except RuntimeError as e:
                _check_disks(captures, folder)
                raise RocelabError(f"{plan.label}, seed {plan.seed}: {e}") from e
            cpu_s = time.process_time() - cpu
            processes = [_since(before, self.ranks.used(), time.monotonic() - begin)] if self.ranks else []
            _check_disks(captures, folder)  # of what was not written nothing else tells
            self.report(Progress(plan, "collect", run.now_ps))
            found = Found.of(run, {}, processes)
            del run  # whose memory the records may have
            files = sorted(folder.glob("*.events")) if folder else []
            found = replace(found, events={p.stem: self._records(p) for p in files})
        return found, time.monotonic() - begin, cpu_s

    def _turn(self, plan: RunPlan) -> AbstractContextManager[bool]:
        """Whether this run is to be recorded, for replays of it."""
        if self.recordings is None or self.ranks is not None or not plan.native.is_original:
            return nullcontext(False)
        return self.recordings.turn(plan.native)

    def _save(self, run: Any, plan: RunPlan) -> None:
        assert self.recordings is not None
        with suppress(
            RuntimeError
        ):  # what cannot be replayed is a complete run all the same; its replays say why
            self.recordings.save(run, plan.native)

    def _schedule(self, plan: RunPlan) -> Any:
        if self.recordings is None or self.ranks is not None or plan.native.original is None:
            return native.runner.ScheduleFile()
        return self.recordings.of(plan.native)

    def _records(self, file: Path) -> Array:
        records = np.fromfile(file, dtype=TRACE_DTYPE)
        if self.kinds:
            records = records[np.isin(records["kind"], self.kinds)]
        if not self.columns:
            return records
        few: Array = repack_fields(records[self.columns])
        return few

    def _drive(self, run: Any, plan: RunPlan, traces: Path | None) -> None:
        """In slices, so that progress shows and ^C is heard."""
        steps, flushed = _FIRST_STEPS, -1
        while True:
            begin = time.monotonic()
            if run.advance(steps):
                return
            took = time.monotonic() - begin
            if self.flushes.is_due():
                run.flush()
                flushed = run.now_ps
            done = len(plan.hosts) - run.programs_running
            self.report(Progress(plan, "run", run.now_ps, done, traces, flushed))
            if took < _REPORT_SECONDS / 2:
                steps *= 2
            elif took > _REPORT_SECONDS * 2:
                steps = max(1, steps // 2)


def _since(before: dict[str, float], now: dict[str, float], wall_s: float) -> dict[str, float]:
    return {"wall_s": wall_s} | {key: value - before[key] for key, value in now.items()}


def _check_disks(captures: Path | None, events: Path | None) -> None:
    around = events.parent if events else None
    for folder, advice in ((captures, "say --out DIR"), (around, "set TMPDIR to another folder")):
        if folder is not None:
            check_not_full(folder, f"free some space or {advice}, and repeat the command")


def _outcome(plan: RunPlan, run: Found, wall_s: float, cpu_s: float) -> RunOutcome:
    flows = tuple(_record(f) for f in run.flows)
    error = incomplete(plan.flows, flows)
    if not run.complete and not any(f.status for f in flows):
        error = f"not finished after {plan.limit_ps / 1e12:g} s of experiment time (engine.limit)"
    outcome = RunOutcome(
        plan=plan,
        flows=flows,
        nic_counters={(host, 0): counters for host, counters in run.hosts.items()},
        port_counters=run.ports,
        node_digests=tuple(run.node_digests.values()),
        policies={switch: json.loads(text) for switch, text in run.policies.items()},
        events=dict(run.events),
        records=run.records,
        fidelity=FidelityInputs(clock="virtual", windows=run.rounds, late_frames=run.late_frames),
        end_ps=end_ps(flows) if error is None else run.now_ps,
        wall_s=wall_s,
        cpu_s=cpu_s,
        max_rss_bytes=process_peak_bytes(os.getpid()),
        processes=tuple(run.processes),
        error=error,
    )
    return explain(outcome)


def _record(flow: dict[str, Any]) -> FlowRecord:
    del flow["has_source"]
    src, dst = flow.pop("src_qpns"), flow.pop("dst_qpns")
    return FlowRecord(**flow, src_qpn=src[0], dst_qpn=dst[0], src_qpns=src, dst_qpns=dst)
