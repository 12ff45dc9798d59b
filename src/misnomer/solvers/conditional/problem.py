"""Labeled rows behind a channel, and what large weights cost: the objective of the conditional fit.

sum_i w_i log sum_z R[y_i, z] softmax(scores(phi(x_i)))_z - penalty / 2 |weights|^2 + log P(R)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import Channel
from misnomer.solvers.conditional.features import Features, measure
from misnomer.solvers.conditional.layers import Layers
from misnomer.solvers.conditional.slope import Expected, Observed, Slope, labeled
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]


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
        step = Observed(self.folded(layers), evidence_table(channel))
        return self._paid(self.fold(step, self.batches), layers, channel)

    def expected(self, layers: Layers, before: Layers, channel: Channel) -> Slope:
        """Take the penalised objective of an M-step, with its gradient."""
        step = Expected(self.folded(layers), self.folded(before), evidence_table(channel))
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
