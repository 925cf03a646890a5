"""Both ends of a session's socket, without a topology: clients that go away, that say nonsense, and a session that does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rocelab.live.client import SessionClient, SessionError
from rocelab.live.session import Session

ROOT = Path(__file__).resolve().parents[2]


class Echo(Session):
    """A session of no topology. One request waits until its client may have gone."""

    def __init__(self, directory: Path) -> None:
        self.dir = directory
        self.info: dict[str, Any] = {}
        self.go_on = threading.Event()

    def do_echo(self, word: str) -> dict[str, Any]:
        return {"word": word}

    def do_wait(self) -> dict[str, Any]:
        assert self.go_on.wait(10)
        return {"long": "x" * 1_000_000}


class Served:
    """A session that serves in a thread."""

    def __init__(self, directory: Path) -> None:
        self.session = Echo(directory)
        self.thread = threading.Thread(target=self.session.serve, daemon=True)
        self.thread.start()
        while not (directory / "ready.json").exists():
            assert self.thread.is_alive()

    def socket(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(10)
        client.connect(str(self.session.dir / "control.sock"))
        return client

    def answers(self) -> bool:
        """The next client gets what it asks for."""
        with self.socket() as client:
            client.sendall(b'{"op": "echo", "word": "here"}\n')
            return client.makefile().readline() == '{"word": "here"}\n'


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.session.go_on.set()
    if made.thread.is_alive():
        with made.socket() as client:
            client.sendall(b'{"op": "stop"}\n')
        made.thread.join(10)
    assert not made.thread.is_alive()


def test_a_client_that_closes_before_its_answer_ends_alone(served: Served) -> None:
    with served.socket() as client:
        client.sendall(b'{"op": "wait"}\n')
    served.session.go_on.set()
    assert served.answers()


def test_a_client_that_resets_its_connection_ends_alone(served: Served) -> None:
    with served.socket() as client:
        client.sendall(b'{"op": "echo", "word": "unread"}\n' * 100 + b'{"op": "wait"}\n')
        client.recv(1)  # the other answers are not read: closing resets
    served.session.go_on.set()
    assert served.answers()


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/1.1\n", b"\xff\xfe\n", b"{}\n", b"[1]\n", b'{"op": 1}\n', b'{"op"']
)
def test_a_client_that_says_nonsense_ends_alone(served: Served, text: bytes) -> None:
    with served.socket() as client:
        client.sendall(text)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    assert served.answers()


def test_an_unknown_request_is_answered_with_an_error(served: Served) -> None:
    with served.socket() as client:
        client.sendall(b'{"op": "fly"}\n')
        assert "do_fly" in json.loads(client.makefile().readline())["error"]
    assert served.answers()


def test_a_client_that_stops_the_session_need_not_wait_for_it(served: Served) -> None:
    SessionClient.connect(served.session.dir).stop()
    served.thread.join(10)
    assert not served.thread.is_alive()


def test_the_end_of_a_client_is_quiet_whose_session_is_gone(served: Served) -> None:
    client = SessionClient.connect(served.session.dir)
    gone = SessionClient.connect(served.session.dir)
    client.stop()
    served.thread.join(10)
    with pytest.raises(SessionError, match="the session has ended"):
        gone.ask("echo", word="anybody")
    gone.stop()


def test_half_an_answer_is_a_session_that_is_gone(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "control.sock"))
        server.listen()
        (tmp_path / "ready.json").write_text("{}")
        client = SessionClient.connect(tmp_path)
        with server.accept()[0] as session:
            session.sendall(b'{"word": "he')
        with pytest.raises(SessionError, match="the session has ended"):
            client.ask("echo", word="here")
        client.stop()


def test_a_stopped_session_is_not_waited_for_without_end(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(str(tmp_path / "control.sock"))
            server.listen()
            (tmp_path / "ready.json").write_text(json.dumps({"session": sleeper.pid}))
            client = SessionClient.connect(tmp_path, patience=0.1)
            sleeper.send_signal(signal.SIGSTOP)
            with pytest.raises(SessionError, match=f"process {sleeper.pid}.* is stopped: kill -CONT"):
                client.ask("echo", word="anybody")
            client.stop()
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_session_whose_record_was_removed_ends_by_itself(tmp_path: Path) -> None:
    record = tmp_path / "record"
    record.mkdir()
    served = Served(tmp_path)
    served.session.record = record
    assert served.answers()
    record.rmdir()
    served.thread.join(10)
    assert not served.thread.is_alive()


def test_a_session_whose_runner_was_killed_before_it_could_be_told_builds_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "rocelab.test"
    folder.mkdir()
    words = [sys.executable, "-m", "rocelab.live.session", str(folder), str(os.getppid())]
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": str(ROOT / "emu")}, timeout=30)
    assert done.returncode == 0 and not folder.exists()


def test_a_client_may_be_stopped_again(served: Served) -> None:
    """A second ^C ends the first one's wait for the session."""
    client = SessionClient.connect(served.session.dir)
    client.stop()
    client.stop()
