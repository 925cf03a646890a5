"""Runs that wait, one under way, and those that ended: each is `./rocelab run` as a process in a group of its own, ended as by ^C."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rocelab import paths
from rocelab.errors import RocelabError
from rocelab.ui import places
from rocelab.ui.under_way import RunUnderWay

ENGINES = ("des", "live")
_RESULT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,-]{0,99}")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=, -]{0,99}")
_MOST_WAITING = 50
_LINES = 200  # of a run's output that are kept
_KEPT = 100  # runs that ended
_PATIENCE = 300.0  # seconds: a run that is stopped saves what it has, a live one removes its topology


@dataclass(frozen=True)
class Order:
    """What is to run. `labels` and `seeds` empty: the scenario's."""

    scenario: str  # below the scenarios' folder
    engine: str
    result: str  # name of the result's folder
    labels: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    pcap: bool = False
    label: str = ""  # only this one, with its case and its values of axes; empty: all that `labels` name

    def check(self, scenarios: Path, results: Path) -> Path:
        """The scenario's file. RocelabError: what is wrong, in one line."""
        if self.engine not in ENGINES:
            raise RocelabError(f"engine {self.engine} does not exist: choose {' or '.join(ENGINES)}")
        if self.engine == "live" and os.geteuid() != 0:
            raise RocelabError(
                "the live engine makes network namespaces and needs root: start `./rocelab ui` with sudo"
            )
        if not _RESULT.fullmatch(self.result):
            raise RocelabError(
                "a result's name is made of letters, digits and . _ + = , - and begins with one of the first two"
            )
        for label in (*self.labels, *filter(None, [self.label])):
            if not _LABEL.fullmatch(label):
                raise RocelabError(f"label {label!r} may have letters, digits, blanks and . _ + = , - only")
        for text in self.overrides:
            key, equals, value = text.partition("=")
            if not (key.strip() and equals and value.strip()) or "\n" in text or text.startswith("-"):
                raise RocelabError(f"override {text!r}: write it as KEY=VALUE, e.g. topology.rate=100Gb/s")
        try:
            places.inside(results, self.result)
        except places.NoSuchPlace:
            raise RocelabError(
                f"{self.result} leads out of {results}: choose another name for the result"
            ) from None
        try:
            return places.file(scenarios, self.scenario, ".toml")
        except places.NoSuchPlace:
            raise RocelabError(f"no scenario {self.scenario}: choose one of the gallery") from None

    def settings(self) -> list[str]:
        """Its overrides as --set takes them."""
        found = list(self.overrides)
        if self.labels:
            found.append("transport=[" + ", ".join(json.dumps(label) for label in self.labels) + "]")
        if self.seeds:
            found.append("seeds=[" + ", ".join(map(str, self.seeds)) + "]")
        return found


@dataclass
class Run:
    number: int
    order: Order
    file: Path
    state: str = "waiting"  # then running; stopping; done, failed or stopped
    queued_at: float = field(default_factory=time.time)
    began_at: float | None = None
    ended_at: float | None = None
    status: int | None = None
    progress: dict[str, Any] | None = None  # as rocelab.progress.ProgressLines says
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    under_way: RunUnderWay | None = None  # while it lasts

    def as_dict(self) -> dict[str, Any]:
        order = self.order
        return {
            "number": self.number,
            "scenario": order.scenario,
            "engine": order.engine,
            "result": order.result,
            "overrides": order.settings(),
            "pcap": order.pcap,
            "label": order.label,
            "state": self.state,
            "queued_at": self.queued_at,
            "began_at": self.began_at,
            "ended_at": self.ended_at,
            "status": self.status,
            "progress": self.progress,
            "lines": list(self.lines)[-40:],
        }


