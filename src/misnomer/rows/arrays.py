"""NumPy arrays and SciPy sparse matrices, read without a detour where their type allows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.families import code_type
from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.rows.decide import FEW
from misnomer.rows.encode import beyond, check_apart, check_counts, too_large, whole_too_large
from misnomer.table import Column, Group, Schema

_PIECE = 1 << 16  # rows checked at a time


def infer_dense(X: NDArray[Any], names: list[str], kinds: list[str]) -> Schema:
    """Decide what each column of a numeric array is."""
    asked = (
        range(len(names))
        if X.dtype.kind in "iub"
        else [j for j, kind in enumerate(kinds) if kind == "categorical"]
    )
    found = _distinct(X, [j for j in asked if kinds[j] in ("auto", "categorical")])
    columns = [_infer(name, X[:, j], kinds[j], found.get(j)) for j, name in enumerate(names)]
    return Schema(tuple(columns))


def _infer(name: str, values: NDArray[Any], kind: str, distinct: NDArray[Any] | None) -> Column:
    if kind == "auto":
        few = distinct is not None and len(distinct) <= FEW
        kind = "categorical" if few else "gaussian"
    if kind == "categorical" and distinct is not None:
        return Column(name, kind, categories=tuple(distinct.tolist()))
    if kind == "bernoulli":
        return Column(name, kind, categories=(0, 1))
    if kind == "gaussian":
        some = values[:: max(1, len(values) // 1000)].astype(np.float64)
        some = some[np.isfinite(some)]
        return Column(name, kind, center=float(some.mean()) if len(some) else 0.0)
    if kind == "text":
        raise ValueError(f"column {name!r} holds {values.dtype}, not text")
    return Column(name, kind)


def _distinct(X: NDArray[Any], columns: list[int]) -> dict[int, NDArray[Any]]:
    """Find the distinct values of some columns, sorted; small integers in one pass."""
    if X.dtype in (np.uint8, np.bool_) and columns:
        seen = kernels.presence(np.ascontiguousarray(X.view(np.uint8)))
        return {j: np.flatnonzero(seen[j]).astype(X.dtype) for j in columns}
    found = {j: np.unique(X[:, j]) for j in columns}
    return {j: v[~np.isnan(v)] if v.dtype.kind == "f" else v for j, v in found.items()}


def dense_block(X: NDArray[Any], schema: Schema, group: Group) -> Block:
    """Put the columns of one group into compact form."""
    columns = [schema.columns[i] for i in group.members]
    part = X if len(columns) == X.shape[1] else X[:, list(group.members)]
    if group.kind == "categorical":
        return _codes(part, columns)
    if group.kind == "bernoulli":
        return pack(part > 0, ~np.isnan(part) if part.dtype.kind == "f" else None)
    if group.kind == "gaussian":
        if part.dtype not in (np.float32, np.float64):
            part = _as_doubles(part, columns)
        return Reals(np.ascontiguousarray(part), np.array([c.center for c in columns]))
    return _counts(part, columns)


def _as_doubles(part: NDArray[Any], columns: list[Column]) -> NDArray[np.float64]:
    numbers = part.astype(np.float64)
    if part.dtype in (np.int64, np.uint64):
        for j in np.flatnonzero(np.abs(numbers).max(axis=0, initial=0.0) > 1 << 53):
            check_apart(columns[j].name, part[:, j], numbers[:, j])
    return numbers


def _codes(part: NDArray[Any], columns: list[Column]) -> Codes:
    sizes = tuple(len(column.categories) for column in columns)
    kind = code_type(max(sizes, default=1))
    counting = all(c.categories == tuple(range(n)) for c, n in zip(columns, sizes, strict=True))
    if counting and part.dtype == kind:
        return Codes(np.ascontiguousarray(part), sizes)
    codes = np.empty(part.shape, kind)
    if counting and part.dtype.kind in "iu":
        _counted_codes(part, sizes, codes)
        return Codes(codes, sizes)
    for j, column in enumerate(columns):
        codes[:, j] = _number(part[:, j], np.array(column.categories))
    return Codes(codes, sizes)


def _counted_codes(part: NDArray[Any], sizes: tuple[int, ...], codes: NDArray[Any]) -> None:
    """Write whole numbers 0, 1, ... as codes; others are no category of their column.

    A number below zero is a large one without its sign.
    """
    unsigned = part.view(f"u{part.itemsize}")
    most = np.array(sizes, np.uint64)
    for start in range(0, len(part), _PIECE):
        at = slice(start, start + _PIECE)
        np.minimum(unsigned[at], most, out=codes[at], casting="unsafe")


def _number(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.intp]:
    if not len(known):
        return np.zeros(len(values), np.intp)
    place = _places(values, known)
    return np.where(known[place] == values, place, len(known))


def _places(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.intp]:
    """Find where each value stands among the known ones, if it is one of them."""
    if values.dtype.kind in "iu" and known.dtype.kind in "iu":
        low, high = int(known[0]), int(known[-1])
        if high - low < _PIECE and high < 1 << 62:  # a table of the range is faster than a search
            table = np.searchsorted(known, np.arange(low, high + 1))
            return table[values.clip(low, high).astype(np.intp) - low]
    return np.searchsorted(known, values).clip(max=len(known) - 1)


def _counts(part: NDArray[Any], columns: list[Column]) -> Words:
    part = np.nan_to_num(np.asarray(part, np.float64))
    for j, column in enumerate(columns):
        check_counts(column.name, part[:, j])
    return Words(sparse.csr_array(part))


def pack(on: NDArray[np.bool_], observed: NDArray[np.bool_] | None) -> Flags:
    """Pack flags eight to a byte."""
    d = on.shape[1]
    if observed is None or observed.all():
        return Flags(np.packbits(on, axis=1, bitorder="little"), None, d)
    seen = np.packbits(observed, axis=1, bitorder="little")
    return Flags(np.packbits(on & observed, axis=1, bitorder="little"), seen, d)


def check_dense(X: NDArray[Any], names: list[str]) -> None:
    """Refuse what cannot be reckoned with, naming the column and the row."""
    if X.dtype == np.uint64 and X.size and X.max() >= 1 << 63:
        raise ValueError(whole_too_large(names[int(X.max(axis=0).argmax())]))
    if X.dtype.kind != "f":
        return
    for start in range(0, len(X), _PIECE):
        bad = np.argwhere(beyond(X[start : start + _PIECE]))
        if len(bad):
            row, j = bad[0]
            raise ValueError(too_large(names[j], float(X[start + row, j]), start + int(row)))


def checked_sparse(X: Any) -> Any:
    """Check that the parts of a sparse matrix fit together: SciPy's loops believe them.

    Indices of a width that those loops do not know are widened; X itself is not changed.

    Examples
    --------
    >>> X = sparse.csr_array(np.eye(3))
    >>> X._shape = (3, 2)
    >>> checked_sparse(X)
    Traceback (most recent call last):
    ...
    ValueError: the sparse matrix has an index beyond its shape (3, 2): rebuild the matrix
    """
    if X.ndim != 2:
        raise ValueError(f"the sparse matrix has {X.ndim} dimensions: rows and columns are needed")
    if X.format == "coo":
        _check_indices(X.row, X.shape[0], X.shape)
        _check_indices(X.col, X.shape[1], X.shape)
        return X
    if X.format not in ("csr", "csc"):
        return checked_sparse(X.tocsr())
    major, minor = X.shape if X.format == "csr" else X.shape[::-1]
    starts, indices = np.asarray(X.indptr), np.asarray(X.indices)
    whole = starts.dtype.kind in "iu" and starts.shape == (major + 1,)
    if not whole or starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise ValueError("the row starts (indptr) of the sparse matrix are damaged: rebuild it")
    cells = int(starts[-1])
    if indices.ndim != 1 or X.data.ndim != 1 or cells > min(len(indices), len(X.data)):
        raise ValueError("the parts of the sparse matrix do not fit together: rebuild the matrix")
    _check_indices(indices[:cells], minor, X.shape)
    if starts.dtype == indices.dtype and starts.dtype in (np.int32, np.int64):
        return X
    kind = np.int32 if max(cells, minor) < np.iinfo(np.int32).max else np.int64
    parts = (X.data[:cells], indices[:cells].astype(kind), starts.astype(kind))
    return type(X)(parts, shape=X.shape)


def _check_indices(indices: NDArray[Any], size: int, shape: tuple[int, int]) -> None:
    if indices.dtype.kind not in "iu":
        raise ValueError(f"the sparse matrix has indices of {indices.dtype}: rebuild the matrix")
    if len(indices) and (indices.min() < 0 or indices.max() >= size):
        raise ValueError(
            f"the sparse matrix has an index beyond its shape {shape}: rebuild the matrix"
        )


def has_negative(X: Any) -> bool:
    """Tell whether a sparse matrix holds a number below zero."""
    data = sparse.csr_array(checked_sparse(X)).data
    return data.dtype.kind in "fi" and bool(len(data)) and bool(np.nanmin(data) < 0)


def by_sign(X: Any) -> Any:
    """Put what is above zero and what is below side by side, (n, 2 d), all of it counts.

    Examples
    --------
    >>> by_sign(sparse.csr_array([[2.0, -1.0]])).toarray().tolist()
    [[2.0, 0.0, 0.0, 1.0]]
    """
    matrix = sparse.csr_array(checked_sparse(X))
    return sparse.csr_array(sparse.hstack([matrix.maximum(0), (-matrix).maximum(0)]))


def sparse_words(X: Any) -> Words:
    """Read a sparse matrix of counts."""
    matrix = sparse.csr_array(checked_sparse(X) if sparse.issparse(X) else X)
    if matrix.dtype.kind not in "fiub":
        matrix = matrix.astype(np.float64)
    if matrix.dtype.kind == "f" and not np.isfinite(matrix.data).all():
        row, _, value = _cell(matrix, int(np.argmin(np.isfinite(matrix.data))))
        raise ValueError(
            f"the sparse matrix holds {value} (infinity or NaN) in row {row}: counts are finite "
            "numbers"
        )
    if matrix.dtype.kind == "f" and beyond(matrix.data).any():
        row, column, value = _cell(matrix, int(np.argmax(beyond(matrix.data))))
        raise ValueError(too_large(f"x{column}", value, row))
    if matrix.nnz and matrix.data.min() < 0:
        row, column, value = _cell(matrix, int(np.argmin(matrix.data)))
        raise ValueError(
            f"Negative values in data: row {row}, column {column} holds {value}, and a count "
            "cannot be negative; for a sparse matrix of real numbers pass X.toarray()"
        )
    return Words(matrix)


def _cell(matrix: sparse.csr_array, at: int) -> tuple[int, int, Any]:
    """Tell the row, the column and the value of a cell that is kept at some place."""
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    return row, int(matrix.indices[at]), matrix.data[at]
