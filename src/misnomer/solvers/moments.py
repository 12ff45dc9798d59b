"""Columns as numbers whose means can be mixed and unmixed: what the method of moments works on.

Within a true class the columns are independent, so the mean of a product of *any* functions of
two columns is the product of their means. The functions used here are linear in the statistics:
the indicator of each value of a category or a flag, ``z`` and ``(z^2 - 1) / sqrt 2`` of a real,
and each word of a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from misnomer.channel import Channel
from misnomer.families import Bernoulli, Categorical, Count, Gaussian
from misnomer.kernels.reference import statistic
from misnomer.model import Model
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
    flags: NDArray[np.bool_]  # (f,): the features of flags; of each flag the one that it is on...
    mirrors: NDArray[np.bool_]  # (f,): ... and the one that it is off, its mirror image

    @property
    def columns(self) -> int:
        """How many columns there are (d)."""
        return len(self.words)


def feature_map(schema: Schema, total: Array, rows: float) -> FeatureMap:
    """Build the map; ``total`` are the sums over all rows, (S,), to standardize the reals."""
    maps, words = [], list[bool]()
    owners, flags, mirrors = [np.zeros(0, np.intp)], [np.zeros(0, bool)], [np.zeros(0, bool)]
    for group in schema.groups:
        family, text = group.family, isinstance(group.family, Count)
        maps.append(_map(group, total[group.span] / max(rows, 1e-300)))
        own = np.zeros(family.columns, np.intp) if text else family.owner
        own = own[: maps[-1].shape[1]]
        owners.append(own + len(words))
        flags.append(np.full(len(own), isinstance(family, Bernoulli)))
        mirrors.append(flags[-1] & (np.arange(len(own)) < family.columns))
        words += [text] * (1 if text else family.columns)
    of = sparse.csr_array(sparse.block_diag(maps)) if maps else sparse.csr_array((0, 0))
    by_feature = (np.concatenate(each) for each in (owners, flags, mirrors))
    owner, flag, mirror = by_feature
    return FeatureMap(of, owner, np.array(words, bool), flag, mirror)


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
    return sparse.csr_array(diagonals(standardized(m, 1 / np.sqrt(v))).T)


def standardized(mean: Array, rate: Array) -> list[list[Array]]:
    """Write ``z`` and ``(z^2 - 1) / sqrt(2)`` in terms of ``[observed, u, u^2]``.

    ``z = rate (u - mean)``, with the rate one over the standard deviation; 0 makes both 0.
    """
    at, half = mean * rate, np.sqrt(0.5)
    line = [-at, rate, np.zeros_like(mean)]
    return [line, [half * (at**2 - (rate > 0)), -2.0 * half * at * rate, half * rate**2]]


def diagonals(cells: list[list[Array]]) -> sparse.sparray:
    """Put diagonal matrices side by side and below each other."""
    return sparse.block_array([[sparse.diags_array(cell) for cell in row] for row in cells])


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
class SideSums:
    """Sums over rows, by side, of something and of products of two such things."""

    mass: Array  # (R,): weight of the rows of each side
    first: Array  # (R, d) or (R, f)
    second: Array  # (R,) or (R, f, f)

    @property
    def values(self) -> tuple[Array, Array, Array]:
        """All of it."""
        return self.mass, self.first, self.second

    def __add__(self, other: SideSums) -> SideSums:
        return SideSums(*map(np.add, self.values, other.values))

    def __sub__(self, other: SideSums) -> SideSums:
        return SideSums(*map(np.subtract, self.values, other.values))


def pair_sums(
    basis: FeatureMap, u: Array, batch: Batch, side: NDArray[np.int32], R: int
) -> SideSums:
    """Sum ``s_j(x) = u_j . feature_j(x)``, (R, d), and all pairs of them, (R,). O(n d).

    ``sum_{i != j} s_i s_j = (sum_j s_j)^2 - sum_j s_j^2``, so no table of pairs is ever made. Two
    different positions of a text are a pair as well. A negative side leaves a row out.
    """
    spread = sparse.csr_array((u, (np.arange(len(u)), basis.owner)), shape=(len(u), basis.columns))
    total = SideSums(np.zeros(R), np.zeros((R, basis.columns)), np.zeros(R))
    for piece, x, weight in feature_rows(basis, batch):
        s, within = _scores(basis, x, u, spread)
        pairs = pairs_of(s) + within
        kept = side[piece] >= 0
        code, weight = side[piece][kept], weight[kept]
        share = sparse.csr_array((weight, (code, np.arange(len(code)))), shape=(R, len(code)))
        mass = np.bincount(code, weight, minlength=R).astype(np.float64)
        total = total + SideSums(mass, share @ s[kept], share @ pairs[kept])
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
    basis: FeatureMap, feature: sparse.csr_array, u: Array, spread: sparse.csr_array
) -> tuple[Array, Array]:
    """Score each column of each row, and the pairs of positions within its texts."""
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


def products(basis: FeatureMap, batch: Batch, side: NDArray[np.int32], R: int) -> SideSums:
    """Sum the features, (R, f), and every product of two: the table that `pair_sums` avoids."""
    f = len(basis.owner)
    total = SideSums(np.zeros(R), np.zeros((R, f)), np.zeros((R, f, f)))
    for piece, features, weight in feature_rows(basis, batch):
        x = features.toarray()
        chosen = [weight * (side[piece] == r) for r in range(R)]
        total = total + SideSums(
            np.array([w.sum() for w in chosen]),
            np.stack([w @ x for w in chosen]),
            np.stack([(x * w[:, None]).T @ x for w in chosen]),
        )
    return total


def feature_rows(
    basis: FeatureMap, batch: Batch, rows: int = CHUNK_ROWS
) -> Iterator[tuple[slice, sparse.csr_array, Array]]:
    """List which rows, their features and their weights, chunk by chunk."""
    for start in range(0, len(batch), rows):
        piece = slice(start, min(start + rows, len(batch)))
        blocks = [sparse.csr_array(statistic(block.take(piece))) for block in batch.blocks]
        x = sparse.csr_array(sparse.csr_array(sparse.hstack(blocks)) @ basis.of)
        yield piece, x, np.ones(x.shape[0]) if batch.weight is None else batch.weight[piece]


MIN_VARIANCE_SHARE = 0.05  # of the column's own: less than this is sampling noise


def unmix_components(minus: Array, plus: Array, alpha: float, beta: float) -> Array:
    """Solve ``plus = alpha P1 + (1 - alpha) P0`` and ``minus = beta P1 + (1 - beta) P0``.

    Returns P0 and P1 as rows, (2, S): equation (9) of Denis et al.

    Examples
    --------
    >>> unmix_components(np.array([0.34]), np.array([0.66]), 0.7, 0.3).round(12).tolist()
    [[0.1], [0.9]]
    """
    gap = alpha - beta
    return np.stack([alpha * minus - beta * plus, (1 - beta) * plus - (1 - alpha) * minus]) / gap


def project(schema: Schema, mean: Array, whole: Array, rows: float) -> tuple[Array, float]:
    """Move mean statistics to the nearest ones that some distribution has.

    Probabilities are floored at ``1 / (rows + 2)`` and made to sum to one again; variances are
    floored at a twentieth of the column's.

    Parameters
    ----------
    schema : Schema
        The columns.
    mean : (K, S) array
        Mean statistics of each class; unmixing may have pushed them out of range.
    whole : (S,) array
        Mean statistics of all rows.
    rows : float
        How many rows they rest on.

    Returns
    -------
    mean : (K, S) array
        Possible mean statistics.
    moved : float
        The largest change of a probability (of a variance, as a share of the column's).
    """
    moved = [0.0]

    def inside(group: Group) -> Array:
        out, change = _inside(group, mean[:, group.span], whole[group.span], 1.0 / (rows + 2.0))
        moved.append(change)
        return out

    return schema.each(inside), max(moved)


def _inside(group: Group, mean: Array, whole: Array, floor: float) -> tuple[Array, float]:
    family = group.family
    if isinstance(family, Gaussian):
        return _variances(mean, whole, floor)
    if isinstance(family, Bernoulli):
        seen = np.clip(mean[:, : family.columns], floor, 1.0)
        raw = mean[:, family.columns :] / seen
        p = np.clip(raw, floor, 1.0 - floor)
        return np.concatenate([seen, seen * p], axis=1), float(abs(p - raw).max(initial=0.0))
    if isinstance(family, Count):
        length = np.maximum(mean.sum(axis=1, keepdims=True), floor)
        raw = mean / length
        p = np.maximum(raw, floor / max(float(whole.sum()), 1.0))
        p = p / p.sum(axis=1, keepdims=True)
        return length * p, float(abs(p - raw).max(initial=0.0))
    assert isinstance(family, Categorical)
    return _shares(family, mean, floor)


def _shares(family: Categorical, mean: Array, floor: float) -> tuple[Array, float]:
    if not family.sizes:
        return mean, 0.0
    seen = np.clip(np.add.reduceat(mean, family.starts, axis=1), floor, 1.0)[:, family.owner]
    raw = mean / seen
    p = family.shares(np.maximum(raw, floor))
    return seen * p, float(abs(p - raw).max(initial=0.0))


def _variances(mean: Array, whole: Array, floor: float) -> tuple[Array, float]:
    seen, first, second = np.split(mean, 3, axis=1)
    seen = np.clip(seen, floor, 1.0)
    at, spread = first / seen, second / seen
    all_seen, all_first, all_second = np.split(whole, 3)
    n = np.where(all_seen > 0, all_seen, 1.0)
    own = np.maximum(all_second / n - (all_first / n) ** 2, 0.0)
    raw = spread - at**2
    v = np.maximum(raw, MIN_VARIANCE_SHARE * own)
    scale = np.where(own > 0, own, 1.0)
    moved = float((abs(v - raw) / scale).max(initial=0.0))
    return np.concatenate([seen, seen * at, seen * (v + at**2)], axis=1), moved


def permuted(model: Model, order: NDArray[np.intp]) -> Model:
    """List the classes in another order: the same model under other names."""
    channel = replace(
        model.channel,
        matrix=model.channel.matrix[:, order],
        free=model.channel.free[:, order],
        counts=model.channel.counts[:, order],
    )
    return replace(model, prior=model.prior[order], channel=channel, weights=model.weights[order])


def align_classes(model: Model) -> Model:
    """Permute the classes until the sum of the channel's diagonal is largest.

    A permutation of classes leaves the likelihood as it is, so that the data cannot choose; the
    assumption that most labels are right does. For two classes: flip rates add up to less than 1.

    Examples
    --------
    >>> from misnomer.channel import fixed
    >>> model = Model(
    ...     np.array([0.4, 0.6]), fixed([[0.1, 0.8], [0.9, 0.2]]), np.zeros((2, 0)), Schema(())
    ... )
    >>> align_classes(model).channel.matrix.tolist(), align_classes(model).prior.tolist()
    ([[0.8, 0.1], [0.2, 0.9]], [0.6, 0.4])
    """
    L, K = model.channel.matrix.shape
    if L != K:
        return model
    _, order = linear_sum_assignment(model.channel.matrix, maximize=True)
    straight = np.array_equal(order, np.arange(K))
    return model if straight else permuted(model, order.astype(np.intp))


def dominant(channel: Channel) -> bool:
    """Tell whether each class is given its own label more often than any other."""
    matrix = channel.matrix
    return bool(np.all(np.diagonal(matrix) >= matrix.max(axis=0, initial=0.0) - 1e-12))
