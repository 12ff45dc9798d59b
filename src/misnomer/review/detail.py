"""What the page is told, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.audit.result import places
from misnomer.estimate import Estimate
from misnomer.reports.json import finite
from misnomer.reports.wording import chance, row_name, shown
from misnomer.review import annotators
from misnomer.review.decisions import Decision
from misnomer.review.large import LargeRows
from misnomer.review.large_refit import sentence
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import ORDERS, Filter

if TYPE_CHECKING:
    from misnomer.review.session import Review

Term = tuple[str, Any, float]

_LONGEST = 200_000  # characters of one cell
_MOST_TERMS = 12
_MOST_POINTS = 300


def about(review: Review, name: str, notice: str | None = None) -> dict[str, Any]:
    """Describe the audit: its classes, its size, its verdict."""
    audit = review.audit
    return {
        "name": name,
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
        "id": None if (key := _id(audit)) is None else shown(key),
        "learning": sentence(audit) if isinstance(audit, LargeRows) else None,
        "verdict": {"level": audit.verdict.level, "sentences": list(audit.verdict.sentences)},
    }


def row(review: Review, at: int, *, check: bool = False) -> dict[str, Any]:
    """Show one row: its cells, its label, the suggestion, and why."""
    judged = review.judged
    if not 0 <= at < len(judged.given):
        raise ReviewError(f"there is no row {at}: rows go from 0 to {len(judged.given) - 1}")
    given = int(judged.given[at])
    home = int(places(judged.labels, judged.classes)[given]) if given >= 0 else -1
    wrong = float(review.ranking.wrong[at])
    content = {
        "row": at,
        "name": named(review, at),
        "labeled": given >= 0,
        "given": None if given < 0 else shown(judged.given_label(at)),
        "home": home,
        "suggested": int(judged.suggested[at]),
        "probability": wrong,
        "chance": chance(wrong),
        "flagged": bool(review.ranking.flagged[at]),
        "check": check,
        "cells": cells(review, at),
        "why": why(review, at),
        "decision": decision(review, review.decisions.of(at)),
    }
    plain: dict[str, Any] = finite(content)
    return plain


def _id(audit: Any) -> str | None:
    found: str | None = audit.id if isinstance(audit, LargeRows) else audit.shape.id
    return found


def named(review: Review, at: int) -> str:
    """Name a row; by its place where reading its id would mean to read many rows."""
    large = isinstance(review.audit, LargeRows)
    return f"{at}" if large else row_name(review.judged, at)


def cells(review: Review, at: int) -> list[dict[str, Any]]:
    """List every column of a row as text; an immense cell is cut, and says so."""
    audit = review.audit
    data = audit.row(at) if isinstance(audit, LargeRows) else audit.data.slice(at, 1)
    found = []
    for name, column in zip(data.column_names, data.columns, strict=True):
        value = column[0].as_py()
        text = "" if value is None else str(value)
        found.append(
            {
                "name": shown(name),
                "text": text[:_LONGEST].encode("utf-8", "replace").decode(),
                "missing": value is None,
                "cut": max(0, len(text) - _LONGEST),
                "label": name == review.audit.label,
            }
        )
    return found


def why(review: Review, at: int) -> dict[str, Any]:
    """Say what speaks for the suggestion and what against it; the terms add up.

    Every annotator's answer is among them; of the columns, the heaviest.
    """
    audit = review.judged
    found = audit.explain_at(at)
    pair = (review.classes[found.suggested], review.classes[found.against])
    *terms, prior, label = found.terms
    answers, columns = annotators.split_terms(audit, at, pair, terms)
    some = shortened(answers, 2 * _MOST_TERMS), shortened(columns, _MOST_TERMS)
    voted = audit.sources is not None and audit.sources.groups is None
    parts = [
        *(("answer", term) for term in some[0]),
        *(("column", term) for term in some[1]),
        ("prior", prior),
        *(() if voted else (("label", label),)),  # a vote weighs nothing beside the answers
    ]
    return {
        "suggested": shown(found.suggested),
        "against": shown(found.against),
        "log_odds": found.log_odds,
        "terms": [
            {
                "kind": kind,
                "name": shown(name),
                "value": None if value is None else shown(value),
                "weight": weight,
            }
            for kind, (name, value, weight) in parts
        ],
        "said": annotators.said(audit, at, pair, review.decisions.of(at)),
    }


def shortened(terms: list[Term], most: int) -> list[Term]:
    """Add up all but the heaviest terms, which come first.

    Examples
    --------
    >>> shortened([("a", "x", 3.0), ("b", "y", -2.0), ("c", "z", 0.5), ("d", "z", 0.25)], 2)
    [('a', 'x', 3.0), ('b', 'y', -2.0), ('(2 others)', None, 0.75)]
    """
    if len(terms) <= most + 1:
        return terms
    rest = float(sum(weight for _, _, weight in terms[most:]))
    return [*terms[:most], (f"({len(terms) - most} others)", None, rest)]


def decision(review: Review, one: Decision | None) -> dict[str, Any] | None:
    """Show a decision as the page needs it."""
    if one is None:
        return None
    return {
        "id": one.id,
        "row": one.row,
        "action": one.action,
        "label": None if one.label is None else shown(one.label),
        "error": one.is_error,
        "who": shown(one.who),
        "at": one.at,
    }


def page(review: Review, order: str, wanted: Filter, offset: int, limit: int) -> dict[str, Any]:
    """List some rows of the queue, never all of them."""
    judged = review.judged
    some = review.rows(order, wanted, max(offset, 0), min(max(limit, 1), 200))
    return {
        "total": review.count(wanted),
        "version": review.ranking.version,
        "rows": [
            {
                "row": at,
                "name": named(review, at),
                "given": shown(judged.given_label(at), 30),
                "suggested": shown(judged.classes[judged.suggested[at]], 30),
                "chance": chance(float(review.ranking.wrong[at])),
                "decision": decision(review, review.decisions.of(at)),
            }
            for at in some.tolist()
        ],
    }


def progress(review: Review) -> dict[str, Any]:
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
        "last": decision(review, review.decisions.last()),
        "version": review.ranking.version,
        "busy": review.busy,
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
    """Find a row by the value of its id column, or by its position."""
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
    if text.isdecimal() and int(text) < len(audit.given):
        return int(text)
    raise ReviewError(f"there is no row {shown(text)!r}")
