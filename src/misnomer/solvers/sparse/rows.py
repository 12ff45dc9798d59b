"""Rows as counts of things that occur: all that many classes and many words leave room for.

A word is counted, a category is a count of one, a flag is a category of two values, and a real
number is the tenth of its column that it lies in. Statistics that share one distribution (the
words of a text, the values of a column) have the same owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words

Array = NDArray[np.float64]
Places = NDArray[np.intp]

PARTS = 10  # that a real column is cut into


@dataclass(frozen=True, eq=False)
class Tokens:
    """What occurs in each row, and how often.

    Attributes
    ----------
    matrix : csr_array (n, S)
        Counts; what is missing or was never seen is no entry.
    owner : (S,) array
        The distribution that each statistic belongs to, 0..G-1.
    """

    matrix: sparse.csr_array
    owner: Places

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def groups(self) -> int:
        """How many distributions there are (G)."""
        return int(self.owner.max(initial=-1)) + 1

    @property
    def owners(self) -> sparse.csr_array:
        """Which statistic belongs to which distribution, (S, G)."""
        S = len(self.owner)
        return sparse.csr_array(
            (np.ones(S), self.owner, np.arange(S + 1)), shape=(S, max(self.groups, 1))
        )

    def lengths(self) -> Array:
        """Count what was observed of each distribution: words of a text, 1 of a column, (n, G)."""
        if self.groups <= 1:
            return np.asarray(self.matrix.sum(axis=1), np.float64).reshape(-1, 1)
        return np.asarray((self.matrix @ self.owners).toarray())

    def take(self, rows: Any) -> Tokens:
        """Select rows."""
        return Tokens(self.matrix[rows], self.owner)


def tokens(blocks: Sequence[Block], cuts: Array | None = None) -> Tokens:
    """List what occurs in the rows of some blocks, real numbers by the tenth they lie in.

    ``cuts`` are the tenths of the real columns, in their order; by default those of these rows.

    Examples
    --------
    >>> colors = Codes(np.array([[1], [0], [2]], np.uint8), (2,))  # 2 is "nothing observed"
    >>> tokens([colors]).matrix.toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    """
    parts, owners, first, reals = [], [], 0, 0
    cuts = cuts_of(blocks) if cuts is None else cuts
    for block in blocks:
        matrix, owner = _occurring(block, cuts[reals:])
        reals += block.values.shape[1] if isinstance(block, Reals) else 0
        parts.append(matrix)
        owners.append(owner + first)
        first += int(owner.max(initial=-1)) + 1
    if not parts:
        raise ValueError("no column is left to learn from: the label needs others beside it")
    whole = parts[0] if len(parts) == 1 else sparse.csr_array(sparse.hstack(parts, "csr"))
    return Tokens(_in_order(whole), np.concatenate(owners))


def _in_order(matrix: sparse.csr_array) -> sparse.csr_array:
    """Give a matrix what the sums rely on: reals, one entry per place, places in order."""
    if matrix.dtype != np.float64:
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _occurring(block: Block, cuts: Array) -> tuple[sparse.csr_array, Places]:
    if isinstance(block, Words):
        return block.matrix, np.zeros(block.width, np.intp)
    if isinstance(block, Codes):
        return _one_hot(block.codes.astype(np.int64), np.array(block.sizes))
    if isinstance(block, Flags):
        return _one_hot(_two_values(block), np.full(block.columns, 2))
    return _one_hot(_tenths(block, cuts), np.full(block.values.shape[1], PARTS))


def _one_hot(codes: NDArray[np.int64], sizes: NDArray[Any]) -> tuple[sparse.csr_array, Places]:
    """Mark the value of each column; a code beyond its size marks nothing."""
    seen = codes < sizes
    first = np.cumsum(sizes) - sizes
    ends = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    place = (codes + first)[seen]
    shape = (len(codes), int(sizes.sum()))
    matrix = sparse.csr_array((np.ones(len(place)), place, ends), shape=shape)
    return matrix, np.repeat(np.arange(len(sizes)), sizes)


def _two_values(block: Flags) -> NDArray[np.int64]:
    on = np.unpackbits(block.bits, axis=1, count=block.columns, bitorder="little")
    out = on.astype(np.int64)
    if block.observed is not None:
        seen = np.unpackbits(block.observed, axis=1, count=block.columns, bitorder="little")
        out[seen == 0] = 2
    return out


def cuts_of(blocks: Sequence[Block]) -> Array:
    """Find the tenths of every real column, (d, 9).

    Examples
    --------
    >>> cuts_of([Reals(np.arange(11.0)[:, None], np.zeros(1))]).tolist()
    [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
    """
    columns = [column for block in blocks if isinstance(block, Reals) for column in block.values.T]
    out = np.full((len(columns), PARTS - 1), np.inf)
    for own, values in zip(out, columns, strict=True):
        seen = values[~np.isnan(values)]
        if len(seen):
            cuts = np.unique(np.quantile(seen, np.arange(1, PARTS) / PARTS))
            own[: len(cuts)] = cuts
    return out


def _tenths(block: Reals, cuts: Array) -> NDArray[np.int64]:
    """Number the tenth of its column that each value lies in; ten means "nothing observed".

    Examples
    --------
    >>> cuts = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]])
    >>> _tenths(Reals(np.array([[0.5], [9.0], [np.nan]]), np.zeros(1)), cuts).ravel().tolist()
    [0, 9, 10]
    """
    out = np.full(block.values.shape, PARTS, np.int64)
    for j, values in enumerate(block.values.T):
        seen = ~np.isnan(values)
        out[seen, j] = np.searchsorted(cuts[j], values[seen], side="right")
    return out
