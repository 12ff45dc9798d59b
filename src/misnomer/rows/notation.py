"""Arrow columns in their simplest form, and how their numbers and dates are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from misnomer.table import DATE_FORMS

#: What a column of numbers or dates may hold for "missing", beside the empty cell.
MISSING = (
    "NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".",
    "<NA>", "NaT", "\u2013", "\u2014",  # as pandas writes it, and dashes
    "#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!",  # a formula that failed
    "#NV", "#WERT!", "#BEZUG!", "#ZAHL!",  # the same in German
)  # fmt: skip

#: A number that needs no notation.
PLAIN_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_DAY, _PARTS = 86_400.0, {"s": 1.0, "ms": 1e3, "us": 1e6}


# the soft hyphen, the space of no width, marks of direction and of byte order; what joins letters
# or emoji is none of them, for it shows
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200e\u200f\u2060\ufeff"))


def as_it_looks(text: str) -> str:
    """Write a name as it looks: accents in one letter, nothing invisible, no blanks around it.

    Examples
    --------
    >>> as_it_looks(" scho\u0308n\u200b ") == "sch\u00f6n"
    True
    """
    return normalize("NFC", text.translate(_INVISIBLE).strip())


def type_in_words(kind: pa.DataType) -> str:
    """Say what cells hold that are neither numbers nor words.

    Examples
    --------
    >>> type_in_words(pa.struct({"k": pa.int64()})), type_in_words(pa.list_(pa.string()))
    ('objects of named values', 'lists')
    """
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return "objects of named values"
    if pa.types.is_nested(kind):
        return "lists"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "bytes"
    return f"values of the type {getattr(kind, 'extension_name', kind)}"


def plain(values: Any) -> pa.Array:
    """Simplify a column: no dictionary, no chunks, no NaN, no empty text, no dates."""
    values = unchunked(values)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        values = values.cast(pa.string())
    elif pa.types.is_temporal(kind):
        values = days(values)
    elif pa.types.is_decimal(kind) or kind == pa.float16():
        values = values.cast(pa.float64())
    if pa.types.is_floating(values.type):
        values = emptied(values, pc.is_nan(values))
    elif pa.types.is_string(values.type):
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
        values = emptied(values, blank)
    return values


def emptied(values: Any, gone: Any) -> Any:
    """Empty some cells of a column.

    A scalar in place of the array of nothing would do, but Arrow 16 misreads a slice of texts then.

    Examples
    --------
    >>> emptied(pa.array(["a", "b", "c"]).slice(1), pa.array([True, False])).to_pylist()
    [None, 'c']
    """
    return pc.if_else(gone, pa.nulls(len(values), values.type), values)


def temporal(kind: pa.DataType) -> str:
    """Tell dates ("date") from times of day and durations ("time") and all else ("").

    Examples
    --------
    >>> temporal(pa.date32()), temporal(pa.duration("s")), temporal(pa.int64())
    ('date', 'time', '')
    """
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return "date"
    return "time" if pa.types.is_temporal(kind) else ""


def unchunked(values: Any) -> pa.Array:
    """Join the chunks of a column."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # several chunks of a type that cannot be joined
        values = pa.concat_arrays(values.chunks)
    return values


def days(values: pa.Array) -> pa.Array:
    """Count days: of a date since 1970, of a time of day or a duration since its begin.

    A date is the same number whichever unit its column is kept in, to a millionth of a second.

    Examples
    --------
    >>> stamps = pa.array([86_400_000_000, None], pa.timestamp("us"))
    >>> days(stamps).to_pylist(), days(stamps.cast(pa.timestamp("ns"))).to_pylist()
    ([1.0, None], [1.0, None])
    """
    kind = values.type
    if pa.types.is_date32(kind):
        return values.cast(pa.int32()).cast(pa.float64())
    if pa.types.is_date64(kind):
        return values.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
    if pa.types.is_interval(kind):
        raise ValueError("intervals of months have no length: turn them into days")
    unit = kind.unit
    whole = values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.int64())
    if unit == "ns":  # beyond 2^53 a double would round
        whole, unit = pc.divide(whole, 1000), "us"
    return pc.divide(whole.cast(pa.float64()), _DAY * _PARTS[unit])


