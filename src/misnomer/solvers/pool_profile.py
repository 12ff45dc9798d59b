"""Which error rates explain the labels about equally well: the objective along the rate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.pool_candidates import Candidate
from misnomer.solvers.pool_curvature import curvature
from misnomer.solvers.pool_intervals import FLATTEST, rate_of, set_up, thinned
from misnomer.solvers.pool_lbfgs import Function, minimise
from misnomer.solvers.pool_objective import Problem
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import margin

Array = NDArray[np.float64]

_GRID = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
_HARDLY = -4.0  # logit of an error rate
_STIFF = 1e4  # nats per squared rate
_ANY_SCALE = 5.0  # spread of log s
ALIKE = 2.0  # nats
_FAR = 20.0  # nats by the curvature; a walk gives up after eight


@dataclass(frozen=True, eq=False)
class Profile:
    """The best objective at each error rate.

    Attributes
    ----------
    rates : (m,) array
        The error rates, rising.
    cost : (m,) array
        Nats above the best.
    vectors : tuple of arrays
        The parameters there.
    """

    rates: Array
    cost: Array
    vectors: tuple[Array, ...]

    @property
    def valley(self) -> tuple[float, float]:
        """The lowest and the highest rate within two nats of the best."""
        return self.within(ALIKE)

    def within(self, nats: float) -> tuple[float, float]:
        """Take the lowest and the highest rate within so many nats of the best."""
        inside = self.rates[self.cost < nats]
        return float(inside.min()), float(inside.max())


def profile(rows: Rows, best: Candidate, *, any_scale: bool = True) -> tuple[Problem, Profile]:
    """Pin the error rate at each of a few values, and explain the labels as well as that allows.

    Parameters
    ----------
    rows, best
        The rows, and their best explanation.
    any_scale : bool
        Assume nothing of the scale: where only that assumption separates wrong labels from rows
        that are hard to tell, the data do not. Otherwise independent columns say it: about one.
    """
    whole = set_up(rows, best)
    task = thinned(whole)
    off = _left_out(whole, task, best.pooled.vector)
    if any_scale:
        task = replace(task, costs=replace(task.costs, scale_spread=_ANY_SCALE))
    middle, value = minimise(task, best.pooled.vector)
    here = _claimed(task, middle)
    grid = _near(task, middle, here)
    found = [(rate_of(task, middle), value, middle)]
    found += _chain(task, middle, [rate for rate in reversed(grid) if rate < here])
    found += _chain(task, middle, [rate for rate in grid if rate > here])
    if any_scale:
        found += _chain(task, _softened(task, middle), list(_GRID), value + _FAR)
    found.sort(key=lambda one: one[0])
    rates, values, vectors = zip(*found, strict=True)
    cost = np.array(values) - min(values)
    return task, Profile(np.clip(np.array(rates) + off, 0.0, 1.0), cost, tuple(vectors))


def _chain(
    task: Problem, vector: Array, rates: list[float], most: float = np.inf
) -> list[tuple[float, float, Array]]:
    """Go along the rates, each from where the last one ended; give up where it costs too much.

    Too much is ``most`` at two rates, or eight nats more than at another one.
    """
    found: list[tuple[float, float, Array]] = []
    for rate in rates:
        vector, _ = minimise(_pinned(task, rate), vector, max_iter=60)
        found.append((rate_of(task, vector), task(vector)[0], vector))
        values = [value for _, value, _ in found]
        if values[-1] > min(values) + 4.0 * ALIKE or (min(values) > most and len(values) > 1):
            break
    return found


def _left_out(whole: Problem, task: Problem, vector: Array) -> float:
    """Compute by how much the error rate of all rows differs from that of a few."""
    if whole is task:
        return 0.0
    return rate_of(whole, vector) - rate_of(task, minimise(task, vector)[0])


def _near(task: Problem, vector: Array, here: float) -> list[float]:
    """Leave out rates that the curvature puts so far off that going there would tell nothing."""
    point = task.read(vector)
    curve, axes = np.linalg.eigh(curvature(task, point))
    slope = np.zeros(len(curve))
    slope[-task.classes :] = task.given * point.rates * (1.0 - point.rates)
    variance = float(((slope @ axes) ** 2 / np.maximum(curve, FLATTEST)).sum())
    return [rate for rate in _GRID if (rate - here) ** 2 < 2.0 * _FAR * variance]


def _claimed(task: Problem, vector: Array) -> float:
    """Compute the error rate of the channel alone, at the shares of the given labels."""
    return float(task.given @ task.read(vector).rates)


def _softened(task: Problem, vector: Array) -> Array:
    """Start where every row is hard to tell and hardly a label wrong.

    From scores that are sure of every row, no small step leads there.
    """
    out = vector.copy()
    out[0] = np.log(1.5 / max(margin(task.scores), 1e-6))
    at = (1 if task.contrast is None else 2) + task.classes
    out[at : at + task.classes + 1] = _HARDLY
    return out


def _pinned(task: Problem, rate: float) -> Function:
    """Add a stiff spring that holds the error rate."""
    at = (1 if task.contrast is None else 2) + task.classes + 1

    def function(vector: Array) -> tuple[float, Array]:
        value, gradient = task(vector)
        rates = task.read(vector).rates
        away = float(task.given @ rates) - rate
        pull = 2.0 * _STIFF * away * task.given * rates * (1.0 - rates)
        gradient = gradient.copy()
        gradient[at : at + task.classes] += pull
        return value + _STIFF * away**2, gradient

    return function
