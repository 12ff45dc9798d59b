"""The server of the page: fixed addresses, JSON in and out, on this machine only."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from misnomer.review import detail
from misnomer.review.decisions import ConflictError
from misnomer.review.guard import Guard
from misnomer.review.ledger import FullError, ReviewError
from misnomer.review.ranking import as_filter

if TYPE_CHECKING:
    from misnomer.review.session import Review

DEFAULT_PORT = 8737
_LARGEST = 1 << 16  # bytes of a request
_PAGE = Path(__file__).parent / "page"
_FILES = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/parts.js": ("parts.js", "text/javascript"),
}


def application(
    review: Review, *, host: str, port: int, token: str, name: str, notice: str | None = None
) -> Guard:
    """Put the addresses and the guard together."""
    files = [
        Route(path, _file((_PAGE / file).read_bytes(), kind), methods=["GET"])
        for path, (file, kind) in _FILES.items()
    ]
    answers = Answers(review, name, notice)
    api = [
        Route("/api/about", _asked(answers.about), methods=["GET"]),
        Route("/api/row", _asked(answers.row), methods=["GET"]),
        Route("/api/next", _asked(answers.next), methods=["GET"]),
        Route("/api/rows", _asked(answers.rows), methods=["GET"]),
        Route("/api/find", _asked(answers.find), methods=["GET"]),
        Route("/api/progress", _asked(answers.progress), methods=["GET"]),
        Route("/api/decide", _told(answers.decide), methods=["POST"]),
        Route("/api/undo", _told(answers.undo), methods=["POST"]),
    ]
    return Guard(Starlette(routes=[*files, *api]), host=host, port=port, token=token)


def _file(content: bytes, kind: str) -> Callable[[Request], Response]:
    return lambda request: Response(content, media_type=kind)


def _asked(answer: Callable[[dict[str, Any]], Any]) -> Any:
    async def endpoint(request: Request) -> Response:
        return await _answered(answer, dict(request.query_params))

    return endpoint


def _told(answer: Callable[[dict[str, Any]], Any]) -> Any:
    async def endpoint(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return _trouble(415, "a decision is sent as JSON")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _LARGEST:
                return _trouble(413, "a decision is never that long")
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            return _trouble(400, "a decision is a JSON object")
        return await _answered(answer, said)

    return endpoint


async def _answered(answer: Callable[[dict[str, Any]], Any], said: dict[str, Any]) -> Response:
    try:
        return JSONResponse(await run_in_threadpool(answer, said))
    except ConflictError as error:
        return _trouble(409, str(error))
    except FullError as error:
        return _trouble(507, str(error))
    except ReviewError as error:
        return _trouble(422, str(error))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        return _trouble(400, f"this request makes no sense ({error})")


def _trouble(status: int, sentence: str) -> Response:
    return JSONResponse({"trouble": sentence}, status_code=status)


class Answers:
    """What each address answers."""

    def __init__(self, review: Review, name: str, notice: str | None = None) -> None:
        self.review, self.name, self.notice = review, name, notice

    def about(self, said: dict[str, Any]) -> Any:
        """Describe the audit."""
        return detail.about(self.review, self.name, self.notice)

    def row(self, said: dict[str, Any]) -> Any:
        """Show one row."""
        return detail.row(self.review, int(said["row"]))

    def find(self, said: dict[str, Any]) -> Any:
        """Show the row of an id or a position."""
        return detail.row(self.review, detail.find(self.review, str(said.get("text", ""))[:200]))

    def next(self, said: dict[str, Any]) -> Any:
        """Show the row to look at next; null where none is left."""
        self.review.sync()
        skip = [int(one) for one in str(said.get("skip") or "").split(",") if one][:500]
        order, wanted = self._wanted(said)
        skip = [one for one in skip if 0 <= one < len(self.review.decided)]
        at, check = self.review.next(order, wanted, skip)
        return {"row": None if at is None else detail.row(self.review, at, check=check)}

    def rows(self, said: dict[str, Any]) -> Any:
        """List some rows."""
        self.review.sync()
        order, wanted = self._wanted(said)
        offset, limit = int(said.get("offset") or 0), int(said.get("limit") or 50)
        return detail.page(self.review, order, wanted, offset, limit)

    def progress(self, said: dict[str, Any]) -> Any:
        """Say how far the review is."""
        self.review.sync()
        return detail.progress(self.review)

    def decide(self, said: dict[str, Any]) -> Any:
        """Write a decision down, then say so."""
        review = self.review
        place = said.get("label")
        done = review.decide(
            key=_key(said),
            row=_whole(said["row"], "row"),
            action=str(said["action"]),
            label=None if place is None else self._class(_whole(place, "label")),
            seen=_whole(said["seen"], "seen"),
            check=said.get("check") is True,
            shown=float(said["shown"]) if said.get("shown") is not None else None,
        )
        return {"decision": detail.decision(review, done)}

    def undo(self, said: dict[str, Any]) -> Any:
        """Take a decision back, then show its row."""
        done = self.review.undo(key=_key(said), decision=_whole(said["decision"], "decision"))
        return {"row": detail.row(self.review, done.row)}

    def _class(self, place: int) -> Any:
        classes = self.review.audit.classes
        if not 0 <= place < len(classes):
            raise ReviewError(f"label number {place} is not among the {len(classes)} classes")
        return classes[place]

    def _wanted(self, said: dict[str, Any]) -> tuple[str, Any]:
        audit = self.review.audit
        wanted = as_filter(said, len(audit.labels), len(audit.classes))
        return str(said.get("order") or "probability"), wanted


def _key(said: dict[str, Any]) -> str:
    key = said.get("key")
    if not isinstance(key, str) or not 8 <= len(key) <= 100:
        raise ReviewError("a decision needs a key of its own, of 8 to 100 letters")
    return key


def _whole(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 1 << 62:
        raise ReviewError(f"{name} must be a whole number")
    return value


def bound(host: str, port: int | None) -> tuple[socket.socket, bool]:
    """Bind a port, another one where it is taken; tell whether it is the one asked for."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for wanted in (DEFAULT_PORT if port is None else port, 0):
        # Said to be TCP, lest asyncio leave Nagle's delay on: 40 ms of every answer.
        place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            place.bind((host, wanted))
            place.listen(128)
        except OSError:
            place.close()
            if wanted == 0:
                raise
            continue
        return place, wanted != 0 or port == 0
    raise AssertionError("a port is chosen or an error raised")


def new_token() -> str:
    """Draw a token that cannot be guessed."""
    return secrets.token_urlsafe(24)
