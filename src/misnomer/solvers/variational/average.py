"""Several ends of a variational search, read as one: their sums, averaged.

Every end is a hump of the posterior, and its bound says how much of it the hump holds. Where few
rows leave two explanations nearly as good, the better one is a toss of a coin; their average is
what probability asks for, and since sums determine a model, the average of sums is a model again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from misnomer.channel import Channel
from misnomer.stats import Stats

Array = NDArray[np.float64]

_SAME = 0.01  # nats: ends whose bounds are nearer than this are one end
_GRID = (np.arange(64) + 0.5) / 64


def averages(channel: Channel, stats: Stats) -> bool:
    """Tell whether only the labels name the classes: two of them, free flip rates, none trusted."""
    free = channel.matrix.shape == (2, 2) and bool(channel.free.all()) and channel.tied != "one"
    return free and not stats.joint[3:].any()


def shares(bounds: Array) -> Array:
    """Share out one by ``exp(bound)``, each distinct end once.

    Examples
    --------
    >>> shares(np.array([-5.0, -5.0, -5.0 - np.log(3)])).round(6).tolist()
    [0.75, 0.0, 0.25]
    """
    again = np.tril(abs(bounds[:, None] - bounds) < _SAME, -1).any(axis=1)
    weight = np.where(again, 0.0, np.exp(bounds - bounds.max()))
    out: Array = weight / weight.sum()
    return out


def upright_chance(joint: Array) -> float:
    """Compute P(flip rates add up to less than one) under the channel's Dirichlet posterior.

    That is P(given 1 | true 1) > P(given 1 | true 0), of two independent Beta variables.

    Examples
    --------
    >>> round(upright_chance(np.array([[5.0, 5.0], [5.0, 5.0]])), 6)
    0.5
    >>> upright_chance(np.array([[90.0, 10.0], [10.0, 90.0]])) > 0.999
    True
    """
    (right_0, wrong_1), (wrong_0, right_1) = joint
    return float(betainc(wrong_0, right_0, betaincinv(right_1, wrong_1, _GRID)).mean())


def average(ends: Sequence[tuple[float, Stats, float]]) -> Stats:
    """Add up the sums of all ends, each by its share and in both orders of the classes.

    Parameters
    ----------
    ends : sequence of (bound, sums, chance)
        ``chance`` is the share of an end whose flip rates add up to less than one. The rest
        calls each class by the other's name, and is read with the names exchanged.
    """
    weights = shares(np.array([bound for bound, _, _ in ends]))
    total = 0.0 * ends[0][1]
    for weight, (_, stats, chance) in zip(weights, ends, strict=True):
        total = total + (weight * chance) * stats + (weight * (1 - chance)) * mirrored(stats)
    return total


def mirrored(stats: Stats) -> Stats:
    """Exchange the names of two classes.

    Examples
    --------
    >>> mirrored(Stats(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))).sums.tolist()
    [[4.0], [3.0]]
    """
    return Stats(stats.joint[:, ::-1], stats.sums[::-1], stats.loglik)
