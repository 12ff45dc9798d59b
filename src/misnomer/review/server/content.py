"""What the page is told: of the audit, the queue, the decisions and what remains; of a row.

Of a row its cells and images, the chances, why, and who said what.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer.audit.result import places
from misnomer.reports.json import finite
from misnomer.reports.wording import chance, percent, row_name, row_title, shown
from misnomer.review.decisions import PERSON, Decision, agreements
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import ORDERS, Filter

if TYPE_CHECKING:
    from misnomer.audit.crowds import Sources
    from misnomer.audit.result import Audit
    from misnomer.evidence import Explanation
    from misnomer.review import Review
    from misnomer.review.rows import Rows


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


Array = NDArray[np.float64]
Term = tuple[str, Any, float]  # name, value, weight

#: The kinds that a browser shows and that hold no script.
IMAGE_TYPES = {
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
MAX_IMAGE_BYTES = 32 << 20
_MAX_PATH_LENGTH = 1024
_MAX_CELL_LENGTH = 200_000
_MAX_CLASSES, _MAX_TERMS, _MAX_WORDS, _MAX_ANSWERS = 50, 12, 60, 40
_MIN_WORD_WEIGHT = 0.1  # below, a word is not colored


def describe_row(
    review: Review, at: int, *, check: bool = False, roots: Sequence[Path] = ()
) -> dict[str, Any]:
    """Show one row: its cells, its label, the suggestion, and why.

    Cells that name an image below one of the ``roots`` are marked as such.
    """
    judged, audit = review.judged, review.audit
    if not 0 <= at < len(judged):
        raise ReviewError(f"there is no row {at}: rows go from 0 to {len(judged) - 1}")
    given, wrong = int(judged.given[at]), float(review.ranking.wrong[at])
    note = review.decisions.note(at)
    opinions = review.decisions.opinions().get(at, {})
    content = {
        "row": at,
        "name": row_name(audit, at),
        "title": row_title(audit, at),
        "labeled": given >= 0,
        "given": None if given < 0 else shown(judged.given_label(at)),
        "home": int(places(audit.labels, audit.classes)[given]) if given >= 0 else -1,
        "suggested": int(judged.suggested[at]),
        "probability": wrong,
        "chance": chance(wrong),
        "flagged": bool(review.ranking.flagged[at]),
        "check": check,
        "cells": [cell(name, text, review, roots) for name, text in cell_texts(review, at)],
        "why": why(review, at),
        "chances": chances(review, at),
        "decision": describe_decision(review.decisions.of(at)),
        "opinions": [describe_decision(one) for one in opinions.values()],
        "note": None if note is None else note.text,
    }
    plain: dict[str, Any] = finite(content)
    return plain


def describe_decision(one: Decision | None) -> dict[str, Any] | None:
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


def cell_texts(review: Review, at: int) -> list[tuple[str, str | None]]:
    """Read every column of a row as text; None where the cell is empty."""
    data = review.source.row(at)
    values = ((name, data.column(i)[0].as_py()) for i, name in enumerate(data.column_names))
    return [(name, None if value is None else str(value)) for name, value in values]


def cell(name: str, value: str | None, review: Review, roots: Sequence[Path]) -> dict[str, Any]:
    """Show one cell as text, an image or a link; an immense one is cut, and says so."""
    text = value or ""
    image, link = image_of(text, roots), link_of(text)
    return {
        "name": shown(name),
        "text": text[:_MAX_CELL_LENGTH].encode("utf-8", "replace").decode(),
        "missing": value is None,
        "cut": max(0, len(text) - _MAX_CELL_LENGTH),
        "label": name == review.audit.label,
        "image": image is not None,
        "elsewhere": image is None and link is None and _names_image(text),
        "link": link,
    }


def image_of(text: str, roots: Sequence[Path]) -> Path | None:
    """Find the image that a cell names, below one of the folders; None where there is none.

    A path may be absolute or begin in one of the folders. Wherever links lead to counts, so that
    neither ``..`` nor a link leads out of them.

    Examples
    --------
    >>> image_of("scan.txt", [Path(".")]) is None
    True
    """
    if not _names_image(text):
        return None
    for root in roots:
        try:
            path = (root / text).resolve(strict=True)
            if path.is_relative_to(root.resolve(strict=True)) and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):
            continue
    return None


def _names_image(text: str) -> bool:
    """Tell whether a cell looks like the path of an image, wherever that may be.

    Examples
    --------
    >>> _names_image("scans/P020.PNG"), _names_image("scan.txt"), _names_image("")
    (True, False, False)
    """
    if len(text) > _MAX_PATH_LENGTH or min(text, default=" ") < " ":
        return False
    return Path(text).suffix.lower() in IMAGE_TYPES


def read_image(text: str, roots: Sequence[Path]) -> tuple[bytes, str]:
    """Read the image that a cell names, and say of what kind it is."""
    path = image_of(text, roots)
    if path is None:
        raise ReviewError("this cell names no image in a folder that was allowed")
    if path.stat().st_size > MAX_IMAGE_BYTES:
        raise ReviewError(f"{path.name} is over {MAX_IMAGE_BYTES >> 20} MiB, which is not shown")
    return path.read_bytes(), IMAGE_TYPES[Path(text).suffix.lower()]


def link_of(text: str) -> str | None:
    """Take a cell for a link where it is a plain address and nothing else.

    Examples
    --------
    >>> link_of("https://example.org/a.png")
    'https://example.org/a.png'
    >>> link_of("javascript:alert(1)"), link_of("see http://a.b")
    (None, None)
    """
    plain = text.strip()
    fine = plain.startswith(("https://", "http://")) and not any(c.isspace() for c in plain)
    return plain if fine and len(plain) <= _MAX_PATH_LENGTH else None


def chances(review: Review, at: int) -> list[list[Any]]:
    """List the likeliest classes of a row, as (place, probability, in words)."""
    share = review.judged.shares(at)
    order = np.argsort(-share, kind="stable")[:_MAX_CLASSES]
    return [[int(k), float(share[k]), chance(float(share[k]))] for k in order]


def why(review: Review, at: int) -> dict[str, Any]:
    """Say what speaks for the suggestion and what against it; the terms add up.

    Every annotator's answer is among them; of the columns, the heaviest.
    """
    audit, explanation = review.judged.audit, review.judged.explain_at(at)
    pair = (review.classes[explanation.suggested], review.classes[explanation.against])
    *terms, prior, label = explanation.terms
    answers, others = split_terms(audit, at, pair, terms)
    voted = audit.sources is not None and audit.sources.groups is None
    parts = [
        *(("answer", term) for term in shortened(answers, 2 * _MAX_TERMS)),
        *(("column", term) for term in shortened(others, _MAX_TERMS)),
        ("prior", prior),
        *(() if voted else (("label", label),)),  # a vote weighs nothing beside the answers
    ]
    return {
        "suggested": shown(explanation.suggested),
        "against": shown(explanation.against),
        "log_odds": explanation.log_odds,
        "terms": [_term(kind, term) for kind, term in parts],
        "words": words(explanation, review.source),
        "said": said_by(audit, at, pair, review.decisions.of(at)),
    }


def _term(kind: str, term: Term) -> dict[str, Any]:
    name, value, weight = term
    text = None if value is None else shown(value)
    return {"kind": kind, "name": shown(name), "value": text, "weight": weight}


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


def words(explanation: Explanation, rows: Rows) -> list[list[Any]]:
    """List the words of a text that weigh most, as (word, weight); none where there is no text."""
    if "text" not in rows.audit.fitted.families.values():
        return []
    own, pairs = set(rows.columns), zip(explanation.names, explanation.weights, strict=True)
    heavy = [[n, float(w)] for n, w in pairs if n not in own and abs(w) > _MIN_WORD_WEIGHT]
    return heavy[:_MAX_WORDS]


def answer_terms(sources: Sources, row: int, pair: tuple[int, int]) -> list[Any]:
    """List who said what, and its weight: ``log channel[y, this] - log channel[y, other]``."""
    who, label, terms = sources.about(row)
    said, (this, other) = sources.answers, pair
    names, labels = said.annotators[who], said.labels[label]
    return list(zip(names, labels, (terms[:, this] - terms[:, other]).tolist(), strict=True))


def split_terms(
    audit: Audit, row: int, pair: tuple[int, int], terms: list[Term]
) -> tuple[list[Term], list[Term]]:
    """Tell the annotators' answers among the weights of evidence from the columns."""
    if audit.sources is None or audit.sources.groups is not None:
        return [], terms
    expected = [(str(who), said, w) for who, said, w in answer_terms(audit.sources, row, pair)]
    answers: list[Term] = []
    others: list[Term] = []
    for term in terms:
        same = [one for one in expected if one[:2] == term[:2] and abs(one[2] - term[2]) < 1e-9]
        if same:
            expected.remove(same[0])
        (answers if same else others).append(term)
    return answers, others


