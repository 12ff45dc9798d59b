"""From checked rows to shares with intervals, whatever the noise, and doubts that agree with them.

What the model called 30 % is what was found wrong among such rows:

    logit P'(wrong) = a + b logit P(wrong)

fitted to the checked rows, each weighted by one over its intensity, with a ~ N(0, 2^2) and
b ~ N(1, 1/2^2), so that few rows move little; then a is shifted until the doubts of all rows add up
to the checked estimate: one answer to one question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from misnomer.checks.design import Sample, halved
from misnomer.checks.intervals import running_interval, score_interval, threshold
from misnomer.estimate import Estimate
from misnomer.head.checked import FEWEST_DRAWN

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CONFIDENCE = 0.90
_ENDLESS = 1e15
MIN_ROWS = 2  # a stratum with fewer answers joins its neighbor


@dataclass(frozen=True)
class Strata:
    """Answers summed up by stratum.

    Attributes
    ----------
    share : (H,) array
        The share of the event among the checked rows.
    rows : (H,) array
        What the checked rows are worth, as rows of a plain sample from endless many.
    weight : (H,) array
        The share of all rows.
    """

    share: Array
    rows: Array
    weight: Array

    @property
    def value(self) -> float:
        """The estimate: sum of weight x share."""
        return float(self.weight @ self.share)


def summed(sample: Sample, event: Array) -> Strata:
    """Sum an event (0 or 1 of each turn) up by stratum; nearly empty strata join a neighbor."""
    joined = _joined(np.bincount(sample.stratum, minlength=len(sample.population.size)))
    h, H = joined[sample.stratum], int(joined.max()) + 1
    size = np.bincount(joined, weights=sample.population.size)
    count, w = np.bincount(h, minlength=H), weights(sample)
    total = np.bincount(h, weights=w, minlength=H)
    share = np.bincount(h, weights=w * event, minlength=H) / total
    worth = total**2 / np.bincount(h, weights=w * w, minlength=H)
    # All rows of a stratum checked: nothing is left open there.
    left = np.maximum(size - count, 1e-9 * size)
    return Strata(
        np.clip(share, 0.0, 1.0), worth * np.maximum(size - 1, 1) / left, size / size.sum()
    )


def weights(sample: Sample) -> Array:
    """One over the chance of being among all rows drawn so far, 1 - exp(-t q), (n,).

    t is such that the chances of all rows add up to the number of draws.
    """
    rows = sample.population
    mean, drawn = rows.mass / rows.size, len(sample.row)
    low, high = 0.0, 2.0 * drawn
    while -(rows.size @ np.expm1(-high * mean)) < drawn and high < _ENDLESS:
        high *= 2.0
    high = halved(lambda t: bool(-(rows.size @ np.expm1(-t * mean)) >= drawn), low, high)
    return np.asarray(-1.0 / np.expm1(-high * sample.intensity))


def _joined(count: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the strata anew, so that each has some answers.

    Examples
    --------
    >>> _joined(np.array([5, 1, 4, 0])).tolist()
    [0, 1, 1, 1]
    """
    out, number, held = np.zeros(len(count), np.int64), 0, 0
    for h, n in enumerate(count.tolist()):
        out[h] = number
        held += n
        if held >= MIN_ROWS:
            number, held = number + 1, 0
    if held or number > out.max() or 0 < number <= out[-1]:  # what is over joins the last
        out = np.minimum(out, max(number - 1, 0))
    return out


