"""Rows that were drawn by chance and checked, in the head: what a label is worth beside them.

Where errors follow the columns, labels agree with each other and with the learners: the better the
labels are explained, the farther the answer is from the truth, and fifty checked rows among
thousands of labels change nothing. So the labels are also explained with each of them counting for
a tenth or a hundredth of a checked row; learners are then fitted through a channel that the checked
rows tell, naive Bayes also with fewer virtual examples than scattered errors ask for (errors that
follow the words drown rare ones), and which of the explanations is believed is decided by the
checked rows, each foretold by a head that did not know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from misnomer.head.objective import LEAST, Point, Problem, joint_counts
from misnomer.kernels import softmax
from misnomer.learners.learner import Scored
from misnomer.learners.rows import Rows

Array = NDArray[np.float64]

FEWEST_DRAWN = 10  # checked rows below which labels are believed as they are
LABEL_MASSES = (1.0, 0.3)  # of all labels together, where the checked rows together count one
LABEL_ROWS = 3.0  # virtual checked rows that say: learners have the shares that labels give them
SHIFT_SPREAD = 0.5  # about the shift that labels say, in units of the scores
PLAIN_COUNT = 2.0  # virtual checked rows of each label that was right


def is_drawn(rows: Rows) -> bool:
    """Tell whether enough checked rows were drawn by chance to decide anything."""
    return rows.design is not None and int((rows.design > 0).sum()) >= FEWEST_DRAWN


def label_worths(rows: Rows) -> list[float]:
    """Say what a label is worth, where a checked row is worth one."""
    drawn = rows.design > 0 if rows.design is not None else np.zeros(len(rows), bool)
    checked, labels = rows.weight[drawn].sum(), rows.weight[rows.labeled].sum()
    return [float(min(mass * checked / labels, 1.0)) for mass in LABEL_MASSES]


def beside_labels(
    problem: Problem, point: Point, scored: Sequence[Scored], worth: float
) -> Problem:
    """Pose the problem anew: what the labels say is believed beforehand, the checked rows move it.

    ``scored`` holds the learners of the problem and some that were fitted again; one that was has
    half the share of its name, beforehand.
    """
    half = [sum(one.scorer.name == other.scorer.name for other in scored) for one in scored]
    names = {
        one.scorer.name: share for one, share in zip(problem.scored, point.shares, strict=True)
    }
    shares = np.array([names.get(one.scorer.name, 0.0) for one in scored]) / half
    count = problem.beliefs.share_count + LABEL_ROWS * shares
    beliefs = replace(problem.beliefs, share_count=count, shift_spread=SHIFT_SPREAD)
    return replace(
        problem, scored=scored, label_worth=worth, beliefs=beliefs, mean_shift=point.shift
    )


def checked_joint(rows: Rows) -> Array:
    """Share the labeled rows out over (given, true) as the checked rows of each label were, (K, K).

    Post-stratification: how many rows have a label is known; of what class they are, the checked
    rows of that label tell.

    Examples
    --------
    >>> from misnomer.smoothing import Smoothing
    >>> from misnomer.table import Batch, Schema
    >>> label, known = np.repeat([0, 1], 50), np.full(100, -1)
    >>> known[[0, 1, 50, 51]] = [0, 1, 1, 1]
    >>> rows = Rows(
    ...     Schema(()), Batch((), np.zeros(100, np.int32)), label, known, np.ones(100), 2, (),
    ...     Smoothing(), design=(known >= 0) * 25.0,
    ... )
    >>> checked_joint(rows).round(1).tolist()
    [[29.2, 20.8], [8.3, 41.7]]
    """  # fmt: skip
    K, design = rows.classes, np.zeros(len(rows)) if rows.design is None else rows.design
    at = np.flatnonzero((design > 0) & (rows.label >= 0))
    weight = design[at] / design[at].mean()
    true = np.eye(K)[rows.known[at]] * weight[:, None]
    counts = joint_counts(rows.label[at], true)
    right, of_wrong = np.trace(counts), (counts * (1 - np.eye(K))).sum(axis=0) + 1 / K
    elsewhere = (1 - np.eye(K)) * of_wrong
    elsewhere /= elsewhere.sum(axis=1, keepdims=True)
    share = (right + 1) / (counts.sum() + 2)
    counts = counts + PLAIN_COUNT * (share * np.eye(K) + (1 - share) * elsewhere)
    size = np.bincount(rows.label[rows.labeled], rows.weight[rows.labeled], minlength=K)
    return np.asarray(size[:, None] * counts / counts.sum(axis=1, keepdims=True))


def sureness(logits: Array, known: NDArray[np.intp], weight: Array) -> float:
    """Find the factor of the logits by which they foretell the known classes best.

    Its logarithm is believed to be about zero, with a standard deviation of one.

    Examples
    --------
    >>> sure = np.array([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]])
    >>> sureness(sure, np.array([0, 0, 1, 0]), np.ones(4)) < 0.5
    True
    """
    relative, every = weight / weight.mean(), np.arange(len(known))

    def cost(log_factor: float) -> float:
        share = softmax(np.exp(log_factor) * logits)[0][every, known]
        return float(-(relative @ np.log(np.maximum(share, LEAST))) + 0.5 * log_factor**2)

    return float(np.exp(minimize_scalar(cost, bounds=(-5.0, 5.0), method="bounded").x))


def without_folds(problem: Problem) -> Iterator[tuple[Problem, NDArray[np.intp]]]:
    """Pose the problem without the answers of each fold; beside it, the checked rows left out."""
    rows = problem.rows
    assert rows.design is not None
    for _, folds in [next(rows.splits())]:
        for places in folds:
            out = places[rows.design[places] > 0]
            if len(out):
                known, design = rows.known.copy(), rows.design.copy()
                known[out], design[out] = -1, 0.0
                yield replace(problem, rows=replace(rows, known=known, design=design)), out
