"""Cells that cannot be read as numbers or dates: which these are, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.notation import (
    FORMS,
    PLAIN_NUMBER,
    Notation,
    find_notation,
    is_of,
    observed,
    type_in_words,
)

_MOST_WORDS = 1000  # that are looked at for the one that is no number
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


def _read_alone(cells: pa.Array) -> Iterator[tuple[str, Notation]]:
    """Read some cells, each by itself, but for those that are plainly numbers."""
    odd = cells.filter(pc.invert(pc.match_substring_regex(cells, PLAIN_NUMBER)))
    return (
        (word, find_notation(pa.array([word]))) for word in odd.slice(0, _MOST_WORDS).to_pylist()
    )


def no_numbers(name: str, values: pa.Array, form: str = "") -> str:
    """Say which cell keeps a column from being one of numbers, or of dates, and what to do.

    Examples
    --------
    >>> no_numbers("age", pa.array(["40", "old", "50"]))
    "column 'age' holds 'old', which is no number: leave it empty, or call it missing (--missing)"
    """
    if not pa.types.is_string(values.type):
        return f"column {name!r} holds {type_in_words(values.type)}, not numbers"
    cells = observed(pc.unique(values))
    kind = "date" if form == "date" else "number"
    seen = _read_alone(cells)
    odd = next((w for w, one in seen if not one.form or one.is_date != (kind == "date")), None)
    if odd is None:
        return f"column {name!r} holds {kind}s in several forms: write them in one"
    does = "leave it empty, or call it missing (--missing)"
    return f"column {name!r} holds {odd[:60]!r}, which is no {kind}: {does}"
