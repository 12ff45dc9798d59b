"""Which columns tell where labels go wrong? One after another, as long as the gain is clear.

The score of every row, ``d log P(y | x) / d shift``, has mean zero in every stratum where one
channel explains the labels. Columns in whose strata it adds up are tried; one is taken if its rates
predict left-out labels better than none, beyond their price and that of having looked at d columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.difficulty_fit import CLEAR, Margin
from misnomer.solvers.strata import Codes, Seen, out_of_fold_gain, paired, rates_by_stratum, seen

Array = NDArray[np.float64]

PRICE = 1.0  # nats per rate that is free in effect
_MOST = 3  # columns
_TRIED = 3  # columns that are tried at a time
_PROMISE = 0.5  # of the price: a score that promises less is not followed


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels in question, and what is known of their rows.

    Attributes
    ----------
    share : (n, K) array
        P(true | x), out of fold.
    label, weight, fold : (n,) arrays
        The given label, what a row counts, and the fold that it was scored in.
    channel : (K, K) array
        P(given | true) where nothing varies.
    """

    share: Array
    label: Codes
    weight: Array
    fold: Codes
    channel: Array

    def seen(self, level: Codes, count: int, rates: Array | None = None) -> Seen:
        """Look at the rows by strata."""
        return seen(self.share, self.label, self.weight, self.channel, level, count, rates=rates)


@dataclass(frozen=True, eq=False)
class Strata:
    """Rows sorted by something: its name, the stratum of each row, and how many there are."""

    name: str
    code: Codes
    count: int


@dataclass(frozen=True, eq=False)
class Cells:
    """Strata that were found, one within another.

    Attributes
    ----------
    chosen : tuple of int
        Which variables, in the order of their gain.
    margins : tuple of Margin
        What each has gained.
    cell : (n,) array of int
        Where each row belongs.
    rates : (cells, K) array
        Their error rates.
    """

    chosen: tuple[int, ...]
    margins: tuple[Margin, ...]
    cell: Codes
    rates: Array


def select(labels: Labels, variables: Sequence[Strata], *, always: bool = False) -> Cells:
    """Take up to three variables whose strata explain the labels clearly better.

    ``always`` takes the best one in any case.
    """
    cell = np.zeros(len(labels.label), np.intp)
    found = Cells((), (), cell, labels.seen(cell, 1).rates)
    for _ in range(_MOST):
        better = _next(labels, found, variables, always and not found.chosen)
        if better is None:
            break
        found = better
    return found


def _next(labels: Labels, found: Cells, variables: Sequence[Strata], always: bool) -> Cells | None:
    """Try the variables whose scores promise most, and take the best one that is clear."""
    looked = float(np.log(max(len(variables), 1)))
    promise = _promises(labels, found, variables)
    best = sorted(promise, key=lambda place: -promise[place])[:_TRIED]
    trials = [
        _tried(labels, found, place, variables[place], looked)
        for place in best
        if always or promise[place] > looked
    ]
    clear = [one for one in trials if always or one.margins[-1].clear]
    return max(clear, key=lambda one: one.margins[-1].net, default=None)


def beyond(labels: Labels, level: Codes, count: int, one: Strata, looked: int) -> bool:
    """Tell whether a variable is still clear where rates already vary by some other level."""
    rates = rates_by_stratum(labels.seen(level, count), tied=False).values
    start = Cells((), (), level, rates)
    return _tried(labels, start, 0, one, float(np.log(max(looked, 1)))).margins[-1].clear


def promising(labels: Labels, variables: Sequence[Strata]) -> int | None:
    """Find the variable whose scores promise most, if its rates gain more than their price."""
    cell = np.zeros(len(labels.label), np.intp)
    start = Cells((), (), cell, labels.seen(cell, 1).rates)
    promise = _promises(labels, start, variables)
    best = max(promise, key=lambda place: promise[place], default=None)
    enough = CLEAR + float(np.log(max(len(variables), 1)))
    if best is None or promise[best] <= enough:
        return None
    trial = _tried(labels, start, best, variables[best], float(np.log(len(variables))))
    return best if trial.margins[-1].net > 0 else None


def _promises(labels: Labels, found: Cells, variables: Sequence[Strata]) -> dict[int, float]:
    base = labels.seen(found.cell, 1, found.rates)
    score = base.score(base.one)
    return {
        place: promised(score, labels.weight, one.code, one.count)
        for place, one in enumerate(variables)
        if place not in found.chosen
    }


def promised(score: Array, weight: Array, level: Codes, count: int) -> float:
    """Estimate what rates of strata would gain beyond half their price, in nats.

    ``sum over strata of (sum w s)^2 / (sum w^2 s^2) / 2``, less half a nat for each stratum.

    Examples
    --------
    >>> level = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> promised(np.array([1.0, 1, 1, 1, -1, -1, -1, -1]), np.ones(8), level, 2)
    3.0
    """
    each = weight * score
    total = np.bincount(level, each, minlength=count)
    square = np.bincount(level, each**2, minlength=count)
    there = square > 0
    return float((total[there] ** 2 / square[there] / 2.0 - _PROMISE * PRICE).sum())


def _tried(labels: Labels, found: Cells, place: int, one: Strata, looked: float) -> Cells:
    """Let the rates of a variable's strata vary: alike for all classes, or each."""
    cell = found.cell * one.count + one.code
    rows = labels.seen(cell, one.count, found.rates)
    trials = []
    for tied in (True, False):
        rates = rates_by_stratum(rows, tied=tied, spread=None)
        each = out_of_fold_gain(rows, labels.fold, tied=tied, spread=None)
        price = PRICE * rates.effective + looked
        margin = Margin(one.name, *paired(each, labels.weight, price), one.code)
        trials.append((margin, rates.values))
    margin, values = max(trials, key=lambda one: one[0].net)
    return Cells((*found.chosen, place), (*found.margins, margin), cell, values)