_MONEY = r"[A-Z]{0,3}\p{Sc}|EUR|USD|GBP|CHF|JPY"
_LIMIT = r"(?:[<>≤≥]=?\s*)?"
_UNIT = rf"\s*((?:{_MONEY})|%|[\p{{L}}°][\p{{L}}°²³/]*(?:\^?[23])?\.?)?"
_MOST_UNITS = 3  # more words behind numbers are no units
_BLANKS = "'\u2019\u00a0\u2009\u202f "  # between thousands, in either form
_DIGITS = {
    "point": rf"(?:[1-9]\d{{0,2}}(?:[,{_BLANKS}]\d{{3}})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+",
    "comma": rf"(?:[1-9]\d{{0,2}}(?:[.{_BLANKS}]\d{{3}})+|\d+)(?:,\d+)?",
}
_NUMBER = {
    form: rf"^{_LIMIT}([+-]?)(?:{_MONEY})?\s*([+-]?(?:{digits})){_UNIT}$"
    for form, digits in _DIGITS.items()
}
_CLOCK = r"(?:[ T](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?))?"
_DATES = {  # the pattern, and where it has the year, the month and the day
    "day first": (rf"^(\d{{1,2}})[/-](\d{{1,2}})[/-](\d{{4}}){_CLOCK}$", r"\3-0\2-0\1"),
    "month first": (rf"^(\d{{1,2}})[/-](\d{{1,2}})[/-](\d{{4}}){_CLOCK}$", r"\3-0\1-0\2"),
    "dotted": (rf"^(\d{{1,2}})\.(\d{{1,2}})\.(\d{{4}}){_CLOCK}$", r"\3-0\2-0\1"),
    "year first": (rf"^(\d{{4}})[/.-](\d{{1,2}})[/.-](\d{{1,2}}){_CLOCK}$", r"\1-0\2-0\3"),
}
_MONTHS = "(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*"
_OTHER_DATES = (  # two digits of a year, no day, or the name of a month
    r"^\d{1,2}[./-]\d{1,2}[./-]\d{2}\b",
    r"^(19|20)\d\d[/-](0[1-9]|1[0-2])$",
    rf"(?i)^\d{{1,2}}[. -]*{_MONTHS}[. ,-]*\d{{2,4}}\b",
    rf"(?i)^{_MONTHS}[. -]*\d{{1,2}}[. ,-]+\d{{2,4}}\b",
)
_TIME = r"^(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?$"
_ZONED = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$"

#: The forms that a column of texts can have, in the order in which they are tried.
FORMS = ("zoned", *_DATES, "clock", *_DIGITS)


@dataclass(frozen=True)
class Notation:
    """How the numbers or dates in a column of texts are written, or why that cannot be told.

    Examples
    --------
    >>> [find_notation(pa.array([cell])).form for cell in ("1,234.50", "31/01/2024")]
    ['point', 'day first']
    >>> find_notation(pa.array(["03/01/2024"])).unclear
    "'03/01/2024' may begin with the day or with the month: write 2024-03-01"
    """

    form: str = ""
    unclear: str = ""
    limits: str = ""  # a cell such as "<0.5", which is read as 0.5

    @property
    def is_date(self) -> bool:
        """Whether the texts are dates."""
        return self.form in DATE_FORMS


