"""The page in check mode: one row, the classes as keys, nothing of what the model thinks."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette

from misnomer.audit.checked import summary
from misnomer.audit.files.checks import cell_text
from misnomer.review.ledger import ReviewError
from misnomer.review.server.app import get_route, page_routes, post_route
from misnomer.review.server.serve import Guard

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
