"""Probabilities that somebody brings as a learner: of the given labels, each row out of fold.

Whoever fits a model to given labels learns how labels are given,

    P(y | x) = sum_k C[y, k] q(k | x)

with q the true class. So they are heard twice: as they are, and unmixed by the channel C that is
believed, which is the q that C turns into them, as far as there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.learners.learner import LEAST_CHANCE, Scored, View, centered
from misnomer.learners.rows import Rows
from misnomer.table import Batch

Array = NDArray[np.float64]

NAME = "your probabilities"
NEW_ROWS = (
    "this model listens to probabilities that you bring: new rows need new ones, "
    "predict(X, pred_probs=...)"
)
ROUNDS = 20  # of unmixing


@dataclass(frozen=True)
class Brought:
    """Listens to the probabilities that rows bring, as they are."""

    name: str = NAME

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Take the probabilities for scores: whoever made them has not seen the row."""
        scorer = BroughtScorer()
        return [Scored(scorer.scores(rows.batch), scorer)]


@dataclass(frozen=True)
class Unmixed:
    """Listens to them as to what a channel made of the probabilities of the true class."""

    name: str = NAME

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Unmix the probabilities by the channel that is believed."""
        scorer = BroughtScorer(view.channel)
        return [Scored(scorer.scores(rows.batch), scorer)]


@dataclass(frozen=True, eq=False)
class BroughtScorer:
    """Scores rows by the probabilities that they bring.

    Attributes
    ----------
    channel : (K, K) array or None
        P(given | true) by which they are unmixed; None takes them as they are.
    """

    channel: Array | None = None
    name: str = NAME

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K), centered."""
        if batch.brought is None:
            raise ValueError(NEW_ROWS)
        share = batch.brought if self.channel is None else unmixed(batch.brought, self.channel)
        return log_scores(share)

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay out the channel, where there is one."""
        return {} if self.channel is None else {"channel": self.channel}


def log_scores(share: Array) -> Array:
    """Turn probabilities into scores; none is taken for zero."""
    return centered(np.log(np.maximum(share, LEAST_CHANCE)))


def confident_channel(share: Array, label: NDArray[np.intp], weight: Array) -> Array:
    """Read a first channel off the rows that the probabilities are sure of, (K, K).

    The confident joint of Northcutt, Jiang and Chuang (2021): a row is surely of class k where its
    probability is above the mean one of the rows that are labeled k; of several, the greatest. Two
    virtual rows stand behind each class, one of them labeled right, one anyhow.

    Examples
    --------
    >>> share = np.array([[0.9, 0.1], [0.8, 0.2], [0.9, 0.1], [0.2, 0.8], [0.1, 0.9]])
    >>> label = np.array([0, 0, 1, 1, 1])
    >>> confident_channel(share, label, np.ones(5)).round(2).tolist()
    [[0.62, 0.12], [0.38, 0.88]]
    """
    at = np.flatnonzero(label >= 0)
    share, label, weight = share[at], label[at], weight[at]
    K = share.shape[1]
    hard = np.eye(K)[label] * weight[:, None]
    usual = (hard * share).sum(axis=0) / np.maximum(hard.sum(axis=0), LEAST_CHANCE)
    sure = np.where(share >= usual, share, -1.0)
    true, seen = sure.argmax(axis=1), sure.max(axis=1) >= 0
    joint = np.eye(K) + 1.0 / K
    np.add.at(joint, (label[seen], true[seen]), weight[seen])
    return joint / joint.sum(axis=0)


def unmixed(share: Array, channel: Array) -> Array:
    """Find the probabilities of the true class behind those of the given label, (n, K).

    Rounds of EM from where they are: ``q_k <- q_k sum_y P(y) C[y, k] / (C q)_y``, which ends at the
    q nearest to them through the channel; where none leads there, at the edge.

    Examples
    --------
    >>> noisy = np.array([[0.8, 0.2], [0.65, 0.35]])
    >>> unmixed(noisy, np.array([[0.9, 0.1], [0.1, 0.9]])).round(2).tolist()
    [[0.87, 0.13], [0.69, 0.31]]
    """
    found = np.maximum(share, LEAST_CHANCE)
    found = found / found.sum(axis=1, keepdims=True)
    for _ in range(ROUNDS):
        through = np.maximum(found @ channel.T, LEAST_CHANCE)
        found = found * ((share / through) @ channel)
        found /= np.maximum(found.sum(axis=1, keepdims=True), LEAST_CHANCE)
    return np.asarray(found)
