"""What the page is told about the audit, the queue, the decisions and what remains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.estimate import Estimate
from misnomer.reports.wording import chance, shown
from misnomer.review.decisions import PERSON, agreements
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import ORDERS, Filter
from misnomer.review.refit.large import sentence
from misnomer.review.rows.large import LargeRows
from misnomer.review.rows.search import columns
from misnomer.review.server.row import describe_decision, id_column, named

if TYPE_CHECKING:
    from misnomer.review.session import Review

_MOST_POINTS = 300


def about(review: Review, name: str, notice: str | None = None) -> dict[str, Any]:
    """Describe the audit: its classes, its size, its verdict."""
    audit = review.audit
    return {
        "name": name,
        "mode": "review",
        "notice": notice,
        "label": shown(audit.label),
        "labels": [shown(one) for one in audit.labels],
        "classes": [shown(one) for one in audit.classes],
        "rows": len(audit.given),
        "voted": audit.annotators is not None,
        "grouped": audit.groups is not None,
        "labeled": int(review.first.judged.sum()),
        "suspects": int(review.first.flagged.sum()),
        "orders": list(ORDERS),
        "columns": [shown(name, 200) for name in columns(audit)],
        "id": None if (key := id_column(audit)) is None else shown(key),
        "jump": _jump_help(audit),
        "learning": sentence(audit) if isinstance(audit, LargeRows) else None,
        "verdict": {"level": audit.verdict.level, "sentences": list(audit.verdict.sentences)},
    }


def _jump_help(audit: Any) -> str:
    """Say by what a row can be found."""
    key = id_column(audit)
    if not isinstance(audit, LargeRows) and audit.shape.noun == "line":
        lines = audit.shape.lines
        return f"a line of the file, from {lines[0]:,} to {lines[-1]:,}"
    position = f"a position from 0 to {len(audit.given) - 1:,}"
    return position if key is None else f"a value of {shown(key)}, or {position}"


def page(
    review: Review, order: str, wanted: Filter, offset: int, limit: int, who: str = PERSON
) -> dict[str, Any]:
    """List some rows of the queue, never all of them."""
    judged, blind = review.judged, wanted.state == "second"
    some = review.rows(order, wanted, max(offset, 0), min(max(limit, 1), 200), who)
    return {
        "total": review.count(wanted, who),
        "version": review.ranking.version,
        "rows": [
            {
                "row": at,
                "name": named(review, at),
                "given": shown(judged.given_label(at), 30),
                "suggested": shown(judged.classes[judged.suggested[at]], 30),
                "chance": chance(float(review.ranking.wrong[at])),
                "decision": None if blind else describe_decision(review, review.decisions.of(at)),
            }
            for at in some.tolist()
        ],
    }


def made(review: Review, offset: int, limit: int) -> dict[str, Any]:
    """List the decisions that stand, the latest first, the notes, and who agrees with whom."""
    standing = review.decisions.standing()[::-1]
    said, opinions = review.decisions.notes(), review.decisions.opinions()
    some = standing[max(offset, 0) : max(offset, 0) + min(max(limit, 1), 200)]
    lines = []
    for one in some:
        labels = {str(other.label) for other in opinions[one.row].values() if other.bulk is None}
        line = {
            **(describe_decision(review, one) or {}),
            "name": named(review, one.row),
            "given": shown(one.given, 30),
            "note": said[one.row].text if one.row in said else None,
            "disputed": len(labels) > 1,
        }
        lines.append(line)
    bare = [(row, note) for row, note in said.items() if review.decisions.of(row) is None]
    return {
        "total": len(standing),
        "rows": lines,
        "notes": [{"row": r, "name": named(review, r), "note": n.text} for r, n in bare[:200]],
        "agreements": [
            {
                "pair": [shown(who, 30) for who in one.pair],
                "rows": one.rows,
                "same": one.same,
                "beyond_chance": one.beyond_chance,
            }
            for one in agreements(opinions)[:20]
        ],
    }


def progress(review: Review, who: str = PERSON) -> dict[str, Any]:
    """Say how far the review is, what remains, and the curve of errors found."""
    now = review.progress()
    return {
        "decided": now.decided,
        "unsure": now.unsure,
        "errors": now.errors,
        "labeled": now.labeled,
        "model": _estimate(now.left.model),
        "sample": None if now.left.sample is None else _estimate(now.left.sample),
        "checks": now.left.checks,
        "check_errors": now.left.check_errors,
        "stop": now.advice.stop,
        "advice": now.advice.sentence,
        "curve": curve(review),
        "last": describe_decision(review, review.decisions.last(who)),
        "version": review.ranking.version,
        "busy": review.busy,
        "fitting": None if (spent := review.fitting) is None else list(spent),
        "trouble": review.trouble,
    }


def _estimate(one: Estimate) -> dict[str, float]:
    return {"value": one.value, "low": one.low, "high": one.high, "confidence": one.confidence}


def curve(review: Review) -> list[list[int]]:
    """Count the errors found after so many decisions: at most 300 points."""
    found = np.cumsum([one.is_error for one in review.decisions.standing()], dtype=int)
    places_shown = np.unique(np.linspace(0, len(found), _MOST_POINTS + 1).astype(int))
    return [[int(i), int(found[i - 1]) if i else 0] for i in places_shown]


def find(review: Review, text: str) -> int:
    """Find a row by the value of its id column, else by its line in the file, or its position."""
    audit, text = review.audit, text.strip()
    if isinstance(audit, LargeRows):
        if (place := audit.find(text)) is not None:
            return place
    elif audit.shape.id is not None and audit.shape.id in audit.data.column_names:
        import pyarrow as pa
        import pyarrow.compute as pc

        at = pc.index(audit.data.column(audit.shape.id).cast(pa.string()), text).as_py()
        if at >= 0:
            return int(at)
    if not isinstance(audit, LargeRows) and audit.shape.noun == "line" and text.isdecimal():
        on_it = np.flatnonzero(audit.shape.lines == int(text))
        if not len(on_it):
            raise ReviewError(f"no row begins on line {shown(text)}")
        return int(on_it[0])
    if text.isdecimal() and int(text) < len(audit.given):
        return int(text)
    raise ReviewError(f"there is no row {shown(text)!r}")
