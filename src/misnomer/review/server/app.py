"""The server of the page: fixed addresses, JSON in and out, on this machine only."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from misnomer.review.log.decisions import ConflictError
from misnomer.review.log.ledger import FullError, ReviewError
from misnomer.review.server.answers import Answers
from misnomer.review.server.guard import Guard

if TYPE_CHECKING:
    from misnomer.review.session import Review

DEFAULT_PORT = 8737
_LARGEST = 1 << 16  # bytes of a request
_PAGE = Path(__file__).parent / "page"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def application(
    review: Review,
    *,
    host: str,
    port: int,
    token: str,
    name: str,
    notice: str | None = None,
    roots: Sequence[Path] = (),
) -> Guard:
    """Put the addresses and the guard together.

    Every file of the folder ``page`` has an address of its own, ``/name``; the page itself is at
    ``/``. Cells may name images below the ``roots``.
    """
    files = [
        Route(_address(file), _file(file.read_bytes(), _KINDS[file.suffix]), methods=["GET"])
        for file in sorted(_PAGE.iterdir())
        if file.suffix in _KINDS
    ]
    answers = Answers(review, name, notice, roots)
    asked = ("about", "row", "next", "rows", "find", "progress", "decisions", "values")
    told = ("decide", "bulk", "note", "undo")
    api = [
        *(Route(f"/api/{one}", _asked(getattr(answers, one)), methods=["GET"]) for one in asked),
        *(Route(f"/api/{one}", _told(getattr(answers, one)), methods=["POST"]) for one in told),
        Route("/api/image", _image(answers.image), methods=["GET"]),
    ]
    return Guard(Starlette(routes=[*files, *api]), host=host, port=port, token=token)


def _address(file: Path) -> str:
    return "/" if file.name == "index.html" else f"/{file.name}"


def _file(content: bytes, kind: str) -> Callable[[Request], Response]:
    return lambda request: Response(content, media_type=kind)


def _asked(answer: Callable[[dict[str, Any]], Any]) -> Any:
    async def endpoint(request: Request) -> Response:
        return await _answered(answer, dict(request.query_params))

    return endpoint


def _image(answer: Callable[[dict[str, Any]], tuple[bytes, str]]) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            content, kind = await run_in_threadpool(answer, dict(request.query_params))
        except (ReviewError, ValueError, KeyError, OSError, IndexError) as error:
            return _trouble(404, str(error))
        return Response(content, media_type=kind)

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
