"""One answer: the explanations averaged, leaning on naive Bayes, and every number from it.

Explanations are averaged by their evidence, or by how well they foretell the rows that were
drawn by chance and checked, where there are some; logits and channels alike, so that the answer
is again one head behind one channel. What is not proven does not displace naive Bayes: its part is
Phi(1 - z), z the gain in log likelihood of left-out labels in standard errors. Doubts, suggestions,
the rate, the matrix and the class shares are then those of one posterior: the rate is the mean
doubt, and one minus the sum of share times diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from misnomer.head.explanation import Explanation
from misnomer.head.objective import joint_counts
from misnomer.kernels import softmax
from misnomer.learners.learner import LEAST_CHANCE, Linear, Scorer, calibrated, margin
from misnomer.learners.rows import Rows

Array = NDArray[np.float64]

PROVEN_ERRORS = 1.0  # standard errors of gain at which naive Bayes has half a part
LEAST_PART = 0.01  # a part below changes nothing


@dataclass(frozen=True, eq=False)
class Answer:
    """What is believed of the rows, and how others are judged.

    Attributes
    ----------
    rows : Rows
        The rows.
    logits : (n, K) array
        Of the true class, each row judged without itself.
    channel : (K, K) array
        P(given | true), as rows are judged by it.
    linear : Linear
        The part of the logits that is linear in the statistics of a row.
    others : sequence of (factor, Scorer)
        The rest.
    explanations : sequence of Explanation
        What was averaged.
    weights : (E,) array
        What each counts; they sum to one.
    lean, lean_factor : float
        The part of naive Bayes of shared-out rows, and what brings it to the logits' margins.
    """

    rows: Rows
    logits: Array
    channel: Array
    linear: Linear
    others: tuple[tuple[float, Scorer], ...]
    explanations: Sequence[Explanation]
    weights: Array
    lean: float
    lean_factor: float = 0.0

    @property
    def best(self) -> Explanation:
        """The explanation of the greatest weight."""
        return self.explanations[int(self.weights.argmax())]

    def posterior(self) -> Array:
        """Compute P(true class | x, what is said), (n, K)."""
        joint = softmax(self.logits)[0] * self.rows.seen_through(self.channel)
        total = joint.sum(axis=1, keepdims=True)
        return np.asarray(joint / np.maximum(total, 1e-300))

    def converged(self) -> bool:
        """Tell whether every search ended by itself."""
        return all(one.converged for one in self.explanations)


def average(explanations: Sequence[Explanation], *, leans: bool = True) -> Answer:
    """Average explanations, and lean on naive Bayes as far as it is not refuted."""
    rows = explanations[0].problem.rows
    cost = np.array([one.cost if one.surprise is None else one.surprise for one in explanations])
    weights = np.exp(-(cost - cost.min()))
    weights /= weights.sum()
    pairs = list(zip(weights, explanations, strict=True))
    logits = sum(weight * one.logits() for weight, one in pairs)
    channel = sum(weight * one.point.channel for weight, one in pairs)
    plain = sum(weight * one.problem.scored[1].scores for weight, one in pairs)
    part, factor = 0.0, 0.0
    if leans and explanations[0].surprise is None:
        part, factor = _lean(rows, np.asarray(logits), np.asarray(channel), explanations[0], plain)
    logits = (1.0 - part) * logits + part * factor * plain
    linear, others = _gathered(pairs, part, factor)
    return Answer(
        rows,
        np.asarray(logits),
        np.asarray(channel),
        linear,
        others,
        explanations,
        weights,
        part,
        factor,
    )


def _lean(
    rows: Rows, logits: Array, channel: Array, first: Explanation, plain: Array
) -> tuple[float, float]:
    """Find the part of naive Bayes, and what brings its margins to those of the logits."""
    at = rows.labeled[rows.known[rows.labeled] < 0]
    own = margin(plain, rows.weight)
    if not len(at) or own <= 0:
        return 0.0, 0.0
    label, weight, every = rows.label[at], rows.weight[at], np.arange(len(at))
    chance = (channel[label] * softmax(logits[at])[0]).sum(axis=1)
    usual = calibrated(first.problem.scored[0].scores[at], np.eye(rows.classes)[label], weight)
    usual = usual[every, label]
    gain = np.log(np.maximum(chance, LEAST_CHANCE)) - np.log(np.maximum(usual, LEAST_CHANCE))
    total = float(weight.sum())
    mean = float(weight @ gain) / total
    spread = np.sqrt(max(float(weight @ (gain - mean) ** 2) / total, 1e-18))
    part = float(ndtr(PROVEN_ERRORS - mean * np.sqrt(total) / spread))
    return (part, margin(logits, rows.weight) / own) if part >= LEAST_PART else (0.0, 0.0)


def _gathered(
    pairs: list[tuple[float, Explanation]], part: float, factor: float
) -> tuple[Linear, tuple[tuple[float, Scorer], ...]]:
    """Add the factors of all learners up: one linear form, and what is not linear."""
    rows = pairs[0][1].problem.rows
    weights, bias = np.zeros((rows.classes, rows.schema.statistics)), np.zeros(rows.classes)
    others: dict[int, tuple[float, Scorer]] = {}

    def add(times: float, scorer: Scorer) -> None:
        nonlocal weights, bias
        if times == 0.0:
            return
        if isinstance(scorer, Linear):
            weights, bias = weights + times * scorer.weights, bias + times * scorer.bias
        else:
            known = others.get(id(scorer), (0.0, scorer))[0]
            others[id(scorer)] = (known + times, scorer)

    for weight, one in pairs:
        bias = bias + (1.0 - part) * weight * one.point.temper * one.point.shift
        for times, scored in zip(one.factors(), one.problem.scored, strict=True):
            add((1.0 - part) * weight * float(times), scored.scorer)
        add(part * factor * weight, one.problem.scored[1].scorer)
    return Linear("head", weights, bias), tuple(others.values())


@dataclass(frozen=True, eq=False)
class Totals:
    """Weight of (given, true) over the labeled rows, and what follows from it."""

    joint: Array  # (L, K)

    @property
    def shares(self) -> Array:
        """Share of each true class among the labeled rows, (K,)."""
        mass = self.joint.sum(axis=0)
        return np.asarray(mass / max(float(mass.sum()), 1e-300))

    @property
    def matrix(self) -> Array:
        """P(given | true); a class that no row has keeps its own label."""
        mass = self.joint.sum(axis=0)
        eye = np.eye(*self.joint.shape)
        return np.where(mass > 0, self.joint / np.where(mass > 0, mass, 1.0), eye)

    @property
    def rate(self) -> float:
        """The share of wrong labels."""
        return 1.0 - float(np.trace(self.joint)) / max(float(self.joint.sum()), 1e-300)


def totals(rows: Rows, posterior: Array) -> Totals:
    """Add the posterior up by given label."""
    return Totals(joint_counts(rows.label, posterior * rows.weight[:, None]))
