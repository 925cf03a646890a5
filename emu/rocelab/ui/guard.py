"""Who may ask for what: the outermost layer of the pages' server, which runs as root where experiments do.

- Only requests whose Host is this server's loopback address: a name that someone else's DNS points here is refused.
- Only with the cookie that the printed address gives (?token=...), compared in constant time; HttpOnly, SameSite=Strict.
- A request that changes something needs an Origin that is this server's.
- Bodies have a size limit; answers carry a Content-Security-Policy without inline scripts.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

MOST_BODY = 512 * 1024  # bytes: a scenario's text and a little more
_SAFE = ("GET", "HEAD")
_FIXED = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_SIGN_IN = (
    "This page needs the whole address that `./rocelab ui` has printed, with its token: open that one.\n"
)


class _TooLarge(Exception):
    """A body beyond MOST_BODY. Whoever reads the body may answer to it as he likes: the status is set here."""


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: App, port: int) -> None:
        self.token = secrets.token_urlsafe(24)  # in the printed address
        self._session = secrets.token_urlsafe(24)  # in the cookie
        self._cookie = f"rocelab-{port}"  # cookies do not know ports
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":  # there are no web sockets here
            return await send({"type": "websocket.close", "code": 1008})
        nonce = secrets.token_urlsafe(12)
        scope["nonce"] = nonce
        body = _Body(receive)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["status"] = 413 if body.too_large else message["status"]
                headers = {**_FIXED, "Content-Security-Policy": policy(nonce)}
                encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
                message["headers"] = [*message.get("headers", []), *encoded]
            await send(message)

        answer = self._refusal(scope)
        if answer is not None:
            return await _answer(send_guarded, *answer)
        await self._app(scope, body.receive, send_guarded)

    def _refusal(self, scope: Message) -> tuple[int, str, list[tuple[bytes, bytes]]] | tuple[int, str] | None:
        headers = scope["headers"]
        host = _one(headers, b"host")
        if host not in self._hosts:
            return 421, "this server answers to its loopback address only\n"
        if scope["method"] not in _SAFE and _one(headers, b"origin") != f"http://{host}":
            return 403, "requests that change something come from this server's own pages only\n"
        if _one(headers, b"sec-fetch-site") == "cross-site" and scope["path"].startswith("/api/"):
            return 403, "this is for this server's own pages only\n"
        if int(_digits(_one(headers, b"content-length"))) > MOST_BODY:
            return 413, f"a request is at most {MOST_BODY // 1024} KiB long\n"
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if "token" in query and scope["path"] == "/" and scope["method"] in _SAFE:
            if not _equal(query.pop("token")[0], self.token):
                return 401, _SIGN_IN
            rest = urlencode(query, doseq=True)
            cookie = f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"
            there = "/?" + rest if rest else "/"
            return 303, "", [(b"set-cookie", cookie.encode()), (b"location", there.encode("latin-1"))]
        if not _equal(self._cookie_of(headers), self._session):
            return 401, _SIGN_IN
        return None

    def _cookie_of(self, headers: list[tuple[bytes, bytes]]) -> str:
        try:
            cookies: SimpleCookie[str] = SimpleCookie(_one(headers, b"cookie"))
        except CookieError:
            return ""
        return cookies[self._cookie].value if self._cookie in cookies else ""


def policy(nonce: str) -> str:
    """Scripts and data from here only; the nonce is for the style sheets that the editor makes."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    )


def _one(headers: list[tuple[bytes, bytes]], name: bytes) -> str:
    """The header's value; nothing when it is missing or there twice."""
    found = [value for key, value in headers if key.lower() == name]
    return found[0].decode("latin-1") if len(found) == 1 else ""


def _equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _digits(text: str) -> str:
    return text if text.isascii() and text.isdigit() else "0"


class _Body:
    """Of one request; what has no length is counted."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0

    @property
    def too_large(self) -> bool:
        return self._bytes > MOST_BODY

    async def receive(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self.too_large:
            raise _TooLarge
        return message


async def _answer(
    send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    body = text.encode()
    kind = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*kind, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})
