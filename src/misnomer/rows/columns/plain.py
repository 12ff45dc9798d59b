"""Arrow columns in their simplest form: no dictionary, no chunks, and dates as numbers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

#: What a column of numbers or dates may hold for "missing", beside the empty cell.
MISSING = ("NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".")

_DAY, _PARTS = 86_400.0, {"s": 1.0, "ms": 1e3, "us": 1e6}


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
