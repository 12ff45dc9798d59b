"""Rows as counts of things that occur, and what they say of each of many classes.

A word is counted, a category is a count of one, a flag is a category of two values, and a real
number is the tenth of its column that it lies in. Statistics that share one distribution (the
words of a text, the values of a column) have the same owner.

A row is judged without itself: what it added to the sums of its own label is taken away before
that class is asked. Of all K classes only the best few are kept, and the given label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.kernels.reference import statistic

Array = NDArray[np.float64]
Places = NDArray[np.intp]

PARTS = 10  # that a real column is cut into


@dataclass(frozen=True, eq=False)
class Tokens:
    """What occurs in each row, and how often."""

    matrix: sparse.csr_array  # (n, S): counts; what is missing or was never seen is no entry
    owner: Places  # (S,): the distribution that each statistic belongs to, 0..G-1

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
        matrix, owner = occurring(block, cuts[reals:])
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


def occurring(block: Block, cuts: Array) -> tuple[sparse.csr_array, Places]:
    """Mark what occurs in each row, (n, s), and tell which column it belongs to, (s,)."""
    if isinstance(block, Words):
        return block.matrix, np.zeros(block.width, np.intp)
    if isinstance(block, Flags):
        block = Codes(block.codes(), (2,) * block.columns)
    elif isinstance(block, Reals):
        block = Codes(_tenths(block, cuts), (PARTS,) * block.values.shape[1])
    return statistic(block), np.repeat(np.arange(len(block.sizes)), block.sizes)


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


_MIN_M, _MAX_M = 0.5, 1e4  # bounds of an automatic m
_DENSE_WORD_SHARE = 0.1  # of the classes know a word: from there on its weights are kept dense
_MAX_DENSE_WORD_BYTES = 1 << 28  # what those may take


@dataclass(frozen=True, eq=False)
class Sums:
    """What was counted in each class; sums of different rows add."""

    counts: sparse.csr_array  # (K, S): how often each statistic occurs in the rows of each class
    observed: Array  # (K, G): the same, summed over each distribution
    rows: Array  # (K,): rows of each class

    def __add__(self, other: Sums) -> Sums:
        counts = sparse.csr_array(self.counts + other.counts)
        return Sums(counts, self.observed + other.observed, self.rows + other.rows)


def sums_by_class(rows: Tokens, label: Places, weight: Array, classes: int) -> Sums:
    """Add the rows of each class up; a negative label, or no weight, leaves a row out.

    Examples
    --------
    >>> rows = Tokens(sparse.csr_array([[1.0, 0.0], [2.0, 1.0]]), np.zeros(2, int))
    >>> sums_by_class(rows, np.array([1, 1]), np.ones(2), 2).counts.toarray().tolist()
    [[0.0, 0.0], [3.0, 1.0]]
    """
    kept = np.flatnonzero((label >= 0) & (weight > 0))
    who = sparse.csr_array((weight[kept], (label[kept], kept)), shape=(classes, len(rows)))
    counts = sparse.csr_array(who @ rows.matrix)
    counts.sort_indices()
    mass = np.bincount(label[kept], weight[kept], minlength=classes).astype(np.float64)
    observed = np.asarray((counts @ rows.owners).toarray())
    return Sums(counts, observed, mass)


@dataclass(frozen=True, eq=False)
class Background:
    """The virtual examples, the same for every class: ``m`` of each distribution, (G,).

    ``share`` is the statistic's share in its distribution, over all rows, (S,).
    """

    share: Array
    m: Array
    owner: Places

    @property
    def virtual(self) -> Array:
        """How often each statistic occurs in the virtual examples, (S,)."""
        return np.asarray(self.m[self.owner] * self.share)


def background(sums: Sums, rows: Tokens) -> Background:
    """Find the marginal shares, and how many virtual examples of each distribution to add."""
    owner, G = rows.owner, max(rows.groups, 1)
    total = np.asarray(rows.matrix.sum(axis=0), np.float64).ravel()
    whole = np.bincount(owner, total, minlength=G)
    share = total / np.where(whole > 0, whole, 1.0)[owner]
    return Background(share, automatic_m(sums, share, owner), owner)


def automatic_m(sums: Sums, share: Array, owner: Places) -> Array:
    """Estimate m of each distribution by moments, (G,): how far classes differ beyond chance.

    ``1 / (1 + m) = [sum_k N_k |f_k - p|^2 - (K - 1) sum v] / ((N - sum_k N_k^2 / N) sum v)`` with
    f the frequencies of class k, p the shares and ``v = p(1 - p)``.
    """
    counts, N = sums.counts, sums.observed
    G = N.shape[1]
    which = sparse.csr_array((np.ones(len(owner)), (np.arange(len(owner)), owner)), (len(owner), G))
    square = np.asarray((counts.multiply(counts) @ which).toarray())  # (K, G) sum c^2
    cross = np.asarray((counts.multiply(share[None, :]).tocsr() @ which).toarray())
    inside = np.where(N > 0, square / np.where(N > 0, N, 1.0) - 2 * cross, 0.0)
    p2 = np.bincount(owner, share**2, minlength=G)
    variance = np.bincount(owner, share * (1.0 - share), minlength=G)
    whole = N.sum(axis=0)
    excess = inside.sum(axis=0) + whole * p2 - ((N > 0).sum(axis=0) - 1) * variance
    spread = (whole - (N**2).sum(axis=0) / np.where(whole > 0, whole, 1.0)) * variance
    part = excess / np.where(spread > 0, spread, 1.0)
    m = np.clip(1.0 / np.where(part > 0, part, 1.0) - 1.0, _MIN_M, _MAX_M)
    return np.where(spread <= 0, 1.0, np.where(part > 0, m, _MAX_M))


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each statistic speaks for each class, beyond what it says of all of them."""

    cold: sparse.csr_array  # (S, K): ``log1p(c / a)`` of what few classes know
    hot: Array  # (H, K): the same of what many classes know, dense
    where: Places  # (H,): which statistics those are
    length: Array  # (G, K): ``-log(N + m)``: what each word, or each observed cell, costs a class


