"""What a column looks like, as a value that adds, and the family that follows from it.

The family of a column follows from its summary alone, so a table that is read at once and a file
that is read by batches are understood in the same way.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.encode import looks_like_text, no_numbers, spaces, vocabulary
from misnomer.rows.notation import (
    FORMS,
    PLAIN_NUMBER,
    Notation,
    find_notation,
    is_of,
    observed,
    read_notation,
    type_in_words,
)
from misnomer.table import KINDS, Column

MOST_DISTINCT = 1_000_000  # distinct values that are remembered one by one


@dataclass(frozen=True, eq=False)
class Summary:
    """Counts that decide what a column is."""

    # of the cells, simplified: float64, int64, bool, string, null or something else
    type: pa.DataType
    # all cells, and those that hold something
    rows: int
    seen: int
    # the different values, None where there are more than ``MOST_DISTINCT``
    distinct: pa.Array | None
    all_different: bool  # whether no value was seen twice, as far as they are remembered
    whole: bool  # whether all numbers are whole
    # "date" where the cells are dates, "time" where they are times of day or durations, else ""
    temporal: str
    total: float  # sum of the numbers
    gaps: int  # white space between words, in all
    # in how many cells each word occurs (texts only)
    words: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Summary) -> Summary:
        if not self.seen or not other.seen:
            kept, empty = (self, other) if self.seen else (other, self)
            return replace(kept, rows=kept.rows + empty.rows)
        kind = _common(self.type, other.type)
        distinct, different = _joined(self, other, kind)
        return Summary(
            kind,
            self.rows + other.rows,
            self.seen + other.seen,
            distinct,
            different,
            self.whole and other.whole,
            self.temporal or other.temporal,
            self.total + other.total,
            self.gaps + other.gaps,
            self.words + other.words,
        )

    @property
    def categories(self) -> int:
        """How many different values there are; one more than the most where not all are known."""
        return MOST_DISTINCT + 1 if self.distinct is None else len(self.distinct)

    @property
    def mean(self) -> float:
        """Mean of the numbers, to 32 bits: the last ones depend on the order of addition."""
        if self.distinct is not None and len(self.distinct) == 1:
            return float(self.distinct[0].as_py())  # of equal numbers exactly that: no spread
        mean = self.total / self.seen if self.seen else 0.0
        if not math.isfinite(mean):
            return mean
        mantissa, exponent = math.frexp(mean)
        return math.ldexp(round(mantissa * 2**32), exponent - 32)


class DriftError(ValueError):
    """Two parts of a column that do not go together."""


def summarize(values: pa.Array, *, temporal: str = "", gaps: int | None = None) -> Summary:
    """Summarize a column that was simplified by ``plain``; words are not counted.

    Examples
    --------
    >>> one, two = summarize(pa.array(["a", "b", None])), summarize(pa.array(["b", "c"]))
    >>> both = one + two
    >>> both.rows, both.seen, both.distinct.to_pylist()
    (5, 4, ['a', 'b', 'c'])
    """
    seen = len(values) - values.null_count
    number = pa.types.is_floating(values.type) or pa.types.is_integer(values.type)
    text = pa.types.is_string(values.type)
    simple = number or text or pa.types.is_boolean(values.type)
    distinct = pc.drop_null(pc.unique(values)) if simple else None
    if gaps is None:
        gaps = spaces(values) if text else 0
    return Summary(
        values.type,
        len(values),
        seen,
        distinct if distinct is not None and len(distinct) <= MOST_DISTINCT else None,
        distinct is not None and len(distinct) == seen,
        pa.types.is_integer(values.type) or (number and _whole(values)),
        temporal,
        sum_of(values) if number else 0.0,
        gaps,
    )


def _whole(values: pa.Array) -> bool:
    return bool(pc.all(pc.equal(pc.floor(values), values)).as_py())


def _common(one: pa.DataType, two: pa.DataType) -> pa.DataType:
    if one == two:
        return one
    number = [pa.types.is_floating(t) or pa.types.is_integer(t) for t in (one, two)]
    if all(number):
        return pa.float64() if any(map(pa.types.is_floating, (one, two))) else pa.int64()
    raise DriftError(f"holds {one} in one part and {two} in another")


def _joined(one: Summary, two: Summary, kind: pa.DataType) -> tuple[pa.Array | None, bool]:
    if one.distinct is None or two.distinct is None:
        return None, one.all_different and two.all_different
    joined = pc.unique(pa.concat_arrays([one.distinct.cast(kind), two.distinct.cast(kind)]))
    different = one.all_different and two.all_different
    different = different and len(joined) == len(one.distinct) + len(two.distinct)
    return (joined if len(joined) <= MOST_DISTINCT else None), different


def sum_of(values: pa.Array) -> float:
    """Add numbers up; whole ones exactly, as long as their sum is one that 64 bits hold.

    Examples
    --------
    >>> sum_of(pa.array([1, 2, None])), sum_of(pa.array([1 << 62] * 4)) == 2.0**64
    (3.0, True)
    """
    if pa.types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        if max(abs(end or 0) for end in ends.values()) * len(values) >= 1 << 63:
            values = values.cast(pa.float64(), safe=False)
    return float(pc.sum(values).as_py() or 0.0)


FEW = 20  # whole numbers with at most this many distinct values are categories
_UNTIL_THEN = {
    "categorical": "taken for categories",
    "text": "taken for a text",
    "ignored": "ignored",
}
_NUMBERS = ("auto", "gaussian", "count")  # kinds whose texts may hold numbers
_MOST_CATEGORIES = 65_535  # more are an identifier or a text, unless the user says otherwise
_CONSTANT = "column {!r} has the same value in every row: it tells nothing"
_IDENTIFIER_ROWS = 50  # so many rows, each with a value of its own: an identifier


def decide(name: str, summary: Summary, kind: str = "auto") -> Column:
    """Decide from its summary what a column is."""
    notation = _notation(name, summary) if kind in _NUMBERS else Notation()
    if kind == "auto":
        kind = _kind(name, summary, notation)
        if notation.unclear:
            _say(f"column {name!r}: {notation.unclear}; until then it is {_UNTIL_THEN[kind]}")
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
        words = pa.nulls(0, summary.type) if summary.distinct is None else summary.distinct
        raise ValueError(no_numbers(name, words))
    if kind != "gaussian":
        return Column(name, kind)
    if summary.categories == 1 and summary.rows > 1:
        _say(_CONSTANT.format(name))
    form = "date" if summary.temporal == "date" else ""
    return Column(name, kind, center=summary.mean, form=form)


def _notation(name: str, summary: Summary) -> Notation:
    """Look for numbers and dates among texts."""
    if not pa.types.is_string(summary.type) or summary.distinct is None or not summary.seen:
        return Notation()
    found = find_notation(summary.distinct)
    if found.limits:
        _say(f"column {name!r} holds limits such as {found.limits!r}: the number itself is taken")
    if found.unclear or found.form:
        return found
    return replace(found, unclear=_unread(summary.distinct))


def _unread(distinct: pa.Array) -> str:
    """Say what keeps words that look like numbers from being numbers, and what to do."""
    if words := stray_words(distinct):
        said = f"{', '.join(map(repr, words))} cannot be read where others are numbers or dates"
        return f"{said}: leave such cells empty, or say that they are missing (--missing)"
    return unread_number(distinct) if len(distinct) > FEW else ""


def _say(note: str) -> None:
    warnings.warn(note, stacklevel=2)


def _center(numbers: pa.Array) -> float:
    """A typical value, whatever the order of the cells."""
    return float(np.float32(np.median(np.asarray(pc.drop_null(numbers)))))


def _few(summary: Summary, notation: Notation) -> bool:
    """Tell whole numbers of a few values, with a unit or not: they may be categories."""
    if summary.categories > FEW or summary.temporal or notation.is_date:
        return False
    if notation.form == "clock":
        return True  # shifts, or a ratio such as 1:10
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
            f"column {name!r} holds {type_in_words(summary.type)}, which nothing can be learned "
            "from: make numbers or words of them, or leave the column out (--ignore)"
        )
    text = pa.types.is_string(summary.type)
    if text and looks_like_text(summary.seen, summary.categories, summary.gaps):
        return "text"
    if summary.all_different and summary.seen == summary.rows >= _IDENTIFIER_ROWS:
        if not notation.unclear:
            _say(
                f"column {name!r} has a value of its own in every row: it is taken for an "
                "identifier and ignored"
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


_MAX_STRAY_WORDS, _MIN_NUMBERS = 5, 20  # so few words among so many numbers


def stray_words(distinct: pa.Array) -> list[str]:
    """List the few words among many numbers that keep a column from being one of numbers.

    Examples
    --------
    >>> cells = pa.array([str(i) for i in range(30)] + ["unknown"])
    >>> stray_words(cells), stray_words(pa.array(["1", "unknown"]))
    (['unknown'], [])
    >>> stray_words(pa.array([f"{i} kg" for i in range(30)] + ["unknown"]))
    ['unknown']
    """
    cells = observed(distinct)
    for pattern in (PLAIN_NUMBER, r"\d"):  # as they are, or with what stands around them
        is_number = pc.match_substring_regex(cells, pattern)
        words, numbers = cells.filter(pc.invert(is_number)), cells.filter(is_number)
        if 0 < len(words) <= _MAX_STRAY_WORDS and len(numbers) >= _MIN_NUMBERS:
            are_numbers = pattern == PLAIN_NUMBER or find_notation(numbers).form
            return sorted(words.to_pylist()) if are_numbers else []
    return []


# a sign or the letters of a currency, then digits, and hardly a word behind them
_LIKE_NUMBER = r"^[^\pN\pL]{0,2}(?:\pL{1,3}[. \p{Sc}])?[^\pN\pL]{0,2}\pN(?:[^\pL]*\pL){0,3}[^\pL]*$"
_DATE = r"^\d{4}-\d\d-\d\d$"
_CODE = r"^\d+(-\d+)*$"  # a postal code, a telephone number


def unread_number(distinct: pa.Array) -> str:
    """Say what keeps cells from being numbers or dates, where all look like some, not like codes.

    Examples
    --------
    >>> unread_number(pa.array(["120/80", "135/95"])), unread_number(pa.array(["01-234", "E11.9"]))
    ("'120/80' is no number or date that can be read: write 1234.5 or 2024-03-01", '')
    >>> unread_number(pa.array(["31.12.2023", "2024-03-01"]))
    "it holds numbers or dates in several forms ('2024-03-01', '31.12.2023'): write them in one"
    """
    cells = observed(distinct)
    cells = cells.take(pc.array_sort_indices(cells))
    matches = [pc.match_substring_regex(cells, one) for one in (_LIKE_NUMBER, _CODE, _DATE)]
    alike, codes = matches[0], pc.and_not(matches[1], matches[2])
    if not len(cells) or pc.all(codes).as_py() or not pc.all(alike).as_py():
        return ""
    is_plain = pc.match_substring_regex(cells, PLAIN_NUMBER)
    two = [*_two_forms(cells.filter(pc.invert(is_plain))), *cells.filter(is_plain)[:1].to_pylist()]
    odd = next((word for word in two[:2] if word and not _form(word)), None)
    if odd is not None:
        return f"{odd!r} is no number or date that can be read: write 1234.5 or 2024-03-01"
    if len(two) == 1:
        return ""  # of one form, and codes for another reason
    return f"it holds numbers or dates in several forms ({two[0]!r}, {two[1]!r}): write them in one"


def _two_forms(cells: pa.Array) -> list[str]:
    """Find the first cell, and the first that cannot be read as it is, if there is one."""
    found = cells[:1].to_pylist()
    form = _form(found[0]) if found else None
    if form is None or is_of(cells, form):
        return found
    low, high = 1, len(cells)  # so many can be read alike, so many cannot
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_of(cells[:middle], form) else (low, middle)
    return [*found, cells[low].as_py()]


def _form(word: str) -> str | None:
    return next((form for form in FORMS if is_of(pa.array([word]), form)), None)
