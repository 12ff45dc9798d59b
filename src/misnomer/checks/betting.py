"""The running interval: it holds whenever the user stops, by betting against every rate.

At turn t a row I is drawn from those left, with chance c. Given all that was seen before,

    Z = ( wrong so far  +  sum of m_j over the rows left  +  (wrong_I - m_I) / c ) / N

has the mean mu, the true rate, whatever the guesses m: they only make Z vary less. For each rate mu
a player starts with one coin and bets on Z being above it, another on below; if mu is true, neither
grows tenfold with a probability above one in ten (Ville), at any time. The interval holds the rates
that have not lost that much. Waudby-Smith and Ramdas, JRSS B 2024; without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

HORIZONS = (12.0, 50.0, 200.0)  # rows after which each player would like to be done
MAX_STAKE = 0.9  # of what could be lost at one turn
GUESS_ROWS = 2.0  # what the doubts count against the answers, in rows, in each stratum
_GRID, _TINY = 1001, 1e-12


@dataclass(frozen=True)
class Population:
    """All rows that may be drawn, by stratum.

    Attributes
    ----------
    size : (H,) array
        Rows of each stratum.
    guess : (H,) array
        The mean doubt of each.
    mass : (H,) array
        The summed intensity of each; the sum over all is one.
    least : (H,) array
        The smallest intensity of a row of each.
    """

    size: Array
    guess: Array
    mass: Array
    least: Array


def population(stratum: Codes, doubt: Array, q: Array) -> Population:
    """Sum the rows up by stratum.

    Examples
    --------
    >>> one = population(np.array([0, 0, 1]), np.array([0.1, 0.3, 0.9]), np.array([0.2, 0.3, 0.5]))
    >>> one.size.tolist(), one.guess.round(2).tolist(), one.least.tolist()
    ([2.0, 1.0], [0.2, 0.9], [0.2, 0.5])
    """
    member = stratum >= 0
    h, H = stratum[member], int(stratum.max()) + 1
    size = np.bincount(h, minlength=H).astype(np.float64)
    guess = np.bincount(h, weights=np.nan_to_num(doubt[member], nan=0.5), minlength=H) / size
    mass = np.bincount(h, weights=q[member], minlength=H).astype(np.float64)
    least = np.full(H, np.inf)
    np.minimum.at(least, h, q[member])
    return Population(size, guess, mass, least)


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


def interval(
    wrong: Array, stratum: Codes, chance: Array, rows: Population, confidence: float
) -> tuple[float, float]:
    """The rates against which nobody has won, at any turn so far.

    Examples
    --------
    >>> rows = population(np.zeros(1000, int), np.full(1000, 0.1), np.full(1000, 0.001))
    >>> turns = np.zeros(40, int), 1 / (1000 - np.arange(40.0))
    >>> low, high = interval(np.zeros(40), *turns, rows, 0.9)
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