def find_notation(distinct: pa.Array) -> Notation:
    """Find the one form in which all of these different texts can be read."""
    written = observed(distinct)
    if not len(written) or not hold_digits(written.slice(0, 20).to_pylist()):
        return Notation()
    if pc.all(pc.match_substring_regex(written, r"^[+-]?\d+$")).as_py():
        return Notation()  # whole numbers that came as texts are codes
    cells = _signed(written)
    cells = cells.take(pc.array_sort_indices(cells))  # the order must not matter
    forms = [form for form in FORMS if readable(cells, _cast, form)]
    numbers = [form for form in forms if form in _DIGITS]
    first = cells[0].as_py()
    if {"day first", "month first"} <= {*forms}:
        same = _readable_alike(cells, "day first", "month first")
        why = f"{first!r} may begin with the day or with the month: write 2024-03-01"
        return Notation("day first") if same else Notation(unclear=why)
    if len(numbers) == 2 and not _readable_alike(cells, *numbers):
        odd = next(cell for cell in cells.to_pylist() if "," in cell or "." in cell)
        return Notation(unclear=f"{odd!r} may be a thousand or a part of one: write 1234 or 1.234")
    if numbers and forms[0] in numbers:
        return _number(cells, numbers[0])
    return Notation(forms[0]) if forms else _other_date(cells)


def _other_date(cells: pa.Array) -> Notation:
    """Tell dates in a form that is not read, for that is said."""
    if not any(pc.all(pc.match_substring_regex(cells, one)).as_py() for one in _OTHER_DATES):
        return Notation()
    first = cells[0].as_py()
    return Notation(unclear=f"{first!r} looks like a date in a form of its own: write 2024-03-01")


def _number(cells: pa.Array, form: str) -> Notation:
    """Look at what stands around numbers: one unit at most, no code, something beside digits."""
    if pc.any(pc.match_substring_regex(cells, r"^0\d")).as_py():
        return Notation()
    units = sorted({_unit(unit) for unit in _units(cells, form)} - {""})
    if len(units) > _MOST_UNITS:
        return Notation()
    if len(units) > 1:
        known = f"{units[0]!r} and {units[1]!r}"
        return Notation(unclear=f"its numbers have several units ({known}): write them in one")
    bare = cells.filter(pc.match_substring_regex(cells, "^[^%]*[1-9][^%]*$"))
    if units == ["%"] and len(bare):
        either = "percent, as others are, or a share of one"
        return Notation(unclear=f"{bare[0].as_py()!r} may be {either}: write all with % or without")
    limit = cells.filter(pc.match_substring_regex(cells, "^[<>≤≥]"))
    return Notation(form, limits=limit[0].as_py() if len(limit) else "")


def _unit(word: str) -> str:
    """Take "month" and "months" for one unit."""
    return word.lower().rstrip(".").removesuffix("s") if len(word) > 2 else word.rstrip(".")


def _units(cells: pa.Array, form: str) -> list[str]:
    front = pc.replace_substring_regex(cells, rf"^{_LIMIT}[+-]?({_MONEY})?.*$", r"\1")
    back = pc.replace_substring_regex(cells, _NUMBER[form], r"\3")
    return [*pc.unique(front).to_pylist(), *pc.unique(back).to_pylist()]


def observed(values: pa.Array) -> pa.Array:
    """Trim the cells; leave out those that mean "missing"."""
    trimmed = pc.utf8_trim_whitespace(values)
    return trimmed.filter(pc.invert(_gaps(trimmed)))


def _gaps(trimmed: pa.Array) -> pa.Array:
    gaps = pc.or_(pc.is_in(trimmed, value_set=pa.array(MISSING)), pc.equal(trimmed, ""))
    return pc.fill_null(gaps, True)


def _signed(cells: pa.Array) -> pa.Array:
    """Write minus as one does: a typographic one is one, and so are (1.50) and 1.50- of accounts.

    Examples
    --------
    >>> _signed(pa.array(["\u22121.5", "(€ 1.50)", "1.50-", "(kg)"])).to_pylist()
    ['-1.5', '-€ 1.50', '-1.50', '(kg)']
    """
    cells = pc.replace_substring(cells, "\u2212", "-")
    cells = pc.replace_substring_regex(cells, r"^\(\s*([^()+\p{L}-]*\d[^()]*)\)$", r"-\1")
    return pc.replace_substring_regex(cells, r"^(\d[\d.,]*)-$", r"-\1")


def hold_digits(cells: Iterable[str]) -> bool:
    """Tell whether these could be numbers or dates at all."""
    return all(any(letter.isdigit() for letter in cell) for cell in cells)


