"""Rows that equal another one, rows that nearly do, and rows that are unlike all others.

Of equal rows, those with different labels are the cheapest errors to find. The others are found by
comparing all pairs, which costs the square of the rows: it is done up to some thousand of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.rows.notation import plain

MOST_ROWS, MOST_STEPS = 5_000, 1e9  # rows, and rows x rows x columns, that are compared
NEAR_REAL = 0.01  # of a column's standard deviation
NEAR_TEXT = 0.9  # cosine of two texts, seldom words weighing more
_NEIGHBOR = 5  # an outlier is far from this neighbor, whatever stands next to it
_FENCE, _LEAST_SPREAD = 3.0, 0.1  # Tukey's outer fence; spread, as a share of the distance
_PIECE = 256  # rows compared with all others at once

Array = NDArray[np.float64]
Pairs = Callable[[slice], tuple[Array, NDArray[np.bool_]]]


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


@dataclass(frozen=True, eq=False)
class Unusual:
    """What comparing all pairs of rows tells.

    Attributes
    ----------
    near_duplicate : (n,) array of int
        The first other row that a row equals or nearly equals; -1 where there is none.
    outlier : (n,) array of bool
        Rows that are far from all others: beyond the outer fence of the distances to the fifth
        neighbor.
    """

    near_duplicate: NDArray[np.int64]
    outlier: NDArray[np.bool_]


def unusual(blocks: Sequence[Block]) -> Unusual | None:
    """Compare all pairs of rows; None where there are too many, or no columns.

    Two rows are nearly equal where their categories and flags are the same, each number is within
    a hundredth of its column's standard deviation, far values aside, and texts share nine words in
    ten.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> x[7], x[9] = x[3] + 1e-4, 40.0
    >>> found = unusual([Reals(x, np.zeros(3))])
    >>> found.near_duplicate[[3, 4, 7]].tolist(), np.flatnonzero(found.outlier).tolist()
    ([7, -1, 3], [9])
    """
    n = blocks[0].rows if blocks else 0
    steps = n * n * sum(_dense_width(block) for block in blocks)
    if n <= _NEIGHBOR or n > MOST_ROWS or steps > MOST_STEPS:
        return None
    pairs = [_comparison(block) for block in blocks]
    near_duplicate, far = np.full(n, -1, np.int64), np.empty(n)
    for start in range(0, n, _PIECE):
        piece = slice(start, min(start + _PIECE, n))
        parts = [compare(piece) for compare in pairs]
        distance = np.sum([part[0] for part in parts], axis=0)
        near = np.logical_and.reduce([part[1] for part in parts])
        own = np.arange(piece.stop - start), np.arange(start, piece.stop)
        near[own], distance[own] = False, np.inf
        near_duplicate[piece] = np.where(near.any(axis=1), near.argmax(axis=1), -1)
        far[piece] = np.sqrt(np.partition(distance, _NEIGHBOR - 1, axis=1)[:, _NEIGHBOR - 1])
    return Unusual(near_duplicate, _beyond_fence(far))


def _dense_width(block: Block) -> int:
    """Columns that cost a step for every pair; of words only those that two rows share do."""
    if isinstance(block, Words):
        return 10
    if isinstance(block, Reals):
        return block.values.shape[1]
    return block.columns if isinstance(block, Flags) else block.codes.shape[1]


def _beyond_fence(far: Array) -> NDArray[np.bool_]:
    low, high = np.quantile(far, [0.25, 0.75])
    fence = high + _FENCE * max(high - low, _LEAST_SPREAD * high)
    beyond: NDArray[np.bool_] = far > fence
    return beyond


def _comparison(block: Block) -> Pairs:
    """Choose how columns of a kind are compared: squared distances, and which pairs are near."""
    if isinstance(block, Codes):
        return _categories(block.codes)
    if isinstance(block, Flags):
        return _categories(block.codes())
    return _texts(block.matrix) if isinstance(block, Words) else _reals(block.values)


def _categories(codes: NDArray[np.integer]) -> Pairs:
    """Count the columns that differ; a missing cell is a value of its own."""

    def compare(piece: slice) -> tuple[Array, NDArray[np.bool_]]:
        differ = np.zeros((piece.stop - piece.start, len(codes)))
        for column in codes.T:
            differ += column[piece, None] != column[None, :]
        return differ, differ == 0

    return compare


def _reals(values: NDArray[np.floating]) -> Pairs:
    """Take half the squared distance in standard deviations: about one for two rows by chance."""
    x = np.asarray(values, np.float64)
    gaps = np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(np.nan_to_num(np.nanvar(np.where(gaps.all(axis=0), 0.0, x), axis=0)))
    spread = np.where(spread > 0, spread, 1.0)
    reach = NEAR_REAL * _usual_spread(np.where(gaps.all(axis=0), 0.0, x)) / spread
    x = np.where(gaps, np.nan, x / spread)

    def compare(piece: slice) -> tuple[Array, NDArray[np.bool_]]:
        total = np.zeros((piece.stop - piece.start, len(x)))
        near = np.ones(total.shape, bool)
        for column, gap, most in zip(x.T, gaps.T, reach, strict=True):
            gap_size = np.abs(column[piece, None] - column[None, :])
            one, both = gap[piece, None] ^ gap[None, :], gap[piece, None] & gap[None, :]
            gap_size = np.where(both, 0.0, np.where(one, 1.0, gap_size))
            near &= gap_size <= most
            total += gap_size * gap_size / 2
        return total, near

    return compare


def _usual_spread(x: Array) -> Array:
    """Measure standard deviations, far values drawn to the outer fence: one slip makes none equal.

    Examples
    --------
    >>> x = np.arange(100.0)
    >>> _usual_spread(np.c_[x, np.where(x == 7, 1e6, x)]).round().tolist()
    [29.0, 33.0]
    """
    low, high = np.nanquantile(x, [0.25, 0.75], axis=0)
    reach = np.where(high > low, _FENCE * (high - low), np.inf)
    return np.asarray(np.nanstd(np.clip(x, low - reach, high + reach), axis=0), np.float64)


def _texts(counts: sparse.csr_array) -> Pairs:
    """Take one minus the cosine, words of many rows weighing less; two empty texts are equal."""
    n = counts.shape[0]
    rows_with = np.bincount(counts.indices, minlength=counts.shape[1])
    seldom = np.log((1 + n) / (1 + rows_with)) + 1
    weighted = sparse.csr_array(counts.multiply(seldom[None, :]), dtype=np.float64)
    length = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    scale = sparse.dia_array((1 / np.where(length > 0, length, 1.0)[None, :], [0]), shape=(n, n))
    unit = sparse.csr_array(scale @ weighted)
    empty = length == 0

    def compare(piece: slice) -> tuple[Array, NDArray[np.bool_]]:
        cosine = (unit[piece] @ unit.T).toarray()
        cosine[empty[piece, None] & empty[None, :]] = 1.0
        return np.maximum(1 - cosine, 0.0), cosine >= NEAR_TEXT

    return compare
