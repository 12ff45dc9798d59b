"""Rows that are equal in every column: the cheapest errors are those with different labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.rows.columns.plain import plain


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Groups of equal rows, and which of them disagree about the label.

    Attributes
    ----------
    group : (n,) array of int
        The number of the group that a row belongs to; -1 where no other row equals it.
    conflicting : (g,) array of bool
        Whether the rows of a group have different labels; a missing label is none.

    Examples
    --------
    >>> found = duplicates(pa.table({"x": [1, 2, 1, 2, 3]}), ["a", "b", "c", "b", "a"])
    >>> found.group.tolist(), found.conflicting.tolist()
    ([0, 1, 0, 1, -1], [True, False])
    """

    group: NDArray[np.int64]
    conflicting: NDArray[np.bool_]

    @property
    def conflicts(self) -> NDArray[np.intp]:
        """The rows that equal another one with a different label."""
        in_conflict = np.append(self.conflicting, False)[self.group]
        return np.flatnonzero(in_conflict)

    @property
    def repeated(self) -> int:
        """How many rows would be gone if each were kept once."""
        return int((self.group >= 0).sum()) - len(self.conflicting)


def duplicates(rows: pa.Table, labels: Any) -> Duplicates:
    """Group the rows that are equal in every column; missing cells are equal, too.

    Parameters
    ----------
    rows : pyarrow.Table
        The columns to compare.
    labels : sequence (n,)
        The given labels; None or NaN is none.
    """
    number = _numbered(rows)
    _, inverse, size = np.unique(number, return_inverse=True, return_counts=True)
    several = np.flatnonzero(size > 1)
    place = np.full(len(size), -1, np.int64)
    first = np.full(len(size), len(number))
    np.minimum.at(first, inverse, np.arange(len(number)))
    several = several[np.argsort(first[several], kind="stable")]  # in the order of the rows
    place[several] = np.arange(len(several))
    group: NDArray[np.int64] = place[inverse]
    said: list[set[Any]] = [set() for _ in several]
    for at, label in zip(group.tolist(), labels, strict=True):
        if at >= 0 and label is not None and label == label:
            said[at].add(label)
    return Duplicates(group, np.array([len(one) > 1 for one in said], bool))


def _numbered(rows: pa.Table) -> NDArray[np.int64]:
    """Number rows so that equal ones have equal numbers, column after column."""
    number = np.zeros(len(rows), np.int64)
    for column in rows.columns:
        nested = pa.types.is_nested(column.type)
        cells = pa.array([repr(cell) for cell in column.to_pylist()]) if nested else plain(column)
        codes = cells.dictionary_encode(null_encoding="encode").indices
        code = np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)
        number = number * (code.max(initial=0) + 1) + code
        number = np.unique(number, return_inverse=True)[1].astype(np.int64)  # stays small
    return number
