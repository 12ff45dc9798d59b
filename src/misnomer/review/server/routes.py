"""Addresses of a page: its files, questions (GET) and statements (POST), answered in JSON.

What answers is a plain function of a dict; here it becomes an address, and its errors become a
status and one sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from misnomer.review.decisions import ConflictError
from misnomer.review.ledger import FullError, ReviewError

Answer = Callable[[dict[str, Any]], Any]

_MAX_REQUEST_BYTES = 1 << 16
_FOLDER = Path(__file__).parent / "page"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def page_routes(home: str) -> list[Route]:
    """Give every file of the folder ``page`` an address: ``/name``, and ``/`` to ``home``."""
    files = (file for file in sorted(_FOLDER.iterdir()) if file.suffix in _MEDIA_TYPES)
    return [_file_route(file, "/" if file.name == home else f"/{file.name}") for file in files]


def _file_route(file: Path, path: str) -> Route:
    content, media_type = file.read_bytes(), _MEDIA_TYPES[file.suffix]
    return Route(path, lambda request: Response(content, media_type=media_type), methods=["GET"])


def get_route(name: str, answer: Answer) -> Route:
    """Answer a question: its words are in the address."""

    async def endpoint(request: Request) -> Response:
        return await _answered(answer, dict(request.query_params))

    return Route(f"/api/{name}", endpoint, methods=["GET"])


def image_route(name: str, answer: Answer) -> Route:
    """Answer with an image, as (bytes, media type)."""

    async def endpoint(request: Request) -> Response:
        try:
            content, media_type = await run_in_threadpool(answer, dict(request.query_params))
        except (ReviewError, ValueError, KeyError, OSError, IndexError) as error:
            return _refused(404, str(error))
        return Response(content, media_type=media_type)

    return Route(f"/api/{name}", endpoint, methods=["GET"])


def post_route(name: str, answer: Answer) -> Route:
    """Take a statement: its words are a JSON object, not a long one."""

    async def endpoint(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return _refused(415, "a decision is sent as JSON")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _MAX_REQUEST_BYTES:
                return _refused(413, "a decision is never that long")
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            return _refused(400, "a decision is a JSON object")
        return await _answered(answer, said)

    return Route(f"/api/{name}", endpoint, methods=["POST"])


async def _answered(answer: Answer, said: dict[str, Any]) -> Response:
    try:
        return JSONResponse(await run_in_threadpool(answer, said))
    except ConflictError as error:
        return _refused(409, str(error))
    except FullError as error:
        return _refused(507, str(error))
    except ReviewError as error:
        return _refused(422, str(error))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        return _refused(400, f"this request makes no sense ({error})")


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"trouble": sentence}, status_code=status)
