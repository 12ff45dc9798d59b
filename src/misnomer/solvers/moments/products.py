"""Columns as numbers whose means can be mixed and unmixed: what the method of moments works on.

Within a true class the columns are independent, so the mean of a product of *any* functions of
two columns is the product of their means. The functions used here are linear in the statistics:
the indicator of each value of a category or a flag, ``z`` and ``(z^2 - 1) / sqrt 2`` of a real,
and each word of a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.families import Bernoulli, Count, Gaussian
from misnomer.kernels.reference import statistic
from misnomer.table import Batch, Group, Schema

Array = NDArray[np.float64]
CHUNK_ROWS = 1 << 13  # rows whose features are spelled out at a time


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The linear map from statistics to features."""

    of: sparse.csr_array  # (S, f): ``feature(x) = t(x) @ of``
    owner: NDArray[np.intp]  # (f,): the column that each feature belongs to
    # (d,): the columns that stand for the words of a text: they pair with themselves
    words: NDArray[np.bool_]

    @property
    def columns(self) -> int:
        """How many columns there are (d)."""
        return len(self.words)


def feature_map(schema: Schema, total: Array, rows: float) -> FeatureMap:
    """Build the map; ``total`` are the sums over all rows, (S,), to standardize the reals."""
    maps, owners, words = [], [], []
    start = 0
    for group in schema.groups:
        maps.append(_map(group, total[group.span] / max(rows, 1e-300)))
        own = np.zeros(len(group.family.owner), np.intp)
        if not isinstance(group.family, Count):
            own = group.family.owner
        if isinstance(group.family, Gaussian):
            own = own[: 2 * group.family.columns]
        columns = 1 if isinstance(group.family, Count) else group.family.columns
        owners.append(own + start)
        words += [isinstance(group.family, Count)] * columns
        start += columns
    owner = np.concatenate(owners) if owners else np.zeros(0, np.intp)
    of = sparse.csr_array(sparse.block_diag(maps)) if maps else sparse.csr_array((0, 0))
    return FeatureMap(of, owner, np.array(words, bool))


def _map(group: Group, mean: Array) -> sparse.csr_array:
    family = group.family
    d = family.columns
    one = sparse.eye_array(d)
    if isinstance(family, Bernoulli):  # [seen, on] -> [off, on]
        return sparse.csr_array(sparse.block_array([[one, None], [-one, one]]))
    if not isinstance(family, Gaussian):
        return sparse.csr_array(sparse.eye_array(len(family.owner)))
    seen, first, second = np.split(mean, 3)
    seen = np.where(seen > 0, seen, 1.0)
    m = first / seen
    v = np.maximum(second / seen - m**2, 0.0)
    v = np.where(v > 1e-12 * second / seen, v, 1.0)  # a constant column, but for rounding
    root = np.sqrt(2.0)
    square = [(m**2 - v) / (v * root), -2 * m / (v * root), 1 / (v * root)]
    line = [-m / np.sqrt(v), 1 / np.sqrt(v), np.zeros(d)]
    blocks = [
        [sparse.diags_array(a), sparse.diags_array(b)] for a, b in zip(line, square, strict=True)
    ]
    return sparse.csr_array(sparse.block_array(blocks))


def contrast(basis: FeatureMap, plus: Array, minus: Array) -> Array:
    """Subtract the mean features of two samples, ``u = mean+ - mean-``, (f,); words as shares."""
    u: Array = _shared(basis, plus @ basis.of) - _shared(basis, minus @ basis.of)
    return u


