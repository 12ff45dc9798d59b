"""Error rates that vary with how hard a row is: levels of a margin, and a channel for each.

A channel for all rows says that errors reach rows far from any boundary as often as rows near one.
With rows sorted into levels by the margin between their two best classes,

    P(y | x, level) = sum_k R_level[y, k] q_k(x),    R_level[k, k] = 1 - r[level, k]

where the errors of a true class go as the one channel says and only their rates r differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from misnomer.solvers.pool_channel import assembled, splits

Array = NDArray[np.float64]
Levels = NDArray[np.intp]

_LEAST = 1e-6  # of a probability: one row can speak for no more than 14 nats
_BEGIN = 0.25  # the rate where a search starts: near zero it would stay
_SPREAD = 2.0  # standard deviation of a level's shift, in logits
_HELD = 10.0  # virtual rows that hold a class to the shift of its level
_ROUNDS, _SETTLED = 40, 1e-4


def margin(scores: Array) -> Array:
    """Take the distance of the best class from the second, (n,).

    Examples
    --------
    >>> margin(np.array([[3.0, 1.0, 0.0], [0.0, 0.0, -1.0]])).tolist()
    [2.0, 0.0]
    """
    top = np.partition(scores, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def levels_of(scores: Array, count: int) -> Levels:
    """Sort rows into levels, (n,): 0 the hardest rows of each class, ``count - 1`` the easiest.

    Each likely class is cut into equal parts of its own, since rare classes lie nearer to the
    boundary as a whole. Equal margins share a level.

    Examples
    --------
    >>> levels_of(np.array([[1.0, 0.0], [5.0, 0.0], [0.0, 2.0], [0.0, 9.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    likely, away = scores.argmax(axis=1), margin(scores)
    out = np.zeros(len(scores), np.intp)
    for k in range(scores.shape[1]):
        at = np.flatnonzero(likely == k)
        if len(at):
            below = np.searchsorted(np.sort(away[at]), away[at])
            out[at] = below * count // len(at)
    return out


@dataclass(frozen=True, eq=False)
class Seen:
    """What a search for rates needs of labeled rows.

    Attributes
    ----------
    own : (n,) array
        P(the given label is the true class | x).
    other : (n, K) array
        ``split[y, k] q_k``: the true class is another, and its errors go to this label.
    label, level, weight : (n,) arrays
        The given label, the level and the weight of each row.
    rates : (K,) array
        Error rates of the one channel.
    split : (K, K) array
        Where the errors of each class go.
    count : int
        How many levels there are.
    """

    own: Array
    other: Array
    label: Levels
    level: Levels
    weight: Array
    rates: Array
    split: Array
    count: int

    def take(self, at: NDArray[np.intp]) -> Seen:
        """Some of the rows."""
        return Seen(
            self.own[at],
            self.other[at],
            self.label[at],
            self.level[at],
            self.weight[at],
            self.rates,
            self.split,
            self.count,
        )

    def chance(self, rates: Array) -> Array:
        """Compute P(y | x, level) of every row, (n,); ``rates`` is (levels, K)."""
        right = self.own * (1.0 - rates[self.level, self.label])
        wrong = (self.other * rates[self.level]).sum(axis=1)
        return np.asarray(np.maximum(right + wrong, _LEAST))

    def channels(self, rates: Array) -> Array:
        """Write the rates out as channels, (levels, K, K)."""
        return np.stack([assembled(own, self.split) for own in rates])


def seen(
    share: Array, label: Levels, weight: Array, channel: Array, level: Levels, count: int
) -> Seen:
    """Take a channel apart into rates and splits, and look at the rows through the splits."""
    rates = np.clip(1.0 - np.diag(channel), 1e-3, 0.95)
    off = channel * (1.0 - np.eye(len(channel)))
    total = off.sum(axis=0)
    split = np.where(total > 0, off / np.maximum(total, 1e-300), splits(len(off)))
    own = share[np.arange(len(label)), label]
    return Seen(own, split[label] * share, label, level, weight, rates, split, count)


def rates_by_level(rows: Seen, *, tied: bool) -> Array:
    """Find the error rate of each class at each level by EM, (levels, K).

    A level moves the logits of all rates by one shift ~ N(0, 4); unless ``tied``, each class then
    has a rate of its own, which 10 virtual rows hold to that.
    """
    rates = np.full((rows.count, len(rows.rates)), _BEGIN)
    logits = np.log(rows.rates / (1.0 - rows.rates))
    shift = np.zeros(rows.count)
    for _ in range(_ROUNDS):
        right, wrong = _expected(rows, rates)
        shift = _shifts(shift, logits, right + wrong, wrong)
        fresh = np.asarray(expit(logits + shift[:, None]))
        if not tied:
            fresh = (_HELD * fresh + wrong) / (_HELD + right + wrong)
        moved, rates = float(np.abs(fresh - rates).max()), fresh
        if moved < _SETTLED:
            break
    return rates


def _expected(rows: Seen, rates: Array) -> tuple[Array, Array]:
    """Expect the weight of right and of wrong labels by level and true class, (levels, K) each."""
    mass = rows.weight / rows.chance(rates)
    K = len(rows.rates)
    cell = rows.level * K + rows.label
    own = mass * rows.own * (1.0 - rates[rows.level, rows.label])
    right = np.bincount(cell, own, minlength=rows.count * K).reshape(rows.count, K)
    lost = rows.other * rates[rows.level] * mass[:, None]
    wrong = np.stack([lost[rows.level == level].sum(axis=0) for level in range(rows.count)])
    return np.asarray(right, np.float64), wrong


def _shifts(shift: Array, logits: Array, total: Array, wrong: Array) -> Array:
    """Solve ``sum_k wrong_k - total_k expit(logit_k + d) = d / 4`` for each level's d by Newton."""
    for _ in range(6):
        chance = np.asarray(expit(logits + shift[:, None]))
        slope = (wrong - total * chance).sum(axis=1) - shift / _SPREAD**2
        curve = (total * chance * (1.0 - chance)).sum(axis=1) + 1.0 / _SPREAD**2
        shift = shift + np.clip(slope / curve, -2.0, 2.0)
    return shift


def out_of_fold_gain(rows: Seen, fold: Levels, *, tied: bool) -> Array:
    """Compute log P(y | x, level) - log P(y | x) of each row, rates from the other folds, (n,)."""
    gain = np.empty(len(fold))
    one = np.tile(rows.rates, (rows.count, 1))
    for place in np.unique(fold):
        inside = np.flatnonzero(fold == place)
        rates = rates_by_level(rows.take(np.flatnonzero(fold != place)), tied=tied)
        held = rows.take(inside)
        gain[inside] = np.log(held.chance(rates)) - np.log(held.chance(one))
    return gain
