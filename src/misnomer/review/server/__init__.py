"""The review page, and the one for checks: files, questions (GET) and statements (POST).

What answers, in JSON, is a plain function of a dict; here it becomes an address, and its errors
become a status and one sentence. In check mode the page shows one row and the classes as keys, and
nothing of what the model thinks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from misnomer.audit.checked import summary
from misnomer.audit.files.checks import cell_text
from misnomer.reports.wording import shown
from misnomer.review.decisions import PERSON, ConflictError
from misnomer.review.ledger import FullError, ReviewError
from misnomer.review.ranking import as_filter
from misnomer.review.server import content
from misnomer.review.server.content import cell_texts, describe_decision, describe_row, read_image
from misnomer.review.server.serve import Guard

if TYPE_CHECKING:
    from misnomer.review import Review


Answer = Callable[[dict[str, Any]], Any]

_MAX_REQUEST_BYTES = 1 << 16
_FOLDER = Path(__file__).parent / "page"
_PAGES = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def page_routes(home: str) -> list[Route]:
    """Give every file of the folder ``page`` an address: ``/name``, and ``/`` to ``home``."""
    files = (file for file in sorted(_FOLDER.iterdir()) if file.suffix in _MEDIA_TYPES)
    return [_file_route(file, "/" if file.name == home else f"/{file.name}") for file in files]


def _file_route(file: Path, path: str) -> Route:
    content, media_type = file.read_bytes(), _MEDIA_TYPES[file.suffix]
    if file.suffix == ".html":  # the pages begin alike
        content = _PAGES.get_template(file.name).render().encode()
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


_MAX_NAME_LENGTH = 60


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
    """Put the addresses and the guard together; cells may name images below the ``roots``."""
    answers = Answers(review, name, notice, roots)
    questions = ("about", "row", "next", "rows", "find", "progress", "decisions", "values")
    statements = ("decide", "bulk", "note", "undo")
    routes = [
        *page_routes("index.html"),
        *(get_route(name, getattr(answers, name)) for name in questions),
        *(post_route(name, getattr(answers, name)) for name in statements),
        image_route("image", answers.image),
    ]
    return Guard(Starlette(routes=routes), host=host, port=port, token=token)


class Answers:
    """What each address answers: a method of its name, from what was said to plain values.

    Parameters
    ----------
    review : Review
        What is reviewed.
    name : str
        What the page calls it.
    notice : str, optional
        What the reviewer should know beforehand.
    roots : sequence of Path
        Folders whose images may be shown.
    """

    def __init__(
        self, review: Review, name: str, notice: str | None = None, roots: Sequence[Path] = ()
    ) -> None:
        self.review, self.name, self.notice, self.roots = review, name, notice, roots

    def about(self, said: dict[str, Any]) -> Any:
        """Describe the audit."""
        return content.about(self.review, self.name, self.notice)

    def row(self, said: dict[str, Any]) -> Any:
        """Show one row."""
        return self._row(int(said["row"]))

    def find(self, said: dict[str, Any]) -> Any:
        """Show the row of an id or a position."""
        return self._row(content.find(self.review, str(said.get("text", ""))[:200]))

    def next(self, said: dict[str, Any]) -> Any:
        """Show the row to look at next; null where none is left."""
        self.review.sync()
        skip = [int(one) for one in str(said.get("skip") or "").split(",") if one][:500]
        order, wanted = self._wanted(said)
        skip = [one for one in skip if 0 <= one < len(self.review.decided)]
        at, check = self.review.next(order, wanted, skip, _who(said))
        return {"row": None if at is None else self._row(at, check=check)}

    def rows(self, said: dict[str, Any]) -> Any:
        """List some rows."""
        self.review.sync()
        order, wanted = self._wanted(said)
        offset, limit = int(said.get("offset") or 0), int(said.get("limit") or 50)
        return content.queue_page(self.review, order, wanted, offset, limit, _who(said))

    def decisions(self, said: dict[str, Any]) -> Any:
        """List what was decided."""
        self.review.sync()
        offset, limit = int(said.get("offset") or 0), int(said.get("limit") or 50)
        return content.decisions_page(self.review, offset, limit)

    def values(self, said: dict[str, Any]) -> Any:
        """List the values of a column."""
        return {"values": self.review.source.values(self._column(said) or "")}

    def progress(self, said: dict[str, Any]) -> Any:
        """Say how far the review is."""
        self.review.sync()
        return content.progress(self.review, _who(said))

    def image(self, said: dict[str, Any]) -> tuple[bytes, str]:
        """Read the image that a cell names."""
        at, place = int(said["row"]), int(said["column"])
        if not 0 <= at < len(self.review.decided):
            raise ReviewError(f"there is no row {at}")
        texts = cell_texts(self.review, at)
        return read_image(texts[max(place, 0)][1] or "", self.roots)

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
            who=_who(said),
        )
        return {"decision": describe_decision(done)}

    def bulk(self, said: dict[str, Any]) -> Any:
        """Accept the suggestions of all open rows that pass a filter, then say how many."""
        key, (_, wanted) = _key(said), self._wanted(said)
        expected = _whole(said["expected"], "expected")
        count = self.review.decide_many(key=key, wanted=wanted, expected=expected, who=_who(said))
        return {"decided": count}

    def note(self, said: dict[str, Any]) -> Any:
        """Write a note about a row down."""
        row = _whole(said["row"], "row")
        if not 0 <= row < len(self.review.decided):
            raise ReviewError(f"there is no row {row}")
        self.review.decisions.write_note(row, str(said.get("text") or "").strip(), _who(said))
        return {"row": row}

    def undo(self, said: dict[str, Any]) -> Any:
        """Take a decision back, or all that were made at once, then show a row of them."""
        who = _who(said)
        if said.get("bulk") is not None:
            bulk = str(said["bulk"])
            return {"undone": self.review.undo_many(key=_key(said), bulk=bulk, who=who)}
        number = _whole(said["decision"], "decision")
        done = self.review.undo(key=_key(said), decision=number, who=who)
        return {"row": self._row(done.row)}

    def _row(self, at: int, *, check: bool = False) -> Any:
        return describe_row(self.review, at, check=check, roots=self.roots)

    def _class(self, place: int) -> Any:
        classes = self.review.audit.classes
        if not 0 <= place < len(classes):
            raise ReviewError(f"label number {place} is not among the {len(classes)} classes")
        return classes[place]

    def _column(self, said: dict[str, Any]) -> str | None:
        """Read a column by its place: its name may hold what no address can."""
        names, place = self.review.source.columns, said.get("column")
        if place in (None, ""):
            return None
        if not 0 <= int(str(place)) < len(names):
            raise ReviewError(f"there is no column number {shown(place)}")
        return names[int(str(place))]

    def _wanted(self, said: dict[str, Any]) -> tuple[str, Any]:
        audit = self.review.audit
        asked = {**said, "column": self._column(said)}
        wanted = as_filter(asked, len(audit.labels), len(audit.classes))
        return str(said.get("order") or "probability"), wanted


def _who(said: dict[str, Any]) -> str:
    return shown(str(said.get("who") or "").strip() or PERSON, _MAX_NAME_LENGTH)


def _key(said: dict[str, Any]) -> str:
    key = said.get("key")
    if not isinstance(key, str) or not 8 <= len(key) <= 100:
        raise ReviewError("a decision needs a key of its own, of 8 to 100 letters")
    return key


def _whole(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > 1 << 62:
        raise ReviewError(f"{name} must be a whole number")
    return value


_MAX_CELL_LENGTH = 4000
_MAX_CLASS_LENGTH = 200


def check_application(room: Any, *, host: str, port: int, token: str) -> Guard:
    """Put the addresses and the guard together."""
    answers = CheckAnswers(room)
    routes = [
        *page_routes("checks.html"),
        *(get_route(name, getattr(answers, name)) for name in ("next", "result")),
        *(post_route(name, getattr(answers, name)) for name in ("answer", "undo")),
    ]
    return Guard(Starlette(routes=routes), host=host, port=port, token=token)


class CheckAnswers:
    """What each address answers.

    Parameters
    ----------
    room : CheckFolder
        The checks of an audit's folder.
    """

    def __init__(self, room: Any) -> None:
        self.room = room
        self.rows: list[int] = [int(row) for row in room.columns()["row"]]
        self.cells, self.titles = room.cells(self.rows).to_pylist(), room.titles(self.rows)
        self.done: dict[int, Any] = room.answers()
        self.order = [row for row in self.rows if row in self.done]

    def next(self, said: dict[str, Any]) -> Any:
        """Show the next row in the order of the draw, blind."""
        left = [i for i, row in enumerate(self.rows) if row not in self.done]
        about = {
            "label": self.room.about["label"],
            "classes": [str(name) for name in self._classes()],
            "done": len(self.rows) - len(left),
            "total": len(self.rows),
        }
        if not left:
            return {**about, "row": None}
        first, shown = left[0], self.cells[left[0]]
        cells = [[name, cell_text(cell)[:_MAX_CELL_LENGTH]] for name, cell in shown.items()]
        return {**about, "row": self.rows[first], "title": self.titles[first], "cells": cells}

    def _classes(self) -> list[Any]:
        """The classes, and behind them those that only an answer names."""
        names = list(self.room.classes)
        known = {*map(str, names), "cannot say"}
        return names + [one for one in dict.fromkeys(self.done.values()) if str(one) not in known]

    def answer(self, said: dict[str, Any]) -> Any:
        """Write an answer down, then show the next row."""
        row, place = said.get("row"), said.get("class")
        if row not in self.rows:
            raise ReviewError(f"row {row} was not drawn")
        if said.get("unsure") is True:
            answer: Any = "cannot say"
        elif isinstance(said.get("new"), str) and said["new"].strip():
            answer = said["new"].strip()[:_MAX_CLASS_LENGTH]
        elif isinstance(place, int) and 0 <= place < len(self._classes()):
            answer = self._classes()[place]
        else:
            raise ReviewError("an answer is a class, a new class, or that one cannot say")
        self.room.answer(row, answer)
        self.done[row] = answer
        self.order = [*(one for one in self.order if one != row), row]
        return self.next({})

    def undo(self, said: dict[str, Any]) -> Any:
        """Take the last answer back, then show its row."""
        if self.order:
            row = self.order.pop()
            self.room.answer(row, None)
            self.done.pop(row, None)
        return self.next({})

    def result(self, said: dict[str, Any]) -> Any:
        """Say what the answers say so far."""
        if not self.done:
            return {"words": "No row is answered yet."}
        checks = self.room.checks()
        if checks.sample is None:
            return {"words": f"{checks.why_nothing[0].upper()}{checks.why_nothing[1:]}."}
        counts, rate = checks.counts, checks.error_rate
        how = (
            "for a sheet that was answered as drawn"
            if checks.kind == "sheet"
            else "holds whenever you stop"
        )
        brief = summary(checks, rate)
        return {
            "words": f"{counts['wrong']} of {counts['counted']} checked rows are wrong: {rate:.1%} "
            f"of all labels, whatever the noise ({how})."
            if brief.is_useful
            else brief.too_few,
            "low": rate.low,
            "high": rate.high,
            "kind": checks.kind,
        }
