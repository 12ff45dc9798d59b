"""The best channel, scale and mix for some scores: several starts, one admissible end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.reference import softmax
from misnomer.solvers.pool_channel import dominant, even, price_of_split
from misnomer.solvers.pool_lbfgs import minimise
from misnomer.solvers.pool_objective import COSTS, Costs, Point, Problem
from misnomer.solvers.pool_rows import Rows

Array = NDArray[np.float64]
Start = tuple[Array, float]  # channel and scale


@dataclass(frozen=True, eq=False)
class Pooled:
    """Where a search ended.

    Attributes
    ----------
    point : Point
        The parameters.
    vector : array
        The same, as the search saw them.
    channel : (K, K) array
        P(given | true).
    objective : float
        Negative log posterior, a free split paid for.
    share : (n, K) array
        q, P(true | x) of all rows, out of fold.
    free : bool
        Whether the split was free.
    costs : Costs
        What was believed beforehand.
    admissible : bool
        Whether a label most often means its own class.
    """

    point: Point
    vector: Array
    channel: Array
    objective: float
    share: Array
    free: bool
    costs: Costs
    admissible: bool

    @property
    def scale(self) -> float:
        """The temper s."""
        return self.point.scale


def problem(
    rows: Rows, scores: Array, twin: Array | None, *, free: bool, costs: Costs = COSTS
) -> Problem:
    """Set the labeled rows up for a search."""
    at = rows.labeled
    trusted = rows.trusted[at]
    return Problem(
        scores[at],
        None if twin is None else (twin - scores)[at],
        rows.hard[at],
        rows.weight[at],
        trusted if trusted.any() else None,
        rows.given,
        free,
        costs=costs,
    )


def search(
    rows: Rows,
    scores: Array,
    twin: Array | None,
    starts: Sequence[Start],
    *,
    free: bool,
    costs: Costs = COSTS,
) -> Pooled:
    """Take the best admissible end; where there is none, add rows to the channel's diagonal."""
    task = problem(rows, scores, twin, free=free, costs=costs)
    extra = 0.0
    while True:
        ends = [_descend(rows, replace(task, extra=extra), scores, twin, one) for one in starts]
        good = [end for end in ends if end.admissible]
        extra = 3.0 * extra if extra else max(1.0, 0.02 * rows.total / rows.classes)
        if good or extra > 100.0 * rows.total:
            return min(good or ends, key=lambda end: end.objective)


def _descend(rows: Rows, task: Problem, scores: Array, twin: Array | None, start: Start) -> Pooled:
    channel, scale = start
    vector, value = minimise(task, task.write(scale, 0.3, channel))
    point = task.read(vector)
    matrix = point.channel()
    mixed = scores if twin is None else scores + point.mix * (twin - scores)
    share = softmax(point.scale * (mixed + point.bias))[0]
    value -= task.diagonal_cost(point)
    if task.free:
        after, _ = task.judged(share[rows.labeled], matrix)
        value += price_of_split(task.joint(after), point.spread, task.costs.cell)
    return Pooled(point, vector, matrix, value, share, task.free, task.costs, dominant(matrix))


def kinds(classes: int) -> tuple[bool, ...]:
    """Errors of two classes go one way; of more, evenly or freely."""
    return (False,) if classes == 2 else (False, True)


def first_starts(classes: int) -> list[Start]:
    """Few or many errors, columns that are nearly independent or repeat each other."""
    return [(even(classes, diagonal), scale) for diagonal in (0.95, 0.7) for scale in (0.4, 0.05)]


def posterior(rows: Rows, share: Array, channel: Array) -> Array:
    """Compute P(true | x, y) of all rows, (n, K); unlabeled rows keep q, trusted ones a label."""
    joint = np.where((rows.label >= 0)[:, None], rows.hard @ channel, 1.0) * share
    after = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    return np.where(rows.trusted[:, None], rows.hard, after)
