"""A sweep from beginning to end: what is there already, what has to run, what became of it. `paper` drives it too."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console

from rocelab.display import in_notebook, make_bar
from rocelab.errors import RocelabError
from rocelab.files import DiskFull
from rocelab.recordings import Recordings
from rocelab.sweep.local import Ended, run_local
from rocelab.sweep.points import Point
from rocelab.sweep.store import PointStore
from rocelab.sweep.work import execute

_WIDTH = 160


@dataclass
class SweepOutcome:
    points: Sequence[Point]
    finished: list[Point] = field(default_factory=list)  # in the order of `points`
    reused: int = 0  # of them, those that were there already
    failed: list[Ended] = field(default_factory=list)


def run_points(
    points: Sequence[Point],
    store: PointStore,
    console: Console,
    jobs: int = 0,
    cluster: str | None = None,
) -> SweepOutcome:
    """Runs what the store lacks; `jobs` 0: one per core. A point that fails is noted and the rest goes on; ^C and a full disk end the
    sweep with an error that says what is kept."""
    distinct = {p.key: p for p in points}
    missing = [p for p in distinct.values() if p not in store]
    outcome = SweepOutcome(points, reused=len(distinct) - len(missing))
    display = _Display(console, len(distinct), outcome.reused)

    def on_ended(ended: Ended) -> None:
        if ended.error is not None:
            outcome.failed.append(ended)
        display.ended(ended)

    try:
        with display:
            if missing and cluster is not None:
                from rocelab.sweep.cluster import run_cluster

                run_cluster(cluster, missing, store, display.tick, on_ended)
            elif missing:
                _run_here(missing, store, jobs or cores(), display.tick, on_ended)
    except DiskFull as e:
        raise DiskFull(f"{e}; {_kept(distinct, store)}; free some space and repeat the command") from e
    except KeyboardInterrupt:
        console.print(f"{_kept(distinct, store)}; repeat the command to go on", soft_wrap=True)
        raise
    outcome.finished = [p for p in points if p in store]
    return outcome


def _run_here(
    points: list[Point],
    store: PointStore,
    jobs: int,
    on_tick: Callable[[Sequence[Point]], None],
    on_ended: Callable[[Ended], None],
) -> None:
    """Replays come last: by then their originals have run, and left their schedules."""
    recordings = Recordings(store.folder) if any(p.replays for p in points) else None
    work = functools.partial(execute, recordings=recordings)
    try:
        run_local(sorted(points, key=lambda p: p.replays), store, jobs, on_tick, on_ended, work)
    finally:
        if recordings is not None:
            recordings.remove()


def make_console() -> Console:
    """Tables are shown in full where no terminal says how wide it is."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def cores() -> int:
    return len(os.sched_getaffinity(0))


def failures(outcome: SweepOutcome) -> RocelabError:
    lines = [f"{e.point.name}: {e.error}" for e in outcome.failed]
    kept = f"{len(outcome.failed)} of {len(outcome.points)} points failed; the others are kept"
    return RocelabError("\n".join([kept, *lines]))


def _kept(distinct: dict[str, Point], store: PointStore) -> str:
    finished = sum(p in store for p in distinct.values())
    return f"{finished} of {len(distinct)} points are finished and kept in {store.folder}"


class _Display:
    """Which points are under way; only the sweep's own loop redraws it."""

    def __init__(self, console: Console, total: int, reused: int) -> None:
        self.console = console
        self.bar = make_bar(total, "points", console)
        self.done = reused
        self.failed = 0

    def __enter__(self) -> _Display:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.tick([])
        self.bar.stop()

    def tick(self, running: Sequence[Point]) -> None:
        names = "; ".join(p.name for p in running[:2]) + (" .." if len(running) > 2 else "")
        self.bar.update(self.done, (f"{self.failed} failed  " if self.failed else "") + names)

    def ended(self, ended: Ended) -> None:
        self.done += 1
        if ended.error is not None:
            self.failed += 1
            text = f"{ended.point.name}: {ended.error}"
            self.console.print(text, style="red", markup=False, soft_wrap=True)
        elif not self.console.is_terminal and not in_notebook():
            self.console.print(f"{ended.point.name}: done")