def _shared(basis: FeatureMap, mean: Array) -> Array:
    out = np.array(mean)
    for column in np.flatnonzero(basis.words):
        mine = basis.owner == column
        out[mine] /= max(float(out[mine].sum()), 1e-300)
    return out


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums over rows, by side, that give every product of two columns at once.

    With ``s_j(x) = u_j . feature_j(x)``, ``sum_{i != j} s_i s_j = (sum_j s_j)^2 - sum_j s_j^2``.
    No table of pairs is ever made. Two different positions of a text are a pair as well.
    """

    mass: Array  # (R,): weight of the rows of each side
    first: Array  # (R, d): sum of s_j(x)
    pairs: Array  # (R,): sum of ``sum_{i != j} s_i(x) s_j(x)``

    def __add__(self, other: PairSums) -> PairSums:
        return PairSums(self.mass + other.mass, self.first + other.first, self.pairs + other.pairs)


def pair_sums(
    basis: FeatureMap, u: Array, batch: Batch, side: NDArray[np.int32], R: int
) -> PairSums:
    """Add up over the rows of a batch; a negative side leaves a row out. O(n d)."""
    spread = sparse.csr_array((u, (np.arange(len(u)), basis.owner)), shape=(len(u), basis.columns))
    total = PairSums(np.zeros(R), np.zeros((R, basis.columns)), np.zeros(R))
    for piece, t in _statistic_rows(batch):
        s, within = _scores(basis, t, u, spread)
        pairs = pairs_of(s) + within
        weight = np.ones(len(s)) if batch.weight is None else batch.weight[piece]
        kept = side[piece] >= 0
        code, weight = side[piece][kept], weight[kept]
        share = sparse.csr_array((weight, (code, np.arange(len(code)))), shape=(R, len(code)))
        mass = np.bincount(code, weight, minlength=R).astype(np.float64)
        total = total + PairSums(mass, share @ s[kept], share @ pairs[kept])
    return total


def pairs_of(s: Array, repeated: NDArray[np.bool_] | None = None) -> Array:
    """Sum over pairs of different columns: ``(sum_j s_j)^2 - sum_j s_j^2``, (...,).

    A repeated column also pairs with itself.

    Examples
    --------
    >>> pairs_of(np.array([1.0, 2.0, 3.0])).item()
    22.0
    """
    alone = s**2 if repeated is None else np.where(repeated, 0.0, s**2)
    out: Array = s.sum(axis=-1) ** 2 - alone.sum(axis=-1)
    return out


def _scores(
    basis: FeatureMap, t: sparse.csr_array, u: Array, spread: sparse.csr_array
) -> tuple[Array, Array]:
    """Score each column of each row, and the pairs of positions within its texts."""
    feature = sparse.csr_array(t @ basis.of)
    s = (feature @ spread).toarray()
    within = np.zeros(len(s))
    for column in np.flatnonzero(basis.words):
        mine = (basis.owner == column).astype(np.float64)
        length = feature @ mine
        same = feature @ (mine * u**2)
        pairs = np.where(length > 1, length * (length - 1), 1.0)
        line = s[:, column] / np.where(length > 0, length, 1.0)
        # One word has no pair; its square keeps the mean where it was.
        within += np.where(length > 1, (s[:, column] ** 2 - same) / pairs, line**2)
        s[:, column] = line
    return s, within


def _statistic_rows(
    batch: Batch, rows: int = CHUNK_ROWS
) -> Iterator[tuple[slice, sparse.csr_array]]:
    for start in range(0, len(batch), rows):
        piece = slice(start, min(start + rows, len(batch)))
        blocks = [sparse.csr_array(statistic(block.take(piece))) for block in batch.blocks]
        yield piece, sparse.csr_array(sparse.hstack(blocks))


@dataclass(frozen=True, eq=False)
class Products:
    """Mean products of features by side: mass (R,), first (R, f), second (R, f, f)."""

    mass: Array
    first: Array
    second: Array

    def __add__(self, other: Products) -> Products:
        return Products(
            self.mass + other.mass, self.first + other.first, self.second + other.second
        )


def products(basis: FeatureMap, batch: Batch, side: NDArray[np.int32], R: int) -> Products:
    """Add up every product of two features: the table that `PairSums` does without."""
    f = len(basis.owner)
    total = Products(np.zeros(R), np.zeros((R, f)), np.zeros((R, f, f)))
    for piece, t in _statistic_rows(batch):
        x = (t @ basis.of).toarray()
        weight = np.ones(len(x)) if batch.weight is None else batch.weight[piece]
        chosen = [weight * (side[piece] == r) for r in range(R)]
        total = total + Products(
            np.array([w.sum() for w in chosen]),
            np.stack([w @ x for w in chosen]),
            np.stack([(x * w[:, None]).T @ x for w in chosen]),
        )
    return total


def feature_rows(
    basis: FeatureMap, batch: Batch, rows: int = CHUNK_ROWS
) -> Iterator[tuple[Array, Array]]:
    """List the features of the rows and their weights, chunk by chunk."""
    for piece, t in _statistic_rows(batch, rows):
        x = (t @ basis.of).toarray()
        yield x, np.ones(len(x)) if batch.weight is None else batch.weight[piece]
