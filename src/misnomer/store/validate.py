"""What a file says is believed only after these have looked at it; the columns of a schema, too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.rows import SIGNED
from misnomer.rows.encode import LARGEST
from misnomer.rows.notation import FORMS
from misnomer.table import DATE_FORMS, KINDS, Column

_KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class ContradictionError(ValueError):
    """Something in a file that cannot be."""


def array(
    arrays: dict[str, NDArray[Any]],
    name: str,
    shape: tuple[int, ...],
    kind: type = np.float64,
    *,
    finite: bool = True,
) -> NDArray[Any]:
    """Take an array of that name, shape and type."""
    found = arrays[name]
    if found.dtype != kind or found.shape != shape:
        raise ContradictionError(f"{name!r} is {found.dtype}{list(found.shape)}, not {list(shape)}")
    if finite and not np.isfinite(found).all():
        raise ContradictionError(f"{name!r} holds values that are not finite")
    return found


def bounded(values: NDArray[np.float64], name: str) -> None:
    """Check that numbers are small enough to be multiplied with any cell that is not refused."""
    if np.abs(values).max(initial=0.0) > LARGEST:
        raise ContradictionError(f"{name!r} holds numbers beyond {LARGEST:.0e}")


def shares(values: NDArray[np.float64], name: str) -> None:
    """Check that some numbers are shares of a whole."""
    if (values < 0).any() or abs(float(values.sum()) - 1.0) > 1e-6:
        raise ContradictionError(f"the {name} does not sum to one")


def shares_by_row(values: NDArray[np.float64], name: str) -> None:
    """Check that the numbers of each row are shares of a whole."""
    if (values < 0).any() or (np.abs(values.sum(axis=1) - 1.0) > 1e-6).any():
        raise ContradictionError(f"a row of the {name} does not sum to one")


def scalars(values: Any) -> list[Any]:
    """Take a list of strings, numbers and flags."""
    if not isinstance(values, list) or not all(isinstance(v, str | int | float) for v in values):
        raise ContradictionError("a list of values holds something else")
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise ContradictionError("a list of values holds a number that is not finite")
    if any(isinstance(value, int) and abs(value) >= 1 << 63 for value in values):
        raise ContradictionError("a list of values holds a number beyond 2^63")
    if any(isinstance(value, str) and not _is_text(value) for value in values):
        raise ContradictionError("a list of values holds half a character")
    return values


def _is_text(value: str) -> bool:
    """Tell whether a string can be written: halves of a character cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def strings(values: Any) -> list[str]:
    """Take a list of strings."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ContradictionError("a list of names holds something else")
    return values


def names(said: Any) -> NDArray[Any]:
    """Take the names of classes or labels: all different, of one type."""
    values, kind = scalars(said["values"]), said["type"]
    if len(set(values)) < len(values):
        raise ContradictionError("a class occurs twice")
    if kind == "str":
        return np.array(strings(values), dtype=np.str_)
    wanted = {"bool": bool, "float32": float, "float64": float}.get(kind, int)
    if kind not in (*_KINDS, "float32", "float64") or any(type(v) is not wanted for v in values):
        raise ContradictionError("the classes are not of the type they are said to be")
    if wanted is int and any(not _holds(kind, value) for value in values):
        raise ContradictionError(f"a class is beyond what {kind} can hold")
    return np.array(values, dtype=kind)


def _holds(kind: str, value: int) -> bool:
    """Tell whether a whole number fits; an old NumPy would make another one of it."""
    ends = np.iinfo(kind)
    return int(ends.min) <= value <= int(ends.max)


def number(value: Any) -> int:
    """Take a whole number, zero or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ContradictionError("a size is not a whole number")
    return value


def real(value: Any) -> float:
    """Take a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ContradictionError("a number is not finite")
    return float(value)


def flag(value: Any) -> bool:
    """Take a yes or no."""
    if not isinstance(value, bool):
        raise ContradictionError("a flag is neither yes nor no")
    return value


def statistics(column: Column) -> int:
    """Count the statistics of a column without making them: a file may claim any width."""
    if column.kind == "categorical":
        return len(column.categories)
    return {"bernoulli": 2, "gaussian": 3, "ignored": 0}.get(column.kind, column.width)


def described(column: Column) -> dict[str, Any]:
    """Describe a column in words and numbers; its categories keep their types.

    Examples
    --------
    >>> described(Column("sex", "categorical", ("f", "m")))["categories"]
    ['f', 'm']
    """
    return {
        "name": column.name,
        "kind": column.kind,
        "categories": list(column.categories),
        "center": float(column.center),
        "width": int(column.width),
        "words": list(column.words),
        "form": column.form,
    }


def columns_of(said: Any) -> tuple[Column, ...]:
    """Read the descriptions back."""
    if not isinstance(said, list):
        raise ContradictionError("its columns are no list")
    return tuple(map(_column, said))


def _column(said: dict[str, Any]) -> Column:
    name, kind = said["name"], said["kind"]
    if not isinstance(name, str) or kind not in KINDS:
        raise ContradictionError("a column has no name or no known family")
    categories = tuple(scalars(said["categories"]))
    if kind == "bernoulli" and len(categories) != 2:
        raise ContradictionError(f"column {name!r} should have two categories")
    if kind == "categorical" and len({(type(one), one) for one in categories}) < len(categories):
        raise ContradictionError(f"column {name!r} has a category twice")
    if len({*map(type, categories)}) > 1:
        raise ContradictionError(f"column {name!r} has categories of several types")
    center = real(said["center"])
    if abs(center) > LARGEST:
        raise ContradictionError(f"column {name!r} has a center beyond {LARGEST:.0e}")
    width, words = number(said["width"]), strings(said["words"])
    if kind not in ("count", "text") and width != 1:
        raise ContradictionError(f"column {name!r} is wider than one column")
    if words and len(words) != width:
        raise ContradictionError(f"column {name!r} has not one word per statistic")
    form = said.get("form", "")
    if form not in ("", SIGNED, *FORMS, *DATE_FORMS) or (form == SIGNED and width % 2):
        raise ContradictionError(f"column {name!r} is written in no known form")
    return Column(name, kind, categories, center, width, tuple(words), form)