def said_by(
    audit: Audit, row: int, pair: tuple[int, int], decision: Decision | None
) -> list[dict[str, Any]]:
    """List the answers about a row, the heaviest first; the reviewer's own, if any, before all."""
    if audit.sources is None:
        return []
    lines = []
    if decision is not None and decision.label is not None:
        reviewer = "reviewer" if decision.who == PERSON else decision.who
        lines.append(_answer(reviewer, decision.label, ("trusted", ""), None))
    accuracy = accuracies(audit)
    answers = sorted(answer_terms(audit.sources, row, pair), key=lambda one: -abs(one[2]))
    return lines + [
        _answer(who, label, accuracy[who], weight) for who, label, weight in answers[:_MAX_ANSWERS]
    ]


def _answer(who: Any, label: Any, right: tuple[str, str], weight: float | None) -> dict[str, Any]:
    text = {"who": shown(who), "label": shown(label)}
    return {**text, "right": right[0], "span": right[1], "weight": weight}


def accuracies(audit: Audit) -> dict[Any, tuple[str, str]]:
    """Say of everybody how often they are right, and its interval."""
    table, groups = audit.annotators, audit.groups
    if groups is not None:
        wrong = (groups.error_rate, groups.high, groups.low)
        right = zip(groups.name, *(1 - part for part in wrong), strict=True)
    elif table is not None:
        right = zip(table.name, table.accuracy, table.low, table.high, strict=True)
    else:
        return {}
    return {
        name: (percent(float(value)), f"{100 * low:.0f}\u2013{100 * high:.0f}%")
        for name, value, low, high in right
    }
