"""The conditional likelihood of the given labels and its gradient, as values that add.

With s(x) the scores of the classes, q = softmax(s) and R the channel,

    log P(y | x) = log sum_z R[y, z] q[z] = log sum_z exp(s[z] + log R[y, z]) - log sum_z exp(s[z])

whose derivative by s is P(z | x, y) - q[z]. A row without a label has R = 1: it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.reference import softmax
from misnomer.solvers.conditional.layers import Layers, backward, forward
from misnomer.table import Batch

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
class Observed:
    """Take ``sum_i w_i log P(y_i | x_i)`` over a batch, with its gradient."""

    layers: Layers
    table: Array  # (R, K) log P(evidence | true class)

    def __call__(self, batch: Batch) -> Slope:
        """Look at one batch."""
        out = forward(batch, self.layers)
        share, height = softmax(out[-1] + self.table[batch.given])
        plain, base = softmax(out[-1])
        weight = labeled(batch, self.table)
        residual = weight[:, None] * (share - plain)
        joint = by_code(weight[:, None] * share, batch, len(self.table))
        value = float(weight @ (height - base))
        return Slope(value, joint, backward(batch, self.layers, out, residual))


@dataclass(frozen=True, eq=False)
class Expected:
    """Take ``sum_i w_i sum_z P(z | x_i, y_i; before) log q_i[z]``: what an M-step maximises."""

    layers: Layers
    before: Layers
    table: Array

    def __call__(self, batch: Batch) -> Slope:
        """Look at one batch."""
        share, _ = softmax(forward(batch, self.before)[-1] + self.table[batch.given])
        out = forward(batch, self.layers)
        plain, base = softmax(out[-1])
        weight = labeled(batch, self.table)
        residual = weight[:, None] * (share - plain)
        joint = by_code(weight[:, None] * share, batch, len(self.table))
        value = float(weight @ ((share * out[-1]).sum(axis=1) - base))
        return Slope(value, joint, backward(batch, self.layers, out, residual))


def labeled(batch: Batch, table: Array) -> Array:
    """Weigh the rows; those without a label weigh nothing, (n,)."""
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    return np.where(batch.given == len(table) - table.shape[1] - 1, 0.0, weight)


def by_code(share: Array, batch: Batch, codes: int) -> Array:
    """Add the shares up by evidence code, (R, K)."""
    columns = [np.bincount(batch.given, column, minlength=codes) for column in share.T]
    return np.stack(columns, axis=1)
