"""A model whose scores pass through hidden layers: no longer a sum of evidence, still a model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from misnomer.evidence import Evidence
from misnomer.kernels.reference import softmax
from misnomer.model import Model
from misnomer.solvers.conditional.layers import Layers, forward, upward
from misnomer.stats import Stats
from misnomer.table import Batch

Array = NDArray[np.float64]
_NEEDS_SUM = "a model with hidden layers has no {}: fit it without hidden layers"


@dataclass(frozen=True, eq=False)
class Network(Model):
    """Classes scored by layers over t(x); ``weights`` are those of the first layer, (H, S).

    ``prior`` is what the network says of a row of which nothing is known.
    """

    layers: Layers = field(kw_only=True)

    def log_joint(self, batch: Batch) -> Array:
        """Compute log P(z, y | x) up to a term free of z, (n, K)."""
        nothing = upward(self.layers[1][None, :], self.layers)[-1]
        scores = forward(batch, self.layers)[-1] - nothing
        return scores + self.table[batch.given]

    def evidence(self, batch: Batch) -> list[Evidence]:
        """Refuse: hidden layers mix the columns."""
        raise ValueError(_NEEDS_SUM.format("weights of evidence that add up"))

    def expect(self, batch: Batch) -> Stats:
        """Refuse: there are no sums to learn from."""
        raise ValueError(_NEEDS_SUM.format("sufficient sums"))

    def maximise(self, stats: Stats, virtual: Array, classes: float = 0.0) -> Model:
        """Refuse: there are no sums to learn from."""
        raise ValueError(_NEEDS_SUM.format("sufficient sums"))

    def log_prior(self, virtual: Array, classes: float = 0.0) -> float:
        """Refuse: virtual examples have no density here."""
        raise ValueError(_NEEDS_SUM.format("virtual examples"))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Batch, NDArray[np.intp]]:
        """Refuse: P(x) is not modeled."""
        raise ValueError(_NEEDS_SUM.format("rows to draw"))


def ignorant(layers: Layers) -> Array:
    """Compute P(true class) of a row of which nothing is known, (K,)."""
    prior: Array = softmax(upward(layers[1][None, :], layers)[-1])[0][0]
    return prior
