"""The runner's end of a session: starts it, asks it for things, ends it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocelab.errors import RocelabError
from rocelab.live.layout import Layout
from rocelab.processes import is_stopped


class SessionError(RocelabError):
    """The topology could not be built, or it is gone; the text says why."""


class SessionClient:
    """One live topology. Use as a context manager, or call stop()."""

    def __init__(
        self,
        directory: Path,
        process: subprocess.Popen[bytes] | None,
        info: dict[str, Any],
        patience: float = 60.0,
    ) -> None:
        """`patience`: seconds for which a stopped session is waited for."""
        self.dir = directory
        self.patience = patience
        self.process = process  # None: somebody else's (`up`)
        self.info = info
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(str(directory / "control.sock"))
        except BaseException:
            self._socket.close()
            raise
        self._stream = self._socket.makefile("rw")

    @staticmethod
    def start(
        directory: Path,
        layout: Layout,
        ovs_build: Path,
        stay: bool = False,
        started: Callable[[int], None] = lambda _: None,
    ) -> SessionClient:
        """Builds the topology; `directory` (the run's, under /tmp) exists. `started` gets the session's pid at once."""
        (directory / "layout.json").write_text(layout.to_json())
        (directory / "ovs_build.txt").write_text(str(ovs_build))
        package = Path(__file__).resolve().parents[2]
        with open(directory / "session.log", "wb") as log:
            process = subprocess.Popen(
                [
                    "/usr/bin/python3",
                    "-m",
                    "rocelab.live.session",
                    str(directory),
                    "--stay" if stay else str(os.getpid()),
                ],
                env={**os.environ, "PYTHONPATH": str(package)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            started(process.pid)
            while not (directory / "ready.json").exists():
                if (directory / "error.txt").exists():
                    process.wait()
                    raise SessionError((directory / "error.txt").read_text().strip())
                if process.poll() is not None:
                    raise SessionError(f"the session ended: {_last_line(directory / 'session.log')}")
                time.sleep(0.01)
            return SessionClient(directory, process, json.loads((directory / "ready.json").read_text()))
        except BaseException:  # ^C, too: only the session knows yet what it has started
            process.terminate()
            _wait(process)
            raise

    @staticmethod
    def connect(directory: Path, patience: float = 60.0) -> SessionClient:
        """Joins a topology that `up` keeps."""
        try:
            info = json.loads((directory / "ready.json").read_text())
            return SessionClient(directory, None, info, patience)
        except OSError as e:
            raise SessionError(f"the topology is not up any more ({e.strerror}); run ./rocelab clean") from e

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        try:
            self._stream.write(json.dumps({"op": op, **arguments}) + "\n")
            self._stream.flush()
            self._wait_for_answer()
            line = self._stream.readline()
        except OSError:
            line = ""
        if not line.endswith("\n"):  # none, or a part of one
            raise SessionError(f"the session has ended: {_last_line(self.dir / 'session.log')}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise SessionError(answer["error"])
        return answer

    def _wait_for_answer(self) -> None:
        """As long as it takes, unless the session is stopped: then nothing would say why nothing happens."""
        ready = select.poll()
        ready.register(self._socket, select.POLLIN)
        pid, since = int(self.info.get("session", 0)), time.monotonic()
        while not ready.poll(500):
            if not is_stopped(pid):
                since = time.monotonic()
            elif time.monotonic() - since > self.patience:
                raise SessionError(f"the session (process {pid}) is stopped: kill -CONT {pid}")

    def spawn(self, host: str, argv: list[str], env: dict[str, str], stdout: Path, stderr: Path) -> int:
        return int(
            self.ask("spawn", host=host, argv=argv, env=env, stdout=str(stdout), stderr=str(stderr))["pid"]
        )

    def appctl(self, *argv: str) -> str:
        return str(self.ask("appctl", argv=list(argv))["text"])

    def leave(self) -> None:
        """The session goes on, and serves the next client."""
        self._stream.close()
        self._socket.close()

    def stop(self) -> None:
        """Again, where ^C has ended it before the session's end."""
        with contextlib.suppress(OSError):  # it is gone already
            if not self._stream.closed:
                self._stream.write(json.dumps({"op": "stop"}) + "\n")
                self._stream.flush()
        with contextlib.suppress(OSError):  # what could not be sent is tried once more
            self._stream.close()
        self._socket.close()
        if self.process is not None:
            _wait(self.process)

    def __enter__(self) -> SessionClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _wait(process: subprocess.Popen[bytes]) -> None:
    """For its end, which has been asked for."""
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return lines[-1] if lines else "no message"
