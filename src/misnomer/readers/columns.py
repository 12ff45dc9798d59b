"""One Arrow column -> what it is (infer), and its compact form (encode)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.families.categorical import code_type
from misnomer.readers.summary import Summary, summarize
from misnomer.readers.text import looks_like_text, vocabulary
from misnomer.table import KINDS, Column

Array = NDArray[np.float64]

FEW = 20  # whole numbers with at most this many distinct values are categories
_DAY, _PARTS = 86_400.0, {"s": 1.0, "ms": 1e3, "us": 1e6}
_MOST_CATEGORIES = 65_535  # more are an identifier or a text, unless the user says otherwise
_IDENTIFIER_ROWS = 50  # so many rows, each with a value of its own: an identifier


def infer(name: str, values: pa.Array, kind: str = "auto") -> Column:
    """Decide what a column is, and learn its categories or its center.

    Examples
    --------
    >>> infer("sex", pa.array(["f", "m", "f", None]))
    Column(name='sex', kind='categorical', categories=('f', 'm'), center=0.0, width=1, words=())
    """
    return decide(name, summarized(values, kind), kind)


def summarized(values: Any, kind: str = "auto") -> Summary:
    """Summarize a column as it comes; the words are counted where it is, or may be, a text."""
    dated = pa.types.is_temporal(values.type)
    values = plain(values)
    if kind == "text" and not pa.types.is_string(values.type):
        values = values.cast(pa.string())
    return summarize(values, dated=dated, words={"text": True, "auto": None}.get(kind, False))


def decide(name: str, summary: Summary, kind: str = "auto") -> Column:
    """Decide from its summary what a column is."""
    if kind == "auto":
        kind = _kind(name, summary)
    elif kind not in KINDS:
        known = ", ".join(f'"{k}"' for k in KINDS)
        raise ValueError(f'column {name!r}: "{kind}" is no family; choose one of {known}')
    elif kind == "categorical" and not summary.seen:
        kind = _empty(name)
    if kind == "categorical":
        return Column(name, kind, categories=_told_apart(name, summary))
    if kind == "bernoulli":
        return Column(name, kind, categories=_two(name, summary))
    if kind == "text":
        words = vocabulary(summary.words)
        return Column(name, kind, width=len(words), words=words)
    if kind in ("gaussian", "count") and summary.seen and not _is_number(summary.type):
        raise ValueError(f"column {name!r} holds {summary.type}, not numbers")
    return Column(name, kind, center=summary.mean if kind == "gaussian" else 0.0)


def plain(values: Any) -> pa.Array:
    """Simplify a column: no dictionary, no chunks, no NaN, no empty text, no dates."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # several chunks of a type that cannot be joined
        values = pa.concat_arrays(values.chunks)
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
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    elif pa.types.is_string(values.type):
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
        values = pc.if_else(blank, pa.scalar(None, pa.string()), values)
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


def _kind(name: str, summary: Summary) -> str:
    if not summary.seen:
        return _empty(name)
    if _is_number(summary.type):
        few = summary.categories <= FEW and summary.whole and not summary.dated
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


def _told_apart(name: str, summary: Summary) -> tuple[Any, ...]:
    """Sort the categories; too many to remember are refused, a single one is said."""
    if summary.distinct is None:
        raise ValueError(f"column {name!r} has over a million categories: leave it out")
    found = summary.distinct
    if len(found) == 1 and summary.rows > 1:
        warnings.warn(
            f"column {name!r} has the same value in every row: it tells nothing", stacklevel=2
        )
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


def codes(column: Column, values: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Number the categories; a missing or unseen value gets the number after the last."""
    if pa.types.is_dictionary(values.type):
        return _by_dictionary(column, values)
    values = one_zero(plain(values))
    known = one_zero(pa.array(column.categories))
    if values.type != known.type:
        values, known = _alike(values, known)
    found = pc.fill_null(pc.index_in(values, value_set=known, skip_nulls=True), len(known))
    return np.asarray(found.to_numpy(zero_copy_only=False), code_type(len(known)))


def one_zero(values: Any) -> Any:
    """Make zero of minus zero: they are equal, but not where values are looked up by their bits.

    Examples
    --------
    >>> one_zero(pa.array([-0.0, 1.5])).to_pylist()
    [0.0, 1.5]
    """
    if values.type not in (pa.float32(), pa.float64()):
        return values
    return pc.add(values, pa.scalar(0.0, values.type))


def _by_dictionary(column: Column, values: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Number the values of the dictionary once, and look the rows up."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray) or values.indices.null_count == len(values):
        return codes(column, plain(values))
    found = codes(column, values.dictionary)
    table: NDArray[np.unsignedinteger[Any]] = np.append(
        found, found.dtype.type(len(column.categories))
    )
    place = values.indices
    if place.null_count:
        place = pc.fill_null(place.cast(pa.int32()), len(found))
    return np.asarray(table.take(place.to_numpy(zero_copy_only=False)))


def _alike(values: pa.Array, known: pa.Array) -> tuple[pa.Array, pa.Array]:
    try:
        return values.cast(known.type), known
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values.cast(pa.string()), known.cast(pa.string())


def flags(column: Column, values: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which rows are on, and which were observed."""
    values = plain(values)
    if isinstance(column.categories[1], str):
        number = codes(column, values)
        return number == 1, number < 2
    value = reals(column.name, values)
    return value > 0, ~np.isnan(value)


def reals(name: str, values: Any) -> Array:
    """Read numbers, with NaN for what is missing; infinite values are refused."""
    if values.type == pa.float64():  # nothing to simplify
        plainly: Array = values.to_numpy(zero_copy_only=False)
        check_finite(name, plainly)
        return plainly
    values = plain(values)
    try:
        numbers = values.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(f"column {name!r} holds {values.type}, not numbers") from None
    out: Array = pc.fill_null(numbers, float("nan")).to_numpy(zero_copy_only=False)
    check_finite(name, out)
    return out


def counts(name: str, values: Any) -> Array:
    """Read counts; nothing observed counts as zero, and a negative count is refused."""
    out = np.nan_to_num(reals(name, values))
    check_counts(name, out)
    return out


def check_finite(name: str, values: NDArray[np.floating[Any]]) -> None:
    """Refuse infinite values, naming the first row that has one."""
    bad = np.isinf(values)
    if bad.any():
        raise ValueError(
            f"column {name!r} holds an infinite value in row {int(bad.argmax())}: replace it by a "
            "number, or by NaN if it is missing"
        )


def check_counts(name: str, values: NDArray[Any]) -> None:
    """Refuse negative counts, naming the first row that has one."""
    bad = np.flatnonzero(values < 0)
    if len(bad):
        raise ValueError(
            f"Negative values in data: column {name!r} holds {values[bad[0]]} in row {bad[0]}, "
            "and a count cannot be negative"
        )
