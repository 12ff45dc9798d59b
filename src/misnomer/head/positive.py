"""Positive and unlabeled rows: how many of the unlabeled are positive, and which.

Learners and head first score every row by how much it looks like a labeled one, without the row's
own label. Labeled rows are positives drawn at random, so at any score c

    P(score >= c | unlabeled)  >=  share P(score >= c | labeled)        share: positives among them

and the share is at most the least ratio of the two. Where only positives score so high it is that
ratio. Ratios of few rows are little known, so the threshold is that of the least upper bound, by a
bound that holds at all thresholds at once. With the share the channel is known, P(labeled |
positive) = labeled / (labeled + share unlabeled) and P(labeled | negative) = 0, and the learners
learn once more, through it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from misnomer.channel import positive_unlabeled
from misnomer.head.crowd import LearnedColumns
from misnomer.head.model import HeadModel
from misnomer.head.profile import CONFIDENCE
from misnomer.head.solve import held
from misnomer.learners.kernel import Likeness
from misnomer.learners.trees import Forest
from misnomer.model import Model
from misnomer.solvers.task import Details, Fit, Task

Array = NDArray[np.float64]

OUTSIDE = 1e-12  # share of the population's positives that a sample of its own has labeled
LEAST_SHARE, FARTHEST_SHIFT = 1e-6, 50.0


@dataclass(frozen=True)
class PositiveUnlabeled:
    """A solver: ``PositiveUnlabeled("one-sample")(task)`` of two classes and two labels.

    Attributes
    ----------
    design : {"one-sample", "two-sample"}
        Some positives of the rows were labeled; or the labeled ones are a sample of their own.
    positive : {0, 1}
        Which of the classes, and of the labels, is the positive one.
    """

    design: str = "one-sample"
    positive: int = 1

    def __call__(self, task: Task) -> Fit:
        """Find the share, then the model."""
        given = np.concatenate([batch.given for batch in task.batches])
        weight = np.concatenate(
            [np.ones(len(b)) if b.weight is None else b.weight for b in task.batches]
        )
        labeled = (given == self.positive) | (given == 3 + self.positive)
        columns = LearnedColumns(
            task.schema, task.batches, len(given), 2, weight, held(task.smoothing), task.seed
        )
        looks = columns.learned(np.eye(2)[labeled.astype(int)], None).scores
        share = positive_share(looks[:, 1] - looks[:, 0], labeled, weight)
        found, rest = float(weight[labeled].sum()), float(weight[~labeled].sum())
        rate = found / (found + share * rest)
        seen = np.where(labeled[:, None], [0.0, 1.0], [1.0, 1.0 - rate])
        word = columns.learned(seen, None)
        logits = word.scores + np.log(word.model.prior)
        odds = logits[:, 1] - logits[:, 0] + np.log1p(-rate)
        shift = balancing_shift(odds[~labeled], weight[~labeled], share)
        posterior = np.where(labeled, 1.0, expit(odds + shift))
        whole = (found + share * rest) / (found + rest)
        if self.design == "two-sample":
            shift, whole, rate = shift + np.log1p(-rate), share, OUTSIDE
        prior = np.array([1.0 - whole, whole])
        bias = word.model.intercept + np.array([0.0, shift]) - np.log(prior)
        model = replace(word.model, prior=prior, channel=positive_unlabeled(rate), bias=bias)
        both = np.stack([1.0 - posterior, posterior], axis=1)
        if self.positive == 0:
            model, prior, both = turned(model), prior[::-1], both[:, ::-1]
        details = Details(
            class_shares=prior,
            posterior=both,
            positives_among_unlabeled=share,
            solver="positive and unlabeled",
        )
        return Fit(model, 0.0, (0.0,), True, details)


def turned(model: Model) -> Model:
    """Exchange the two classes, and their labels."""
    cells = {name: getattr(model.channel, name)[::-1, ::-1] for name in ("matrix", "free")}
    counts = np.broadcast_to(model.channel.counts, (2, 2))[::-1, ::-1]
    assert model.bias is not None
    out = replace(
        model,
        prior=model.prior[::-1].copy(),
        bias=model.bias[::-1].copy(),
        weights=np.ascontiguousarray(model.weights[::-1]),
        channel=replace(model.channel, counts=counts, **cells),
    )
    if not isinstance(out, HeadModel):
        return out
    others = [
        (factor, one.exchanged())
        for factor, one in out.others
        if isinstance(one, Forest | Likeness)
    ]
    return replace(out, others=tuple(others))


def positive_share(score: Array, labeled: NDArray[np.bool_], weight: Array) -> float:
    """Estimate which share of the unlabeled rows is positive.

    Parameters
    ----------
    score : (n,) array
        The more, the more a row looks like a labeled one; learned without the row.
    labeled : (n,) array of bool
        Whether it is.
    weight : (n,) array
        What each row counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positive = np.r_[np.ones(500, bool), rng.random(1000) < 0.3]
    >>> score = rng.normal(size=1500) + 4 * positive
    >>> round(positive_share(score, np.arange(1500) < 500, np.ones(1500)), 1)
    0.3
    """
    at = np.unique(score[labeled])
    above_labeled = _share_above(score[labeled], weight[labeled], at)
    above_rest = _share_above(score[~labeled], weight[~labeled], at)
    sizes = np.array([weight[labeled].sum(), weight[~labeled].sum()])
    reach = float(np.sqrt(np.log(4.0 / (1.0 - CONFIDENCE)) / (2.0 * sizes)).sum())
    bound = (above_rest + reach) / above_labeled
    best = int(bound.argmin())
    return float(np.clip(above_rest[best] / above_labeled[best], LEAST_SHARE, 1.0 - LEAST_SHARE))


def _share_above(score: Array, weight: Array, at: Array) -> Array:
    """Compute P(score >= c) for rising thresholds c.

    Examples
    --------
    >>> _share_above(np.array([1.0, 3.0]), np.array([1.0, 3.0]), np.array([0.0, 2.0])).tolist()
    [1.0, 0.75]
    """
    order = np.argsort(score)
    mass = np.concatenate([[0.0], weight[order].cumsum()])
    below = mass[np.searchsorted(score[order], at, "left")]
    return np.asarray(1.0 - below / mass[-1])


def balancing_shift(odds: Array, weight: Array, share: float) -> float:
    """Find what to add to log-odds so that their mean probability is a share.

    Examples
    --------
    >>> round(balancing_shift(np.zeros(3), np.ones(3), 0.5), 6)
    0.0
    """
    if not len(odds):
        return 0.0
    total = float(weight.sum())

    def excess(shift: float) -> float:
        return float(weight @ expit(odds + shift)) / total - share

    if excess(-FARTHEST_SHIFT) > 0 or excess(FARTHEST_SHIFT) < 0:
        return 0.0
    return float(brentq(excess, -FARTHEST_SHIFT, FARTHEST_SHIFT))
