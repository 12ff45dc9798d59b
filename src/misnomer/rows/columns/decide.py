"""One Arrow column -> what it is: the family that its summary calls for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.columns.encode import check_whole
from misnomer.rows.columns.notation import Notation, find_notation, read_notation, stray_words
from misnomer.rows.columns.plain import plain, temporal, unchunked
from misnomer.rows.columns.summary import Summary, summarize
from misnomer.rows.columns.text import looks_like_text, vocabulary
from misnomer.table import KINDS, Column

FEW = 20  # whole numbers with at most this many distinct values are categories
_NUMBERS = ("auto", "gaussian", "count")  # kinds whose texts may hold numbers
_MOST_CATEGORIES = 65_535  # more are an identifier or a text, unless the user says otherwise
_CONSTANT = "column {!r} has the same value in every row: it tells nothing"
_IDENTIFIER_ROWS = 50  # so many rows, each with a value of its own: an identifier


def infer(name: str, values: pa.Array, kind: str = "auto") -> Column:
    """Decide what a column is, and learn its categories or its center.

    Examples
    --------
    >>> infer("sex", pa.array(["f", "m", "f", None]))
    Column(name='sex', kind='categorical', categories=('f', 'm'), center=0.0, ...)
    """
    check_whole(name, unchunked(values))
    return decide(name, summarized(values, kind), kind)


def summarized(values: Any, kind: str = "auto") -> Summary:
    """Summarize a column as it comes; the words are counted where it is, or may be, a text."""
    when = temporal(values.type)
    values = plain(values)
    if kind == "text" and not pa.types.is_string(values.type):
        values = values.cast(pa.string())
    return summarize(values, temporal=when, words={"text": True, "auto": None}.get(kind, False))


def decide(name: str, summary: Summary, kind: str = "auto") -> Column:
    """Decide from its summary what a column is."""
    notation = _notation(name, summary) if kind in _NUMBERS else Notation()
    if kind == "auto":
        kind = _kind(name, summary, notation)
    elif kind not in KINDS:
        known = ", ".join(f'"{k}"' for k in KINDS)
        raise ValueError(f'column {name!r}: "{kind}" is no family; choose one of {known}')
    elif kind == "categorical" and not summary.seen:
        kind = _empty(name)
    if kind == "categorical":
        return Column(name, kind, categories=_categories(name, summary))
    if kind == "bernoulli":
        return Column(name, kind, categories=_two(name, summary))
    if kind == "text":
        words = vocabulary(summary.words)
        if not words:
            _say(f"column {name!r} holds no words: it is ignored")
            return Column(name, "ignored")
        return Column(name, kind, width=len(words), words=words)
    if kind != "ignored" and notation.form and summary.distinct is not None:
        center = _center(read_notation(name, summary.distinct, notation.form))
        return Column(name, kind, center=center if kind == "gaussian" else 0.0, form=notation.form)
    if kind in ("gaussian", "count") and summary.seen and not _is_number(summary.type):
        raise ValueError(f"column {name!r} holds {summary.type}, not numbers")
    if kind != "gaussian":
        return Column(name, kind)
    if summary.categories == 1 and summary.rows > 1:
        _say(_CONSTANT.format(name))
    form = "date" if summary.temporal == "date" else ""
    return Column(name, kind, center=summary.mean, form=form)


def _notation(name: str, summary: Summary) -> Notation:
    """Look for numbers and dates among texts; say what stays unclear."""
    if not pa.types.is_string(summary.type) or summary.distinct is None or not summary.seen:
        return Notation()
    found = find_notation(summary.distinct)
    if found.unclear:
        _say(f"column {name!r}: {found.unclear}; until then it is taken for categories")
    if found.limits:
        _say(f"column {name!r} holds limits such as {found.limits!r}: the number itself is taken")
    words = [] if found.form or found.unclear else stray_words(summary.distinct)
    if words:
        _say(
            f"column {name!r} holds numbers, and {', '.join(map(repr, words))}: it is taken for "
            "categories; leave such cells empty, or say that they are missing"
        )
    return found


def _say(note: str) -> None:
    warnings.warn(note, stacklevel=2)


def _center(numbers: pa.Array) -> float:
    """A typical value, whatever the order of the cells."""
    return float(np.float32(np.median(np.asarray(pc.drop_null(numbers)))))


def _few(summary: Summary, notation: Notation) -> bool:
    """Tell whole numbers of a few values, with a unit or not: they may be categories."""
    if summary.categories > FEW or summary.temporal or notation.is_date:
        return False
    if not notation.form:
        return summary.whole
    numbers = pc.drop_null(read_notation("", summary.distinct, notation.form))
    return bool(pc.all(pc.equal(pc.floor(numbers), numbers)).as_py())


def _kind(name: str, summary: Summary, notation: Notation) -> str:
    if not summary.seen:
        return _empty(name)
    if notation.form:
        return "categorical" if _few(summary, notation) else "gaussian"
    if _is_number(summary.type):
        few = _few(summary, notation)
        gaps = summary.seen < summary.rows  # whole numbers with gaps may come as floats
        return "categorical" if few and (gaps or not _is_float(summary.type)) else "gaussian"
    if not (pa.types.is_string(summary.type) or pa.types.is_boolean(summary.type)):
        raise ValueError(
            f"column {name!r} holds {summary.type}, which has no family; turn it into numbers or "
            "strings, or leave it out"
        )
    text = pa.types.is_string(summary.type)
    if text and looks_like_text(summary.seen, summary.categories, summary.gaps):
        return "text"
    if summary.all_different and summary.seen == summary.rows >= _IDENTIFIER_ROWS:
        warnings.warn(
            f"column {name!r} has a value of its own in every row: it is taken for an identifier "
            "and ignored",
            stacklevel=2,
        )
        return "ignored"
    if summary.categories > _MOST_CATEGORIES:
        many = f"{summary.categories:,}" if summary.distinct is not None else "over a million"
        raise ValueError(
            f"column {name!r} has {many} categories: it looks like an identifier or a text; "
            f'leave it out, or say families={{{name!r}: "categorical"}} (or "text") to insist'
        )
    return "categorical"


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))


def _is_number(kind: pa.DataType) -> bool:
    return _is_float(kind) or bool(pa.types.is_integer(kind))


def _empty(name: str) -> str:
    warnings.warn(f"column {name!r} holds no value at all: it is ignored", stacklevel=2)
    return "ignored"


def _categories(name: str, summary: Summary) -> tuple[Any, ...]:
    """Sort the categories; too many to remember are refused, a single one is said."""
    if summary.distinct is None:
        raise ValueError(f"column {name!r} has over a million categories: leave it out")
    found = summary.distinct
    if len(found) == 1 and summary.rows > 1:
        _say(_CONSTANT.format(name))
    return tuple(found.take(pc.array_sort_indices(found)).to_pylist())


def _two(name: str, summary: Summary) -> tuple[Any, ...]:
    if pa.types.is_boolean(summary.type):
        return (False, True)
    if not pa.types.is_string(summary.type):
        return (0, 1)
    if summary.categories > 2:
        raise ValueError(
            f"column {name!r} has {summary.categories} values, and a bernoulli column has two: "
            'say "categorical"'
        )
    found = sorted((summary.distinct or pa.array([], pa.string())).to_pylist())
    return tuple([*found, "", ""][:2])
