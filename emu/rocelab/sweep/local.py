"""Points over the cores of this machine: a process for each, so that one that crashes takes no other with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import IO, Any

from rocelab.errors import RocelabError
from rocelab.files import DiskFull
from rocelab.sweep.points import Point
from rocelab.sweep.store import PointStore
from rocelab.sweep.work import PointResult, execute

Execute = Callable[[Point, Callable[[Any], None]], PointResult]
_CONTEXT = multiprocessing.get_context("fork")  # what is imported need not be imported again for each point
_TICK_S = 0.2
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """`error` None: the point is in the store."""

    point: Point
    error: str | None = None
    disk_full: bool = False


@dataclass
class _Running:
    point: Point
    process: BaseProcess
    answer: Connection
    complaints: IO[bytes]  # what the process writes to its standard error

    def ended(self) -> Ended:
        self.process.join()
        try:
            error, full = self.answer.recv() if self.answer.poll() else (self._death(), False)
        except (EOFError, OSError):
            error, full = self._death(), False
        self.close()
        return Ended(self.point, error, full)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()
        self.close()

    def close(self) -> None:
        self.answer.close()
        self.complaints.close()
        self.process.close()

    def _death(self) -> str:
        code = self.process.exitcode or 0
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        self.complaints.seek(0)
        lines = self.complaints.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1]}" if lines else how


def run_local(
    points: Sequence[Point],
    store: PointStore,
    jobs: int,
    on_tick: Callable[[Sequence[Point]], None],
    on_ended: Callable[[Ended], None],
    work: Execute = execute,
) -> None:
    """Returns when all have ended, one way or the other; `on_tick` hears a few times a second which ones are running. Whatever it raises
    (^C) ends the running ones first."""
    waiting = deque(points)
    running: dict[int, _Running] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                with _uninterrupted():
                    started = _start(waiting.popleft(), store, work)
                    running[started.process.sentinel] = started
            on_tick([r.point for r in running.values()])
            for sentinel in wait(list(running), timeout=_TICK_S):
                assert isinstance(sentinel, int)
                ended = running.pop(sentinel).ended()
                on_ended(ended)
                if ended.disk_full:
                    raise DiskFull(ended.error or "the disk is full")
    finally:
        for left in running.values():
            left.stop()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """An end that is asked for waits until a process that is being started is known, so that it is ended, too."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(point: Point, store: PointStore, work: Execute) -> _Running:
    receive, send = _CONTEXT.Pipe(duplex=False)
    complaints = tempfile.TemporaryFile()
    process = _CONTEXT.Process(
        target=_child, args=(point, store, work, send, complaints.fileno(), os.getpid())
    )
    process.start()
    send.close()
    return _Running(point, process, receive, complaints)


def _child(
    point: Point, store: PointStore, work: Execute, answer: Connection, errors: int, parent: int
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C reaches the whole group: the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    os.dup2(errors, 2)

    def report(_: Any) -> None:
        if os.getppid() != parent:  # it was killed
            os._exit(1)

    try:
        store.put(point, work(point, report))
        answer.send((None, False))
    except DiskFull as e:
        answer.send((str(e), True))
    except RocelabError as e:
        answer.send((str(e), False))
    except Exception as e:
        answer.send((f"unexpected {type(e).__name__}: {e}", False))
