"""A decision is strong evidence, not truth: whoever decides may err, too.

A reviewer is one more channel, ``P(decided d | true z) = 1 - error`` where d is z, and the rest
shared out. What is believed of a decided row follows by Bayes' rule from what its columns and its
given label say: a decision that agrees counts in full, one against all evidence counts in part.
Whoever contradicts the model more often than people err shows that the model errs, and is believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.table import Batch

Array = NDArray[np.float64]

#: How often a careful person decides wrongly, unless it is said otherwise.
REVIEWER_ERROR = 0.05

_MIN_SHARE = 1e-3  # a smaller share of a row is not worth a copy of it
_MODEL_DECISIONS = 60.0  # decisions that the model's own certainty is worth


def believed(posterior: Array, decided: NDArray[np.intp], error: float) -> Array:
    """Compute ``P(z | row, decision)``, (m, K): the posterior times the reviewer's channel.

    Parameters
    ----------
    posterior : (m, K) array
        What the rows say themselves.
    decided : (m,) array of int
        The classes that were decided on.
    error : float
        The share of decisions that are wrong; 0 makes every decision the truth.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.5], [0.97, 0.03]])
    >>> believed(rows, np.array([1, 1]), 0.05).round(2).tolist()
    [[0.05, 0.95], [0.56, 0.44]]
    """
    m, K = posterior.shape
    reviewer = np.full((m, K), error / max(K - 1, 1))
    reviewer[np.arange(m), decided] = 1.0 - error
    share = np.maximum(doubted(posterior, decided, error), 1e-12) * reviewer
    share[share < _MIN_SHARE * share.sum(axis=1, keepdims=True)] = 0.0
    beliefs: Array = share / share.sum(axis=1, keepdims=True)
    return beliefs


def doubted(posterior: Array, decided: NDArray[np.intp], error: float) -> Array:
    """Mix the posterior with ignorance: ``(1 - off) P(z) + off / K``, (m, K).

    ``off`` is the share of rows on which the model is plainly wrong: of the decisions that
    contradict it, those beyond what its own doubts and the reviewer's errors let one expect.

    Examples
    --------
    >>> sure = np.tile([1.0, 0.0], (60, 1))
    >>> doubted(sure, np.zeros(60, int), 0.05)[0].tolist()
    [1.0, 0.0]
    >>> doubted(sure, np.ones(60, int), 0.05)[0].round(2).tolist()
    [0.76, 0.24]
    """
    m, K = posterior.shape
    against = float((posterior.argmax(axis=1) != decided).sum())
    expected = error * m + float((1.0 - posterior.max(axis=1)).sum())
    off = max(against - expected, 0.0) / (m + _MODEL_DECISIONS)
    mixed: Array = (1.0 - off) * posterior + off / K
    return mixed


def errors_believed(shown: Array, called_wrong: NDArray[np.bool_], error: float) -> float:
    """Count the errors among decided rows, each by how far the decision about it is believed.

    Parameters
    ----------
    shown : (m,) array
        P(the given label is wrong), as the reviewer saw it.
    called_wrong : (m,) array of bool
        Whether the reviewer called it wrong.
    error : float
        The share of decisions that are wrong.

    Examples
    --------
    >>> shown = np.array([0.9, 0.9, 0.9])
    >>> round(errors_believed(shown, np.array([True, True, False]), 0.05), 2)
    2.3
    """
    pair = np.column_stack([1.0 - shown, shown])
    return float(believed(pair, called_wrong.astype(np.intp), error)[:, 1].sum())


@dataclass(frozen=True, eq=False)
class Copies:
    """Decided rows as trusted ones: a copy of each for every class that it may be.

    Attributes
    ----------
    row : (c,) array of int
        Which row is copied.
    true : (c,) array of int
        The class that the copy is trusted to be.
    weight : (c,) array
        How far that is believed.
    """

    row: NDArray[np.intp]
    true: NDArray[np.int32]
    weight: Array


def copies_of(rows: NDArray[np.intp], share: Array) -> Copies:
    """Turn beliefs about rows into weighted copies of them."""
    at, true = np.nonzero(share)
    return Copies(rows[at], true.astype(np.int32), share[at, true])


def decided_copies(posterior: Array, decided: Mapping[int, int], error: float) -> Copies:
    """Weigh decisions against what all rows say, (n, K)."""
    rows = np.fromiter(decided, np.intp, len(decided))
    true = np.fromiter(decided.values(), np.intp, len(decided))
    return copies_of(rows, believed(posterior[rows], true, error))


def with_copies(batch: Batch, copies: Copies, n_labels: int) -> Batch:
    """Add trusted copies of rows behind the rows themselves."""
    more = batch.take(np.concatenate([np.arange(len(batch)), copies.row]))
    codes = np.concatenate([batch.given, n_labels + 1 + copies.true]).astype(np.int32)
    own = np.ones(len(batch)) if batch.weight is None else batch.weight
    factor = np.ones(len(copies.row)) if batch.weight is None else batch.weight[copies.row]
    weight = np.concatenate([own, factor * copies.weight])
    said = np.concatenate([batch.labels(n_labels)[0], np.full(len(copies.row), -1)])
    return replace(more, given=codes, weight=weight, said=said.astype(np.int32))
