"""What the page is told about a row, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.audit.result import places
from misnomer.reports.json import finite
from misnomer.reports.wording import chance, row_name, shown
from misnomer.review.log.decisions import Decision
from misnomer.review.log.ledger import ReviewError
from misnomer.review.log.notes import note_about
from misnomer.review.rows.large import LargeRows
from misnomer.review.rows.search import columns
from misnomer.review.server import annotators
from misnomer.review.server.images import image_of, link_of

if TYPE_CHECKING:
    from misnomer.audit.explanation import Explanation
    from misnomer.review.session import Review

Term = tuple[str, Any, float]

_LONGEST = 200_000  # characters of one cell
_MOST_TERMS = 12
_MOST_CHANCES = 50
_MOST_WORDS = 60
_FAINT = 0.1  # a weight too small to color a word


def row(
    review: Review, at: int, *, check: bool = False, roots: Sequence[Path] = ()
) -> dict[str, Any]:
    """Show one row: its cells, its label, the suggestion, and why.

    Cells that name an image below one of the ``roots`` are marked as such.
    """
    judged = review.judged
    if not 0 <= at < len(judged.given):
        raise ReviewError(f"there is no row {at}: rows go from 0 to {len(judged.given) - 1}")
    given = int(judged.given[at])
    home = int(places(judged.labels, judged.classes)[given]) if given >= 0 else -1
    wrong = float(review.ranking.wrong[at])
    content = {
        "row": at,
        "name": named(review, at),
        "title": titled(review, at),
        "labeled": given >= 0,
        "given": None if given < 0 else shown(judged.given_label(at)),
        "home": home,
        "suggested": int(judged.suggested[at]),
        "probability": wrong,
        "chance": chance(wrong),
        "flagged": bool(review.ranking.flagged[at]),
        "check": check,
        "cells": cells(review, at, roots),
        "why": why(review, at),
        "chances": chances(review, at),
        "decision": decision(review, review.decisions.of(at)),
        "opinions": opinions(review, at),
        "note": None if (note := note_about(review.decisions, at)) is None else note.text,
    }
    plain: dict[str, Any] = finite(content)
    return plain


def id_column(audit: Any) -> str | None:
    """Name the column that names the rows."""
    found: str | None = audit.id if isinstance(audit, LargeRows) else audit.shape.id
    return found


def named(review: Review, at: int) -> str:
    """Name a row; by its place where reading its id would mean to read many rows."""
    large = isinstance(review.audit, LargeRows)
    return f"{at}" if large else row_name(review.judged, at)


def titled(review: Review, at: int) -> str:
    """Name a row with its noun: a line of the file, or a row."""
    noun = "row" if isinstance(review.audit, LargeRows) else review.audit.shape.noun
    return f"{noun} {named(review, at)}"


def cell_texts(review: Review, at: int) -> list[tuple[str, str | None]]:
    """Read every column of a row as text; None where the cell is empty."""
    audit = review.audit
    data = audit.row(at) if isinstance(audit, LargeRows) else audit.data.slice(at, 1)
    values = ((name, data.column(i)[0].as_py()) for i, name in enumerate(data.column_names))
    return [(name, None if value is None else str(value)) for name, value in values]


def cells(review: Review, at: int, roots: Sequence[Path] = ()) -> list[dict[str, Any]]:
    """List every column of a row as text; an immense cell is cut, and says so."""
    found = []
    for name, value in cell_texts(review, at):
        text = value or ""
        found.append(
            {
                "name": shown(name),
                "text": text[:_LONGEST].encode("utf-8", "replace").decode(),
                "missing": value is None,
                "cut": max(0, len(text) - _LONGEST),
                "label": name == review.audit.label,
                "image": image_of(text, roots) is not None,
                "link": link_of(text),
            }
        )
    return found


def chances(review: Review, at: int) -> list[list[Any]]:
    """List the likeliest classes of a row, as (place, probability, in words)."""
    judged = review.judged
    if isinstance(judged, LargeRows):
        batch = judged.batch(judged.row(at), [judged.given[at]])
        share = judged.posterior(judged.classifier.model_, batch)[0]
    else:
        share = judged.posterior[at]
    order = np.argsort(-share, kind="stable")[:_MOST_CHANCES]
    return [[int(k), float(share[k]), chance(float(share[k]))] for k in order]


def opinions(review: Review, at: int) -> list[dict[str, Any]]:
    """List what each reviewer last said of a row."""
    said = review.decisions.opinions().get(at, {})
    return [found for one in said.values() if (found := decision(review, one)) is not None]


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
        "words": words(found, review.audit),
        "said": annotators.said(audit, at, pair, review.decisions.of(at)),
    }


def words(found: Explanation, audit: Any) -> list[list[Any]]:
    """List the words of a text that weigh most, as (word, weight); none where there is no text."""
    if not any(kind == "text" for kind in audit.fitted.families.values()):
        return []
    own = set(columns(audit))
    pairs = zip(found.names, found.weights.tolist(), strict=True)
    heavy = [[name, weight] for name, weight in pairs if name not in own and abs(weight) > _FAINT]
    return heavy[:_MOST_WORDS]


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
        "bulk": one.bulk,
        "at": one.at,
    }
