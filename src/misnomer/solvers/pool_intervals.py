"""How far rate, matrix and class shares could be off: draws about the best explanation.

The objective is taken for quadratic at its minimum (Laplace); draws from that are weighed by the
true objective. A flat direction is as wide as the priors let it be. The splits of the errors, where
they are free, are drawn from their Dirichlet distributions given all else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from misnomer.estimate import Estimate
from misnomer.kernels.reference import softmax
from misnomer.solvers.pool_candidates import Candidate
from misnomer.solvers.pool_channel import assembled
from misnomer.solvers.pool_objective import Point, Problem
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_search import problem

Array = NDArray[np.float64]

CONFIDENCE = 0.90
_DRAWS = 200
_FLATTEST = 0.05  # curvature
_STEP = 1e-4
_WIDER = 1.2  # set by simulation, so that nine in ten intervals hold the truth
_MOST = 20_000  # rows that a draw looks at


@dataclass(frozen=True, eq=False)
class Intervals:
    """Ends of the error rate, the matrix and the class shares."""

    rate: tuple[float, float]
    matrix: tuple[Array, Array]
    shares: tuple[Array, Array]

    def found(self, rate: float, valley: tuple[float, float]) -> dict[str, Any]:
        """Say them as an audit expects them.

        Rates that explain the labels about as well (``valley``) belong to the interval: draws
        about one explanation know nothing of the others.
        """
        low, high = min(self.rate[0], rate, valley[0]), max(self.rate[1], rate, valley[1])
        return {
            "error_rate": Estimate(rate, low, high, CONFIDENCE),
            "noise_matrix": self.matrix,
            "class_prior": self.shares,
        }


def intervals(rows: Rows, best: Candidate, *, seed: int = 0) -> Intervals:
    """Draw parameters about the best explanation and take weighted quantiles."""
    task = thinned(rows, best)
    rng = np.random.default_rng(seed)
    size = _shared(task)
    middle = best.pooled.vector
    curve, axes = np.linalg.eigh(_curvature(task, middle, size))
    spread = 1.0 / np.sqrt(np.maximum(curve, _FLATTEST))
    normal = rng.standard_normal((_DRAWS, size))
    steps = (normal * spread) @ axes.T
    vectors = np.tile(middle, (_DRAWS, 1))
    vectors[:, :size] += steps
    drawn = [_quantities(task, task.read(vector), rng) for vector in vectors]
    height, rate, matrix, shares = (np.stack(part) for part in zip(*drawn, strict=True))
    weight = _weights(height + 0.5 * (normal**2).sum(axis=1))
    chance = _chance(task, middle) * rng.standard_normal(_DRAWS)
    rate = np.clip(_widened(rate, weight) + chance, 0.0, 1.0)
    low, high = quantiles(rate[:, None], weight)
    return Intervals((low[0], high[0]), _ends(matrix, weight), _ends(shares, weight))


def _ends(values: Array, weight: Array) -> tuple[Array, Array]:
    """Take quantiles of shares, moved away from their mean."""
    return quantiles(np.clip(_widened(values, weight), 0.0, 1.0), weight)


def _widened(values: Array, weight: Array) -> Array:
    """Move draws away from their mean: the weights of t(x) are estimates, too."""
    middle = np.tensordot(weight, values, 1)
    return np.asarray(middle + _WIDER * (values - middle))


def thinned(rows: Rows, best: Candidate) -> Problem:
    """Set up the problem of a candidate; of many rows, every m-th stands for m."""
    twin = None if best.twin is None else best.twin.scores
    end = best.pooled
    task = problem(rows, best.source.scores, twin, free=end.free, costs=end.costs)
    step = -(-len(task.weight) // _MOST)
    if step == 1:
        return task
    cut = slice(None, None, step)
    return replace(
        task,
        scores=task.scores[cut],
        contrast=None if task.contrast is None else task.contrast[cut],
        hard=task.hard[cut],
        weight=task.weight[cut] * step,
        trusted=None if task.trusted is None else task.trusted[cut],
    )


def _shared(task: Problem) -> int:
    """Count the parameters before the split."""
    return (1 if task.contrast is None else 2) + 2 * task.classes + 1


def _curvature(task: Problem, middle: Array, size: int) -> Array:
    """Differentiate the gradient, (size, size)."""
    out = np.empty((size, size))
    for place in range(size):
        step = np.zeros_like(middle)
        step[place] = _STEP
        out[place] = (task(middle + step)[1] - task(middle - step)[1])[:size] / (2 * _STEP)
    return 0.5 * (out + out.T)


def _weights(height: Array) -> Array:
    """Weigh draws by truth over approximation; the largest twentieth alike, lest one rule."""
    raw = np.exp(np.clip(height - height.max(), -30.0, 0.0))
    raw = np.minimum(raw, np.quantile(raw, 0.95)) + 1e-12
    return raw / raw.sum()


def _quantities(
    task: Problem, point: Point, rng: np.random.Generator
) -> tuple[float, float, Array, Array]:
    """Compute the height, the error rate, the matrix and the class shares of one draw."""
    found = task.explained(point)
    total, K = task.weight.sum(), task.classes
    matrix = point.channel()
    if task.free:
        split = _split(found.joint[:K] + task.costs.cell, rng)
        matrix = assembled(point.rates, split)
    right = np.trace(found.joint[:K]) + np.trace(found.joint[K:])
    shares = found.joint.sum(axis=0) / total
    return -task.value(point, found), float(1.0 - right / total), matrix, shares


def _chance(task: Problem, middle: Array) -> float:
    """Compute the standard deviation of the error rate where the chances of each row are known."""
    point = task.read(middle)
    share = softmax(task.moved(point))[0]
    after, _ = task.judged(share, point.channel())
    doubt = 1.0 - (after * task.hard).sum(axis=1)
    return float(np.sqrt(task.weight**2 @ (doubt * (1.0 - doubt))) / task.weight.sum())


def _split(counts: Array, rng: np.random.Generator) -> Array:
    """Draw where the errors of each class go, (K, K)."""
    drawn = rng.gamma(np.maximum(counts, 1e-3))
    np.fill_diagonal(drawn, 0.0)
    return drawn / np.maximum(drawn.sum(axis=0), 1e-300)


def quantiles(values: Array, weight: Array) -> tuple[Array, Array]:
    """Take the weighted quantiles that leave 5 % on each side, over the first axis.

    Examples
    --------
    >>> low, high = quantiles(np.arange(100.0)[:, None], np.full(100, 0.01))
    >>> low.tolist(), high.tolist()
    ([5.0], [95.0])
    """
    order = np.argsort(values, axis=0)
    height = np.cumsum(weight[order], axis=0)
    ends = []
    for level in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        place = np.minimum((height < level + 1e-9).sum(axis=0), len(values) - 1)
        at = np.take_along_axis(order, place[None], axis=0)
        ends.append(np.take_along_axis(values, at, axis=0)[0])
    return ends[0], ends[1]


def rate_of(task: Problem, vector: Array) -> float:
    """Compute the error rate that parameters claim, at the shares of the given labels."""
    return float(task.given @ expit(task.read(vector).logits))
