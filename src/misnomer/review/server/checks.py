"""The page in check mode: one row, the classes as keys, nothing of what the model thinks."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from misnomer.review.log.ledger import ReviewError
from misnomer.review.server.app import _asked, _file, _told, bound, new_token
from misnomer.review.server.guard import Guard

_PAGE = Path(__file__).parent / "page"
_FILES = {
    "/": ("checks.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/checks.js": ("checks.js", "text/javascript"),
}
_LONGEST = 4000  # letters of a cell
_NEW = 200  # letters of a new class


def checking(room: Any, *, host: str, port: int, token: str) -> Guard:
    """Put the addresses and the guard together."""
    answers = CheckAnswers(room)
    files = [
        Route(path, _file((_PAGE / file).read_bytes(), kind), methods=["GET"])
        for path, (file, kind) in _FILES.items()
    ]
    api = [
        Route("/api/next", _asked(answers.next), methods=["GET"]),
        Route("/api/answer", _told(answers.answer), methods=["POST"]),
        Route("/api/undo", _told(answers.undo), methods=["POST"]),
        Route("/api/result", _asked(answers.result), methods=["GET"]),
    ]
    return Guard(Starlette(routes=[*files, *api]), host=host, port=port, token=token)


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
        self.cells = room.cells(self.rows).to_pylist()
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
        cells = [[name, str(cell)[:_LONGEST]] for name, cell in self.cells[left[0]].items()]
        return {**about, "row": self.rows[left[0]], "cells": cells}

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
            answer = said["new"].strip()[:_NEW]
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
            return {"words": "No answer counts yet."}
        counts, rate = checks.counts, checks.error_rate
        how = (
            "for a sheet that was answered as drawn"
            if checks.kind == "sheet"
            else "holds whenever you stop"
        )
        return {
            "words": f"{counts['wrong']} of {counts['counted']} checked rows are wrong: {rate:.1%} "
            f"of all labels, whatever the noise ({how}).",
            "low": rate.low,
            "high": rate.high,
            "kind": checks.kind,
        }


def serve(room: Any, port: int | None, *, browser: bool) -> None:
    """Serve the page on this machine until it is stopped."""
    import uvicorn

    host = "127.0.0.1"
    place, as_wished = bound(host, port)
    token, real = new_token(), place.getsockname()[1]
    if not as_wished:
        print(f"port {port or 'of the page'} is in use: {real} serves instead", file=sys.stderr)
    app = checking(room, host=host, port=real, token=token)
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="off", server_header=False
    )
    address = f"http://{host}:{real}/?token={token}"
    print(address, flush=True)
    if browser:
        webbrowser.open(address)
    with suppress(KeyboardInterrupt):  # the usual end
        uvicorn.Server(config).run(sockets=[place])
