"""The best channel, scale and mix for some scores: several starts, one admissible end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_channel import dominant, even, price_of_split
from misnomer.solvers.pool_lbfgs import minimise
from misnomer.solvers.pool_objective import COSTS, Costs, Point, Problem
from misnomer.solvers.pool_rows import Rows

Array = NDArray[np.float64]
Start = tuple[Array, float] | tuple[Array, float, float]  # channel, scale and, maybe, mix

_MANY = 5_000  # rows
_ALIKE = 0.01  # nats

_MIX = 0.3  # where a search begins


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
        eased = replace(task, extra=extra) if extra else task  # the starts share what it packs
        ends = _ends(rows, eased, scores, twin, starts)
        good = [end for end in ends if end.admissible]
        extra = 3.0 * extra if extra else max(1.0, 0.02 * rows.total / rows.classes)
        if good or extra > 100.0 * rows.total:
            return min(good or ends, key=lambda end: end.objective)


def _ends(
    rows: Rows, task: Problem, scores: Array, twin: Array | None, starts: Sequence[Start]
) -> list[Pooled]:
    """Descend from every start; of many rows, from the first and the last alone if they agree.

    Those are farthest apart, and many rows leave one valley between them.
    """
    ends: list[Pooled] = []
    for one in (starts[0], *starts[:0:-1]):
        ends.append(_descend(rows, task, scores, twin, one))
        if len(ends) == 2 and len(rows) >= _MANY and _agree(*ends):
            break
    return ends


def _agree(one: Pooled, other: Pooled) -> bool:
    both = one.admissible and other.admissible
    return both and abs(one.objective - other.objective) < _ALIKE


def _descend(rows: Rows, task: Problem, scores: Array, twin: Array | None, start: Start) -> Pooled:
    channel, scale, mix = start if len(start) == 3 else (*start, _MIX)
    vector, value = minimise(task, task.write(scale, mix, channel))
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
