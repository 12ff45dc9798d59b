"""Doubts after checks: what the model called 30 % is what was found wrong among such rows.

    logit P'(wrong) = a + b logit P(wrong)

fitted to the checked rows, each weighted by one over its intensity, with a ~ N(0, 2^2) and
b ~ N(1, 1/2^2), so that few rows move little; then a is shifted until the doubts of all rows add up
to the checked estimate: one answer to one question.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from misnomer.checks.sample import Sample

Array = NDArray[np.float64]

_SPREAD_A, _SPREAD_B, _CLIP = 2.0, 0.5, 1e-6


def recalibrated(
    doubt: Array, sample: Sample, rate: float, known: Mapping[int, bool] | None = None
) -> Array:
    """Doubts of all rows, (N,), recalibrated so that their mean is the rate; NaN stays NaN.

    Parameters
    ----------
    doubt : (N,) array
        P(the given label is wrong) by the model; NaN for rows without a label.
    sample : Sample
        The checked rows, whose positions refer to ``doubt``.
    rate : float
        The checked estimate of the share of wrong labels.
    known : mapping of int to bool
        Rows that are known besides, and whether their label is wrong.
    """
    odds = special.logit(np.clip(doubt, _CLIP, 1.0 - _CLIP))
    wrong, sure = sample.wrong, sample.known & np.isfinite(odds[sample.row])
    a, b = _fitted(odds[sample.row][sure], wrong[sure], 1.0 / sample.intensity[sure])
    line, member = a + b * odds, np.isfinite(odds)
    settled = np.full(len(doubt), np.nan)
    settled[sample.row[sure]] = wrong[sure]
    for row, is_wrong in (known or {}).items():
        settled[row] = float(is_wrong)
    loose = member & np.isnan(settled)
    wanted = rate * member.sum() - np.nansum(settled[member])
    out = np.where(member, settled, np.nan)
    out[loose] = special.expit(line[loose] + _shift(line[loose], wanted))
    return out


def assisted_share(doubt: Array, sample: Sample) -> float:
    """Estimate the share of wrong labels: the recalibrated doubts' mean, and what they missed.

    The difference estimator of survey statistics: right on average whatever the doubts are worth,
    and where all checked rows are what the model said, it is the model's own share; three right
    answers do not make the errors vanish that nobody has looked at.
    """
    odds = special.logit(np.clip(doubt, _CLIP, 1.0 - _CLIP))
    sure, member = sample.known & np.isfinite(odds[sample.row]), np.isfinite(odds)
    wrong, weight = sample.wrong[sure], 1.0 / sample.intensity[sure]
    a, b = _fitted(odds[sample.row][sure], wrong, weight)
    line = special.expit(a + b * odds)
    missed = weight @ (wrong - line[sample.row][sure]) / max(float(weight.sum()), 1e-300)
    return float(line[member].mean() + missed)


def _fitted(odds: Array, wrong: Array, weight: Array) -> tuple[float, float]:
    if not len(odds):
        return 0.0, 1.0
    w = weight / weight.mean()

    def loss(ab: Array) -> tuple[float, Array]:
        line = ab[0] + ab[1] * odds
        value = w @ (np.logaddexp(0.0, line) - wrong * line)
        slack = w * (special.expit(line) - wrong)
        value += ab[0] ** 2 / (2 * _SPREAD_A**2) + (ab[1] - 1.0) ** 2 / (2 * _SPREAD_B**2)
        slope = np.array([ab[0] / _SPREAD_A**2, (ab[1] - 1.0) / _SPREAD_B**2])
        return float(value), slope + np.array([slack.sum(), slack @ odds])

    start, bounds = np.array([0.0, 1.0]), [(None, None), (0.0, None)]
    found = optimize.minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return float(found[0]), float(found[1])


def _shift(line: Array, wanted: float) -> float:
    """Find c with sum expit(line + c) = wanted, by halving."""
    if not len(line):
        return 0.0
    low, high = -50.0, 50.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        enough = special.expit(line + middle).sum() >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high
