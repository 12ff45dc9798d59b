"""One answer from competing explanations: their average, by how well they explain the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from misnomer.solvers.pool_candidates import Candidate, Field
from misnomer.solvers.pool_confident import confident_joint
from misnomer.solvers.pool_guard import doubt_of_gain, leaning
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_search import posterior
from misnomer.solvers.pool_twin import Twin

Array = NDArray[np.float64]
Parts = tuple[tuple[float, Candidate], ...]

_LEAST = 0.05  # relative weight of a candidate that still counts
_SURE = 1e-9


@dataclass(frozen=True, eq=False)
class Average:
    """What the candidates say together.

    Attributes
    ----------
    parts : tuple of (float, Candidate)
        Weights that sum to one, and whose they are.
    share : (n, K) array
        P(true | x) of the rows, out of fold.
    fitted : (K, K) array
        The averaged channel: what the rows are judged with.
    reported : (K, K) array
        Half that, half the confident joint.
    posterior : (n, K) array
        P(true | x, y) of the rows; what it says of the given label is the doubt.
    weights, bias : (K, S) and (K,) arrays
        Scores of any row.
    """

    parts: Parts
    share: Array
    fitted: Array
    reported: Array
    posterior: Array
    weights: Array
    bias: Array

    @property
    def mix(self) -> float:
        """The twin's part, averaged."""
        return sum(weight * one.pooled.point.mix for weight, one in self.parts)


def average(found: Field) -> Average:
    """Weigh the candidates by exp(- objective), leave out the hopeless, and add up."""
    rows = found.rows
    parts = weighed(found.candidates)
    share = sum(weight * one.pooled.share for weight, one in parts)
    fitted = sum(weight * one.pooled.channel for weight, one in parts)
    assert isinstance(share, np.ndarray) and isinstance(fitted, np.ndarray)
    confident = confident_joint(rows, share @ fitted.T)
    after = posterior(rows, share, fitted)
    shifted = doubted(rows, after, ranking(rows, share, found.counted.pooled.share, after))
    weights, bias = _guarded(found, share, share @ fitted.T, *_linear(found, parts))
    return Average(parts, share, fitted, 0.5 * fitted + 0.5 * confident, shifted, weights, bias)


def _guarded(
    found: Field, share: Array, chance: Array, weights: Array, bias: Array
) -> tuple[Array, Array]:
    """Lean on naive Bayes as far as it is not refuted; independent columns have refuted it."""
    plain = next((one.source for one in found.candidates if one.source.name == "given"), None)
    if found.believed or plain is None:
        return weights, bias
    part = doubt_of_gain(found.rows, chance, plain.scores)
    return leaning(part, plain, share, weights, bias)


def weighed(candidates: tuple[Candidate, ...]) -> Parts:
    """Give each candidate its weight; those under a twentieth of the best get none."""
    best = min(one.objective for one in candidates)
    raw = [(float(np.exp(best - one.objective)), one) for one in candidates]
    kept = [(weight, one) for weight, one in raw if weight >= _LEAST]
    total = sum(weight for weight, _ in kept)
    return tuple((weight / total, one) for weight, one in kept)


def _linear(found: Field, parts: Parts) -> tuple[Array, Array]:
    """Add up ``s ((1 - w) S + w T + a)`` as weights of t(x) and a bias."""
    rows, fitted = found.rows, {}
    weights, bias = np.zeros_like(parts[0][1].source.weights), np.zeros(rows.classes)
    for weight, one in parts:
        point, factor = one.pooled.point, weight * one.pooled.scale
        weights += factor * (1.0 - point.mix) * one.source.weights
        bias += factor * ((1.0 - point.mix) * one.source.bias + point.bias)
        twin = one.twin
        if twin is None:
            continue
        if id(twin) not in fitted:
            fitted[id(twin)] = twin.linear or whole(found, twin)
        own, own_bias = fitted[id(twin)]
        weights += factor * point.mix * twin.factor * own
        bias += factor * point.mix * twin.factor * own_bias
    return weights, bias


def whole(found: Field, twin: Twin) -> tuple[Array, Array]:
    """Average what the folds have learned: a twin's weights of t(x) and its bias.

    Each row has taught all folds but one, so a further fit to all rows would hardly differ.
    """
    assert found.on is not None
    return found.on.weights(np.mean(twin.folds, axis=0))


def ranking(rows: Rows, share: Array, counted: Array, after: Array) -> Array:
    """Compute P(the label is wrong), (n,); zero where there is no label or it is trusted.

    Half of it trusts the channel (``1 - after[y]``), half does not (``1 - q[y]``, the naive Bayes
    q averaged in); their mean, moved in log-odds so that it adds up to the expected number of
    errors of the first.
    """
    judged, wrong, mean = doubts(rows, share, counted, after)
    out = np.zeros(len(rows))
    out[judged] = moved(mean, shift_of(mean, wrong, rows.weight[judged]))
    return out


def doubts(
    rows: Rows, share: Array, counted: Array, after: Array
) -> tuple[NDArray[np.bool_], Array, Array]:
    """Find the rows to judge, their doubt by the channel, and the doubt to rank them by."""
    judged = (rows.label >= 0) & ~rows.trusted
    own = rows.hard[judged] > 0
    wrong = 1.0 - after[judged][own]
    plain = 1.0 - 0.5 * (share + counted)[judged][own]
    return judged, wrong, 0.5 * (wrong + plain)


def moved(chance: Array, shift: float) -> Array:
    """Add a constant to log-odds."""
    held = np.clip(chance, _SURE, 1.0 - _SURE)
    return np.asarray(expit(np.log(held / (1.0 - held)) + shift))


def shift_of(chance: Array, goal: Array, weight: Array) -> float:
    """Find the constant in log-odds at which the weighted sum is that of ``goal``.

    Examples
    --------
    >>> chance = np.array([0.2, 0.4])
    >>> shift = shift_of(chance, np.array([0.1, 0.1]), np.ones(2))
    >>> moved(chance, shift).sum().round(9).item()
    0.2
    """
    held = np.clip(chance, _SURE, 1.0 - _SURE)
    odds = np.log(held / (1.0 - held))
    low, high, target = -60.0, 60.0, float(weight @ goal)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if float(weight @ expit(odds + middle)) > target:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


def doubted(rows: Rows, after: Array, wrong: Array) -> Array:
    """Make ``1 - posterior[y]`` the doubt: the other classes share it as they did before.

    Where the others had nothing, they share it evenly.
    """
    K = rows.classes
    rest = after * (1.0 - rows.hard)
    total = rest.sum(axis=1, keepdims=True)
    even = (1.0 - rows.hard) / (K - 1)
    rest = np.where(total > 0, rest / np.where(total > 0, total, 1.0), even)
    fresh = rows.hard * (1.0 - wrong)[:, None] + rest * wrong[:, None]
    keep = (rows.label < 0) | rows.trusted
    return np.where(keep[:, None], after, fresh)
