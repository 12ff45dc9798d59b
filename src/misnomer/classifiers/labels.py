"""Labels of any type -> evidence codes, and back."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from misnomer.answers import absent as missing

__all__ = ["column", "distinct", "encode", "missing"]

Labels = NDArray[np.int32]


def column(y: Any) -> NDArray[Any]:
    """Flatten y to one dimension, keeping its type; a masked label is missing."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        y = np.ma.filled(y.astype(object), None)
    out = np.asarray(y if hasattr(y, "dtype") or hasattr(y, "__array__") else _objects(y))
    if out.ndim == 2 and out.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it was flattened.",
            DataConversionWarning,
            stacklevel=2,
        )
        out = out[:, 0]
    if out.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {out.shape} instead.")
    if out.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers")
    if _is_huge(out):
        raise ValueError("a label is a whole number beyond 2^63: turn the labels into texts")
    return out


def _is_huge(y: NDArray[Any]) -> bool:
    """Tell whole numbers that no column of whole numbers can hold."""
    if y.dtype == np.uint64:
        return bool(len(y)) and int(y.max()) >= 1 << 63
    return y.dtype.kind == "O" and any(type(v) is int and abs(v) >= 1 << 63 for v in y)


def _objects(y: Any) -> Any:
    if isinstance(y, str | Mapping | Set) or not isinstance(y, Iterable):
        raise TypeError(f"the labels are a {type(y).__name__}: pass a list with one for each row")
    y = list(y)
    text = [isinstance(value, str) for value in y]
    mixed = any(text) and not all(text)
    return np.array(y, dtype=object) if mixed else y


def distinct(y: NDArray[Any], gaps: NDArray[np.bool_]) -> NDArray[Any]:
    """List the labels that occur, sorted."""
    kept = y[~gaps]
    if not len(kept):
        raise ValueError(
            "every label is missing: give some rows a label, or say how many "
            "classes there are with channel=unlabeled(K)"
        )
    if kept.dtype.kind == "f" and np.isinf(kept).any():
        row = int(np.flatnonzero(~gaps)[np.argmax(np.isinf(kept))])
        raise ValueError(f"Input y contains infinity (row {row}): a label must be a class")
    if kept.dtype.kind == "O":
        _check_plain(y)
        kinds = {type(value).__name__ for value in kept}
        if len(kinds) > 1 and any(isinstance(value, str) for value in kept):
            warnings.warn(
                f"labels of several types ({', '.join(sorted(kinds))}) are all read as texts",
                stacklevel=2,
            )
        kept = np.array(kept.tolist())
    if _is_narrow(kept):  # counting is faster than sorting
        return _counted(kept).astype(kept.dtype)
    check_classification_targets(kept)
    names = np.unique(kept)
    if names.dtype.kind == "f" and (names == names.astype(np.int64)).all() and gaps.any():
        names = names.astype(np.int64)  # whole numbers that NaN had turned into floats
    return names


def _check_plain(y: NDArray[Any]) -> None:
    """Refuse labels that hold other values, or have no order: a list, a dict, a class."""
    for row, value in enumerate(y):
        if isinstance(value, Collection | type) and not isinstance(value, str | bytes):
            raise ValueError(
                f"the label of row {row} is a {type(value).__name__}: a label should be a text or "
                "a number"
            )


MAX_COUNTED_RANGE = 1 << 16  # labels within so many whole numbers are counted, not sorted


def _is_narrow(y: NDArray[Any]) -> bool:
    """Tell whether labels are whole numbers that lie close together."""
    return y.dtype.kind in "iu" and len(y) > 0 and int(y.max()) - int(y.min()) < MAX_COUNTED_RANGE


def _is_range(known: NDArray[Any]) -> bool:
    """Tell whether labels are whole numbers without a gap between them."""
    whole = known.dtype.kind in "iu" and len(known) > 0
    return whole and int(known[-1]) - int(known[0]) == len(known) - 1


def _is_within(y: NDArray[Any], known: NDArray[Any]) -> bool:
    return y.dtype.kind in "iu" and len(y) > 0 and known[0] <= y.min() and y.max() <= known[-1]


def _counted(y: NDArray[Any]) -> NDArray[Any]:
    least = int(y.min())
    return np.flatnonzero(np.bincount((y - least).astype(np.intp))) + least


def _placed(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.intp]:
    """Find the place of each value among the known ones, or of one near it."""
    if _is_narrow(values) and _is_narrow(known):
        least, most = int(known[0]), int(known[-1])
        place = np.searchsorted(known, np.arange(least, most + 1))
        return place[np.clip(values, least, most).astype(np.intp) - least].astype(np.intp)
    return np.searchsorted(known, values).clip(max=len(known) - 1)


def encode(y: NDArray[Any], known: NDArray[Any], gaps: NDArray[np.bool_]) -> Labels:
    """Number the labels by their place among the known ones; a gap gets the number after."""
    if not gaps.any() and _is_range(known) and _is_within(y, known):
        return (y - known[0]).astype(np.int32)
    out = np.full(len(y), len(known), np.int32)
    kept = np.flatnonzero(~gaps)
    values = y[kept]
    if values.dtype.kind == "O":
        values = np.array(values.tolist()) if len(values) else np.zeros(0, known.dtype)
    if known.dtype.kind == "U" and values.dtype.kind in "biuf":
        values = values.astype(str)  # of labels of several types, all were read as texts
    place = np.zeros(len(values), np.intp)
    right = np.zeros(len(values), bool)
    if len(known) and (values.dtype.kind in "US") == (known.dtype.kind in "US"):
        place = _placed(values, known)
        right = known[place] == values
    if not np.all(right):
        row = int(kept[np.argmin(right)])
        raise ValueError(
            f"row {row} has the label {_plain(y[row])!r}, which the model does not know; "
            f"it knows {_some(known)}"
        )
    out[kept] = place
    return out


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _some(known: NDArray[Any]) -> str:
    shown = ", ".join(repr(value) for value in known[:8].tolist())
    return shown + (f" and {len(known) - 8} more" if len(known) > 8 else "")
