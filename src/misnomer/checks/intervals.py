"""Two intervals of the share of wrong labels: of a sheet answered as drawn, and a running one.

The score interval is like Wilson's, for several strata at once. Stratum h holds a share W_h of the
rows; n_h of them were checked and a share x_h of those is wrong. With mu_h the true shares, the
interval of mu = sum_h W_h mu_h holds every value for which some mu_1, mu_2, ... with that sum are
not refuted,

    min { sum_h n_h d(x_h, mu_h) :  sum_h W_h mu_h = mu }  <=  z^2,

d being a power divergence of Cressie and Read (JRSS B 1984),

    2 / (a (a + 1)) ( x (x/m)^a + (1-x) ((1-x)/(1-m))^a - 1 ),

with a = 2/3, or its limit at a = 0, the likelihood's 2 x log(x/m) + 2 (1-x) log((1-x)/(1-m)),
whichever allows more: the first is right about the high end where nothing was found wrong, the
second about the low end where little was. With a = 1 one stratum would give Wilson's interval,
whose high end is farther there than it has to be.

The running interval holds whenever the user stops, by betting against every rate. At turn t a
row I is drawn from those left, with chance c. Given all that was seen before,

    Z = ( wrong so far  +  sum of m_j over the rows left  +  (wrong_I - m_I) / c ) / N

has the mean mu, the true rate, whatever the guesses m: they only make Z vary less. For each rate mu
a player starts with one coin and bets on Z being above it, another on below; if mu is true, neither
grows tenfold with a probability above one in ten (Ville), at any time. The interval holds the rates
that have not lost that much. Waudby-Smith and Ramdas, JRSS B 2024; without replacement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from misnomer.checks.design import Population
from misnomer.estimate import normal_quantile

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

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


def score_interval(
    share: Array, rows: Array, weight: Array, limit: Array | float
) -> tuple[Array, Array]:
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
    >>> low, high = score_interval(np.array([0.2]), np.array([50.0]), np.array([1.0]), 2.706)
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


HORIZONS = (12.0, 50.0, 200.0)  # rows after which each player would like to be done
MAX_STAKE = 0.9  # of what could be lost at one turn
GUESS_ROWS = 2.0  # what the doubts count against the answers, in rows, in each stratum
_GRID, _TINY = 1001, 1e-12


def capital(
    wrong: Array, stratum: Codes, chance: Array, rows: Population, rates: Array, alpha: float = 0.1
) -> Array:
    """What the players hold after each turn, on average, for each rate that may be true: (t, G).

    Several samples at once have an axis before the turns, here and in the result.

    Parameters
    ----------
    wrong : (t,) array
        One where the given label was found wrong, else zero, in the order of the turns.
    stratum, chance : (t,) arrays
        The stratum of each row and its chance at its turn.
    rows : Population
        All rows.
    rates : (G,) array
        The rates to bet against.
    alpha : float
        The share of intervals that may miss: it sets the stakes, not the law.
    """
    lead, G = wrong.shape[:-1], len(rates)
    found, seen = np.zeros((*lead, len(rows.size))), np.zeros((*lead, len(rows.size)))
    held = np.zeros((2 * len(HORIZONS), *lead, G))  # logarithms; first those who bet on above
    out = np.empty((*wrong.shape, G))
    scale = np.sqrt(2.0 * np.log(2.0 / alpha) / np.array(HORIZONS))
    squares, gone, strata = np.full(lead, 0.25), np.zeros(lead), np.arange(len(rows.size))
    for t in range(wrong.shape[-1]):
        here, c = stratum[..., t, None] == strata, chance[..., t]
        guess, base, bottom, top = _before(rows, found, seen, gone)
        z = base + (wrong[..., t] - (guess * here).sum(axis=-1)) / (c * rows.size.sum())
        stake = np.multiply.outer(scale, np.sqrt((t + 1.0) / squares))[..., None]
        above = np.minimum(stake, MAX_STAKE / np.maximum(rates - bottom[..., None], _TINY))
        below = np.minimum(stake, MAX_STAKE / np.maximum(top[..., None] - rates, _TINY))
        away = z[..., None] - rates
        held += np.concatenate([np.log1p(above * away), np.log1p(-below * away)])
        peak = held.max(axis=0)
        out[..., t, :] = np.exp(peak) * np.exp(held - peak).mean(axis=0)
        squares, gone = squares + (z - base) ** 2, gone + (1.0 - gone) * c
        found, seen = found + here * wrong[..., t, None], seen + here
    return out


def _before(
    rows: Population, found: Array, seen: Array, gone: Array
) -> tuple[Array, Array, Array, Array]:
    """What is known before a turn: the guesses, the mean of Z they give, and its least and most."""
    left, N = rows.size - seen, rows.size.sum()
    guess = (found + GUESS_ROWS * rows.guess) / (seen + GUESS_ROWS)
    base = (found + left * guess).sum(axis=-1) / N
    # one over the smallest chance that a row of each stratum can have now
    room = np.where(left > 0, (1.0 - gone)[..., None] / rows.least, 0.0) / N
    bottom = base - (guess * room).max(axis=-1)
    top = base + ((1.0 - guess) * room).max(axis=-1)
    return guess, base, bottom, top


def running_interval(
    wrong: Array, stratum: Codes, chance: Array, rows: Population, confidence: float
) -> tuple[float, float]:
    """The rates against which nobody has won, at any turn so far.

    Examples
    --------
    >>> from misnomer.checks.design import population
    >>> rows = population(np.zeros(1000, int), np.full(1000, 0.1), np.full(1000, 0.001))
    >>> turns = np.zeros(40, int), 1 / (1000 - np.arange(40.0))
    >>> low, high = running_interval(np.zeros(40), *turns, rows, 0.9)
    >>> low, 0.05 < high < 0.12
    (0.0, True)
    """
    alpha, N = 1.0 - confidence, rows.size.sum()
    rates = np.linspace(0.0, 1.0, _GRID)
    held = (capital(wrong, stratum, chance, rows, rates, alpha) < 1.0 / alpha).all(axis=0)
    # What was seen is certain: so many wrong, so many right.
    held &= (rates >= wrong.sum() / N - 1e-12) & (rates <= 1.0 - (1.0 - wrong).sum() / N + 1e-12)
    if not held.any():  # one time in ten at most; say what is left, not nothing
        center = float(np.clip(wrong.mean(), 0.0, 1.0))
        return center, center
    inside, step = rates[held], 1.0 / (_GRID - 1)
    low, high = float(inside[0]) - step, float(inside[-1]) + step
    return max(low, 0.0), min(high, 1.0)
