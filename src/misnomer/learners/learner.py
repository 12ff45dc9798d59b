"""What a learner is: something that is fitted to rows and scores the classes of others.

    learner.cross_fit(rows, view)   ->  Scored: scores of the rows, each without its own label,
                                        and a scorer of new rows, fitted to all

Scores are logarithms up to a constant per row: a class that scores one more is e times as likely,
as far as the learner is calibrated; how far it is, the head finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.learners.rows import Rows
from misnomer.solvers.lbfgs import minimise
from misnomer.table import Batch

Array = NDArray[np.float64]

PIECE_ROWS = 1 << 14  # rows whose numbers stay in the cache
LEAST_CHANCE = 1e-6  # of a label or class that somebody calls impossible: one row cannot decide
CALIBRATION_RIDGE = 0.01  # per squared parameter
CLEAR_ERRORS = 2.0  # standard errors of gain or loss that decide about a learner
FARTHEST_MARGINS = 1e3  # median margins: classes behind that are all equally impossible


@dataclass(frozen=True, eq=False)
class View:
    """What is believed of the rows while a learner is fitted.

    Attributes
    ----------
    channel : (L, K) array
        P(given label | true class).
    temper : float
        How far naive Bayes is believed: the factor of its scores.
    chance : (n,) array, optional
        P(what is said of a row | x) by naive Bayes behind a channel: a costly learner that is
        clearly worse need not be fitted to all folds.
    seen : (n, K) array, optional
        P(what is said of a row | true class) by that channel.
    anchor : (K,) array, optional
        Virtual rows of each class that hold the class shares: none may vanish.
    memory : dict
        Where searches ended: the next one of the same learner may begin there.
    bases : dict
        What a learner has made of the rows, whatever the channel.
    """

    channel: Array
    temper: float
    memory: dict[Any, Array] = field(default_factory=dict)
    bases: dict[str, dict[Any, Any]] = field(default_factory=dict)
    anchor: Array | None = None
    chance: Array | None = None
    seen: Array | None = None


@runtime_checkable
class Scorer(Protocol):
    """A fitted learner: scores new rows, and can be written down."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K), centered."""
        ...

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay everything out that the scores depend on."""
        ...


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores ``t(x) . weights[k] + bias[k]``: naive Bayes and logistic regression alike."""

    name: str
    weights: Array  # (K, S)
    bias: Array  # (K,)

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K)."""
        found: Array = kernels.scores(batch.blocks, self.weights, len(batch)) + self.bias
        return found

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay out weights and bias."""
        return {"weights": self.weights, "bias": self.bias}


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of the training rows, each without its own label, and who scores other rows.

    ``together``: columns say more together than one by one, so that naive Bayes does not know how
    far classes are apart.
    """

    scores: Array  # (n, K), centered
    scorer: Scorer
    together: bool = False


class Learner(Protocol):
    """Fits itself to rows as far as it has not seen them."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row without its own label; a learner may come in several strengths."""
        ...


def over_classes(values: Array) -> Array:
    """Add each row up, (n,): a product with ones, far faster than a sum where classes are few.

    Examples
    --------
    >>> over_classes(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [3.0, 7.0]
    """
    return np.asarray(values @ np.ones(values.shape[-1]))


def centered(scores: Array) -> Array:
    """Take off the mean over the classes (the last axis)."""
    out: Array = scores - scores.sum(axis=-1, keepdims=True) / scores.shape[-1]  # .mean is slower
    return out


def centered_scores(scorer: Scorer, batch: Batch) -> Array:
    """Score rows, (n, K), centered, some at a time: what a scorer writes down of them is wide."""
    parts = [
        centered(scorer.scores(batch.take(slice(begin, begin + PIECE_ROWS))))
        for begin in range(0, max(len(batch), 1), PIECE_ROWS)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def margin(scores: Array, weight: Array | None = None) -> float:
    """Take the median distance of the best class from the second.

    Examples
    --------
    >>> margin(np.array([[1.0, 0.0], [5.0, 0.0]]), np.array([1.0, 2.0]))
    5.0
    """
    if scores.shape[-1] < 2 or not len(scores):
        return 0.0
    top = np.partition(scores, -2, axis=-1)
    ahead = top[..., -1] - top[..., -2]
    if weight is None:
        return float(np.median(ahead))
    order = np.argsort(ahead, kind="stable")
    half = np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())
    return float(ahead[order][min(int(half), len(order) - 1)])


