"""Error rates that vary from stratum to stratum: levels of a margin, values of a column, groups.

A stratum is a set of rows that may err in a way of its own. With q_k(x) = P(true = k | x) of each
row from elsewhere, out of fold,

    P(y | x, stratum) = sum_k R_stratum[y, k] q_k(x),    R_stratum[k, k] = 1 - r[stratum, k]

where the errors of a true class go as the one channel says and only their rates r differ. A
stratum moves the logits of all rates by one shift, drawn from N(0, spread^2): few rows barely move
it. Strata may lie within others (cells) that have rates of their own; shifts then add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from misnomer.solvers.pool_channel import assembled, splits

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

_LEAST = 1e-6  # of a probability: one row can speak for no more than 14 nats
_BEGIN = 0.25  # the rate where a search starts: near zero it would stay
_SPREAD = 2.0  # standard deviation of a stratum's shift, in logits, where it is not estimated
_USUAL = 2.0  # virtual strata at a spread of one, where it is
_HELD = 10.0  # virtual rows that hold a class to the shift of its stratum
_ROUNDS, _SETTLED = 40, 1e-4


@dataclass(frozen=True, eq=False)
class Seen:
    """What a search for rates needs of labeled rows.

    Attributes
    ----------
    own : (n,) array
        P(the given label is the true class | x).
    other : (n, K) array
        ``split[y, k] q_k``: the true class is another, and its errors go to this label.
    label, weight : (n,) arrays
        The given label and the weight of each row.
    level : (n,) array of int
        The stratum of each row; within cells, ``cell * count + stratum``.
    rates : (cells, K) array
        The error rates that strata are compared with: of one channel for all, or of each cell.
    split : (K, K) array
        Where the errors of each class go.
    count : int
        How many strata there are.
    """

    own: Array
    other: Array
    label: Codes
    level: Codes
    weight: Array
    rates: Array
    split: Array
    count: int

    @property
    def size(self) -> int:
        """How many strata there are, in all cells."""
        return len(self.rates) * self.count

    @property
    def one(self) -> Array:
        """The rates where strata do not matter, (cells * strata, K)."""
        return np.repeat(self.rates, self.count, axis=0)

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
        """Compute P(y | x, stratum) of every row, (n,); ``rates`` is (cells * strata, K)."""
        right = self.own * (1.0 - rates[self.level, self.label])
        wrong = (self.other * rates[self.level]).sum(axis=1)
        return np.asarray(np.maximum(right + wrong, _LEAST))

    def score(self, rates: Array) -> Array:
        """Differentiate log P(y | x, stratum) by a shift of the logits of all rates, (n,).

        Its mean given x is zero where the rates are right.
        """
        slope = rates * (1.0 - rates)
        right = self.own * slope[self.level, self.label]
        wrong = (self.other * slope[self.level]).sum(axis=1)
        return np.asarray((wrong - right) / self.chance(rates))

    def channels(self, rates: Array) -> Array:
        """Write the rates out as channels, (cells * strata, K, K)."""
        return np.stack([assembled(own, self.split) for own in rates])


def seen(
    share: Array,
    label: Codes,
    weight: Array,
    channel: Array,
    level: Codes,
    count: int,
    *,
    rates: Array | None = None,
) -> Seen:
    """Take a channel apart into rates and splits, and look at the rows through the splits.

    ``rates`` (cells, K) are those of cells that the strata lie in, where there are any.
    """
    if rates is None:
        rates = np.clip(1.0 - np.diag(channel), 1e-3, 0.95)[None]
    off = channel * (1.0 - np.eye(len(channel)))
    total = off.sum(axis=0)
    split = np.where(total > 0, off / np.maximum(total, 1e-300), splits(len(off)))
    own = share[np.arange(len(label)), label]
    return Seen(own, split[label] * share, label, level, weight, rates, split, count)


@dataclass(frozen=True, eq=False)
class Rates:
    """What a search has found.

    Attributes
    ----------
    values : (cells * strata, K) array
        Error rates by stratum and true class.
    effective : float
        How many rates were free in effect: one that is held to what is usual hardly counts.
    shift : (strata,) array
        How far each stratum moves the logits of all rates.
    variance : float
        Of the shifts.
    """

    values: Array
    effective: float
    shift: Array
    variance: float


def rates_by_stratum(rows: Seen, *, tied: bool, spread: float | None = _SPREAD) -> Rates:
    """Find the error rate of each class in each stratum by EM.

    A stratum moves the logits of all rates by one shift ~ N(0, spread^2); None estimates the
    spread. Unless ``tied``, each class then has a rate of its own, which 10 virtual rows hold to
    that.
    """
    begin = np.full((rows.size, rows.rates.shape[1]), _BEGIN)
    wide = (_SPREAD if spread is None else spread) ** 2
    found = Rates(begin, 0.0, np.zeros(rows.count), wide)
    for _ in range(_ROUNDS):
        right, wrong = expected(rows, found.values)
        fresh = improved(found, rows.rates, right, wrong, tied=tied, estimated=spread is None)
        moved, found = float(np.abs(fresh.values - found.values).max()), fresh
        if moved < _SETTLED:
            break
    return found


def improved(
    before: Rates, usual: Array, right: Array, wrong: Array, *, tied: bool, estimated: bool = True
) -> Rates:
    """Take the second half of a step of EM: the rates that best explain what was expected.

    ``usual`` (cells, K) are the rates that strata are compared with, ``right`` and ``wrong``
    (cells * strata, K) the expected labels; the variance of the shifts is ``estimated`` or held.
    """
    base = np.log(usual / (1.0 - usual))[:, None]  # (cells, 1, K)
    total, by_cell = right + wrong, (len(usual), len(before.shift), usual.shape[1])
    shift, curve = _shifts(
        before.shift, base, total.reshape(by_cell), wrong.reshape(by_cell), before.variance
    )
    wide = before.variance
    if estimated:
        wide = (_USUAL + float((shift**2 + 1.0 / curve).sum())) / (_USUAL + len(shift))
    fresh = np.asarray(expit(base + shift[:, None])).reshape(total.shape)
    free = float((1.0 - 1.0 / (wide * curve)).sum())
    if not tied:
        fresh = (_HELD * fresh + wrong) / (_HELD + total)
        free += float((total / (_HELD + total)).sum())
    return Rates(fresh, free, shift, wide)


def expected(rows: Seen, rates: Array) -> tuple[Array, Array]:
    """Expect the weight of right and of wrong labels by stratum and true class, (cells, K) each."""
    mass = rows.weight / rows.chance(rates)
    K = rates.shape[1]
    own = mass * rows.own * (1.0 - rates[rows.level, rows.label])
    right = np.bincount(rows.level * K + rows.label, own, minlength=rows.size * K)
    lost = rows.other * rates[rows.level] * mass[:, None]
    wrong = [np.bincount(rows.level, lost[:, k], minlength=rows.size) for k in range(K)]
    return np.asarray(right, np.float64).reshape(rows.size, K), np.stack(wrong, axis=1)


def _shifts(
    shift: Array, base: Array, total: Array, wrong: Array, wide: float
) -> tuple[Array, Array]:
    """Solve ``sum wrong - total expit(logit + d) = d / spread^2`` for each stratum's d by Newton.

    The sum is over cells and classes. Also the curvature there, (strata,).
    """
    curve = np.ones_like(shift)
    for _ in range(6):
        chance = np.asarray(expit(base + shift[:, None]))
        slope = (wrong - total * chance).sum(axis=(0, 2)) - shift / wide
        curve = (total * chance * (1.0 - chance)).sum(axis=(0, 2)) + 1.0 / wide
        shift = shift + np.clip(slope / curve, -2.0, 2.0)
    return shift, curve


def out_of_fold_gain(
    rows: Seen, fold: Codes, *, tied: bool, spread: float | None = _SPREAD
) -> Array:
    """Compute ``log P(y | x, stratum) - log P(y | x)``, (n,), rates from the other folds."""
    gain = np.empty(len(fold))
    for place in np.unique(fold):
        inside = np.flatnonzero(fold == place)
        others = rows.take(np.flatnonzero(fold != place))
        rates = rates_by_stratum(others, tied=tied, spread=spread).values
        held = rows.take(inside)
        gain[inside] = np.log(held.chance(rates)) - np.log(held.chance(rows.one))
    return gain


def paired(each: Array, weight: Array, price: float) -> tuple[float, float, float]:
    """Add gains up: the sum, its price, and the sum in standard errors.

    One squared nat is added to the variance, so that a tiny gain on every row proves nothing.

    Examples
    --------
    >>> gain, _, z = paired(np.full(4, 0.01), np.ones(4), 0.0)
    >>> round(gain, 2), round(z, 2)
    (0.04, 0.04)
    """
    total, mass = float(weight @ each), float(weight.sum())
    spread = float(weight @ (each - total / max(mass, 1e-300)) ** 2)
    return total, price, total / float(np.sqrt(spread + 1.0))
