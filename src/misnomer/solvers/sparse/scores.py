"""Evidence of every class for every row, some rows at a time, and what is kept of it.

A row is judged without itself: what it added to the sums of its own label is taken away before
that class is asked. Of all K classes only the best few are kept, and the given label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.sparse.rows import Background, Places, Sums, Tokens, Weights

Array = NDArray[np.float64]

KEPT = 32  # classes of a row
_CELLS = 1 << 22  # rows times classes at a time


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
    step = max(_CELLS // K, 1)
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