class RunQueue:
    """Used in one event loop. One run at a time: they take all cores, or are to be timed."""

    def __init__(self, scenarios: Path, results: Path) -> None:
        self._scenarios, self._results = scenarios, results
        self._runs: list[Run] = []
        self._told = asyncio.Event()  # the run under way, to stop
        self._hurried = asyncio.Event()  # nobody waits for what a run saves
        self._worker: asyncio.Task[None] | None = None
        self._count = 0
        self._closed = False

    @property
    def active(self) -> bool:
        return any(run.state in ("running", "stopping") for run in self._runs)

    def run(self, number: int) -> Run:
        """RocelabError: the queue has no such run, or has forgotten it."""
        for run in self._runs:
            if run.number == number:
                return run
        raise RocelabError(f"the queue has no run {number}: choose one of the page Runs")

    def entries(self) -> list[dict[str, Any]]:
        return [run.as_dict() for run in self._runs]

    def add(self, order: Order) -> Run:
        """RocelabError: it cannot be run."""
        file = order.check(self._scenarios, self._results)
        if sum(run.state == "waiting" for run in self._runs) >= _MOST_WAITING:
            raise RocelabError(f"{_MOST_WAITING} runs wait already: remove some first")
        self._count += 1
        run = Run(self._count, order, file)
        ended = [r for r in self._runs if r.ended_at is not None]
        forgotten = set(map(id, ended[: max(0, len(ended) - _KEPT)]))
        self._runs = [*(r for r in self._runs if id(r) not in forgotten), run]
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work())
        return run

    def stop(self, number: int) -> bool:
        """Ends the run, or takes it out of the queue. False: there is no such run, or it has ended."""
        run = next((r for r in self._runs if r.number == number), None)
        if run is None or run.ended_at is not None:
            return False
        if run.state == "waiting":
            run.state, run.ended_at = "stopped", time.time()
        else:
            run.state = "stopping"
            self._told.set()
        return True

    def hurry(self) -> None:
        """What is being stopped is killed instead, and what it left is removed."""
        self._hurried.set()

    async def close(self) -> None:
        """Ends what runs, as ^C would, and waits for it."""
        self._closed = True
        for run in self._runs:
            self.stop(run.number)
        if self._worker is not None:
            await self._worker

    async def _work(self) -> None:
        while not self._closed:
            run = next((r for r in self._runs if r.state == "waiting"), None)
            if run is None:
                return
            await self._execute(run)

    async def _execute(self, run: Run) -> None:
        folder = Path(tempfile.mkdtemp(prefix="rocelab-ui-"))
        run.state, run.began_at = "running", time.time()
        self._told.clear()
        fifo, network = folder / "progress", folder / "network.json"
        run.under_way = RunUnderWay(network)
        os.mkfifo(fifo, 0o600)
        # Open for both, so that neither side waits for the other to open it.
        pipe = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        loop = asyncio.get_running_loop()
        pending = bytearray()

        def on_progress() -> None:
            pending.extend(os.read(pipe, 65536))
            *lines, rest = bytes(pending).split(b"\n")
            pending[:] = rest
            if lines:
                run.progress = json.loads(lines[-1])

        loop.add_reader(pipe, on_progress)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words(run, fifo, network),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"},
                limit=1 << 20,
            )
            assert process.stdout is not None
            reading = asyncio.create_task(_read_lines(process.stdout, run.lines))
            run.status = await self._ended(process)
            await asyncio.wait([reading], timeout=2)
            reading.cancel()
        except OSError as e:
            run.lines.append(f"cannot be started: {e.strerror}")
        finally:
            loop.remove_reader(pipe)
            os.close(pipe)
            shutil.rmtree(folder, ignore_errors=True)
            run.under_way = None
            run.state = "done" if run.status == 0 else "stopped" if run.state == "stopping" else "failed"
            run.ended_at = time.time()

    def _words(self, run: Run, progress: Path, network: Path) -> list[str]:
        words = [str(paths.ROOT / "rocelab"), "run", str(run.file), "--engine", run.order.engine]
        words += ["--out", str(self._results / run.order.result), "--progress", str(progress)]
        words += ["--watch", str(network)]
        for text in run.order.settings():
            words += ["--set", text]
        if run.order.label:
            words += ["--label", run.order.label]
        return [*words, "--pcap"] if run.order.pcap else words

    async def _ended(self, process: asyncio.subprocess.Process) -> int:
        """Its status. One that was told to stop and does not is killed; then what it has left is removed."""
        ended = asyncio.ensure_future(process.wait())
        told = asyncio.ensure_future(self._told.wait())
        await asyncio.wait({ended, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if not ended.done():
            process.terminate()  # the command itself, which ends what it has started
            hurried = asyncio.ensure_future(self._hurried.wait())
            await asyncio.wait({ended, hurried}, timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            hurried.cancel()
        if not ended.done():
            os.killpg(process.pid, signal.SIGKILL)
            await ended
            clean = await asyncio.create_subprocess_exec(str(paths.ROOT / "rocelab"), "clean")
            await clean.wait()
        return ended.result()


async def _read_lines(stream: asyncio.StreamReader, into: deque[str]) -> None:
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # longer than any line of ours
            continue
        if not line:
            return
        into.append(line.decode(errors="replace").rstrip())
