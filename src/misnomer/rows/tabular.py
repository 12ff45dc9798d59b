"""Whatever holds rows -> an array, a sparse matrix, or a frame whose columns have texts for names.

Beside those themselves: a dict of columns, a list of dicts, one column of texts (a Series, a list,
an array), a Hugging Face Dataset, a record batch. What is taken is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from misnomer.rows.arrays import checked_sparse
from misnomer.rows.frames import from_objects, is_frame

TEXT = "text"  # the name of a single column of texts that has none of its own


def as_table(X: Any) -> Any:
    """Take X for a table; what is none of the known kinds is handed back as it came.

    Examples
    --------
    >>> as_table(["so it goes", "so be it"]).column_names
    ['text']
    >>> as_table([{"age": 3}, {"age": 4, "sex": "f"}]).column("sex").to_pylist()
    [None, 'f']
    """
    if isinstance(X, np.ndarray):
        return _one_column(X) if X.ndim == 1 and X.dtype.kind in "OUT" and _texts(X) else X
    if sparse.issparse(X):
        return checked_sparse(X)
    if isinstance(X, pa.Table):
        return X
    if isinstance(X, Mapping):
        return _from_dict(X)
    if isinstance(X, list | tuple):
        return _from_list(X)
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return pa.table({TEXT: X})
    if _is_lazy(X):
        raise TypeError("X is a lazy frame, which has no rows yet: pass X.collect()")
    if _is_series(X):
        return _from_series(X)
    if type(X).__module__.partition(".")[0] == "datasets" and hasattr(X, "with_format"):
        return X.with_format("arrow")[:]
    return _named_by_texts(X) if is_frame(X) else X


def column_name(name: Any) -> str:
    """Turn the name of a column into a text: 4 -> "4", ("a", "b") -> "a b".

    Examples
    --------
    >>> column_name(4), column_name(("blood", "sugar"))
    ('4', 'blood sugar')
    """
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _texts(values: Any) -> bool:
    """Tell a column of texts; a missing one is None or NaN."""
    found = [isinstance(value, str) for value in values]
    gaps = (value is None or value != value for value, text in zip(values, found) if not text)  # noqa: B905
    return any(found) and all(gaps)


def _one_column(values: Any, name: Any = None) -> pa.Table:
    named = TEXT if name is None else column_name(name)
    return pa.table({named: from_objects(named, np.asarray(values, dtype=object))})


def _from_list(X: Any) -> Any:
    """Read a list of dicts or of texts; of a list of anything else, NumPy makes an array."""
    if X and all(isinstance(row, Mapping) for row in X):
        names = dict.fromkeys(name for row in X for name in row)
        return _from_dict({name: [row.get(name) for row in X] for name in names})
    return _one_column(X) if len(X) and isinstance(X[0], str) and _texts(X) else X


def _from_dict(X: Mapping[Any, Any]) -> pa.Table:
    if X and all(hasattr(part, "with_format") for part in X.values()):
        parts, first = ", ".join(map(repr, X)), next(iter(X))
        raise ValueError(f"the rows are in parts ({parts}): pass one of them, data[{first!r}]")
    columns = {column_name(name): _column(column_name(name), part) for name, part in X.items()}
    sizes = {name: len(part) for name, part in columns.items()}
    odd = next((name for name in sizes if sizes[name] != next(iter(sizes.values()))), None)
    if odd is not None:
        first = next(iter(sizes))
        raise ValueError(
            f"column {odd!r} has {sizes[odd]} values, but column {first!r} has {sizes[first]}"
        )
    return pa.table(columns)


def _column(name: str, values: Any) -> Any:
    """Read one column: a list, an array, a Series; rows of a matrix are lists of equal length."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "to_arrow"):
        return values.to_arrow()
    if isinstance(values, np.ndarray) and values.ndim == 2:
        flat = pa.array(np.ascontiguousarray(values).ravel())
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise ValueError(f"column {name!r} is one {type(values).__name__}, not a list of values")
    cells = np.empty(len(values), dtype=object)
    cells[:] = list(values)
    return from_objects(name, cells)


def _is_lazy(X: Any) -> bool:
    return hasattr(X, "collect") and hasattr(X, "lazy") and not hasattr(X, "iter_rows")


def _is_series(X: Any) -> bool:
    return getattr(X, "ndim", None) == 1 or (hasattr(X, "to_frame") and not hasattr(X, "columns"))


def _from_series(X: Any) -> Any:
    """Make a frame of a Series of texts; numbers need to be told rows from columns."""
    if not hasattr(X, "to_frame") or not _texts(X.to_list()):
        return np.asarray(X)
    name = getattr(X, "name", None)
    try:
        return X.to_frame(column_name(name) if name not in (None, "") else TEXT)
    except TypeError:
        return X.to_frame()


def _named_by_texts(X: Any) -> Any:
    """Rename the columns of a pandas frame that have numbers or tuples for names."""
    if not hasattr(X, "set_axis") or all(isinstance(name, str) for name in X.columns):
        return X
    names = [column_name(name) for name in X.columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"column {twice!r} occurs twice: give each column its own name")
    return X.set_axis(names, axis=1)
