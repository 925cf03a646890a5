"""The server of `./rocelab ui` as a process, and requests to it; without npm: its pages are stand-ins, unless `command` says otherwise."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_START = """
import sys
from pathlib import Path
from rocelab.ui.server import Settings, serve
pages, results, scenarios = map(Path, sys.argv[1:])
sys.exit(serve(Settings(pages, results, scenarios, None, False)))
"""


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    process: subprocess.Popen[str]
    port: int
    token: str
    cookie: str = ""

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str | None) -> Answer:
        """Signed in, and from the server's own pages, unless `headers` (names with _ for -) say otherwise; None leaves one out."""
        given: dict[str, str | None] = {
            "Host": self.host,
            "Cookie": self.cookie,
            "Origin": f"http://{self.host}",
        }
        given |= {name.replace("_", "-").title(): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None:
            given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        found = Answer(answer.status, answer.headers, answer.read())
        connection.close()
        return found

    def post(self, path: str, value: Any, **headers: str | None) -> Answer:
        return self.ask(path, "POST", json.dumps(value).encode(), **headers)

    def sign_in(self) -> None:
        answer = self.ask(f"/?token={self.token}", cookie=None)
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]


@contextmanager
def started(
    folder: Path,
    results: Path,
    scenarios: Path,
    command: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """Signed in. Ended as by ^C; it must then end by itself."""
    pages = folder / "pages"
    pages.mkdir(parents=True, exist_ok=True)
    (pages / "index.html").write_text('<meta name="style-nonce" content="{{nonce}}">')
    (pages / "main.js").write_text("")
    words = list(command) or [sys.executable, "-c", _START, str(pages), str(results), str(scenarios)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "emu"), **(env or {})}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    try:
        assert process.stdout is not None
        found = None
        while found is None:
            line = process.stdout.readline()
            assert line, "the server has ended"
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)", line)
        server = Server(process, int(found[1]), found[2])
        server.sign_in()
        yield server
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=90) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()
