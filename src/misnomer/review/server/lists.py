"""What the page is told about the audit, the queue, the decisions and what remains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.reports.wording import chance, row_name, shown
from misnomer.review.decisions import PERSON, Decision, agreements
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import ORDERS, Filter
from misnomer.review.server.row import describe_decision

if TYPE_CHECKING:
    from misnomer.review.session import Review

_MAX_ROWS, _MAX_PAIRS, _MAX_POINTS = 200, 20, 300


def about(review: Review, name: str, notice: str | None = None) -> dict[str, Any]:
    """Describe the audit: its classes, its size, its verdict."""
    audit, key = review.audit, review.audit.shape.id
    return {
        "name": name,
        "notice": notice,
        "label": shown(audit.label),
        "labels": [shown(one) for one in audit.labels],
        "classes": [shown(one) for one in audit.classes],
        "rows": len(review.source),
        "voted": audit.annotators is not None,
        "grouped": audit.groups is not None,
        "labeled": int(review.first.judged.sum()),
        "suspects": int(review.first.flagged.sum()),
        "orders": list(ORDERS),
        "columns": [shown(column, 200) for column in review.source.columns],
        "id": None if key is None else shown(key),
        "jump": _jump_help(review),
        "learning": review.source.learning,
        "verdict": {"level": audit.verdict.level, "sentences": list(audit.verdict.sentences)},
    }


def _jump_help(review: Review) -> str:
    """Say by what a row can be found."""
    shape, key = review.audit.shape, review.audit.shape.id
    if shape.lines is not None and shape.noun == "line":
        lines = shape.lines
        return f"a line of the file, from {lines[0]:,} to {lines[-1]:,}"
    position = f"a position from 0 to {len(review.source) - 1:,}"
    return position if key is None else f"a value of {shown(key)}, or {position}"


def find(review: Review, text: str) -> int:
    """Find a row by the value of its id column, else by its line in the file, or its position."""
    shape, text = review.audit.shape, text.strip()
    at = review.source.find_id(text)
    if at is not None:
        return at
    if text.isdecimal() and shape.noun == "line":
        rows = np.flatnonzero(shape.lines == int(text))
        if not len(rows):
            raise ReviewError(f"no row begins on line {shown(text)}")
        return int(rows[0])
    if text.isdecimal() and int(text) < len(review.source):
        return int(text)
    raise ReviewError(f"there is no row {shown(text)!r}")


def queue_page(
    review: Review, order: str, wanted: Filter, offset: int, limit: int, who: str = PERSON
) -> dict[str, Any]:
    """List some rows of the queue, never all of them."""
    judged, blind = review.judged, wanted.state == "second"
    rows = review.rows(order, wanted, max(offset, 0), min(max(limit, 1), _MAX_ROWS), who)
    return {
        "total": review.count(wanted, who),
        "version": review.ranking.version,
        "rows": [
            {
                "row": at,
                "name": row_name(review.audit, at),
                "given": shown(judged.given_label(at), 30),
                "suggested": shown(judged.suggested_class(at), 30),
                "chance": chance(float(review.ranking.wrong[at])),
                "decision": None if blind else describe_decision(review.decisions.of(at)),
            }
            for at in rows.tolist()
        ],
    }


def decisions_page(review: Review, offset: int, limit: int) -> dict[str, Any]:
    """List the decisions that stand, the latest first, the notes, and who agrees with whom."""
    standing = review.decisions.standing()[::-1]
    notes, opinions = review.decisions.notes(), review.decisions.opinions()
    start = max(offset, 0)
    open_notes = [note for row, note in notes.items() if review.decisions.of(row) is None]
    return {
        "total": len(standing),
        "rows": [
            {
                **(describe_decision(one) or {}),
                "name": row_name(review.audit, one.row),
                "given": shown(one.given, 30),
                "note": notes[one.row].text if one.row in notes else None,
                "disputed": _is_disputed(opinions[one.row].values()),
            }
            for one in standing[start : start + min(max(limit, 1), _MAX_ROWS)]
        ],
        "notes": [
            {"row": note.row, "name": row_name(review.audit, note.row), "note": note.text}
            for note in open_notes[:_MAX_ROWS]
        ],
        "agreements": [
            {**asdict(one), "pair": [shown(who, 30) for who in one.pair]}
            for one in agreements(opinions)[:_MAX_PAIRS]
        ],
    }


def _is_disputed(opinions: Iterable[Decision]) -> bool:
    return len({str(one.label) for one in opinions if one.is_opinion}) > 1


def progress(review: Review, who: str = PERSON) -> dict[str, Any]:
    """Say how far the review is, what remains, and the curve of errors found."""
    now = review.progress()
    return {
        "decided": now.decided,
        "unsure": now.unsure,
        "errors": now.errors,
        "labeled": now.labeled,
        **asdict(now.left),
        "stop": now.advice.stop,
        "advice": now.advice.sentence,
        "curve": curve(review),
        "last": describe_decision(review.decisions.last(who)),
        "version": review.ranking.version,
        "busy": review.refitter.busy,
        "fitting": review.refitter.spent,
        "trouble": review.refitter.trouble,
    }


def curve(review: Review) -> list[list[int]]:
    """Count the errors found after so many decisions: at most 300 points."""
    errors = np.cumsum([0, *(one.is_error for one in review.decisions.standing())])
    counts = np.unique(np.linspace(0, len(errors) - 1, _MAX_POINTS + 1).astype(int))
    return [[int(count), int(errors[count])] for count in counts]
