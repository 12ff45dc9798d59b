"""The second derivatives of the objective, in one pass over the rows.

With u the moved scores, q = P(true | x), r = P(true | x, label) and f the cost of the sizes
n_k = sum_i w_i q_ik, a parameter p moves the scores by D_p = du/dp: u itself for the log of the
scale, the contrast for the mix, s e_k for a bias. Of two such parameters the objective has

    sum_i w_i (cov_q(D, D') - cov_r(D, D')) + g . d2u/dp dp' + what the sizes of classes ask for

where g = dF/du. An error rate reaches the labels alone, by G = d log P(label | true) / d rho.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_objective import Point, Problem

Array = NDArray[np.float64]


def curvature(task: Problem, point: Point) -> Array:
    """Differentiate twice by log s, [logit w], a, mu and rho: all parameters but a free split."""
    rows = _Rows(task, point)
    scores, rates = _by_scores(rows), _by_rates(rows)
    both = _by_scores_and_rates(rows)
    dense, K = len(scores), task.classes
    size = dense + 1 + K
    out = np.zeros((size, size))
    out[:dense, :dense] = scores
    out[dense + 1 :, dense + 1 :] = rates
    out[:dense, dense + 1 :] = both
    out[dense + 1 :, :dense] = both.T
    return out + _of_costs(task, point, dense)


@dataclass(frozen=True, eq=False)
class _Rows:
    """What is known of the rows at a point."""

    task: Problem
    point: Point

    @cached_property
    def moved(self) -> Array:
        return self.task.moved(self.point)

    @cached_property
    def share(self) -> Array:
        """q, (n, K)."""
        return softmax(self.moved)[0]

    @cached_property
    def after(self) -> Array:
        """r, (n, K)."""
        return self.task.judged(self.share, self.point.channel())[0]

    @cached_property
    def asked(self) -> tuple[Array, Array]:
        """First and second derivative of the cost of the sizes, by each of them, (K,)."""
        task, size = self.task, self.task.weight @ self.share
        total, spread = task.weight.sum(), task.costs.size_spread**2
        share = size / total + 1e-6
        ratio = np.log(share / task.given)
        return ratio / (share * spread * total), (1.0 - ratio) / (share**2 * spread * total**2)

    @cached_property
    def pushed(self) -> Array:
        """How the sizes push each row: d(sum_k f'_k q_ik) / du, (n, K)."""
        first = self.asked[0]
        return self.share * (first - (self.share @ first)[:, None])

    @cached_property
    def dense(self) -> list[Array]:
        """How log s and logit w move the scores, (n, K) each."""
        if self.task.contrast is None:
            return [self.moved]
        mix = self.point.mix
        return [self.moved, self.point.scale * mix * (1.0 - mix) * self.task.contrast]

    @cached_property
    def slope(self) -> Array:
        """Derivative of the objective by the moved scores, (n, K)."""
        return self.task.weight[:, None] * (self.share - self.after + self.pushed)


def _by_scores(rows: _Rows) -> Array:
    """Differentiate twice by log s, [logit w] and a."""
    s, m, w = rows.point.scale, len(rows.dense), rows.task.weight
    K = rows.task.classes
    out, sizes = np.empty((m + K, m + K)), np.empty((K, m + K))
    out[m:, m:] = s**2 * _classes_with_classes(rows)
    sizes[:, m:] = s * (np.diag(w @ rows.share) - _product(w, rows.share, rows.share))
    for i, one in enumerate(rows.dense):
        out[i, m:] = out[m:, i] = s * _one_with_classes(rows, one)
        sizes[:, i] = w @ (rows.share * (one - _mean(rows.share, one)))
        for j, two in enumerate(rows.dense[: i + 1]):
            out[i, j] = out[j, i] = _one_with_another(rows, one, two)
    out += _bent(rows, m)
    return np.asarray(out + sizes.T @ (rows.asked[1][:, None] * sizes))


def _product(weight: Array, one: Array, two: Array) -> Array:
    """Compute ``sum_i w_i a_ik b_il``, (K, K)."""
    return np.asarray((one * weight[:, None]).T @ two)


def _mean(chance: Array, values: Array) -> Array:
    """Compute ``sum_k p_ik v_ik``, (n, 1)."""
    return np.einsum("nk,nk->n", chance, values)[:, None]


def _classes_with_classes(rows: _Rows) -> Array:
    q, r, h, w = rows.share, rows.after, rows.pushed, rows.task.weight
    pushed = _product(w, h, q)
    own = np.diag(w @ (q - r + h))
    return own - _product(w, q, q) + _product(w, r, r) - pushed - pushed.T


def _one_with_classes(rows: _Rows, one: Array) -> Array:
    q, r, h, w = rows.share, rows.after, rows.pushed, rows.task.weight
    by_row = q * (one - _mean(q, one)) - r * (one - _mean(r, one))
    by_row += h * (one - _mean(q, one)) - q * _mean(h, one)
    return np.asarray(w @ by_row)


def _one_with_another(rows: _Rows, one: Array, two: Array) -> float:
    q, r, h = rows.share, rows.after, rows.pushed
    by_row = _mean(q, one * two) - _mean(q, one) * _mean(q, two)
    by_row -= _mean(r, one * two) - _mean(r, one) * _mean(r, two)
    by_row += _mean(h, one * two) - _mean(h, one) * _mean(q, two) - _mean(q, one) * _mean(h, two)
    return float(rows.task.weight @ by_row[:, 0])


def _bent(rows: _Rows, m: int) -> Array:
    """Add up ``g . d2u / dp dp'``: log s multiplies all, logit w bends the mix."""
    K, slope = rows.task.classes, rows.slope
    out = np.zeros((m + K, m + K))
    out[0, 0] = (slope * rows.moved).sum()
    out[0, m:] = out[m:, 0] = rows.point.scale * slope.sum(axis=0)
    if m == 2:
        along = float((slope * rows.dense[1]).sum())
        out[0, 1] = out[1, 0] = along
        out[1, 1] = along * (1.0 - 2.0 * rows.point.mix)
    return out


def _told(rows: _Rows) -> Array:
    """Weigh G r: how rows move as the error rates of their classes do, (n, K)."""
    task, rates = rows.task, rows.point.rates
    weight = task.weight if task.trusted is None else task.weight * ~task.trusted
    return (1.0 - rates - task.hard) * rows.after * weight[:, None]


def _by_rates(rows: _Rows) -> Array:
    """Differentiate twice by rho."""
    task, rates, told = rows.task, rows.point.rates, _told(rows)
    known = task.weight if task.trusted is None else task.weight * ~task.trusted
    reach = 1.0 - rates - task.hard  # G
    own = (told * reach).sum(axis=0) - rates * (1.0 - rates) * (known @ rows.after + task.extra)
    return np.asarray((reach * rows.after).T @ told - np.diag(own))


def _by_scores_and_rates(rows: _Rows) -> Array:
    """Differentiate by log s, [logit w] and a, then by rho."""
    told, r = _told(rows), rows.after
    parts = [-(told * (one - _mean(r, one))).sum(axis=0) for one in rows.dense]
    classes = rows.point.scale * (r.T @ told - np.diag(told.sum(axis=0)))
    return np.concatenate([np.stack(parts), classes])


def _of_costs(task: Problem, point: Point, dense: int) -> Array:
    """Differentiate the costs of the parameters themselves."""
    c, K = task.costs, task.classes
    out = np.zeros((dense + 1 + K, dense + 1 + K))
    out[0, 0] = c.scale_spread**-2
    if task.contrast is not None:
        out[1, 1] = c.mix * point.mix * (1.0 - point.mix) * (1.0 - 2.0 * point.mix)
    at = np.arange(dense - K, dense)
    out[at, at] = 2.0 * c.bias
    out[dense, dense] = c.rate_spread**-2 + K * c.class_spread**-2
    out[dense, dense + 1 :] = out[dense + 1 :, dense] = -(c.class_spread**-2)
    at = np.arange(dense + 1, dense + 1 + K)
    out[at, at] = c.class_spread**-2
    return out
