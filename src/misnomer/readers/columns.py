"""One Arrow column -> what it is (infer), and its compact form (encode)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.families.categorical import code_type
from misnomer.readers.text import looks_like_text, vocabulary
from misnomer.table import KINDS, Column

Array = NDArray[np.float64]

FEW = 20  # whole numbers with at most this many distinct values are categories
_MOST_CATEGORIES = 65_535  # more are an identifier or a text, unless the user says otherwise
_IDENTIFIER_ROWS = 50  # so many rows, each with a value of its own: an identifier


def infer(name: str, values: pa.Array, kind: str = "auto") -> Column:
    """Decide what a column is, and learn its categories or its center.

    Examples
    --------
    >>> infer("sex", pa.array(["f", "m", "f", None]))
    Column(name='sex', kind='categorical', categories=('f', 'm'), center=0.0, width=1, words=())
    """
    if kind == "auto":
        dated, values = pa.types.is_temporal(values.type), plain(values)
        kind = "gaussian" if dated and values.null_count < len(values) else _kind(name, values)
    elif kind not in KINDS:
        known = ", ".join(f'"{k}"' for k in KINDS)
        raise ValueError(f'column {name!r}: "{kind}" is no family; choose one of {known}')
    else:
        values = plain(values)
        if kind == "categorical" and len(values) == values.null_count:
            kind = _empty(name)
    if kind == "categorical":
        return Column(name, kind, categories=_told_apart(name, _distinct(values)))
    if kind == "bernoulli":
        return Column(name, kind, categories=_two(name, values))
    if kind == "gaussian":
        return Column(name, kind, center=_typical(reals(name, values)))
    if kind == "text":
        words = vocabulary(values.cast(pa.string()).to_pylist())
        return Column(name, kind, width=len(words), words=words)
    if kind == "count":
        counts(name, values)
    return Column(name, kind)


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
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32()).cast(pa.float64())
    elif pa.types.is_temporal(kind):
        values = values.cast(pa.int64()).cast(pa.float64())
    elif pa.types.is_decimal(kind) or kind == pa.float16():
        values = values.cast(pa.float64())
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    elif pa.types.is_string(values.type):
        blank = pc.equal(pc.utf8_trim_whitespace(values), "")
        values = pc.if_else(blank, pa.scalar(None, pa.string()), values)
    return values


def _kind(name: str, values: pa.Array) -> str:
    kind = values.type
    if len(values) == values.null_count:
        return _empty(name)
    if pa.types.is_floating(kind):
        whole = values.null_count and bool(pc.all(pc.equal(pc.floor(values), values)).as_py())
        return "categorical" if whole and _few(values) else "gaussian"  # whole numbers with gaps
    if pa.types.is_integer(kind):
        return "categorical" if _few(values) else "gaussian"
    if not (pa.types.is_string(kind) or pa.types.is_boolean(kind)):
        raise ValueError(
            f"column {name!r} holds {kind}, which has no family; turn it into numbers or strings, "
            "or leave it out"
        )
    distinct = pc.count_distinct(values).as_py()
    if pa.types.is_string(kind) and looks_like_text(values, distinct):
        return "text"
    if distinct == len(values) >= _IDENTIFIER_ROWS:
        warnings.warn(
            f"column {name!r} has a value of its own in every row: it is taken for an identifier "
            "and ignored",
            stacklevel=2,
        )
        return "ignored"
    if distinct > _MOST_CATEGORIES:
        raise ValueError(
            f"column {name!r} has {distinct:,} categories: it looks like an identifier or a text; "
            f'leave it out, or say families={{{name!r}: "categorical"}} (or "text") to insist'
        )
    return "categorical"


def _empty(name: str) -> str:
    warnings.warn(f"column {name!r} holds no value at all: it is ignored", stacklevel=2)
    return "ignored"


def _told_apart(name: str, categories: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(categories) == 1:
        warnings.warn(
            f"column {name!r} has the same value in every row: it tells nothing", stacklevel=2
        )
    return categories


def _few(values: pa.Array) -> bool:
    return int(pc.count_distinct(values).as_py()) <= FEW


def _distinct(values: pa.Array) -> tuple[Any, ...]:
    found = pc.drop_null(pc.unique(values))
    return tuple(found.take(pc.array_sort_indices(found)).to_pylist())


def _two(name: str, values: pa.Array) -> tuple[Any, ...]:
    if pa.types.is_boolean(values.type):
        return (False, True)
    if not pa.types.is_string(values.type):
        reals(name, values)
        return (0, 1)
    found = _distinct(values)
    if len(found) > 2:
        raise ValueError(
            f"column {name!r} has {len(found)} values, and a bernoulli column has two: "
            'say "categorical"'
        )
    return (*found, "", "")[:2] if len(found) < 2 else found


def _typical(values: Array) -> float:
    some = values[:: max(1, len(values) // 1000)]
    some = some[~np.isnan(some)]
    return float(some.mean()) if len(some) else 0.0


def codes(column: Column, values: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Number the categories; a missing or unseen value gets the number after the last."""
    values = plain(values)
    known = pa.array(column.categories)
    if values.type != known.type:
        values, known = _alike(values, known)
    found = pc.fill_null(pc.index_in(values, value_set=known, skip_nulls=True), len(known))
    return found.to_numpy(zero_copy_only=False).astype(code_type(len(known)))


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
    bad = np.flatnonzero(np.isinf(values))
    if len(bad):
        raise ValueError(
            f"column {name!r} holds an infinite value in row {bad[0]}: replace it by a number, "
            "or by NaN if it is missing"
        )


def check_counts(name: str, values: NDArray[Any]) -> None:
    """Refuse negative counts, naming the first row that has one."""
    bad = np.flatnonzero(values < 0)
    if len(bad):
        raise ValueError(
            f"Negative values in data: column {name!r} holds {values[bad[0]]} in row {bad[0]}, "
            "and a count cannot be negative"
        )