def within_reach(scores: Array, weight: Array | None = None) -> Array:
    """Center; classes a thousand median margins behind the best are all equally impossible.

    A value that its column never had may put a row billions of nats away, and what a search then
    sees of the other rows is lost to rounding.

    Examples
    --------
    >>> far = within_reach(np.array([[1.0, -1.0], [2.0, -2.0], [0.0, -1e22]]))
    >>> far.tolist()
    [[1.0, -1.0], [2.0, -2.0], [2000.0, -2000.0]]
    """
    behind = scores - scores.max(axis=-1, keepdims=True)
    farthest = behind.min(initial=0.0)
    if farthest >= -FARTHEST_MARGINS:  # the usual case: a median margin below 1 counts as 1
        return centered(scores)
    reach = FARTHEST_MARGINS * max(margin(behind, weight), 1.0)
    return centered(scores if farthest >= -reach else np.maximum(behind, -reach))


def calibrated(scores: Array, said: Array, weight: Array) -> Array:
    """Temper and shift scores to what is said: P(class | x), (n, K).

    ``said`` is the likelihood of each row's label or answers, (n, K); one-hot for a label that is
    taken as it is.
    """
    total = float(weight.sum())
    square = float(weight @ np.mean(scores**2, axis=1)) / max(total, 1e-300)
    K, unit = scores.shape[1], max(float(np.sqrt(square)), 1e-9)
    even, codes, scores = np.ones((1, K)), np.zeros(len(scores), np.int32), scores / unit
    # in steps of the usual size: one over the root of the curvature where all classes are alike
    curvature = np.concatenate([[total], np.full(K, total * (1.0 - 1.0 / K) / K)])
    pace = 1.0 / np.sqrt(curvature + 2.0 * CALIBRATION_RIDGE)

    def loss(steps: Array) -> tuple[float, Array]:
        vector = steps * pace
        scaled = np.exp(np.clip(vector[0], -20.0, 20.0)) * scores
        cost, residual, _ = kernels.label_slopes(
            scaled + vector[1:], even, codes, weight, besides=said, overwrite=True
        )
        slope = np.concatenate([[np.vdot(residual, scaled)], np.ones(len(residual)) @ residual])
        value = cost + CALIBRATION_RIDGE * float(vector @ vector)
        return value, (slope + 2.0 * CALIBRATION_RIDGE * vector) * pace

    vector = pace * minimise(loss, np.zeros(K + 1), max_iter=60)[0]
    temper = float(np.exp(np.clip(vector[0], -20.0, 20.0)))
    return kernels.softmax(temper * scores + vector[1:])[0]


def clear_gain(scores: Array, said: Array, weight: Array, chance: Array) -> int:
    """Compare how scores, tempered and shifted, explain what is said with how others do.

    ``chance`` is what the others give to what is said of each row, (n,). The answer is 1 where the
    scores are better, -1 where they are worse, by two standard errors, else 0.

    Examples
    --------
    >>> said = np.eye(2)[np.arange(100) % 2]
    >>> clear_gain(np.zeros((100, 2)), said, np.ones(100), np.full(100, 0.9))
    -1
    >>> clear_gain(9.0 * said, said, np.ones(100), np.full(100, 0.9))
    1
    """
    if not len(scores):
        return 0
    own = (calibrated(scores, said, weight) * said).sum(axis=1)
    gain = np.log(np.maximum(own, LEAST_CHANCE)) - np.log(np.maximum(chance, LEAST_CHANCE))
    clear = CLEAR_ERRORS * float(gain.std()) / np.sqrt(len(gain))
    return int(gain.mean() > clear) - int(gain.mean() < -clear)
