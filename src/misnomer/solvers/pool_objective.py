"""How well scores explain the given labels through a channel, and what the answer costs.

With S the naive Bayes scores and T those of the conditional twin, both out of fold,

    q = softmax(s ((1 - w) S + w T + a)),    P(y | x) = sum_k R[y, k] q_k

The scale s tempers scores that count dependent columns twice; w moves from one model to the other;
the bias a is in the units of S. Column k of R errs at a rate r_k = sigmoid(rho_k), where
rho_k ~ N(mu, 1): classes share most of their carelessness. All costs are in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from misnomer import kernels
from misnomer.kernels.reference import Explained, Matched
from misnomer.solvers.pool_channel import assembled, splits

Array = NDArray[np.float64]

_LEAST = 1e-300
_FAR = 50.0


@dataclass(frozen=True)
class Costs:
    """What is believed before the labels are seen, in nats.

    Attributes
    ----------
    log_scale, scale_spread : float
        Mean and standard deviation of log s: columns are seldom independent.
    mix : float
        Cost of w = 1.
    bias : float
        Cost of the squared bias.
    rate, rate_spread : float
        Mean and standard deviation of the logit of the typical error rate.
    class_spread : float
        Standard deviation of the classes about it.
    cell : float
        Dirichlet prior count of each cell of a free split.
    size_spread : float
        Standard deviation of the log ratio of the true to the given size of a class.
    """

    log_scale: float = float(np.log(0.4))
    scale_spread: float = 0.8
    mix: float = 3.0
    bias: float = 1.5
    rate: float = float(np.log(0.1 / 0.9))
    rate_spread: float = 1.5
    class_spread: float = 1.0
    cell: float = 0.1
    size_spread: float = 1.0


COSTS = Costs()


@dataclass(frozen=True, eq=False)
class Point:
    """The parameters by name."""

    log_scale: float
    mix: float
    bias: Array  # (K,)
    center: float
    logits: Array  # (K,) of the error rates
    split: Array | None  # (K, K) logits

    @cached_property
    def scale(self) -> float:
        """The temper s; a trial step may go far, not out of all bounds."""
        return float(np.exp(np.clip(self.log_scale, -_FAR, _FAR)))

    @cached_property
    def rates(self) -> Array:
        """Error rate of each true class, (K,)."""
        return np.asarray(expit(self.logits))

    @cached_property
    def spread(self) -> Array:
        """Where the errors of each true class go, (K, K)."""
        return splits(len(self.bias), self.split)

    def channel(self) -> Array:
        """P(given | true), (K, K)."""
        return assembled(self.rates, self.spread)


@dataclass(frozen=True, eq=False)
class Problem:
    """Labeled rows and their scores; a vector of parameters has a value and a gradient.

    Attributes
    ----------
    scores : (n, K) array
        S.
    contrast : (n, K) array or None
        T - S.
    hard : (n, K) array
        The given labels, one-hot.
    weight : (n,) array
        Of the rows.
    trusted : (n,) array of bool, or None
        Rows whose label is right.
    given : (K,) array
        Shares of the given labels.
    free : bool
        Whether the errors of a class may go where they like.
    extra : float
        Further rows on the diagonal of the channel.
    """

    scores: Array
    contrast: Array | None
    hard: Array
    weight: Array
    trusted: NDArray[np.bool_] | None
    given: Array
    free: bool
    extra: float = 0.0
    costs: Costs = COSTS

    @property
    def classes(self) -> int:
        """How many there are (K)."""
        return int(self.scores.shape[1])

    def read(self, vector: Array) -> Point:
        """Name the entries: log s, [logit w], a (K), mu, rho (K), [split logits (K, K)]."""
        K, at = self.classes, 1 if self.contrast is None else 2
        mix = float(expit(vector[1])) if at == 2 else 0.0
        split = vector[at + 2 * K + 1 :].reshape(K, K) if self.free else None
        rates = vector[at + K + 1 : at + 2 * K + 1]
        return Point(float(vector[0]), mix, vector[at : at + K], vector[at + K], rates, split)

    def write(self, scale: float, mix: float, channel: Array) -> Array:
        """Start at a scale, a mix and a channel, without a bias."""
        K = self.classes
        rates = np.clip(1.0 - np.diag(channel), 1e-3, 0.95)
        logits = np.log(rates / (1.0 - rates))
        parts = [np.array([np.log(scale)])]
        if self.contrast is not None:
            parts.append(np.array([np.log(mix / (1.0 - mix))]))
        parts += [np.zeros(K), np.array([logits.mean()]), logits]
        if self.free:
            parts.append(np.log(np.maximum(channel / rates, 1e-3)).ravel())
        return np.concatenate(parts)

    def moved(self, point: Point) -> Array:
        """Compute s ((1 - w) S + w T + a), (n, K)."""
        mixed = self.scores if self.contrast is None else self.scores + point.mix * self.contrast
        return point.scale * (mixed + point.bias)

    def judged(self, share: Array, channel: Array) -> tuple[Array, Array]:
        """Compute P(true | x, y), (n, K), and P(y | x), (n,)."""
        seen = self.hard @ channel
        if self.trusted is not None:
            seen = np.where(self.trusted[:, None], self.hard, seen)
        joint = seen * share
        chance = np.maximum(joint.sum(axis=1), _LEAST)
        return joint / chance[:, None], chance

    def joint(self, after: Array) -> Array:
        """Add up the weight of (given, true) over the rows that are not trusted, (K, K)."""
        weight = self.weight if self.trusted is None else self.weight * ~self.trusted
        return self.hard.T @ (after * weight[:, None])

    @cached_property
    def packed(self) -> tuple[Array, Array | None, NDArray[np.int32], Array]:
        """Scores and contrast class by class, (K, n), codes and weights, in order of the codes.

        A code is a label; K is added where it is trusted.
        """
        code = self.hard.argmax(axis=1)
        if self.trusted is not None:
            code = code + self.classes * self.trusted
        order = np.argsort(code, kind="stable")
        contrast = None if self.contrast is None else np.ascontiguousarray(self.contrast[order].T)
        return (
            np.ascontiguousarray(self.scores[order].T),
            contrast,
            code[order].astype(np.int32),
            np.ascontiguousarray(self.weight[order], np.float64),
        )

    def explained(self, point: Point) -> Explained:
        """Explain the labels by some parameters."""
        return kernels.pooled(*self.packed, *self._said(point))

    def matched(self, point: Point) -> Matched:
        """Explain the labels by some parameters, without what a gradient needs."""
        return kernels.matched(*self.packed, *self._said(point))

    def _said(self, point: Point) -> tuple[Array, float, float, Array]:
        """Spell out what the kernels ask for: P(label | true) by code, scale, mix and bias."""
        table = point.channel()
        if self.trusted is not None:
            table = np.concatenate([table, np.eye(self.classes)])
        return table, point.scale, point.mix, np.ascontiguousarray(point.bias)

    def __call__(self, vector: Array) -> tuple[float, Array]:
        """Compute the negative log posterior and its gradient."""
        point = self.read(vector)
        found = self.explained(point)
        _, slope = self._size(found.size)
        _, push = self._cost(point)
        joint = found.joint[: self.classes]
        gradient = push + np.concatenate(
            [self._by_scores(point, found, slope), self._by_channel(point, joint)]
        )
        return self.value(point, found), gradient

    def value(self, point: Point, found: Explained | Matched) -> float:
        """Compute the negative log posterior of parameters that explain the labels so well."""
        costs = self._size(found.size)[0] + self._cost(point)[0] + self.diagonal_cost(point)
        return float(costs) - found.loglik

    def _by_scores(self, point: Point, found: Explained, slope: Array) -> Array:
        """Differentiate by log s, logit w and a; ``slope`` is what the sizes of classes ask for."""
        along = found.first.sum(axis=1) - found.held + (found.first - found.mean) @ slope
        parts = [along[:1]]
        if self.contrast is not None:
            parts.append(along[1:] * (point.scale * point.mix * (1.0 - point.mix)))
        by_bias = found.size - found.joint.sum(axis=0)
        by_bias = by_bias + slope * found.size - found.cross @ slope
        return np.concatenate([*parts, point.scale * by_bias])

    def _by_channel(self, point: Point, joint: Array) -> Array:
        """Differentiate by mu (nothing), rho and the split: expected counts less their mean."""
        right, wrong = joint.diagonal() + self.extra, joint.copy()
        wrong.flat[:: self.classes + 1] = 0.0
        rates, lost = point.rates, wrong.sum(axis=0)
        parts = [np.zeros(1), right * rates - lost * (1.0 - rates)]
        if point.split is not None:
            parts.append((point.spread * lost - wrong).ravel())
        return np.concatenate(parts)

    def diagonal_cost(self, point: Point) -> float:
        """What the further rows on the diagonal add."""
        return -self.extra * float(np.log1p(-point.rates + 1e-12).sum())

    def _size(self, size: Array) -> tuple[float, Array]:
        """Let true classes be about as large as given ones: value, derivative by the size."""
        total, spread = self.weight.sum(), self.costs.size_spread**2
        share = size / total + 1e-6
        ratio = np.log(share / self.given)
        return float(ratio @ ratio) / (2.0 * spread), ratio / (share * spread * total)

    def _cost(self, point: Point) -> tuple[float, Array]:
        """Add up the costs of the parameters themselves, with their gradient."""
        c = self.costs
        away = (point.log_scale - c.log_scale) / c.scale_spread
        apart = (point.logits - point.center) / c.class_spread
        off = (point.center - c.rate) / c.rate_spread
        value = 0.5 * (away**2 + float(apart @ apart) + off**2) + c.mix * point.mix
        value += c.bias * float(point.bias @ point.bias)
        parts = [np.array([away / c.scale_spread])]
        if self.contrast is not None:
            parts.append(np.array([c.mix * point.mix * (1.0 - point.mix)]))
        middle = off / c.rate_spread - apart.sum() / c.class_spread
        parts += [2.0 * c.bias * point.bias, np.array([middle]), apart / c.class_spread]
        if point.split is not None:
            split, K = point.spread, self.classes
            height = np.where(split > 0, np.log(np.maximum(split, _LEAST)), 0.0)
            value -= c.cell * float(height.sum())
            parts.append((c.cell * (split * (K - 1) - (1.0 - np.eye(K)))).ravel())
        return value, np.concatenate(parts)
