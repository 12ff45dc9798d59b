"""Whatever the user has -> features, labels, trusted rows, and how to hand answers back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from misnomer.audit.frames import BACKENDS, Shape, default_backend
from misnomer.readers.frames import arrow_columns, is_frame


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features and labels, apart.

    Attributes
    ----------
    features : array, sparse matrix or frame
        What the classifier may look at.
    y : array (n,)
        The given labels.
    label : str
        Their name.
    trusted : (n,) array of bool or None
        Rows whose label is known to be right.
    shape : Shape
        What the input was.
    notes : tuple of str
        What was left out, and why.
    """

    features: Any
    y: NDArray[Any]
    label: str
    trusted: NDArray[np.bool_] | None
    shape: Shape
    notes: tuple[str, ...] = ()


def gather(
    data: Any, label: Any, *, ignore: Any = (), id: str | None = None, trusted: Any = None
) -> Inputs:
    """Take the label out of a frame or a file, or line labels up with an array."""
    backend = None
    if isinstance(data, str | Path):
        from misnomer.readers.files import read_table

        data, backend = read_table(data), default_backend()
    if _is_table(data):
        return _from_frame(data, label, backend, _names(ignore), id, trusted)
    if isinstance(label, str) or label is None:
        raise ValueError("an array has no label column: call audit(X, y) with the labels in y")
    if _names(ignore) or id is not None or isinstance(trusted, str):
        raise ValueError("an array's columns have no names: pass a frame to use ignore= or id=")
    return _from_array(data, label, trusted)


def _is_table(data: Any) -> bool:
    return not isinstance(data, np.ndarray) and not sparse.issparse(data) and is_frame(data)


def _names(ignore: Any) -> list[str]:
    return [ignore] if isinstance(ignore, str) else list(ignore or ())


def _from_frame(
    data: Any, label: Any, backend: str | None, ignore: list[str], id: Any, trusted: Any
) -> Inputs:
    frame = nw.from_native(data, eager_only=True)
    names, columns = arrow_columns(data)
    source = pa.table(columns, names=names)
    if not len(source):
        raise ValueError("the table has no rows")
    apart = [*ignore, *([id] if id is not None else [])]
    if isinstance(label, str):
        apart.append(label)
    if isinstance(trusted, str):
        apart.append(trusted)
    for name in apart:
        check_column(name, names)
    y = labels_of(source, label) if isinstance(label, str) else _aligned(label, len(source))
    mask = flags_of(source, trusted) if isinstance(trusted, str) else trusted
    numbers = [name for name in names if name not in apart and is_numbering(name, source)]
    kept = [name for name in frame.columns if str(name) not in {*apart, *numbers}]
    if not kept:
        raise ValueError("no column is left to learn from: the label needs others beside it")
    shape = Shape(backend or _backend(frame), _index(data), source, id)
    named = label if isinstance(label, str) else str(getattr(label, "name", None) or "label")
    notes = tuple(f"column {name!r} only numbers the rows: it is ignored" for name in numbers)
    return Inputs(frame.select(kept).to_native(), y, named, mask, shape, notes)


def is_numbering(name: str, source: pa.Table) -> bool:
    """Tell a column that counts the rows, or is called an id and never repeats.

    Examples
    --------
    >>> table = pa.table({"row": [3, 4, 5], "user_id": [7, 2, 5], "age": [30, 20, 40]})
    >>> [is_numbering(name, table) for name in table.column_names]
    [True, True, False]
    """
    column = source.column(name)
    n = len(column)
    if not pa.types.is_integer(column.type) or column.null_count or n < 3:
        return False
    ends = pc.min_max(column).as_py()
    if ends["max"] - ends["min"] == n - 1 and column[0].as_py() == ends["min"]:
        return bool(pc.all(pc.equal(pc.pairwise_diff(column.combine_chunks()), 1)).as_py())
    called = name.lower() in ("id", "index", "uuid") or name.lower().endswith(("_id", " id", "-id"))
    return called and pc.count_distinct(column).as_py() == n


def _from_array(data: Any, y: Any, trusted: Any) -> Inputs:
    X = data if sparse.issparse(data) or isinstance(data, np.ndarray) else _array(data)
    if X.ndim != 2:
        raise ValueError(f"X must be a table with rows and columns, not of shape {X.shape}")
    given = _aligned(y, X.shape[0])
    source = None
    if not sparse.issparse(X):
        names, columns = arrow_columns(X)
        source = pa.table([*columns, _arrow(given)], names=[*names, "label"])
    return Inputs(X, given, "label", trusted, Shape(default_backend(), None, source))


def _array(data: Any) -> NDArray[Any]:
    plain = np.asarray(data)
    return np.asarray(data, dtype=object) if plain.dtype.kind in "US" else plain


def _arrow(y: NDArray[Any]) -> pa.Array:
    return pa.array(y if y.dtype.kind in "biuf" else y.tolist(), from_pandas=True)


def _aligned(y: Any, n: int) -> NDArray[Any]:
    from misnomer.classifiers import labels

    if y is None:
        raise ValueError("which column holds the labels? say label=..., or pass y")
    column = labels.column(y)
    if len(column) != n:
        raise ValueError(f"X has {n} rows but y has {len(column)} labels")
    return column


def _backend(frame: Any) -> str:
    name = str(frame.implementation.value if hasattr(frame, "implementation") else "pandas")
    return name if name in BACKENDS else default_backend()


def _index(data: Any) -> Any:
    return data.index if hasattr(data, "iloc") and hasattr(data, "index") else None


def check_column(name: str, names: Sequence[str]) -> None:
    """Refuse a column that is not there, and name the nearest ones.

    Examples
    --------
    >>> check_column("lable", ["age", "label"])
    Traceback (most recent call last):
    ...
    ValueError: there is no column 'lable'; did you mean 'label'?
    """
    if name in names:
        return
    lower = {other.lower(): other for other in names}
    near = [lower[found] for found in get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if near:
        raise ValueError(
            f"there is no column {name!r}; did you mean {' or '.join(map(repr, near))}?"
        )
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise ValueError(f"there is no column {name!r}; there are {shown}")


def labels_of(source: pa.Table, label: str) -> NDArray[Any]:
    """Read the label column with its own type: strings, whole numbers, flags; None is missing."""
    column = source.column(label)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise ValueError(f"the label column {label!r} holds {kind}: labels are strings or numbers")
    if pa.types.is_temporal(kind):
        column = column.cast(pa.string())
    values = [None if _is_gap(value) else value for value in column.to_pylist()]
    seen = [value for value in values if value is not None]
    if seen and all(isinstance(value, float) and value.is_integer() for value in seen):
        values = [None if value is None else int(value) for value in values]
    if len(seen) < len(values) or pa.types.is_string(column.type):
        return np.array(values, dtype=object)
    return np.array(values)


def _is_gap(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def flags_of(source: pa.Table, name: str) -> NDArray[np.bool_]:
    """Read a column of yes and no; empty is no."""
    words = {"true": True, "yes": True, "y": True, "t": True, "1": True, "1.0": True}
    words |= {"false": False, "no": False, "n": False, "f": False, "0": False, "0.0": False}
    mask = np.zeros(len(source), bool)
    for row, value in enumerate(source.column(name).to_pylist()):
        if _is_gap(value):
            continue
        known = words.get(str(value).strip().lower())
        if known is None:
            raise ValueError(
                f"column {name!r} should say which rows are trusted, but row {row} holds "
                f"{value!r}: write true or false"
            )
        mask[row] = known
    return mask
