"""The review page: what each of its addresses answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from misnomer.reports.wording import shown
from misnomer.review.decisions import PERSON
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import as_filter
from misnomer.review.rows import search
from misnomer.review.server import lists
from misnomer.review.server.guard import Guard
from misnomer.review.server.routes import get_route, image_route, page_routes, post_route
from misnomer.review.server.row import cell_texts, describe_decision, describe_row, read_image

if TYPE_CHECKING:
    from misnomer.review.session import Review

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
        return lists.about(self.review, self.name, self.notice)

    def row(self, said: dict[str, Any]) -> Any:
        """Show one row."""
        return self._row(int(said["row"]))

    def find(self, said: dict[str, Any]) -> Any:
        """Show the row of an id or a position."""
        return self._row(lists.find(self.review, str(said.get("text", ""))[:200]))

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
        return lists.queue_page(self.review, order, wanted, offset, limit, _who(said))

    def decisions(self, said: dict[str, Any]) -> Any:
        """List what was decided."""
        self.review.sync()
        offset, limit = int(said.get("offset") or 0), int(said.get("limit") or 50)
        return lists.decisions_page(self.review, offset, limit)

    def values(self, said: dict[str, Any]) -> Any:
        """List the values of a column."""
        return {"values": search.values(self.review.audit, self._column(said) or "")}

    def progress(self, said: dict[str, Any]) -> Any:
        """Say how far the review is."""
        self.review.sync()
        return lists.progress(self.review, _who(said))

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
        names, place = search.columns(self.review.audit), said.get("column")
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
