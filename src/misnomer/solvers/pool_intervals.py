"""How far rate, matrix and class shares could be off: draws about the best explanation.

The objective is taken for quadratic at its minimum (Laplace); draws from that are weighed by the
true objective. A flat direction is as wide as the priors let it be. The splits of the errors, where
they are free, are drawn from their Dirichlet distributions given all else. Columns that repeat each
other say less than the objective believes: then the ends are twice as far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.estimate import Estimate
from misnomer.kernels import softmax
from misnomer.solvers.pool_candidates import Candidate
from misnomer.solvers.pool_channel import assembled
from misnomer.solvers.pool_curvature import curvature
from misnomer.solvers.pool_objective import COSTS, Point, Problem
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_search import problem

Array = NDArray[np.float64]

CONFIDENCE = 0.90
LIKELY = 1.353  # nats: half of what chi-squared with one degree of freedom exceeds in a tenth
_DRAWS = 200
FLATTEST = 0.05  # curvature
_WIDER = 1.2  # of matrix and class shares, set by simulation
_REPEATING = 2.0  # of everything, where columns are dependent: set by two splits of real tables
_FEWEST = 2_000  # rows that a draw looks at
_CELLS = 40_000  # rows times classes that it looks at, if that is more


@dataclass(frozen=True, eq=False)
class Intervals:
    """Ends of the error rate, the matrix and the class shares.

    Those of the rate go ``reach`` times as far from the estimate, which draws do not know.
    """

    rate: tuple[float, float]
    matrix: tuple[Array, Array]
    shares: tuple[Array, Array]
    reach: float = 1.0

    def found(self, rate: float, valley: tuple[float, float]) -> dict[str, Any]:
        """Say them as an audit expects them.

        Rates that are as likely (``valley``, by the ratio of likelihoods) belong to the interval:
        draws about one explanation know nothing of the others.
        """
        low, high = min(self.rate[0], rate, valley[0]), max(self.rate[1], rate, valley[1])
        low, high = rate - self.reach * (rate - low), rate + self.reach * (high - rate)
        return {
            "error_rate": Estimate(rate, max(low, 0.0), min(high, 1.0), CONFIDENCE),
            "noise_matrix": self.matrix,
            "class_prior": self.shares,
        }


def intervals(rows: Rows, best: Candidate, *, independent: bool = True, seed: int = 0) -> Intervals:
    """Draw parameters about the best explanation and take weighted quantiles."""
    reach = 1.0 if independent else _REPEATING
    wider = max(reach, _WIDER)
    whole = _loosened(set_up(rows, best))
    task = thinned(whole)
    rng = np.random.default_rng(seed)
    middle = best.pooled.vector
    curve, axes = np.linalg.eigh(curvature(task, task.read(middle)))
    size, spread = len(curve), 1.0 / np.sqrt(np.maximum(curve, FLATTEST))
    normal = rng.standard_normal((_DRAWS, size))
    steps = (normal * spread) @ axes.T
    vectors = np.tile(middle, (_DRAWS, 1))
    vectors[:, :size] += steps
    drawn = [_quantities(task, task.read(vector), rng) for vector in vectors]
    height, rate, matrix, shares = (np.stack(part) for part in zip(*drawn, strict=True))
    level = steps @ _tilt(whole, task, middle)[:size]
    weight = _weights(height + level + 0.5 * (normal**2).sum(axis=1))
    wrong, own = _chance(whole, middle)
    off, away = _left_out(whole, task, middle)
    rate = rate[:, None] + off + wrong * rng.standard_normal((_DRAWS, 1))
    shares = _widened(shares, weight, wider) + away + own * rng.standard_normal(shares.shape)
    low, high = _ends(rate, weight)
    wide = _ends(_widened(matrix, weight, wider), weight)
    return Intervals((low[0], high[0]), wide, _ends(shares, weight), reach)


def _ends(values: Array, weight: Array) -> tuple[Array, Array]:
    """Take quantiles of shares."""
    return quantiles(np.clip(values, 0.0, 1.0), weight)


def _loosened(task: Problem) -> Problem:
    """Let the bias move as if nothing were known: the shares of the classes are estimates, too."""
    return replace(task, costs=replace(task.costs, bias=min(task.costs.bias, COSTS.bias)))


def _widened(values: Array, weight: Array, factor: float) -> Array:
    """Move draws away from their mean: the weights of t(x) are estimates, too."""
    middle = np.tensordot(weight, values, 1)
    return np.asarray(middle + factor * (values - middle))


def set_up(rows: Rows, best: Candidate) -> Problem:
    """Set up the problem that a candidate solves."""
    twin = None if best.twin is None else best.twin.scores
    end = best.pooled
    return problem(rows, best.source.scores, twin, free=end.free, costs=end.costs)


def thinned(whole: Problem) -> Problem:
    """Of many rows, let every m-th stand for m."""
    most = max(_FEWEST, _CELLS // whole.classes)
    step = -(-len(whole.weight) // most)
    if step == 1:
        return whole
    cut = slice(None, None, step)
    return replace(
        whole,
        scores=whole.scores[cut],
        contrast=None if whole.contrast is None else whole.contrast[cut],
        hard=whole.hard[cut],
        weight=whole.weight[cut] * step,
        trusted=None if whole.trusted is None else whole.trusted[cut],
    )


def _tilt(whole: Problem, task: Problem, middle: Array) -> Array:
    """Compute the slope that a few rows have at the middle and all rows have not."""
    if whole is task:
        return np.zeros_like(middle)
    return task(middle)[1] - whole(middle)[1]


def _left_out(whole: Problem, task: Problem, middle: Array) -> tuple[float, Array]:
    """Compute by how much the rate and the shares of all rows differ from those of a few."""
    if whole is task:
        return 0.0, np.zeros(task.classes)
    every, some = whole.matched(whole.read(middle)).joint, task.matched(task.read(middle)).joint
    shares = every.sum(axis=0) / whole.weight.sum() - some.sum(axis=0) / task.weight.sum()
    return _wrong(whole, every) - _wrong(task, some), shares


def _weights(height: Array) -> Array:
    """Weigh draws by truth over approximation; the largest twentieth alike, lest one rule."""
    raw = np.exp(np.clip(height - height.max(), -30.0, 0.0))
    raw = np.minimum(raw, np.quantile(raw, 0.95)) + 1e-12
    return raw / raw.sum()


def _quantities(
    task: Problem, point: Point, rng: np.random.Generator
) -> tuple[float, float, Array, Array]:
    """Compute the height, the error rate, the matrix and the class shares of one draw."""
    found = task.matched(point)
    total, K = task.weight.sum(), task.classes
    matrix = point.channel()
    if task.free:
        split = _split(found.joint[:K] + task.costs.cell, rng)
        matrix = assembled(point.rates, split)
    shares = found.joint.sum(axis=0) / total
    return -task.value(point, found), _wrong(task, found.joint), matrix, shares


def _chance(task: Problem, middle: Array) -> tuple[float, Array]:
    """Compute standard deviations where only the class of each row is unknown.

    Of the error rate, and of the share of each class, (K,).
    """
    point = task.read(middle)
    share = softmax(task.moved(point))[0]
    after, _ = task.judged(share, point.channel())
    doubt = 1.0 - (after * task.hard).sum(axis=1)
    each, total = task.weight**2, task.weight.sum()
    wrong = np.sqrt(each @ (doubt * (1.0 - doubt))) / total
    return float(wrong), np.sqrt(each @ (after * (1.0 - after))) / total


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
    """Compute the share of wrong labels that parameters let one expect."""
    return _wrong(task, task.matched(task.read(vector)).joint)


def _wrong(task: Problem, joint: Array) -> float:
    """Take the share of labels off the diagonal of (given, true), trusted ones below the others."""
    K = task.classes
    return float(1.0 - (np.trace(joint[:K]) + np.trace(joint[K:])) / task.weight.sum())
