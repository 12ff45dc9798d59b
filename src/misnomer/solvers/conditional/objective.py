"""The objective of the conditional fit and its gradient: labeled rows behind a channel, as sums.

    sum_i w_i log sum_z R[y_i, z] softmax(scores(phi(x_i)))_z - penalty / 2 |weights|^2 + log P(R)

With s(x) the scores of the classes, q = softmax(s) and R the channel,

    log P(y | x) = log sum_z R[y, z] q[z] = log sum_z exp(s[z] + log R[y, z]) - log sum_z exp(s[z])

whose derivative by s is P(z | x, y) - q[z]. A row without a label has R = 1: it says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import Channel
from misnomer.kernels.reference import softmax
from misnomer.solvers.conditional.features import Features, measure
from misnomer.solvers.conditional.network import Layers, backward, forward
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Slope:
    """What one pass leaves behind: a value, its gradient, and who was taken for what.

    Attributes
    ----------
    value : float
        The (expected) conditional log likelihood.
    joint : (R, K) array
        Weight of the rows by evidence code and true class; its logarithmic derivative by R.
    gradient : tuple of arrays
        By the layers.
    """

    value: float
    joint: Array
    gradient: Layers

    def __add__(self, other: Slope) -> Slope:
        gradient = tuple(a + b for a, b in zip(self.gradient, other.gradient, strict=True))
        return Slope(self.value + other.value, self.joint + other.joint, gradient)


@dataclass(frozen=True, eq=False)
class Step:
    """Look at a batch: the value of the layers there, and its gradient.

    ``sum_i w_i log P(y_i | x_i)``; or, with the layers ``before`` an M-step, what it maximises,
    ``sum_i w_i sum_z P(z | x_i, y_i; before) log q_i[z]``.
    """

    layers: Layers
    table: Array  # (R, K) log P(evidence | true class)
    before: Layers | None = None

    def __call__(self, batch: Batch) -> Slope:
        """Look at one batch."""
        out = forward(batch, self.layers)
        scores = out[-1]
        now = scores if self.before is None else forward(batch, self.before)[-1]
        share, height = softmax(now + self.table[batch.given])
        plain, base = softmax(scores)
        reached = height if self.before is None else (share * scores).sum(axis=1)
        weight = labeled(batch, self.table)
        joint = by_code(weight[:, None] * share, batch, len(self.table))
        gradient = backward(batch, self.layers, out, weight[:, None] * (share - plain))
        return Slope(float(weight @ (reached - base)), joint, gradient)


def labeled(batch: Batch, table: Array) -> Array:
    """Weigh the rows; those without a label weigh nothing, (n,)."""
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    return np.where(batch.given == len(table) - table.shape[1] - 1, 0.0, weight)


def by_code(share: Array, batch: Batch, codes: int) -> Array:
    """Add the shares up by evidence code, (R, K)."""
    columns = [np.bincount(batch.given, column, minlength=codes) for column in share.T]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows, what is seen of them, and how large weights are paid for.

    Attributes
    ----------
    batches, fold
        The rows, and who adds over them.
    features : Features
        How statistics become features.
    penalty : float
        Cost of the squared weights of features, halved; intercepts are free.
    rows : float
        Weight of the labeled rows.
    """

    batches: Sequence[Batch]
    fold: Fold[Any]
    features: Features
    penalty: float
    rows: float

    def folded(self, layers: Layers) -> Layers:
        """Say the first layer in terms of t(x)."""
        return (*self.features.fold(layers[0], layers[1]), *layers[2:])

    def observed(self, layers: Layers, channel: Channel) -> Slope:
        """Take the penalised log likelihood of the given labels, with its gradient."""
        step = Step(self.folded(layers), evidence_table(channel))
        return self._paid(self.fold(step, self.batches), layers, channel)

    def expected(self, layers: Layers, before: Layers, channel: Channel) -> Slope:
        """Take the penalised objective of an M-step, with its gradient."""
        step = Step(self.folded(layers), evidence_table(channel), self.folded(before))
        return self._paid(self.fold(step, self.batches), layers, channel)

    def _paid(self, slope: Slope, layers: Layers, channel: Channel) -> Slope:
        """Add the penalty and the channel's prior; say the gradient in terms of phi(x)."""
        gradient = [self.features.pull(*slope.gradient[:2]), *slope.gradient[1:]]
        value = slope.value + channel.log_prior()
        for place in range(0, len(layers), 2):
            gradient[place] = gradient[place] - self.penalty * layers[place]
            value -= 0.5 * self.penalty * float(np.sum(layers[place] ** 2))
        return Slope(value, slope.joint, tuple(gradient))


def evidence_table(channel: Channel) -> Array:
    """List ``log P(evidence | z)`` for every evidence code a row can have, (R, K)."""
    return channel.table(np.ones(channel.n_classes))


def problem(
    schema: Schema, batches: Sequence[Batch], fold: Fold[Any], channel: Channel, penalty: Any
) -> Problem:
    """Look at the rows once or twice: how many are labeled, the centers and the scales."""
    if isinstance(penalty, str) or not (np.isfinite(penalty) and penalty >= 0):
        raise ValueError(f'the penalty must be 0 or more, not {penalty!r}; or say "auto"')
    table = evidence_table(channel)
    rows = float(fold(lambda batch: float(labeled(batch, table).sum()), batches))
    if rows <= 0:
        raise ValueError(
            "no row has a label: the conditional solver learns from labels only; "
            'use solver="em" to find classes without them'
        )
    return Problem(batches, fold, measure(schema, batches, fold), float(penalty), rows)
