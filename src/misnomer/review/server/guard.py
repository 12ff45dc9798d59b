"""Nobody gets in: the token, the cookie, the Host and the Origin of every request."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

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
