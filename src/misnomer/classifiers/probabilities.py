"""Probabilities of the classes as users bring them -> (n, K), or a sentence that says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from misnomer.rows.frames import is_frame

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
            f"({_listed(classes)}): there must be a column for each, in sorted order"
        )
    return _scaled(share)


def _scaled(share: Array) -> Array:
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
                f"pred_probs has no column {name!r}: its columns are {_listed(list(names))}, the "
                f"labels {_listed(wanted)}"
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


def _listed(names: Any, most: int = 6) -> str:
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
