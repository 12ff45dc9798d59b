"""How sure a closed form is: leave out one part of the rows after the other, and look.

The sums behind a closed form add, so the sums without a part are the total less that part: all
the estimates together cost no further pass. With G parts and estimates e_g,

    standard error^2 = (G - 1) / G sum_g (e_g - mean e)^2
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.features import PairSums

Array = NDArray[np.float64]

PARTS = 20  # of the rows; each is left out once


def merged(parts: PairSums) -> PairSums:
    """Add up the parts, (2 G,) -> (2,): side is the fastest index."""
    return PairSums(*(_by_part(values).sum(axis=0) for values in _values(parts)))


def jackknife(parts: PairSums, estimate: Callable[[PairSums], Array]) -> Array:
    """Compute the standard error of each number of an estimate; infinite where it fails.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> one = np.ones((2 * PARTS, 1))
    >>> parts = PairSums(one[:, 0], rng.normal(size=one.shape), one[:, 0])
    >>> mean = jackknife(parts, lambda sums: sums.first[:, 0] / sums.mass)
    >>> by_hand = parts.first.reshape(PARTS, 2).std(axis=0, ddof=1) / np.sqrt(PARTS)
    >>> np.allclose(mean, by_hand)
    True
    """
    by_part = [_by_part(values) for values in _values(parts)]
    used = np.flatnonzero(by_part[0].sum(axis=1) > 0)
    try:
        left = np.stack([estimate(_without(by_part, int(g))) for g in used])
    except ValueError:  # without some part the form has no solution: nothing is sure
        return np.full(len(estimate(merged(parts))), np.inf)
    G = len(used)
    error: Array = np.sqrt((G - 1) / G * np.sum((left - left.mean(axis=0)) ** 2, axis=0))
    return error


def _values(parts: PairSums) -> tuple[Array, Array, Array]:
    return parts.mass, parts.first, parts.pairs


def _by_part(values: Array) -> Array:
    """Give parts an axis of their own, (2 G, ...) -> (G, 2, ...)."""
    return values.reshape(-1, 2, *values.shape[1:])


def _without(by_part: list[Array], g: int) -> PairSums:
    return PairSums(*(values.sum(axis=0) - values[g] for values in by_part))
