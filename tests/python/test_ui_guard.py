"""`./rocelab ui` runs as root: who may ask it for what, which files a name reaches, and what untrusted text can do."""

from __future__ import annotations

import re
import shutil
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import ui_server
from rocelab.ui import guard, places
from ui_server import ROOT, Server

PAGES = ROOT / "emu/rocelab/ui/pages"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenarios and results, beside secrets that links lead to."""
    root = tmp_path_factory.mktemp("ui")
    for name in ("scenarios", "results", "outside"):
        (root / name).mkdir()
    shutil.copy(ROOT / "scenarios/quick.toml", root / "scenarios")
    (root / "outside/secret.toml").write_text("title = 'secret'")
    (root / "outside/run.sqlite").write_text("secret")
    (root / "scenarios/link.toml").symlink_to(root / "outside/secret.toml")
    (root / "scenarios/away").symlink_to(root / "outside")
    (root / "results/away").symlink_to(root / "outside")
    (root / "scenarios/loop.toml").symlink_to(root / "scenarios/loop.toml")
    return root


@pytest.fixture(scope="module")
def server(folders: Path) -> Iterator[Server]:
    with ui_server.started(folders, folders / "results", folders / "scenarios") as running:
        yield running


def test_it_listens_on_the_loopback_address_only(server: Server) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    mine = [address for address in listening if int(address.split(":")[1], 16) == server.port]
    assert mine == [struct.pack("<I", 0x7F000001).hex().upper() + f":{server.port:04X}"]
    assert not any(
        line.split()[1].endswith(f":{server.port:04X}")
        for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]
        if line.split()[3] == "0A"
    )


def test_the_token_gives_a_cookie_that_scripts_and_other_sites_do_not_get(server: Server) -> None:
    answer = server.ask(f"/?token={server.token}&x=1", cookie=None)
    assert answer.status == 303 and answer.headers["Location"] == "/?x=1"
    name, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} == set(attributes)
    assert server.token not in name, "the cookie is no token"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/main.js",
        "/api/session",
        "/api/scenario?path=quick.toml",
        "/?token=wrong",
        "/api/session?token={token}",
        "/nothing",
    ],
)
@pytest.mark.parametrize(
    "cookie", [None, "", "rocelab=x", "rocelab-{port}=", "rocelab-{port}={token}", "a;;=,b"]
)
def test_without_the_cookie_nothing_is_served(server: Server, path: str, cookie: str | None) -> None:
    values = {"token": server.token, "port": server.port}
    answer = server.ask(path.format(**values), cookie=None if cookie is None else cookie.format(**values))
    assert answer.status == 401 and b"./rocelab ui" in answer.body
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "",
        None,
    ],
)
def test_another_host_is_refused_even_with_the_cookie(server: Server, host: str | None) -> None:
    answer = server.ask("/api/session", host=None if host is None else host.format(port=server.port))
    assert answer.status in (400, 421)
    assert server.ask("/api/session", host=f"localhost:{server.port}").status == 200


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "https://{host}", "http://127.0.0.1", "http://{host}.evil.example"],
)
@pytest.mark.parametrize("path", ["/api/check", "/api/scenario", "/api/queue", "/api/stop"])
def test_a_change_needs_an_origin_of_ours(server: Server, path: str, origin: str | None) -> None:
    given = None if origin is None else origin.format(host=server.host)
    assert server.post(path, {}, origin=given).status == 403
    assert server.post(path, {}).status == 400, "with the right one it is asked what to do"


def test_requests_embedded_in_other_sites_are_rejected(server: Server) -> None:
    assert server.ask("/api/session", sec_fetch_site="cross-site").status == 403
    assert server.ask("/api/session", sec_fetch_site="same-origin").status == 200


@pytest.mark.parametrize("path", ["/", "/main.js", "/api/session", "/api/runs?result=none", "/nothing"])
def test_every_answer_has_a_policy_without_inline_scripts(server: Server, path: str) -> None:
    headers = server.ask(path).headers
    rules = dict(rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == "'none'" and rules["script-src"] == "'self'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"


def test_the_nonce_of_style_sheets_is_new_each_time(server: Server) -> None:
    answers = [server.ask("/") for _ in range(2)]
    nonces = [re.search(rb'content="([^"]+)"', answer.body) for answer in answers]
    assert nonces[0] is not None and nonces[1] is not None and nonces[0][1] != nonces[1][1]
    assert f"'nonce-{nonces[0][1].decode()}'" in answers[0].headers["Content-Security-Policy"]


OUTSIDE = [
    "../outside/secret.toml",
    "/etc/passwd",
    "link.toml",
    "away/secret.toml",
    "loop.toml",
    "quick.toml/../../outside/secret.toml",
    "./quick.toml",
    "a\0b.toml",
    "",
    ".",
    "//quick.toml",
    "..",
    "none.toml",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_leads_out_of_the_scenarios(server: Server, folders: Path, name: str) -> None:
    for path in ("/api/scenario", "/api/sketch"):
        answer = server.ask(f"{path}?path={quote(name, safe='')}")
        assert answer.status == 404 and b"secret" not in answer.body.replace(name.encode(), b"")
    names = {entry["path"] for entry in server.ask("/api/scenarios").json}
    assert names == {"quick.toml"}


@pytest.mark.parametrize(
    "name",
    [
        "../outside/new.toml",
        "/tmp/new.toml",
        "away/new.toml",
        "away/secret.toml",
        "link.toml",
        "../results/new.toml",
        "quick.toml/x.toml",
        "no/new.toml",
        "new.txt",
        ".hidden.toml",
        "quick.toml\0",
    ],
)
def test_no_name_is_written_out_of_the_scenarios(server: Server, folders: Path, name: str) -> None:
    before = {path: path.read_bytes() for path in folders.rglob("*") if path.is_file()}
    for digest in (None, "0" * 64):
        assert server.post("/api/scenario", {"path": name, "text": "title = 1", "digest": digest}).status in (
            400,
            404,
            409,
        )
    assert {path: path.read_bytes() for path in folders.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["../outside", "away", "/", "..", "", "a\0"])
@pytest.mark.parametrize("path", ["runs", "network", "port?port=h1", "chain?port=h1", "flows", "flow?flow=1"])
def test_no_name_leads_out_of_the_results(server: Server, path: str, name: str) -> None:
    mark = "&" if "?" in path else "?"
    answer = server.ask(f"/api/{path}{mark}result={quote(name, safe='')}")
    assert answer.status == 404
    assert server.ask("/api/results").json == []


@pytest.mark.parametrize("set_", ["../outside|irn|", "away|irn|", "x", "a|b|c", "||"])
def test_no_comparison_leads_out_of_the_results(server: Server, set_: str) -> None:
    assert server.ask(f"/api/compare?set={quote(set_, safe='')}").status in (400, 404)


def test_inside_is_inside(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.toml").write_text("")
    (tmp_path / "c.toml").symlink_to(tmp_path / "a/b.toml")
    assert places.file(tmp_path, "a/b.toml", ".toml") == tmp_path / "a/b.toml"
    assert places.file(tmp_path, "c.toml", ".toml") == tmp_path / "a/b.toml", "a link that stays inside"
    assert places.inside(tmp_path, "new/er") == tmp_path / "new/er"


def test_a_scenario_has_a_size(server: Server) -> None:
    text = "#" * (257 * 1024)
    assert server.post("/api/check", {"path": "quick.toml", "text": text}).status == 400
    whole = b'{"path": "quick.toml", "text": "' + b"#" * guard.MOST_BODY + b'"}'
    assert server.ask("/api/check", "POST", whole).status == 413


def test_a_body_without_a_length_has_a_size_too(server: Server) -> None:
    head = f"POST /api/check HTTP/1.1\r\nHost: {server.host}\r\nCookie: {server.cookie}\r\nOrigin: http://{server.host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        client.sendall(head.encode())
        try:
            for _ in range(guard.MOST_BODY // 65536 + 4):
                client.sendall(b"10000\r\n" + b"#" * 65536 + b"\r\n")
            client.sendall(b"0\r\n\r\n")
        except BrokenPipeError:  # it has had enough
            pass
        assert client.recv(64).startswith(b"HTTP/1.1 413")
    assert server.ask("/api/session").status == 200


def test_a_scenario_that_takes_the_reader_along_leaves_the_server(server: Server) -> None:
    text = (ROOT / "scenarios/quick.toml").read_text().replace("hosts = 3", "hosts = 3000000000")
    found = server.post("/api/check", {"path": "quick.toml", "text": text}).json
    assert found["error"]["line"] >= 1 and found["error"]["text"]
    assert server.ask("/api/session").status == 200


def test_a_text_is_read_where_its_file_is_and_leaves_nothing(server: Server, folders: Path) -> None:
    text = (ROOT / "scenarios/quick.toml").read_text().replace("hosts = 3", "hosts = 3\nhostz = 4")
    before = sorted((folders / "scenarios").iterdir())
    found = server.post("/api/check", {"path": "quick.toml", "text": text}).json
    line = text.splitlines().index("hostz = 4") + 1
    assert found["error"]["line"] == line and "hostz" in found["error"]["text"]
    assert sorted((folders / "scenarios").iterdir()) == before


def test_a_file_saved_by_another_is_not_overwritten(server: Server, folders: Path) -> None:
    opened = server.ask("/api/scenario?path=quick.toml").json
    saved = server.post("/api/scenario", {"path": "copy.toml", "text": opened["text"]}).json
    copy = folders / "scenarios/copy.toml"
    assert copy.read_text() == opened["text"]
    again = {"path": "copy.toml", "text": "title = 'x'", "digest": saved["digest"]}
    assert server.post("/api/scenario", {**again, "digest": None}).status == 409
    assert server.post("/api/scenario", again).status == 200
    assert server.post("/api/scenario", again).status == 409
    copy.unlink()


def test_pages_make_no_markup_of_texts() -> None:
    """What a scenario or a result says is put into the page as text."""
    for file in PAGES.glob("*.js"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|javascript:",
            file.read_text(),
        )
        assert not found, file.name
    page = (PAGES / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", page)


def test_the_lock_file_names_no_address() -> None:
    lock = (PAGES / "package-lock.json").read_text()
    assert '"resolved"' not in lock and "://registry" not in lock
    assert lock.count('"integrity": "sha512-') >= lock.count('"node_modules/')


def test_an_idle_server_sleeps(server: Server) -> None:
    def work() -> tuple[int, int]:
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        switches = re.search(
            r"^voluntary_ctxt_switches:\s+(\d+)", Path(f"/proc/{server.process.pid}/status").read_text(), re.M
        )
        assert switches is not None
        return int(fields[11]) + int(fields[12]), int(switches[1])

    def quiet() -> bool:
        before = work()
        time.sleep(2)
        ticks, switches = (now - then for now, then in zip(work(), before))
        return ticks == 0 and switches <= 2

    server.ask("/api/session")
    assert any(quiet() for _ in range(15)), "no 2 s without work, although nobody asks"
