"""One Arrow column -> its compact form, in the terms of a column that was learned before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.families.categorical import code_type
from misnomer.rows.columns.notation import find_notation, read_notation
from misnomer.rows.columns.plain import plain
from misnomer.table import Column

Array = NDArray[np.float64]
LARGEST = 1e100  # a real number, so that sums of its cubes are numbers as well


def codes(column: Column, values: Any) -> NDArray[np.unsignedinteger[Any]]:
    """Number the categories; a missing or unseen value gets the number after the last."""
    if pa.types.is_dictionary(values.type):
        return _by_dictionary(column, values)
    values = one_zero(plain(values))
    check_whole(column.name, values)
    known = one_zero(pa.array(column.categories))
    if values.type != known.type:
        values, known = _alike(values, known)
    found = pc.fill_null(pc.index_in(values, value_set=known, skip_nulls=True), len(known))
    return np.asarray(found.to_numpy(zero_copy_only=False), code_type(len(known)))


def unseen(column: Column, values: Any) -> list[Any]:
    """List the values of a column of categories that were not there in training, one per cell.

    Examples
    --------
    >>> unseen(Column("sex", "categorical", ("f", "m")), pa.array(["f", "x", None]))
    ['x']
    """
    values = plain(values)
    new = np.asarray(codes(column, values)) >= len(column.categories)
    return pc.drop_null(values.filter(pa.array(new))).to_pylist()


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


def reals(name: str, values: Any, form: str = "") -> Array:
    """Read numbers, with NaN for what is missing; infinite values are refused."""
    if values.type == pa.float64():  # nothing to simplify
        plainly: Array = values.to_numpy(zero_copy_only=False)
        check_finite(name, plainly)
        return plainly
    values = plain(values)
    if pa.types.is_string(values.type):
        values = _numbers(name, values, form)
    try:
        numbers = values.cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if not pa.types.is_integer(values.type):
            raise ValueError(f"column {name!r} holds {values.type}, not numbers") from None
        check_whole(name, values)
        numbers = values.cast(pa.float64(), safe=False)
        check_apart(name, *(pc.drop_null(part).to_numpy() for part in (values, numbers)))
    out: Array = pc.fill_null(numbers, float("nan")).to_numpy(zero_copy_only=False)
    check_finite(name, out)
    return out


def _numbers(name: str, texts: pa.Array, form: str) -> pa.Array:
    """Read texts in the form that the model knows; where it knows numbers, in any one form."""
    if form in ("", "date"):
        found = find_notation(pc.unique(texts))
        if found.unclear:
            raise ValueError(f"column {name!r}: {found.unclear}")
        form = found.form if found.is_date == (form == "date") else ""
    return read_notation(name, texts, form) if form else texts


def counts(name: str, values: Any, form: str = "") -> Array:
    """Read counts; nothing observed counts as zero, and a negative count is refused."""
    out = np.nan_to_num(reals(name, values, form))
    check_counts(name, out)
    return out


def check_finite(name: str, values: NDArray[np.floating[Any]]) -> None:
    """Refuse infinite values, and those too large to be squared, naming the first row of one."""
    bad = beyond(values)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(too_large(name, float(values[row]), row))


def beyond(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Tell which numbers are infinite, or too large to be squared."""
    most = float(np.finfo(values.dtype).max)
    return np.abs(values) > (LARGEST if most > LARGEST else most)


def too_large(name: str, value: float, row: int) -> str:
    """Say that a number cannot be reckoned with.

    Examples
    --------
    >>> too_large("age", 1e200, 3)
    "column 'age' holds 1e+200 in row 3: numbers beyond 1e+100 cannot be squared and added up; ..."
    """
    if np.isinf(value):
        return (
            f"column {name!r} holds an infinite value (infinity) in row {row}: replace it by a "
            f"number up to {LARGEST:.0e}, or by NaN if it is missing"
        )
    return (
        f"column {name!r} holds {value:g} in row {row}: numbers beyond {LARGEST:.0e} cannot be "
        "squared and added up; rescale the column, or replace it by NaN if it is missing"
    )


def check_whole(name: str, values: Any) -> None:
    """Refuse whole numbers beyond 2^63, which no other column of whole numbers can hold."""
    if values.type == pa.uint64() and (pc.max(values).as_py() or 0) >= 1 << 63:
        raise ValueError(whole_too_large(name))


def whole_too_large(name: str) -> str:
    """Say that whole numbers are too large."""
    return (
        f"column {name!r} holds whole numbers beyond 2^63: turn them into texts, or leave the "
        "column out if it only names the rows"
    )


def check_apart(name: str, whole: NDArray[np.integer[Any]], numbers: Array) -> None:
    """Refuse whole numbers beyond 2^53 that are the same as doubles."""
    if len(np.unique(whole)) > len(np.unique(numbers)):
        raise ValueError(
            f"column {name!r} holds whole numbers beyond 2^53 that a double cannot tell apart: "
            "subtract a constant, or leave the column out if it only names the rows"
        )


def check_counts(name: str, values: NDArray[Any]) -> None:
    """Refuse negative counts, naming the first row that has one."""
    bad = np.flatnonzero(values < 0)
    if len(bad):
        raise ValueError(
            f"Negative values in data: column {name!r} holds {values[bad[0]]} in row {bad[0]}, "
            "and a count cannot be negative"
        )
