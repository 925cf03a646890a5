"""Progress of long steps before anything but the standard library is there: a line per step, alive while it lasts.

On a terminal the line spins and shows a percentage; elsewhere a step prints when it starts, every 15 s and when it ends.
Output of the tools goes to a log per step; a failure names the log and shows its last lines.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TextIO

from rocelab.errors import RocelabError

_SPINNER = "|/-\\"
_QUIET_FOR = 0.3  # seconds: a step that had nothing to do says nothing
_REPEAT_AFTER = 15.0
_TAIL_LINES = 15
OUT_OF_TIME = -int(signal.SIGALRM)  # status of a tool that was ended at its limit

_INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

# Reads a line of a tool's output: how far it is (0..1), and what it does now.
LineReader = Callable[[str], tuple[float | None, str] | None]


class Step:
    """One line of progress; use as a context manager. `ends`: by time.monotonic(), when its tools are ended."""

    def __init__(self, title: str, stream: TextIO | None = None, ends: float | None = None) -> None:
        self.title = title
        self.ends = ends
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.begin = self.printed_at = time.monotonic()
        self.fraction: float | None = None
        self.note = ""
        self.shown = False

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: TracebackType | BaseException | None) -> None:
        if not self.shown and kind is None:
            return
        verdict = "done" if kind is None else "stopped" if issubclass(kind, KeyboardInterrupt) else "FAILED"
        self._line(f"{self.title}: {verdict} ({self._elapsed()})", final=True)

    @property
    def is_over(self) -> bool:
        return self.ends is not None and time.monotonic() >= self.ends

    def update(self, fraction: float | None = None, note: str = "") -> None:
        self.fraction = self.fraction if fraction is None else fraction
        self.note = note or self.note
        self.tick()

    def tick(self) -> None:
        """Call it a few times a second."""
        now = time.monotonic()
        if now - self.begin < _QUIET_FOR:
            return
        if self.live:
            spin = _SPINNER[int(now * 8) % len(_SPINNER)]
            self._line(f"{spin} {self._state()}", final=False)
        elif not self.shown:
            self._line(f"{self.title} ...", final=True)
        elif now - self.printed_at > _REPEAT_AFTER:
            self._line(self._state(), final=True)
        self.shown = True

    def _state(self) -> str:
        percent = "" if self.fraction is None else f" {min(99, int(100 * self.fraction)):3d} %"
        return f"{self.title}{percent} ({self._elapsed()}) {self.note}".rstrip()

    def _elapsed(self) -> str:
        seconds = time.monotonic() - self.begin
        return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"

    def _line(self, text: str, final: bool) -> None:
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            text = "\r\033[K" + text[:width] + ("\n" if final else "")
        else:
            text += "\n"
        self.stream.write(text)
        self.stream.flush()
        self.printed_at = time.monotonic()


def run_logged(
    argv: Sequence[str | Path],
    step: Step,
    log: Path,
    read: LineReader = lambda line: None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    append: bool = False,
    interruptible: bool = True,
) -> None:
    """Runs a tool with its output in `log`; raises RocelabError if it fails. Nothing of it survives an interrupt."""
    status = run_to_end(argv, step, log, read, cwd, env, append=append, interruptible=interruptible)
    if status != 0:
        how = f"exit status {status}" if status > 0 else signal.Signals(-status).name
        raise RocelabError(f"{step.title} failed ({how}); the whole log is {log}\n{tail(log)}")


def run_to_end(
    argv: Sequence[str | Path],
    step: Step,
    log: Path,
    read: LineReader = lambda line: None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    *,
    append: bool = False,
    interruptible: bool = True,
    limit: float | None = None,
) -> int:
    """As run_logged(), but returns the exit status (negative: the signal). After `limit` seconds the tool is ended."""
    deadlines = [step.ends, None if limit is None else time.monotonic() + limit]
    deadline = min((each for each in deadlines if each is not None), default=None)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab" if append else "wb") as file:
        file.write(f"$ {' '.join(map(str, argv))}\n".encode())
        # An interrupt must find the tool started and known, or not started: it waits until we are in the `try`.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
        try:
            process = _start(argv, cwd, env, before)
        except OSError as e:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            what = "is missing: run ./rocelab setup" if isinstance(e, FileNotFoundError) else e.strerror
            raise RocelabError(f"{argv[0]} {what}") from None
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            in_time = _pump(process, step, file.write, read, deadline)
        except KeyboardInterrupt:
            if not interruptible:
                step.update(note="(stops after this)")
                _pump(process, step, file.write, read, deadline)
            raise
        finally:
            _end_group(process)
    return process.returncode if in_time else OUT_OF_TIME


def _start(
    argv: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str] | None, mask: Iterable[int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(word) for word in argv],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # ^C is ours to pass on
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, set(mask)),
    )


def _pump(
    process: subprocess.Popen[bytes],
    step: Step,
    write: Callable[[bytes], int],
    read: LineReader,
    deadline: float | None,
) -> bool:
    """Copies output to the log, feeds its lines to `read` and keeps the step alive, until the tool ends: in time or not."""
    assert process.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if selector.select(timeout=0.1):
                data = os.read(process.stdout.fileno(), 65536)
                if not data:
                    break
                write(data)
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    if seen := read(line.decode(errors="replace").strip()):
                        step.update(*seen)
            elif process.poll() is not None:
                break  # a daemon that it started holds the pipe
            if deadline is not None and time.monotonic() > deadline:
                write(b"\nended: out of time\n")
                return False
            step.tick()
    process.wait()
    return True


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """An interrupted tool is ended with everything that it started in its session."""
    assert process.stdout is not None
    process.stdout.close()
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(process.pid, number)
        try:
            process.wait(timeout=5)
            return
        except subprocess.TimeoutExpired:
            continue


def tail(log: Path, lines: int = _TAIL_LINES) -> str:
    text = log.read_text(errors="replace").rstrip().splitlines()[-lines:]
    return "\n".join(f"  | {line}" for line in text)
