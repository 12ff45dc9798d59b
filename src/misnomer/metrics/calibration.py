"""Do probabilities keep their word? What was promised, beside what happened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.estimate import normal_quantile

Array = NDArray[np.float64]

CONFIDENCE = 0.90


@dataclass(frozen=True, eq=False)
class Reliability:
    """Rows put into bins by their probability; bins without rows are left out.

    Attributes
    ----------
    start, stop : (B,) arrays
        The ends of each bin.
    count : (B,) array
        How many rows it holds (or their weight).
    predicted : (B,) array
        The mean probability of its rows: what was promised.
    observed : (B,) array
        The share of its rows for which the event happened.
    low, high : (B,) arrays
        The Wilson interval of that share.
    confidence : float
        The coverage of the interval.
    """

    start: Array
    stop: Array
    count: Array
    predicted: Array
    observed: Array
    low: Array
    high: Array
    confidence: float = CONFIDENCE

    @property
    def error(self) -> float:
        """The expected calibration error: mean |observed - predicted|, weighted by rows."""
        return float(np.average(abs(self.observed - self.predicted), weights=self.count))


def wilson_interval(share: ArrayLike, count: ArrayLike, confidence: float) -> tuple[Array, Array]:
    """Bound a share p seen in n rows, with z the normal quantile of the confidence.

        (p + z²/2n ± z sqrt(p (1 - p) / n + z²/4n²)) / (1 + z²/n)

    Examples
    --------
    >>> low, high = wilson_interval([0.0, 0.5], [10, 10], 0.90)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.269], [0.213, 0.731])
    """
    p, n = np.asarray(share, float), np.asarray(count, float)
    z2 = normal_quantile(confidence) ** 2
    middle = p + z2 / (2 * n)
    half = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n)))
    scale = 1 + z2 / n
    return np.clip((middle - half) / scale, 0, 1), np.clip((middle + half) / scale, 0, 1)


def reliability(
    probability: ArrayLike,
    happened: ArrayLike,
    *,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> Reliability:
    """Compare promised probabilities with what happened, in bins of equal width.

    Parameters
    ----------
    probability : array (n,)
        P(event) of each row.
    happened : array (n,) of bool
        Whether it did; numbers between 0 and 1 count in part.
    bins : int, default 10
        How many bins between 0 and 1.
    sample_weight : array (n,), optional
        The weight of each row.

    Returns
    -------
    Reliability
        The bins that hold rows.

    Examples
    --------
    >>> curve = reliability([0.1, 0.1, 0.1, 0.9], [0, 0, 1, 1], bins=2)
    >>> curve.observed.round(3).tolist()
    [0.333, 1.0]
    >>> round(curve.error, 4)
    0.2
    """
    p, event = np.asarray(probability, float), np.asarray(happened, float)
    weight = np.ones(len(p)) if sample_weight is None else np.asarray(sample_weight, float)
    _check(p, event, weight)
    place = np.minimum((p * bins).astype(np.intp), bins - 1)
    count, promised, seen = (
        np.bincount(place, weights=weight * value, minlength=bins).astype(np.float64)
        for value in (np.ones(len(p)), p, event)
    )
    used = np.flatnonzero(count)
    observed = seen[used] / count[used]
    low, high = wilson_interval(observed, count[used], CONFIDENCE)
    return Reliability(
        start=used / bins,
        stop=(used + 1) / bins,
        count=count[used],
        predicted=promised[used] / count[used],
        observed=observed,
        low=low,
        high=high,
    )


def forget_labels(posterior: ArrayLike, given: ArrayLike, channel: ArrayLike) -> Array:
    """Take the given label's own evidence away: ``P(z | x) ~ P(z | x, y) / P(y | z)``, (n, K).

    Rows without a label (-1) stay as they are. A class that cannot bear the given label has no
    posterior left to tell its share by: it stays at zero.

    Examples
    --------
    >>> forget_labels([[0.75, 0.25]], [0], [[0.75, 0.25], [0.25, 0.75]]).tolist()
    [[0.5, 0.5]]
    """
    share, code = np.array(posterior, float), np.asarray(given)
    known = code >= 0
    bearing = np.asarray(channel, float)[code[known]]
    share[known] = np.where(bearing > 0, share[known] / np.where(bearing > 0, bearing, 1.0), 0.0)
    return share / share.sum(axis=1, keepdims=True)


def forecast_reliability(
    share: ArrayLike, given: ArrayLike, channel: ArrayLike, *, bins: int = 10
) -> Reliability:
    """Check forecasts of the given label, where no truth is known.

    The forecast of a row is its likeliest label under ``P(y | x) = sum_z P(y | z) P(z | x)``; what
    happened is whether that label was given. Rows without a label (-1) are left out.

    Examples
    --------
    >>> channel = [[0.75, 0.25], [0.25, 0.75]]
    >>> curve = forecast_reliability([[1, 0], [1, 0], [1, 0], [0, 1]], [0, 0, 0, 0], channel)
    >>> curve.predicted.tolist(), curve.observed.tolist()
    ([0.75], [0.75])
    """
    code = np.asarray(given)
    known = code >= 0
    forecast = np.asarray(share, float)[known] @ np.asarray(channel, float).T
    likeliest = forecast.argmax(axis=1)
    chance = np.clip(forecast[np.arange(len(forecast)), likeliest], 0.0, 1.0)
    return reliability(chance, likeliest == code[known], bins=bins)


def _check(p: Array, event: Array, weight: Array) -> None:
    if not p.shape == event.shape == weight.shape or p.ndim != 1:
        raise ValueError(
            f"There are {p.size} probabilities, {event.size} outcomes and {weight.size} weights: "
            "give one of each per row."
        )
    if not len(p):
        raise ValueError("There are no rows to compare: give at least one probability.")
    for name, values in (("probability", p), ("outcome", event)):
        bad = ~((values >= 0) & (values <= 1))
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"The {name} of row {row} is {values[row]}: give numbers in 0 to 1.")