def readable(cells: pa.Array, cast: Callable[[pa.Array, str], Any], form: str) -> bool:
    """Tell whether all cells can be cast to a form."""
    try:
        cast(cells.slice(0, 9), form)  # most that fail, fail here
        cast(cells, form)
    except pa.ArrowInvalid:
        return False
    return True


def is_of(cells: pa.Array, form: str) -> bool:
    """Tell whether all of these, as they are written, are of a form."""
    return readable(_signed(cells), _cast, form)


def _readable_alike(cells: pa.Array, one: str, two: str) -> bool:
    return bool(_cast(cells, one).equals(_cast(cells, two)))


def read_notation(name: str, values: pa.Array, form: str) -> pa.Array:
    """Read texts of a form as numbers, dates as days since 1970.

    Examples
    --------
    >>> read_notation("price", pa.array(["€ 1.234,50", "?", "7,00 €"]), "comma").to_pylist()
    [1234.5, None, 7.0]
    """
    trimmed = pc.utf8_trim_whitespace(values)
    there = np.flatnonzero(~np.asarray(_gaps(trimmed)))
    cells = _signed(trimmed.take(pa.array(there)))
    try:
        numbers = _cast(cells, form)
    except pa.ArrowInvalid:
        texts = cells.to_pylist()
        odd = next(text for text in texts if not readable(pa.array([text]), _cast, form))
        like = f"dates ({form})" if form in DATE_FORMS else "numbers"
        raise ValueError(f"column {name!r} holds {odd!r}, where the model knows {like}") from None
    out = np.full(len(values), np.nan)
    out[there] = np.asarray(numbers, np.float64)
    return pa.array(out, from_pandas=True)


def _cast(cells: pa.Array, form: str) -> Any:
    """Read cells that are all of a form; raise ArrowInvalid where one is not."""
    if form == "zoned":
        _check(cells, _ZONED)
        return days(cells.cast(pa.timestamp("us", "UTC")))
    if form == "clock":
        return _time(cells)
    if form in _DATES:
        return days(_iso(cells, *_DATES[form]).cast(pa.timestamp("us")))
    _check(cells, _NUMBER[form])
    digits = pc.replace_substring_regex(cells, _NUMBER[form], r"\1\2")
    groups = _BLANKS + ("," if form == "point" else ".")
    digits = pc.replace_substring_regex(digits, f"[{groups}]", "")
    return pc.replace_substring(digits, ",", ".").cast(pa.float64())


def _time(cells: pa.Array) -> Any:
    """Read 6:30 or 18:00:00 as parts of a day, as `days` does."""
    _check(cells, _TIME)
    parts = [
        pc.replace_substring_regex(cells, _TIME, rf"0\{i}").cast(pa.float64()) for i in (1, 2, 3)
    ]
    hours, minutes, seconds = parts
    whole = pc.add(pc.multiply(hours, 3600.0), pc.add(pc.multiply(minutes, 60.0), seconds))
    return pc.divide(whole, _DAY)


def _iso(cells: pa.Array, pattern: str, order: str) -> pa.Array:
    """Write dates as ISO does: 2024-03-01 12:30:00."""
    _check(cells, pattern)
    date = pc.replace_substring_regex(cells, pattern, order)
    date = pc.replace_substring_regex(date, r"-0(\d\d)", r"-\1")
    clock = pc.replace_substring_regex(cells, pattern, r"\4")
    clock = pc.if_else(pc.equal(clock, ""), "0:00", clock)
    clock = pc.replace_substring_regex(clock, r"^(\d:)", r"0\1")
    short = pc.match_substring_regex(clock, r"^\d\d:\d\d$")
    clock = pc.if_else(short, pc.binary_join_element_wise(clock, "00", ":"), clock)
    return pc.binary_join_element_wise(date, clock, " ")


def _check(cells: pa.Array, pattern: str) -> None:
    if not pc.all(pc.match_substring_regex(cells, pattern)).as_py():
        raise pa.ArrowInvalid("a cell is not of this form")
