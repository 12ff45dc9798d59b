"""What the page is told about a row: its cells and images, who said what of it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer.audit.result import places
from misnomer.reports.json import finite
from misnomer.reports.wording import chance, percent, row_name, shown
from misnomer.review.decisions import Decision
from misnomer.review.ledger import ReviewError
from misnomer.review.rows.large import LargeRows
from misnomer.review.rows.search import columns

if TYPE_CHECKING:
    from misnomer.audit.explanation import Explanation
    from misnomer.audit.result import Audit
    from misnomer.audit.sources import Sources
    from misnomer.review.decisions import Decision
    from misnomer.review.session import Review

#: The kinds that a browser shows and that hold no script.
KINDS = {
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
MAX_IMAGE_BYTES = 32 << 20
_MAX_PATH_LENGTH = 1024


def image_of(text: str, roots: Sequence[Path]) -> Path | None:
    """Find the image that a cell names, below one of the folders; None where there is none.

    A path may be absolute or begin in one of the folders. Wherever links lead to counts, so that
    neither ``..`` nor a link leads out of them.

    Examples
    --------
    >>> image_of("scan.txt", [Path(".")]) is None
    True
    """
    if not text or len(text) > _MAX_PATH_LENGTH or "\0" in text:
        return None
    if Path(text).suffix.lower() not in KINDS:
        return None
    for root in roots:
        try:
            found = (root / text).resolve(strict=True)
            if found.is_relative_to(root.resolve(strict=True)) and found.is_file():
                return found
        except (OSError, RuntimeError, ValueError):
            continue
    return None


def read_image(text: str, roots: Sequence[Path]) -> tuple[bytes, str]:
    """Read the image that a cell names, and say of what kind it is."""
    path = image_of(text, roots)
    if path is None:
        raise ReviewError("this cell names no image in a folder that was allowed")
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise ReviewError(
            f"{path.name} is larger than {MAX_IMAGE_BYTES >> 20} MiB, which is not shown"
        )
    return path.read_bytes(), KINDS[Path(text).suffix.lower()]


def link_of(text: str) -> str | None:
    """Take a cell for a link where it is a plain address and nothing else.

    Examples
    --------
    >>> (
    ...     link_of("https://example.org/a.png"),
    ...     link_of("javascript:alert(1)"),
    ...     link_of("see http://a.b"),
    ... )
    ('https://example.org/a.png', None, None)
    """
    plain = text.strip()
    fine = plain.startswith(("https://", "http://")) and not any(c.isspace() for c in plain)
    return plain if fine and len(plain) <= _MAX_PATH_LENGTH else None


Array = NDArray[np.float64]

_MOST = 40  # answers about a row that are listed one by one


def answers_about(sources: Sources, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Find who answered about a row and what, as places in ``annotators`` and ``labels``."""
    at = slice(*np.searchsorted(sources.answers.row, [row, row + 1]))
    return sources.answers.annotator[at], sources.answers.label[at]


def weights(sources: Sources, row: int, this: int, other: int) -> Array:
    """Weigh each answer: ``log channel_a[y, this] - log channel_a[y, other]``, in nats."""
    who, label = answers_about(sources, row)
    terms = np.log(np.maximum(sources.channels[who, label], 1e-300))
    return np.asarray(terms[:, this] - terms[:, other], np.float64)


def said_by(
    audit: Audit, row: int, pair: tuple[int, int], decision: Decision | None
) -> list[dict[str, Any]]:
    """List the answers about a row, the heaviest first; the reviewer's own, if any, before all."""
    if audit.sources is None:
        return []
    own = []
    if decision is not None and decision.label is not None:
        who_decided = "reviewer" if decision.who == "person" else decision.who
        own = [_line(who_decided, decision.label, ("trusted", ""), None)]
    who, label = answers_about(audit.sources, row)
    weight = weights(audit.sources, row, *pair)
    order = np.argsort(-np.abs(weight), kind="stable")[:_MOST]
    names, labels = audit.sources.answers.annotators, audit.sources.answers.labels
    worth = worths(audit)
    lines = [
        _line(names[who[j]], labels[label[j]], worth[names[who[j]]], float(weight[j]))
        for j in order.tolist()
    ]
    return own + lines


def _line(who: Any, label: Any, worth: tuple[str, str], weight: float | None) -> dict[str, Any]:
    right, span = worth
    named = {"who": shown(who), "label": shown(label)}
    return {**named, "right": right, "span": span, "weight": weight}


def worths(audit: Audit) -> dict[Any, tuple[str, str]]:
    """Say of everybody how often they are right, and its interval."""
    table, groups = audit.annotators, audit.groups
    if groups is not None:
        right = zip(
            groups.name, 1 - groups.error_rate, 1 - groups.high, 1 - groups.low, strict=True
        )
    elif table is not None:
        right = zip(table.name, table.accuracy, table.low, table.high, strict=True)
    else:
        return {}
    return {
        name: (percent(float(value)), f"{100 * low:.0f}\u2013{100 * high:.0f}%")
        for name, value, low, high in right
    }


def split_terms(
    audit: Audit, row: int, pair: tuple[int, int], terms: list[tuple[str, Any, float]]
) -> tuple[list[tuple[str, Any, float]], list[tuple[str, Any, float]]]:
    """Tell the annotators' answers among the weights of evidence from the columns."""
    if audit.sources is None or audit.sources.groups is not None:
        return [], terms
    who, label = answers_about(audit.sources, row)
    given = audit.sources.answers
    wanted = [
        (str(given.annotators[a]), given.labels[y], weight)
        for a, y, weight in zip(who, label, weights(audit.sources, row, *pair), strict=True)
    ]
    answers: list[tuple[str, Any, float]] = []
    columns: list[tuple[str, Any, float]] = []
    for term in terms:
        same = [one for one in wanted if one[:2] == term[:2] and abs(one[2] - term[2]) < 1e-9]
        if same:
            wanted.remove(same[0])
        (answers if same else columns).append(term)
    return answers, columns


Term = tuple[str, Any, float]

_LONGEST = 200_000  # characters of one cell
_MOST_TERMS = 12
_MOST_CHANCES = 50
_MOST_WORDS = 60
_FAINT = 0.1  # a weight too small to color a word


def describe_row(
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
        "decision": describe_decision(review, review.decisions.of(at)),
        "opinions": opinions(review, at),
        "note": None if (note := review.decisions.note(at)) is None else note.text,
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


def opinions(review: Review, at: int) -> list[dict[str, Any] | None]:
    """List what each reviewer last said of a row."""
    by_reviewer = review.decisions.opinions().get(at, {})
    return [
        found
        for one in by_reviewer.values()
        if (found := describe_decision(review, one)) is not None
    ]


def why(review: Review, at: int) -> dict[str, Any]:
    """Say what speaks for the suggestion and what against it; the terms add up.

    Every annotator's answer is among them; of the columns, the heaviest.
    """
    audit = review.judged
    found = audit.explain_at(at)
    pair = (review.classes[found.suggested], review.classes[found.against])
    *terms, prior, label = found.terms
    answers, columns = split_terms(audit, at, pair, terms)
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
        "said": said_by(audit, at, pair, review.decisions.of(at)),
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


def describe_decision(review: Review, one: Decision | None) -> dict[str, Any] | None:
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
