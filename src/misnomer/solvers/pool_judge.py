"""Judging many training rows: each by counts and weights in which it had no part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.kernels.blocks import Words
from misnomer.solvers.pool_average import moved
from misnomer.solvers.pool_rows import labels
from misnomer.stats import Sums
from misnomer.table import Batch

Array = NDArray[np.float64]

FOLDS = 4
_MOST_BYTES = 1 << 30  # of words whose folds are copied once for all
_PIECE = 1 << 14  # rows whose numbers stay in the cache


def rows_of(fold: int, start: int) -> slice:
    """Find the rows of a fold in a batch that begins at a row number: every fourth.

    Examples
    --------
    >>> rows_of(1, 0), rows_of(1, 6)
    (slice(1, None, 4), slice(3, None, 4))
    """
    return slice((fold - start) % FOLDS, None, FOLDS)


@dataclass(frozen=True, eq=False)
class Dealt(Batch):
    """A batch that keeps a copy of the rows of each fold, for several passes over them."""

    @cached_property
    def folds(self) -> tuple[Batch, ...]:
        """The rows of each fold."""
        return tuple(self.take(rows_of(fold, self.start)) for fold in range(FOLDS))


def folds_of(batch: Batch) -> Iterable[Batch]:
    """Find the rows of each fold, one after the other.

    Examples
    --------
    >>> [fold.given.tolist() for fold in folds_of(Batch((), np.arange(6, dtype=np.int32), start=3))]
    [[1, 5], [2], [3], [0, 4]]
    """
    if isinstance(batch, Dealt):
        return batch.folds
    return (batch.take(rows_of(fold, batch.start)) for fold in range(FOLDS))


def dealt(batches: Sequence[Batch]) -> Sequence[Batch]:
    """Keep copies of the folds of rows in memory where they are words, and no gigabytes of them."""
    if not isinstance(batches, list) or sum(map(_word_bytes, batches)) not in range(1, _MOST_BYTES):
        return batches
    return [Dealt(one.blocks, one.given, one.weight, one.start) for one in batches]


def _word_bytes(batch: Batch) -> int:
    words = [block.matrix for block in batch.blocks if isinstance(block, Words)]
    return int(sum(one.data.nbytes + one.indices.nbytes for one in words))


@dataclass(frozen=True, eq=False)
class Judge:
    """What the other folds say of a row.

    Attributes
    ----------
    weights : FOLDS arrays (K, S)
        Scores of the rows of each fold are ``scale t(x) . weights + bias``.
    bias : (FOLDS, K) array
        See above.
    channel : (K, K) array
        P(given | true).
    shift : float
        What is added to the log-odds of the doubt: its sum is what channel and scores expect.
    scale : float
        See above: large tables of weights are not written again to be tempered.
    """

    weights: tuple[Array, ...]
    bias: Array
    channel: Array
    shift: float = 0.0
    scale: float = 1.0

    def scores(self, batch: Batch) -> Array:
        """Score the rows of a batch by their numbers, (n, K)."""
        out = np.empty((len(batch), self.bias.shape[1]))
        for fold, some in enumerate(folds_of(batch)):
            cut, weights, bias = rows_of(fold, batch.start), self.weights[fold], self.bias[fold]
            out[cut] = self.scale * kernels.scores(some.blocks, weights, len(some)) + bias
        return out

    def posterior(self, batch: Batch) -> Array:
        """Compute P(true | x, y) of each row, (n, K), the doubt of its label ranked and moved."""
        out = self.scores(batch)
        label, trusted = labels(batch, len(self.channel))
        for begin in range(0, len(out), _PIECE):
            at = slice(begin, begin + _PIECE)
            out[at] = self._judged(kernels.softmax(out[at])[0], label[at], trusted[at])
        return out

    def _judged(self, share: Array, label: NDArray[np.intp], trusted: NDArray[np.bool_]) -> Array:
        known = label >= 0
        if not known.all():
            share[known] = self._judged(share[known], label[known], trusted[known])
            return share
        every = np.arange(len(label))
        plain = share[every, label]
        after = share * self.channel[label]
        own = after[every, label]
        after[every, label] = 0.0
        rest = after.sum(axis=1)
        wrong = rest / np.maximum(rest + own, 1e-300)
        doubt = np.where(trusted, 0.0, moved(0.5 * (wrong + 1.0 - plain), self.shift))
        after *= (doubt / np.maximum(rest, 1e-300))[:, None]
        after[every, label] = 1.0 - np.where(rest > 0, doubt, 0.0)
        return after


@dataclass(frozen=True, eq=False)
class Listed:
    """The same, where the posterior of every row is at hand.

    Attributes
    ----------
    values : (n, K) array
        P(true | x, y) of all rows, by number.
    """

    values: Array

    def posterior(self, batch: Batch) -> Array:
        """Look P(true | x, y) of each row up, (n, K)."""
        return self.values[batch.start : batch.start + len(batch)]


@dataclass(frozen=True, eq=False)
class Tallied:
    """A step of a fold: what a judge says of the rows of a batch, in sums.

    The sums are the weight of the rows by true class, (K,), of the labels that are wrong, and of
    the labels.
    """

    judge: Judge | Listed
    labels: int

    def __call__(self, batch: Batch) -> Sums:
        """Judge the rows, and add."""
        after = self.judge.posterior(batch)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        label, _ = labels(batch, self.labels)
        at = np.flatnonzero(label >= 0)
        wrong = weight[at] @ (1.0 - after[at, label[at]])
        return Sums((weight @ after, np.array([wrong, weight[at].sum()])))