def weights_of(sums: Sums, behind: Background) -> Weights:
    """Turn sums and virtual examples into weights."""
    counts = sums.counts
    K, S = counts.shape
    known = np.bincount(counts.indices, minlength=S)
    where = np.flatnonzero(known > _DENSE_WORD_SHARE * K)
    most = max(_MAX_DENSE_WORD_BYTES // (8 * K), 1)
    where = np.sort(where[np.argsort(-known[where], kind="stable")[:most]])
    value = np.log1p(counts.data / behind.virtual[counts.indices])
    every = sparse.csr_array((value, counts.indices, counts.indptr), shape=(K, S))
    hot = np.ascontiguousarray(every[:, where].toarray().T)
    rest = np.ones(S, bool)
    rest[where] = False
    kept = rest[counts.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    cold = sparse.csr_array((value[kept], counts.indices[kept], ends), shape=(K, S)).T.tocsr()
    return Weights(cold, hot, where, -np.log(sums.observed + behind.m).T)


KEPT = 32  # classes of a row
_CELLS_AT_ONCE = 1 << 22  # rows times classes at a time


def evidence(rows: Tokens, weights: Weights) -> Array:
    """Compute ``sum_v x_v log1p(c / a) - sum_g length_g log(N + m)``, (n, K).

    It is the log likelihood of naive Bayes, up to a term that all classes share.
    """
    out = rows.lengths() @ weights.length
    out += rows.matrix[:, weights.where] @ weights.hot
    found = rows.matrix @ weights.cold
    place = np.repeat(np.arange(len(rows)) * out.shape[1], np.diff(found.indptr)) + found.indices
    out.reshape(-1)[place] += found.data
    return np.asarray(out)


class Own:
    """What the rows of a label say of one of them when that one is left out."""

    def __init__(self, sums: Sums, behind: Background) -> None:
        counts = sums.counts
        K, S = counts.shape
        self.sums, self.behind, self.virtual = sums, behind, behind.virtual
        self.keys = np.repeat(np.arange(K) * S, np.diff(counts.indptr)) + counts.indices

    def __call__(self, rows: Tokens, label: Places, weight: Array) -> Array:
        """Compute the evidence for each row's own label without it, (n,).

        ``sum_v x_v log1p((c - w x)_v / a_v) - sum_g length_g log(N_g - w length_g + m_g)``
        """
        matrix, S = rows.matrix, len(self.virtual)
        size = np.diff(matrix.indptr)
        key = np.repeat(label * S, size) + matrix.indices
        place = np.searchsorted(self.keys, key).clip(max=len(self.keys) - 1)
        counted = np.where(self.keys[place] == key, self.sums.counts.data[place], 0.0)
        left = np.maximum(counted - np.repeat(weight, size) * matrix.data, 0.0)
        virtual = self.virtual[matrix.indices]
        term = matrix.data * np.log1p(left / np.where(virtual > 0, virtual, 1.0))
        row = np.repeat(np.arange(len(rows)), size)
        length = rows.lengths()
        rest = np.maximum(self.sums.observed[label] - weight[:, None] * length, 0.0)
        cost = (length * np.log(rest + self.behind.m)).sum(axis=1)
        return np.asarray(np.bincount(row, term, minlength=len(rows)) - cost)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The classes that may be a row's true one, the best first, and what speaks for each."""

    classes: NDArray[np.int32]  # (n, M): the best M classes, the given label among them
    evidence: Array  # (n, M): of each, in nats, up to a term that a row's classes share
    # (n, 3): of the classes that are not kept: their share of all rows, and mean and variance of
    # what speaks for them, weighed by their shares
    rest: Array

    def others(self, scale: float) -> tuple[Array, Array, Array]:
        """Compute what the other classes weigh at a scale: ``log sum_k prior_k exp(s e_k)``, (n,).

        Its first and second derivatives by the scale come with it. What speaks for them is taken
        for normal; none is likelier than one of the kept.
        """
        share, mean, variance = self.rest.T
        height = scale * mean + 0.5 * scale**2 * variance
        slope, curve = mean + scale * variance, variance
        worst = self.evidence[:, -2] if self.evidence.shape[1] > 1 else self.evidence[:, -1]
        over = height > scale * worst
        height, slope = np.where(over, scale * worst, height), np.where(over, worst, slope)
        return np.log(np.maximum(share, 1e-300)) + height, slope, np.where(over, 0.0, curve)


def candidates(
    rows: Tokens,
    weights: Weights,
    own: Own,
    label: Places,
    weight: Array,
    prior: Array,
    *,
    most: int = KEPT,
) -> Candidates:
    """Find the best classes of every row; all classes are asked. ``prior`` are their shares."""
    n, K = len(rows), weights.length.shape[1]
    M = min(most, K)
    classes, found, rest = np.empty((n, M), np.int32), np.empty((n, M)), np.empty((n, 3))
    step = max(_CELLS_AT_ONCE // K, 1)
    for start in range(0, n, step):
        cut = slice(start, start + step)
        some = rows.take(cut)
        score = evidence(some, weights)
        known = np.flatnonzero(label[cut] >= 0)
        if len(known):
            named = label[cut][known]
            score[known, named] = own(some.take(known), named, weight[cut][known])
        classes[cut], found[cut] = _best(score, label[cut], M)
        rest[cut] = _rest(score, classes[cut], prior)
    return Candidates(classes, found, rest)


def _rest(score: Array, kept: NDArray[np.int32], prior: Array) -> Array:
    """Compute share, mean and variance of the classes that are not kept, (n, 3).

    Examples
    --------
    >>> score, kept = np.array([[9.0, 1.0, 3.0]]), np.array([[0]], np.int32)
    >>> _rest(score, kept, np.array([0.5, 0.25, 0.25])).tolist()
    [[0.5, 2.0, 1.0]]
    """
    top = score.max(axis=1, keepdims=True)
    away = score - top
    np.put_along_axis(away, kept.astype(np.intp), 0.0, axis=1)
    share = np.maximum(prior.sum() - prior[kept].sum(axis=1), 0.0)
    some = share > 1e-9
    size = np.where(some, share, 1.0)
    mean = away @ prior / size
    variance = np.maximum((away**2) @ prior / size - mean**2, 0.0)
    return np.column_stack([np.where(some, share, 0.0), mean + top[:, 0], variance])


def _best(score: Array, label: Places, most: int) -> tuple[NDArray[np.int32], Array]:
    """Keep the best classes of each row in order; the given label takes the last place if need be.

    Examples
    --------
    >>> _best(np.array([[3.0, 1.0, 2.0]]), np.array([1]), 2)[0].tolist()
    [[0, 1]]
    """
    K = score.shape[1]
    place = np.argpartition(-score, most - 1, axis=1)[:, :most] if most < K else None
    if place is None:
        place = np.broadcast_to(np.arange(K), score.shape)
    value = np.take_along_axis(score, place, axis=1)
    order = np.lexsort((place, -value), axis=1)
    place, value = np.take_along_axis(place, order, 1), np.take_along_axis(value, order, 1)
    lost = np.flatnonzero((label >= 0) & ~(place == label[:, None]).any(axis=1))
    place[lost, -1] = label[lost]
    value[lost, -1] = score[lost, label[lost]]
    return place.astype(np.int32), value
