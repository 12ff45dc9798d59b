"""The interval of a stratified share: like Wilson's, for several strata at once.

Stratum h holds a share W_h of the rows; n_h of them were checked and a share x_h of those is wrong.
With mu_h the true shares, the interval of mu = sum_h W_h mu_h holds every value for which some
mu_1, mu_2, ... with that sum are not refuted,

    min { sum_h n_h d(x_h, mu_h) :  sum_h W_h mu_h = mu }  <=  z^2,

d being a power divergence of Cressie and Read (JRSS B 1984),

    2 / (a (a + 1)) ( x (x/m)^a + (1-x) ((1-x)/(1-m))^a - 1 ),

with a = 2/3, or its limit at a = 0, the likelihood's 2 x log(x/m) + 2 (1-x) log((1-x)/(1-m)),
whichever allows more: the first is right about the high end where nothing was found wrong, the
second about the low end where little was. With a = 1 one stratum would give Wilson's interval,
whose high end is farther there than it has to be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import normal_quantile

Array = NDArray[np.float64]

CAUTION = 0.15  # of the allowed misses are kept in reserve: the interval is an approximation
POWER = 2.0 / 3.0  # Cressie and Read's: nearest to chi-square where counts are small
_STEPS, _HALVINGS, _NEWTONS = 36, 10, 5


def threshold(confidence: float, strata: int = 1, rows: float = 1.0) -> float:
    """z^2, with a small reserve: of ten misses in a hundred, eight and a half are spent.

    H rates are fitted to the n rows instead of one: with few rows the least distance is larger for
    it than chi-square says, by about (H - 1) / n.

    Examples
    --------
    >>> round(threshold(0.9), 3), round(threshold(0.9, 5, 100), 3)
    (2.967, 3.085)
    """
    z = normal_quantile(1.0 - (1.0 - CAUTION) * (1.0 - confidence))
    return float(z * z * (1.0 + (strata - 1) / rows))


Function = Callable[[Array, Array], Array]
Distance = tuple[Function, Function]  # m from (x, slope), and d from (x, m)


def interval(share: Array, rows: Array, weight: Array, limit: Array | float) -> tuple[Array, Array]:
    """Both ends of the interval; strata on the last axis, any shape before it.

    Parameters
    ----------
    share : (..., H) array
        The share of wrong rows among those checked.
    rows : (..., H) array
        How many were checked, or are they worth (a finite population makes them worth more).
    weight : (..., H) array
        W, sums to one over the last axis.
    limit : (...) array
        z^2.

    Examples
    --------
    >>> low, high = interval(np.array([0.2]), np.array([50.0]), np.array([1.0]), 2.706)
    >>> round(low.item(), 4), round(high.item(), 4)
    (0.1185, 0.3059)
    """
    share, rows, weight = np.broadcast_arrays(share, rows, weight)
    limit = np.broadcast_to(np.asarray(limit, np.float64), share.shape[:-1])
    high = np.maximum(*(_upper(share, rows, weight, limit, d) for d in _DISTANCES))
    turned = 1.0 - share
    low = np.maximum(*(_upper(turned, rows, weight, limit, d) for d in _DISTANCES))
    return 1.0 - low, high


def _upper(share: Array, rows: Array, weight: Array, limit: Array, distance: Distance) -> Array:
    """Raise all strata together until the distance is used up: the largest sum W_h mu_h."""
    slope, value = distance
    low = np.full(share.shape[:-1], -30.0)
    high = np.full(share.shape[:-1], 30.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        mu = slope(share, weight / rows * np.exp(middle)[..., None])
        inside = (rows * value(share, mu)).sum(axis=-1) <= limit
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    mu = slope(share, weight / rows * np.exp(low)[..., None])
    return np.asarray((weight * mu).sum(axis=-1))


def _power_value(x: Array, m: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(x > 0, x * (x / m) ** POWER, 0.0)
        right = np.where(x < 1, (1.0 - x) * ((1.0 - x) / (1.0 - m)) ** POWER, 0.0)
    return np.asarray(2.0 / (POWER * (POWER + 1.0)) * (wrong + right - 1.0))


def _power_at(x: Array, slope: Array) -> Array:
    """Solve d'(m) = 2/(a+1) (((1-x)/(1-m))^(a+1) - (x/m)^(a+1)) = slope: halving, then Newton."""
    low, high = np.array(x), np.ones_like(x)
    m = 0.5 * (low + high)
    for step in range(_HALVINGS + _NEWTONS):
        inner, outer = np.maximum(1.0 - m, 1e-9), np.maximum(m, 1e-9)
        right, wrong = ((1.0 - x) / inner) ** (POWER + 1.0), (x / outer) ** (POWER + 1.0)
        over = 2.0 / (POWER + 1.0) * (right - wrong) - slope
        rise = 2.0 * (right / inner + wrong / outer)
        low, high = np.where(over < 0, m, low), np.where(over < 0, high, m)
        m = 0.5 * (low + high) if step < _HALVINGS else np.clip(m - over / rise, low, high)
    return np.where(x < 1.0, np.clip(m, x, 1.0), 1.0)


def _divergence_value(x: Array, m: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(x > 0, x * np.log(x / m), 0.0)
        right = np.where(x < 1, (1.0 - x) * np.log((1.0 - x) / (1.0 - m)), 0.0)
    return np.asarray(2.0 * (wrong + right))


def _divergence_at(x: Array, slope: Array) -> Array:
    """Solve d'(m) = 2 (m - x) / (m (1 - m)) = slope: the larger root of a quadratic."""
    b = 2.0 - slope
    root = np.sqrt(b * b + 8.0 * slope * x)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(b > 0, 4.0 * x / (b + root), (root - b) / (2.0 * slope))
    # slope m^2 + (2 - slope) m - 2 x = 0; written so that neither form cancels
    return np.clip(found, x, 1.0)


_DISTANCES: tuple[Distance, ...] = (
    (_power_at, _power_value),
    (_divergence_at, _divergence_value),
)
