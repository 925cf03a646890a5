"""Where runs stand, shown while they are under way: a line of a terminal, a bar of a notebook, or nothing."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichBar

from rocelab.model import RunOutcome
from rocelab.progress import Progress


class Bar(Protocol):
    """How much is done, and what is under way."""

    def update(self, done: int, text: str) -> None:
        ...

    def stop(self) -> None:
        ...


class _Pace:
    """What is shown changes ten times a second at most, but for what is done."""

    def __init__(self) -> None:
        self._done, self._shown_at = -1, 0.0

    def is_due(self, done: int) -> bool:
        if done == self._done and time.monotonic() - self._shown_at < 0.1:
            return False
        self._done, self._shown_at = done, time.monotonic()
        return True


class NotebookBar:
    """A <progress> element of a notebook's output, which is gone at the end."""

    def __init__(self, total: int, what: str) -> None:
        from IPython.display import HTML, display  # a notebook is running: it is there

        self._html, self.total, self.what = HTML, total, what
        self._shown, self._pace = display(HTML(""), display_id=True), _Pace()

    def update(self, done: int, text: str) -> None:
        if not self._pace.is_due(done):
            return
        bar = f'<progress value="{done}" max="{max(1, self.total)}"></progress>'
        words = html.escape(f"{done}/{self.total} {self.what}  {text}")
        self._shown.update(self._html(f"<div>{bar} <small>{words}</small></div>"))

    def stop(self) -> None:
        self._shown.update(self._html(""))


class TerminalBar:
    """One line, redrawn by whoever updates it: no thread, so that processes can be forked beside it."""

    def __init__(self, total: int, what: str, console: Console) -> None:
        columns: Sequence[ProgressColumn] = (
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn(what),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}"),
        )
        self._console, self._pace = console, _Pace()
        self._bar = RichBar(*columns, console=console, auto_refresh=False, transient=console.is_terminal)
        self._task = self._bar.add_task("", total=total, text="")
        self._bar.start()

    def update(self, done: int, text: str) -> None:
        self._bar.update(self._task, completed=done, text=text)
        if self._console.is_terminal and self._pace.is_due(done):
            self._bar.refresh()

    def stop(self) -> None:
        self._bar.stop()


class NoBar:
    """Nothing is shown."""

    def update(self, done: int, text: str) -> None:
        pass

    def stop(self) -> None:
        pass


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


def make_bar(total: int, what: str, console: Console) -> Bar:
    if console.quiet:
        return NoBar()
    if in_notebook():
        return NotebookBar(total, what)
    return TerminalBar(total, what, console)


class RunDisplay(AbstractContextManager["RunDisplay"]):
    """Of a scenario's runs, one after the other: which one is under way and how far its clock is; how each ended, where no terminal shows it."""

    def __init__(self, console: Console, runs: int) -> None:
        self._console, self._done = console, 0
        self._bar = make_bar(runs, "runs", console)
        self._bar.update(0, "topology")

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def report(self, progress: Progress) -> None:
        plan = progress.plan
        clock = f"{progress.now_ps / 1e9:.3f} ms of experiment" if progress.phase == "run" else progress.phase
        self._bar.update(self._done, f"{plan.label}, seed {plan.seed}  {clock}")

    def outcome(self, outcome: RunOutcome) -> None:
        self._done += 1
        run = f"{outcome.plan.label}, seed {outcome.plan.seed}"
        self._bar.update(self._done, run)
        if not self._console.is_terminal and not in_notebook():
            took = f"{outcome.end_ps / 1e9:9.3f} ms of experiment in {outcome.wall_s:.2f} s"
            self._console.print(f"{outcome.plan.label:12} seed {outcome.plan.seed}: {took}")
        if outcome.processes:
            waited = ", ".join(f"{100 * p['waited_s'] / p['wall_s']:.0f}" for p in outcome.processes)
            sent = sum(p["sent_bytes"] for p in outcome.processes) / 1e6
            self._console.print(
                f"{run}: {len(outcome.processes)} processes waited {waited} % of the time for one another, {sent:.1f} MB between them"
            )
        if outcome.error is not None:
            self._console.print(f"{run}: {outcome.error}", style="red", markup=False)
