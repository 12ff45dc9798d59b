"""What a column looks like, as a value that adds: some rows at a time, in any order.

The family of a column follows from its summary alone, so a table that is read at once and a file
that is read by batches are understood in the same way.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.columns.text import spaces, words_of

MOST_DISTINCT = 1_000_000  # distinct values that are remembered one by one


@dataclass(frozen=True, eq=False)
class Summary:
    """Counts that decide what a column is.

    Attributes
    ----------
    type : pyarrow.DataType
        Of the cells, simplified: float64, int64, bool, string, null or something else.
    rows, seen : int
        All cells, and those that hold something.
    distinct : pyarrow.Array or None
        The different values, None where there are more than ``MOST_DISTINCT``.
    all_different : bool
        Whether no value was seen twice, as far as they are remembered.
    whole : bool
        Whether all numbers are whole.
    temporal : str
        "date" where the cells are dates, "time" where they are times of day or durations, else "".
    total : float
        Sum of the numbers.
    gaps : int
        White space between words, in all.
    words : Counter
        In how many cells each word occurs (texts only).
    """

    type: pa.DataType
    rows: int
    seen: int
    distinct: pa.Array | None
    all_different: bool
    whole: bool
    temporal: str
    total: float
    gaps: int
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


def summarize(
    values: pa.Array, *, temporal: str = "", words: bool | None = None, gaps: int | None = None
) -> Summary:
    """Summarize a column that was simplified by ``plain``.

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
    if words is None:
        words = text and seen > 0 and gaps >= 2 * seen
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
        words_of(values) if words else Counter(),
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
