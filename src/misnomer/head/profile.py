"""How far the numbers could be off: the whole range of error rates is scanned.

At each typical error rate the head is fitted again, from every explanation. What fits the labels
about as well stays in the interval, with the weight of its likelihood, so that a second explanation
is seen, and widens the answer instead of being lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from misnomer.estimate import Estimate
from misnomer.head.answer import Answer, Totals
from misnomer.head.explanation import Explanation
from misnomer.head.objective import Typical
from misnomer.kernels.threads import each

Array = NDArray[np.float64]

CONFIDENCE = 0.90
SCANNED_RATES = (0.002, 0.01, 0.03, 0.07, 0.12, 0.18, 0.25, 0.33, 0.42, 0.52)
SCANNED_ROWS = 50.0  # virtual rows that hold a class at the scanned rate
SCAN_STEPS, SCAN_TOLERANCE = 30, 1e-5
DISPERSION = 10.0  # nats count for a tenth: real columns fit no model as well as it thinks
ROW_WORTH = 0.25  # of a row, for the same reason, in what chance alone may do to a share
LEAST_WEIGHT = 1e-3  # explanations below are not scanned
APART, PLAUSIBLE = 0.10, 0.05  # rates that differ so much, with such a weight, are told


@dataclass(frozen=True, eq=False)
class Scan:
    """What the labels say of every error rate.

    Attributes
    ----------
    rates : (G,) array
        The share of wrong labels at each stop.
    weights : (G,) array
        How plausible it is; they sum to one.
    matrices, shares : (G, K, K) and (G, K) arrays
        The noise matrix and the class shares there.
    """

    rates: Array
    weights: Array
    matrices: Array
    shares: Array

    def moved(self, before: float, after: float) -> Scan:
        """Move every rate by the odds that lead from one rate to another.

        The stops know of one channel. Where strata have channels of their own, the answer's rate is
        another, and so is every other explanation's.

        Examples
        --------
        >>> rates, even = np.array([0.0, 0.2, 0.5]), np.ones(3) / 3
        >>> one = Scan(rates, even, np.ones((3, 1, 1)), np.ones((3, 1)))
        >>> one.moved(0.2, 0.5).rates.round(2).tolist()
        [0.0, 0.5, 0.8]
        """
        if not (0.0 < before < 1.0 and 0.0 < after < 1.0):
            return self
        factor = after / (1.0 - after) * (1.0 - before) / before
        odds = factor * self.rates
        return replace(self, rates=odds / (odds + 1.0 - self.rates))

    def alternatives(self, rate: float) -> list[tuple[float, float]]:
        """List other error rates that are about as plausible as the best: rate, relative weight."""
        odds = (self.weights / self.weights.max()) ** DISPERSION  # as the likelihood has it
        far = np.abs(self.rates - rate) > APART
        kept = np.flatnonzero(far & (odds > PLAUSIBLE))
        return [(float(self.rates[g]), float(odds[g])) for g in kept]


def scan(answer: Answer) -> Scan:
    """Fit the head again at each typical error rate, from every plausible explanation."""
    stops: list[tuple[float, Totals]] = []
    for weight, one in zip(answer.weights, answer.explanations, strict=True):
        # with checked rows: those by the labels, for only these say what labels say
        if weight >= LEAST_WEIGHT if one.surprise is None else one.problem.label_worth == 1.0:
            stops += each(partial(_stop, one), SCANNED_RATES)
            stops.append((one.cost, _totals(one)))
    cost = np.array([value for value, _ in stops])
    weights = np.exp(-(cost - cost.min()) / DISPERSION)
    found = [total for _, total in stops]
    return Scan(
        np.array([total.rate for total in found]),
        weights / weights.sum(),
        np.stack([total.matrix for total in found]),
        np.stack([total.shares for total in found]),
    )


def _stop(one: Explanation, rate: float) -> tuple[float, Totals]:
    problem, typical = one.problem, Typical(rate, SCANNED_ROWS)
    K = problem.size[1]
    held = 0.5 * one.point.channel + 0.5 * typical.counts(K, K) / SCANNED_ROWS
    start = problem.write(held, one.point)
    vector, _, _ = problem.minimum(start, typical, max_iter=SCAN_STEPS, tol=SCAN_TOLERANCE)
    moved = replace(one, point=problem.read(vector), typical=typical)
    return problem.evidence_cost(vector, typical), _totals(moved)


def _totals(one: Explanation) -> Totals:
    problem, point = one.problem, one.point
    judged = problem.judge(problem.logits(point), point.channel)
    return Totals(problem.joint(judged.posterior))


def intervals(scanned: Scan, totals: Totals, rows: float) -> dict[str, Any]:
    """Say intervals of the rate, the matrix and the class shares, by their names.

    Parameters
    ----------
    scanned : Scan
        What every error rate has going for it.
    totals : Totals
        The answer itself.
    rows : float
        The weight of the labeled rows.
    """
    rate = totals.rate
    worth = ROW_WORTH * rows
    chance = np.sqrt(np.maximum(scanned.rates * (1.0 - scanned.rates), 0.25 / rows) / worth)
    low, high = _quantiles(scanned.rates, chance, scanned.weights)
    low, high = min(max(low, 0.0), rate), max(min(high, 1.0), rate)
    reach = 1.645
    mass = ROW_WORTH * np.maximum(totals.joint.sum(axis=0), 1.0)
    within = totals.matrix * (1.0 - totals.matrix) / mass
    spread = np.sqrt(_variance(scanned.weights, scanned.matrices, totals.matrix) + within)
    share = totals.shares
    about = _variance(scanned.weights, scanned.shares, share) + share * (1.0 - share) / worth
    wide = np.sqrt(about)
    return {
        "error_rate": Estimate(rate, low, high, CONFIDENCE),
        "noise_matrix": _ends(totals.matrix, reach * spread),
        "class_prior": _ends(share, reach * wide),
    }


def _variance(weights: Array, values: Array, center: Array) -> Array:
    return np.asarray(np.tensordot(weights, (values - center) ** 2, axes=1))


def _ends(value: Array, reach: Array) -> tuple[Array, Array]:
    return np.clip(value - reach, 0.0, 1.0), np.clip(value + reach, 0.0, 1.0)


def _quantiles(means: Array, spreads: Array, weights: Array) -> tuple[float, float]:
    """Find the ends of the middle of a mixture of normal distributions."""
    tail = (1.0 - CONFIDENCE) / 2.0

    def below(at: float) -> float:
        return float(weights @ ndtr((at - means) / spreads))

    return _root(below, tail), _root(below, 1.0 - tail)


def _root(rising: Any, level: float) -> float:
    low, high = -0.5, 1.5
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return 0.5 * (low + high)
