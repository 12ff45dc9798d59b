"""Serve a page on this machine until Ctrl-C, and let nobody else in.

The port, the address and patience with connections; the token, the cookie, the Host and the Origin
of every request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Let only the browser in that was shown the token, and only from the page itself.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    host, port : str, int
        Where the server listens.
    token : str
        What the address must carry once; a cookie carries on from there.
    """

    def __init__(self, app: App, *, host: str, port: int, token: str) -> None:
        self.app, self.host, self.port, self.token = app, host, port, token
        self.session = secrets.token_urlsafe(32)
        self.cookie = f"misnomer_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the headers that keep a browser in bounds."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets here: the connection is closed
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        entering = self._entering(scope)
        refusal = self._refusal(scope, headers, entering)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        await self.app(scope, receive, self._marked(send, entering))

    def _entering(self, scope: Scope) -> bool:
        """Tell whether the address carries the token."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        said = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        return secrets.compare_digest(said.encode(), self.token.encode())

    def _refusal(
        self, scope: Scope, headers: dict[str, str], entering: bool
    ) -> tuple[int, str] | None:
        if not self._is_ours(headers.get("host", "")):
            return 421, "This server answers to its own address only."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{headers['host']}":
            return 403, "Another site may not ask."
        if scope["method"] not in ("GET", "HEAD") and origin is None:
            return 403, "A change must come from the page itself."
        if not entering and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "Another site may not ask."
        if entering or self._has_cookie(headers.get("cookie", "")):
            return None
        return 403, "Open the address that misnomer review printed: it holds the key to this page."

    def _is_ours(self, host: str) -> bool:
        """Accept our own address; a name that only points here (DNS rebinding) is none."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in ("127.0.0.1", "localhost", "[::1]", self.host, f"[{self.host}]"):
            return True
        return self.host in ("0.0.0.0", "::") and _is_number(name)

    def _has_cookie(self, said: str) -> bool:
        """Look for ours among the cookies; those of other programs on this machine come along."""
        pairs = (pair.strip().partition("=") for pair in said.split(";"))
        return any(
            secrets.compare_digest(value.strip('"').encode(), self.session.encode())
            for name, _, value in pairs
            if name == self.cookie
        )

    def _marked(self, send: Send, entering: bool) -> Send:
        async def marked(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if entering:
                    cookie = f"{self.cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
                    extra.append((b"set-cookie", cookie.encode()))
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        return marked


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


async def _answer(send: Send, status: int, words: str) -> None:
    body = words.encode()
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8"}
    headers["content-length"] = str(len(body))
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


DEFAULT_PORT = 8737
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
MAX_SILENCE_SECONDS = 30.0  # in which a request must have come in


def serve(
    make_app: Callable[..., Guard],
    *,
    host: str = LOCAL_HOSTS[0],
    port: int | None = None,
    browser: bool,
    warn: Callable[[str], object],
) -> None:
    """Serve ``make_app(host=, port=, token=)`` until it is stopped.

    Parameters
    ----------
    make_app : callable
        Makes the application, once its port is known.
    host, port : str, int or None
        Where to listen; port 0 takes any that is free.
    browser : bool
        Whether to open the page in one.
    warn : callable
        Tells the user what they should know.
    """
    place, as_wished = bind(host, port)
    actual_port, token = place.getsockname()[1], secrets.token_urlsafe(24)
    if not as_wished:
        warn(f"port {port or 'of the page'} is in use: {actual_port} serves instead")
    if host not in LOCAL_HOSTS:
        warn(f"{host} can be reached by others: whoever has the address may decide")
    app = make_app(host=host, port=actual_port, token=token)
    quiet: Any = {"log_level": "error", "access_log": False, "server_header": False}
    config = uvicorn.Config(app, http=ImpatientProtocol, lifespan="off", **quiet)
    shown_host = f"[{host}]" if ":" in host else host
    address = f"http://{shown_host}:{actual_port}/?token={token}"
    # Ctrl-C is the usual end.
    with suppress(KeyboardInterrupt), announcing(address, browser=browser) as announce:
        _Server(config, announce).run(sockets=[place])


class _Server(uvicorn.Server):
    """uvicorn's, which says when it listens: from then on Ctrl-C is heard, not before."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self.announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets=sockets)
        self.announce()


def bind(host: str, port: int | None) -> tuple[socket.socket, bool]:
    """Bind a port, another one where it is taken; tell whether it is the one asked for."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (DEFAULT_PORT if port is None else port, 0):
        # Said to be TCP, lest asyncio leave Nagle's delay on: 40 ms of every answer.
        place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, wanted))
            place.listen(128)
        except OSError as error:
            place.close()
            if wanted == 0:
                why = (error.strerror or str(error)).lower()
                raise OSError(f"no page can be served at {host!r}: {why}") from None
            continue
        return place, wanted != 0 or port == 0
    raise AssertionError("a port is chosen or an error raised")


@contextmanager
def announcing(address: str, *, browser: bool) -> Iterator[Callable[[], None]]:
    """Hand out what prints the address, and opens it from a file that only its owner reads.

    A browser is told the name of that file: what a program is started with, everybody may list.
    """
    with TemporaryDirectory(prefix="misnomer-") as place:

        def announce() -> None:
            print(address, flush=True)
            print("Ctrl-C ends it; every answer is on disk.", file=sys.stderr)
            if browser:
                page = Path(place) / "page.html"
                page.touch(mode=0o600)
                page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', "utf-8")
                threading.Thread(target=webbrowser.open, args=[page.as_uri()], daemon=True).start()

        yield announce


class ImpatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, with a limit to how long a request may take to arrive."""

    max_silence = MAX_SILENCE_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came in; a request that is complete is waited for no more."""
        super().data_received(data)
        if not self._awaits_request():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(self.max_silence, self._close_if_silent)

    def _awaits_request(self) -> bool:
        """Tell whether a request is still to come, in whole or in part."""
        cycle = self.cycle
        return cycle is None or cycle.more_body

    def _close_if_silent(self) -> None:
        """Close, unless an answer is being made."""
        if self._awaits_request() or self.cycle.response_complete:
            self.transport.close()
        else:
            self._wait()
