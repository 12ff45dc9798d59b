"""The compact form of some columns of some rows: what the kernels read, one kind per family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Codes:
    """Categories as small integers; a code of ``sizes[j]`` or more means "nothing observed".

    The statistic of column j is the indicator of its code: ``sum(sizes)`` statistics in all.
    """

    codes: Integers  # (n, d) uint8, uint16 or uint32, C order
    sizes: tuple[int, ...]  # categories of each column

    @property
    def rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def width(self) -> int:
        return int(sum(self.sizes))

    def take(self, rows: Any) -> Codes:
        return replace(self, codes=np.ascontiguousarray(self.codes[rows]))


@dataclass(frozen=True, eq=False)
class Flags:
    """Yes/no columns, eight to a byte (little end first), with the bits that were observed.

    The statistics are ``[observed_1..observed_d, x_1..x_d]``; a flag that was not observed is 0.
    """

    bits: NDArray[np.uint8]  # (n, ceil(d / 8))
    observed: NDArray[np.uint8] | None  # the same shape, or None where nothing is missing
    columns: int

    @property
    def rows(self) -> int:
        return int(self.bits.shape[0])

    @property
    def width(self) -> int:
        return 2 * self.columns

    def codes(self) -> NDArray[np.uint8]:
        """Unpack the flags, (n, d): 0 and 1, and 2 where nothing was observed."""
        bits = (self.bits,) if self.observed is None else (self.bits, self.observed)
        on, *seen = (np.unpackbits(b, axis=1, count=self.columns, bitorder="little") for b in bits)
        return np.where(seen[0] == 1, on, np.uint8(2)) if seen else on

    def take(self, rows: Any) -> Flags:
        seen = None if self.observed is None else np.ascontiguousarray(self.observed[rows])
        return replace(self, bits=np.ascontiguousarray(self.bits[rows]), observed=seen)


@dataclass(frozen=True, eq=False)
class Reals:
    """Real columns; NaN means "nothing observed".

    The statistics are ``[observed, x - center, (x - center)^2]``, each for all d columns.
    The center only keeps the sums well conditioned.
    """

    values: NDArray[np.floating[Any]]  # (n, d) float32 or float64, C order
    center: Array  # (d,)

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def width(self) -> int:
        return 3 * int(self.values.shape[1])

    def take(self, rows: Any) -> Reals:
        return replace(self, values=np.ascontiguousarray(self.values[rows]))


@dataclass(frozen=True, eq=False)
class Words:
    """Counts of many words, as compressed sparse rows: one statistic per word."""

    matrix: sparse.csr_array  # (n, V), int32 indices where they fit

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def width(self) -> int:
        return int(self.matrix.shape[1])

    def take(self, rows: Any) -> Words:
        return Words(self.matrix[rows])


Block = Codes | Flags | Reals | Words


def is_empty(block: Block) -> NDArray[np.bool_]:
    """Tell the rows of which a block holds nothing, (n,).

    Examples
    --------
    >>> is_empty(Reals(np.array([[np.nan], [1.0]]), np.zeros(1))).tolist()
    [True, False]
    """
    if isinstance(block, Codes):
        return _all_gaps(block.codes, lambda j, codes: codes >= block.sizes[j])
    if isinstance(block, Reals):
        return _all_gaps(block.values, lambda j, values: np.isnan(values))
    if isinstance(block, Words):
        return np.asarray(np.diff(block.matrix.indptr) == 0)
    if block.observed is None:
        return np.zeros(block.rows, bool)
    return np.asarray(~block.observed.any(axis=1))


def _all_gaps(
    cells: NDArray[Any], is_gap: Callable[[int, NDArray[Any]], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Tell the rows that have nothing but gaps: a column is asked of those with none but before."""
    rows = np.arange(len(cells))
    for j in range(cells.shape[1]):
        rows = rows[is_gap(j, cells[rows, j] if j else cells[:, 0])]
        if not len(rows):
            break
    out = np.zeros(len(cells), bool)
    out[rows] = True
    return out
