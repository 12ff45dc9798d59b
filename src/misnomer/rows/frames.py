"""Data frames of any kind (pandas, polars, pyarrow, ... through narwhals) -> Arrow columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def is_frame(X: Any) -> bool:
    """Tell whether X has named columns."""
    return hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns")


def arrow_columns(X: Any) -> tuple[list[str], list[Any]]:
    """Split X into names and Arrow columns.

    Examples
    --------
    >>> names, data = arrow_columns(np.array([["a", 1], ["b", None]], dtype=object))
    >>> names, data[1].to_pylist()
    (['x0', 'x1'], [1, None])
    """
    if is_frame(X):
        return _from_frame(X)
    X = np.asarray(X, dtype=object) if not isinstance(X, np.ndarray) else X
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X is a table with a row per example "
            "and a column per feature. Reshape your data with X.reshape(-1, 1) if it has a "
            "single feature, or X.reshape(1, -1) if it is a single example."
        )
    names = [f"x{j}" for j in range(X.shape[1])]
    return names, [from_objects(names[j], X[:, j]) for j in range(X.shape[1])]


def _from_frame(X: Any) -> tuple[list[str], list[Any]]:
    import narwhals as nw

    if isinstance(X, pa.Table):
        return list(map(str, X.column_names)), list(X.columns)
    frame = nw.from_native(X, eager_only=True)
    names = [str(name) for name in frame.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"column {twice[0]!r} occurs twice: give each column its own name")
    return names, [_from_series(series) for series in frame.iter_columns()]


def _from_series(series: Any) -> Any:
    native = series.to_native()
    try:
        return series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):  # mixed objects
        return from_objects(str(series.name), np.asarray(native, dtype=object))


def from_objects(name: str, values: Any) -> Any:
    """Read a column of Python objects; mixed types become strings."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(object), None)
    if values.dtype.kind in "biuf":
        return pa.array(np.ascontiguousarray(values), from_pandas=True)
    try:
        return pa.array(values.tolist(), from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):
        pass
    missing = [_is_gap(value) for value in values]
    if all(gap or isinstance(v, np.ndarray) for v, gap in zip(values, missing, strict=True)):
        flat = [None if gap else v.ravel() for v, gap in zip(values, missing, strict=True)]
        try:
            return pa.array(flat)
        except pa.ArrowException:
            pass
    for value, gap in zip(values, missing, strict=True):
        if not gap and not isinstance(value, str | int | float | np.generic):
            raise TypeError(
                f"column {name!r} holds a {type(value).__name__}; the argument must be a string "
                "or a number in every cell"
            )
    try:
        return pa.array([None if gap else str(v) for v, gap in zip(values, missing, strict=True)])
    except (UnicodeError, ValueError):
        raise ValueError(
            f"column {name!r} holds a text that is no Unicode (half of a pair of surrogates): "
            "decode it anew, or leave it out"
        ) from None


def _is_gap(value: Any) -> bool:
    """Tell a missing cell: None, NaN, or something that is not even equal to itself."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA answers neither yes nor no, an array both
        return not hasattr(value, "__len__")
