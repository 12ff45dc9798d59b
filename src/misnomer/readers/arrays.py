"""NumPy arrays and SciPy sparse matrices, read without a detour where their type allows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.families.categorical import code_type
from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.readers.columns import FEW, check_counts
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
            part = part.astype(np.float64)
        return Reals(np.ascontiguousarray(part), np.array([c.center for c in columns]))
    return _counts(part, columns)


def _codes(part: NDArray[Any], columns: list[Column]) -> Codes:
    sizes = tuple(len(column.categories) for column in columns)
    kind = code_type(max(sizes, default=1))
    counting = all(c.categories == tuple(range(n)) for c, n in zip(columns, sizes, strict=True))
    if counting and part.dtype == kind:
        return Codes(np.ascontiguousarray(part), sizes)
    codes = np.empty(part.shape, kind)
    for j, column in enumerate(columns):
        codes[:, j] = _number(part[:, j], np.array(column.categories))
    return Codes(codes, sizes)


def _number(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.intp]:
    if not len(known):
        return np.zeros(len(values), np.intp)
    place = np.searchsorted(known, values).clip(max=len(known) - 1)
    return np.where(known[place] == values, place, len(known))


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
    """Refuse infinite values, naming the column and the row."""
    if X.dtype.kind != "f":
        return
    for start in range(0, len(X), _PIECE):
        bad = np.argwhere(np.isinf(X[start : start + _PIECE]))
        if len(bad):
            row, j = bad[0]
            raise ValueError(
                f"column {names[j]!r} holds infinity in row {start + row}: replace it by a number, "
                "or by NaN if it is missing"
            )


def sparse_words(X: Any) -> Words:
    """Read a sparse matrix of counts."""
    matrix = sparse.csr_array(X)
    if matrix.dtype.kind not in "fiub":
        matrix = matrix.astype(np.float64)
    if matrix.dtype.kind == "f" and not np.isfinite(matrix.data).all():
        at = int(np.argmin(np.isfinite(matrix.data)))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise ValueError(
            f"the sparse matrix holds {matrix.data[at]} (infinity or NaN) in row {row}: counts are "
            "finite numbers"
        )
    if matrix.nnz and matrix.data.min() < 0:
        at = int(np.argmin(matrix.data))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise ValueError(
            f"Negative values in data: row {row}, column {matrix.indices[at]} holds "
            f"{matrix.data[at]}, and a count cannot be negative; for a sparse matrix of real "
            "numbers pass X.toarray()"
        )
    return Words(matrix)