def sheet_share(sample: Sample, event: Array, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the share of an event among all rows, from a sheet that was answered as drawn.

    Parameters
    ----------
    sample : Sample
        The turns that count, "cannot say" included.
    event : (n,) array
        One or zero for each turn; NaN where nobody could say. Such a row may be either: the low end
        takes it for zero, the high end for one.
    confidence : float
        How often such intervals hold the truth.
    """
    ends, unsure = [], np.isnan(event)
    for filled in (0.0, 1.0) if unsure.any() else (0.0,):
        one = summed(sample, np.where(unsure, filled, event))
        limit = threshold(confidence, len(one.weight), len(event))
        low, high = score_interval(one.share, one.rows, one.weight, limit)
        ends.append((float(low), float(high)))
    value = _value(sample, event)
    return _estimate(value, ends[0][0], ends[-1][1], confidence)


def _value(sample: Sample, event: Array) -> float:
    """The estimate from the rows that were answered; one half where there is none."""
    known = ~np.isnan(event)
    return summed(sample.take(known), event[known]).value if known.any() else 0.5


def _estimate(value: float, low: float, high: float, confidence: float) -> Estimate:
    low, high = max(0.0, min(low, value)), min(1.0, max(high, value))
    return Estimate(float(value), float(low), float(high), confidence)


def running_share(sample: Sample, event: Array) -> Estimate:
    """Estimate the same with an interval that holds whenever the answering stops."""
    value, unsure = (_value(sample, event) if len(event) else 0.5), np.isnan(event)
    if not len(event):
        return Estimate(0.5, 0.0, 1.0, CONFIDENCE)
    turns = (sample.stratum, sample.chance, sample.population)
    low = running_interval(np.where(unsure, 0.0, event), *turns, CONFIDENCE)[0]
    high = running_interval(np.where(unsure, 1.0, event), *turns, CONFIDENCE)[1]
    return _estimate(value, low, high, CONFIDENCE)


def domain_share(sample: Sample, inside: Mask, event: Array) -> Estimate | None:
    """Estimate the share of an event among the rows of a part: a label, a true class, a group.

    The part's rows, each weighted by one over its intensity, as a sample of their effective size
    (Kish; Korn and Graubard 1998). None where none of them was answered.
    """
    known = inside & ~np.isnan(event)
    if not known.any():
        return None
    w = weights(sample)[known]
    share = np.array([np.clip(w @ event[known] / w.sum(), 0.0, 1.0)])
    worth = np.array([w.sum() ** 2 / (w @ w)])
    low, high = score_interval(share, worth, np.ones(1), threshold(CONFIDENCE))
    return _estimate(share.item(), float(low), float(high), CONFIDENCE)


def rows_needed(sample: Sample, event: Array, within: float, confidence: float = CONFIDENCE) -> int:
    """Count how many rows in all, drawn as so far, bring the interval to ± so much.

    The rates of the strata are taken as they were found, each with one more row of the overall
    rate: nobody knows yet what the others will say.
    """
    if not 0 < within < 1:
        raise ValueError(f"within is {within}: give a distance between 0 and 1, such as 0.05")
    known = ~np.isnan(event)
    one = summed(sample.take(known), event[known])
    share = (one.share * one.rows + one.value) / (one.rows + 1.0)
    have, total = len(sample.row), int(sample.population.size.sum())

    def half(n: int) -> float:
        """Half the width with n rows; of rows without end, then of so many that are there."""
        grown = one.rows * n / have * (total - 1) / max(total - n, 1e-9)
        limit = threshold(confidence, len(one.weight), n)
        low, high = score_interval(share, grown, one.weight, limit)
        return float(high - low) / 2.0

    low, high = 0, total
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half(middle) <= within else (middle, high)
    return high


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
    line, sure = _line(doubt, sample)
    member = np.isfinite(line)
    settled = np.full(len(doubt), np.nan)
    settled[sample.row[sure]] = sample.wrong[sure]
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
    answers do not make the errors vanish that nobody has looked at. Fewer than ten answers leave
    the model's share as it is: one wrong label of one would make all labels wrong.
    """
    line, sure = _line(doubt, sample)
    share, weight = special.expit(line), 1.0 / sample.intensity[sure]
    if sure.sum() < FEWEST_DRAWN:
        return float(share[np.isfinite(line)].mean())
    missed = weight @ (sample.wrong[sure] - share[sample.row][sure])
    missed /= max(float(weight.sum()), 1e-300)
    return float(share[np.isfinite(line)].mean() + missed)


def _line(doubt: Array, sample: Sample) -> tuple[Array, Mask]:
    """Compute a + b logit P(wrong) of all rows, and tell the turns that it was fitted to.

    Fewer than ten change nothing: they could not tell a from b.
    """
    odds = special.logit(np.clip(doubt, _CLIP, 1.0 - _CLIP))
    sure = sample.known & np.isfinite(odds[sample.row])
    if sure.sum() < FEWEST_DRAWN:
        return odds, sure
    a, b = _fitted(odds[sample.row][sure], sample.wrong[sure], 1.0 / sample.intensity[sure])
    return a + b * odds, sure


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
    return halved(lambda c: bool(special.expit(line + c).sum() >= wanted), -50.0, 50.0, steps=80)
