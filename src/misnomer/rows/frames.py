"""Whatever holds rows -> a table whose columns have texts for names, and its columns in Arrow.

Frames of any kind (pandas, polars, pyarrow, ... through narwhals), arrays and sparse matrices; a
dict of columns, a list of dicts, one column of texts (a Series, a list, an array), a Hugging Face
Dataset, a record batch. What is taken is never changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from misnomer.rows.arrays import checked_sparse
from misnomer.rows.notation import as_it_looks

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
        if X.ndim == 1 and X.dtype.names:  # a record array
            return _from_dict({name: X[name] for name in X.dtype.names})
        return _one_column(X) if X.ndim == 1 and X.dtype.kind in "OUT" and _texts(X) else X
    if sparse.issparse(X):
        return checked_sparse(X)
    if isinstance(X, pa.Table):
        return X
    if isinstance(X, Mapping):
        return _from_dict(X)
    if isinstance(X, list | tuple):
        return _from_list(X)
    if isinstance(X, Sequence) and not isinstance(X, str | bytes):
        return _from_list(list(X))
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return pa.table({TEXT: X})
    if _is_lazy(X):
        raise TypeError("X is a lazy frame, which has no rows yet: pass X.collect()")
    if _is_series(X):
        return _from_series(X)
    if type(X).__module__.partition(".")[0] == "datasets" and hasattr(X, "with_format"):
        return _from_dataset(X)
    return _named_by_texts(X) if is_frame(X) else X


def column_name(name: Any) -> str:
    """Turn the name of a column into a text: 4 -> "4", ("a", "b") -> "a b".

    Examples
    --------
    >>> column_name(4), column_name(("blood", "sugar"))
    ('4', 'blood sugar')
    """
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def named_once(names: Sequence[str], where: str = "") -> list[str]:
    """Hand on the names of columns, unless two are the same.

    Examples
    --------
    >>> named_once(["a", "b", "a"], "t.csv: ")
    Traceback (most recent call last):
    ...
    ValueError: t.csv: column 'a' occurs twice: give each column its own name
    """
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"{where}column {twice!r} occurs twice: give each column its own name")
    return list(names)


def header_names(cells: Sequence[Any], where: str, *, header: bool) -> list[str]:
    """Read the names of columns off a header, if that it is; a nameless one is called by its place.

    Examples
    --------
    >>> header_names(["age ", None], "t.xlsx", header=True)
    ['age', 'column 2']
    """
    texts = ["" if cell is None or not header else as_it_looks(str(cell)) for cell in cells]
    names = [text or f"column {place}" for place, text in enumerate(texts, start=1)]
    return named_once(names, f"{where}: ")


def _texts(values: Any) -> bool:
    """Tell a column of texts; a missing one is None or NaN."""
    found = [isinstance(value, str) for value in values]
    gaps = (value is None or value != value for value, text in zip(values, found) if not text)  # noqa: B905
    return any(found) and all(gaps)


def _one_column(values: Any) -> pa.Table:
    return pa.table({TEXT: from_objects(TEXT, np.asarray(values, dtype=object))})


def _from_list(X: Any) -> Any:
    """Read a list of dicts or of texts; of a list of anything else, NumPy makes an array."""
    if X and all(isinstance(row, Mapping) for row in X):
        names = dict.fromkeys(name for row in X for name in row)
        return _from_dict({name: [row.get(name) for row in X] for name in names})
    first = next((cell for cell in X if cell is not None), None)
    return _one_column(X) if isinstance(first, str) and _texts(X) else X


def check_rows(X: Any) -> None:
    """Refuse what has no rows and columns.

    Examples
    --------
    >>> check_rows([3, 4])
    Traceback (most recent call last):
    ...
    ValueError: Expected 2D array, got 1D array instead: X is a table with a row per example ...
    """
    shape = () if isinstance(X, Iterator | Set) else np.shape(X)
    if len(shape) == 2:
        return
    what = f"{len(shape)}D array" if shape else f"scalar array ({type(X).__name__})"
    how = ""
    if len(shape) == 1:
        how = (
            " Reshape your data with X.reshape(-1, 1) if it has a single feature, or "
            "X.reshape(1, -1) if it is a single example."
        )
    elif not shape:
        how = " Pass a frame, an array, a list of rows or a list of texts."
    raise ValueError(
        f"Expected 2D array, got {what} instead: X is a table with a row per example and a column "
        f"per feature.{how}"
    )


def _from_dataset(X: Any) -> pa.Table:
    """Read a Hugging Face Dataset; classes by their names, where its features name them."""
    if not hasattr(X, "__len__"):
        raise TypeError("X is a stream of rows: pass a list of them, list(X)")
    table = X.with_format("arrow")[:]
    for name, feature in X.features.items():
        names = getattr(feature, "names", None)
        if names and pa.types.is_integer(table.column(name).type):
            named = pa.array([_class_name(names, code) for code in table.column(name).to_pylist()])
            table = table.set_column(table.column_names.index(name), name, named)
    return table


def _class_name(names: Any, code: int | None) -> str | None:
    """Name a class by its number; -1 is how such data say that there is no label."""
    return names[code] if code is not None and 0 <= code < len(names) else None


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
    if not hasattr(X, "set_axis"):
        return X
    names = named_once([column_name(name) for name in X.columns])
    return X if names == list(X.columns) else X.set_axis(names, axis=1)


_NEAR_ROWS = 1 << 12  # rows copied at a time: they stay in the cache


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
    check_rows(X)
    names = [f"x{j}" for j in range(X.shape[1])]
    return names, [from_objects(name, one) for name, one in zip(names, by_columns(X), strict=True)]


def by_columns(X: NDArray[Any]) -> NDArray[Any]:
    """Copy a table of numbers column by column, (d, n), some rows at a time: near in memory.

    Examples
    --------
    >>> by_columns(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    if X.dtype.kind not in "biuf" or isinstance(X, np.ma.MaskedArray):
        return X.T
    out = np.empty(X.shape[::-1], X.dtype)
    for start in range(0, len(X), _NEAR_ROWS):
        at = slice(start, start + _NEAR_ROWS)
        out[:, at] = X[at].T
    return out


def _from_frame(X: Any) -> tuple[list[str], list[Any]]:
    import narwhals as nw

    if isinstance(X, pa.Table):
        return list(map(str, X.column_names)), list(X.columns)
    frame = nw.from_native(X, eager_only=True)
    names = named_once([str(name) for name in frame.columns])
    return names, [_arrow_series(series) for series in frame.iter_columns()]


def _arrow_series(series: Any) -> Any:
    native = series.to_native()
    try:
        return series.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):  # mixed objects
        return from_objects(str(series.name), np.asarray(native, dtype=object))


def from_objects(name: str, values: Any) -> Any:
    """Read a column of Python objects; mixed types become strings."""
    if isinstance(values, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(values), values.data.astype(object)
        values[mask] = None
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
