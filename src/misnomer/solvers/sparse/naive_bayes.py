"""Naive Bayes behind a channel for thousands of labels and a million words: a sparse solver.

Count by the given labels; ask all classes about every row, each row judged without itself; temper,
and explain the labels through a sparse channel; count again, each row by the chance that its label
is right. Nothing of size classes x words or rows x classes is ever held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.sparse.channel import SCALES, Judged, Pairs, judge, pairs_of
from misnomer.solvers.sparse.rows import Places, Tokens
from misnomer.solvers.sparse.scores import KEPT, Candidates, Own, candidates
from misnomer.solvers.sparse.weights import Background, Sums, background, sums_by_class, weights_of

Array = NDArray[np.float64]

ROUNDS = 2  # counts: by the labels, then by the labels that are likely right


@dataclass(frozen=True, eq=False)
class SparseFit:
    """What was found.

    Attributes
    ----------
    found : Candidates
        The best classes of each row.
    judged : Judged
        Their shares, and what they say of the labels.
    pairs : Pairs
        The pairs (given, true) that occur.
    sums, behind : Sums, Background
        The counts by class, and the virtual examples.
    prior : (K,) array
        P(class) in the scores: the shares of the given labels.
    """

    found: Candidates
    judged: Judged
    pairs: Pairs
    sums: Sums
    behind: Background
    prior: Array

    @property
    def class_shares(self) -> Array:
        """The share of each true class among the rows, (K,)."""
        K = self.pairs.labels
        mass = np.bincount(self.found.classes.ravel(), self.judged.share.ravel(), minlength=K)
        return np.asarray(mass / mass.sum())


def fit_sparse(
    rows: Tokens,
    label: Places,
    classes: int,
    *,
    trusted: NDArray[np.bool_] | None = None,
    most: int = KEPT,
    rounds: int = ROUNDS,
    progress: Callable[[int, float], None] | None = None,
) -> SparseFit:
    """Find out which labels are wrong.

    Parameters
    ----------
    rows : Tokens
        What occurs in each row.
    label : (n,) array
        The given labels, 0..K-1; -1 where there is none.
    classes : int
        How many labels, and true classes, there are (K).
    trusted : (n,) array of bool, optional
        Rows whose label is known to be right.
    most : int
        Candidates that are kept of each row.
    rounds : int
        How often to count.
    progress : callable, optional
        Called as ``progress(round, log likelihood per label)``.
    """
    label = np.asarray(label, np.intp)
    sure = np.zeros(len(label), bool) if trusted is None else trusted & (label >= 0)
    doubtful, known = np.where(sure, -1, label), np.where(sure, label, -1)
    size = np.bincount(label[label >= 0], minlength=classes) + 1.0
    prior = size / size.sum()
    weight = np.ones(len(label))
    scales: tuple[float, ...] = SCALES
    sums = sums_by_class(rows, label, weight, classes)
    behind = background(sums, rows)  # by the hard labels: on shares an automatic m runs away
    for turn in range(1, rounds + 1):
        if turn > 1:
            sums = sums_by_class(rows, label, weight, classes)
        found = candidates(
            rows, weights_of(sums, behind), Own(sums, behind), label, weight, prior, most=most
        )
        pairs = pairs_of(found, doubtful, classes)
        judged = judge(found, pairs, np.log(prior), known, scales=scales)
        scales, weight = (judged.scale,), chance_of_right(found, judged.share, label)
        if progress is not None:
            progress(turn, judged.loglik)
    return SparseFit(found, judged, pairs, sums, behind, prior)


def chance_of_right(found: Candidates, share: Array, label: Places) -> Array:
    """Take the share of each row's own label, (n,); zero where it has none."""
    return np.asarray(np.where(found.classes == label[:, None], share, 0.0).sum(axis=1))
