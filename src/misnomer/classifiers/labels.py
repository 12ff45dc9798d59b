"""Labels and probabilities as users bring them: checked, numbered, lined up with the classes.

What cannot be taken is refused in a sentence that says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from misnomer.answers import absent as missing
from misnomer.answers import distinct_values, is_narrow, places_among
from misnomer.rows.frames import is_frame

__all__ = [
    "align_columns",
    "column",
    "distinct",
    "encode",
    "missing",
    "read_probabilities",
    "warning_of_seen_rows",
]

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
    if not is_narrow(kept):
        check_classification_targets(kept)
    names = distinct_values(kept)
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


def _is_range(known: NDArray[Any]) -> bool:
    """Tell whether labels are whole numbers without a gap between them."""
    whole = known.dtype.kind in "iu" and len(known) > 0
    return whole and int(known[-1]) - int(known[0]) == len(known) - 1


def _is_within(y: NDArray[Any], known: NDArray[Any]) -> bool:
    return y.dtype.kind in "iu" and len(y) > 0 and known[0] <= y.min() and y.max() <= known[-1]


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
    place, right = places_among(values, known)
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


Array = NDArray[np.float64]

SUM_TOLERANCE = 0.01  # how far rounded probabilities of a row may be from one in all
MIN_LABELS_TO_JUDGE = 50  # from which on repeated labels are no chance
MAX_DISAGREEING_SHARE = 0.005  # of labels: an honest model misses more


def read_probabilities(given: Any, n: int) -> Any:
    """Read the file that holds them, where a path is given, and check that rows have one each."""
    if isinstance(given, str | Path):
        given = _read(Path(given))
    elif not hasattr(given, "shape"):
        given = _array(given)
    if len(given) != n:
        raise ValueError(f"pred_probs has {len(given):,} rows, but there are {n:,} labels")
    return given


def align_columns(given: Any, classes: NDArray[Any]) -> Array:
    """Check the probabilities that somebody brings, and line their columns up with the classes.

    Parameters
    ----------
    given : array (n, K) or frame
        The columns of an array are the classes in sorted order; those of a frame are named.
    classes : (K,) array
        The classes, in the order of the model.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"dog": [0.2, 1.0], "cat": [0.8, 0.0]})
    >>> align_columns(frame, np.array(["cat", "dog"])).tolist()
    [[0.8, 0.2], [0.0, 1.0]]
    """
    named = is_frame(given) and not isinstance(given, np.ndarray)
    share = _by_name(given, classes) if named else _array(given)
    if share.ndim != 2:
        raise ValueError(
            f"pred_probs must have a row for each row and a column for each class, not the shape "
            f"{share.shape}"
        )
    if share.shape[1] != len(classes):
        raise ValueError(
            f"pred_probs has {share.shape[1]} columns, but the labels name {len(classes)} classes "
            f"({_in_words(classes)}): there must be a column for each, in sorted order"
        )
    return _check_shares(share)


def _check_shares(share: Array) -> Array:
    """Refuse what are no probabilities, and take rounding off the sums."""
    odd = ~np.isfinite(share).all(axis=1)
    if odd.any():
        raise ValueError(f"pred_probs holds no number in row {int(odd.argmax())}")
    low = share.min(axis=1, initial=0.0)
    if (low < 0).any():
        row = int((low < 0).argmax())
        raise ValueError(
            f"pred_probs holds {low[row]:.3g} in row {row}: a probability is not negative"
        )
    total = share.sum(axis=1)
    off = np.abs(total - 1.0) > SUM_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise ValueError(
            f"pred_probs of row {row} sum to {total[row]:.3g}, not to one: bring probabilities "
            "(predict_proba), not scores"
        )
    return np.ascontiguousarray(share / total[:, None])


def _array(given: Any) -> Array:
    try:
        table = np.asarray(given, np.float64)
    except (ValueError, TypeError):
        raise ValueError(
            "pred_probs is a table of numbers: a row for each row, a column for each class"
        ) from None
    return table if table.ndim else table[None]


def _by_name(given: Any, classes: NDArray[Any]) -> Array:
    frame = nw.from_native(given, eager_only=True)
    names = {str(name): name for name in frame.columns}
    wanted = [str(name) for name in classes.tolist()]
    for name in wanted:
        if name not in names:
            raise ValueError(
                f"pred_probs has no column {name!r}: its columns are {_in_words(list(names))}, the "
                f"labels {_in_words(wanted)}"
            )
    more = [name for name in names if name not in wanted]
    if more:
        raise ValueError(f"pred_probs has a column {more[0]!r}, which is none of the labels")
    columns = [frame[names[name]].to_list() for name in wanted]
    return _array(columns).T


def _read(path: Path) -> Any:
    if path.suffix.lower() != ".npy":
        from misnomer.rows.scan import read_table

        return read_table(path)
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise ValueError(f"{path}: this is no NumPy file of numbers") from None


def _in_words(names: Any, most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in list(names)[:most])
    return shown + (", ..." if len(names) > most else "")


def warning_of_seen_rows(share: Array, label: NDArray[Any]) -> str | None:
    """Say that probabilities look as if their model had seen the rows; None where they do not.

    A model of the other rows misses some labels: wrong ones, and rows that are hard to tell. One
    that repeats nearly every label either had clean and easy rows, or had seen the labels.

    Examples
    --------
    >>> label = np.arange(100) % 2
    >>> print(warning_of_seen_rows(np.eye(2)[label] * 0.8 + 0.1, label)[:52])
    the probabilities put the given label first in 100.0
    """
    at = np.flatnonzero(label >= 0)
    if len(at) < MIN_LABELS_TO_JUDGE:
        return None
    first = float((share[at].argmax(axis=1) == label[at]).mean())
    if first < 1.0 - MAX_DISAGREEING_SHARE:
        return None
    return (
        f"the probabilities put the given label first in {first:.1%} of the rows: either hardly a "
        "label is wrong, or their model has seen the rows that it scores, and then it repeats the "
        "errors; bring probabilities out of fold, such as "
        'cross_val_predict(model, X, y, method="predict_proba")'
    )
