"""Yes/no columns: ``log P(x | z) = observed log(1 - p) + x logit p``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.families.family import Array, log
from misnomer.kernels.blocks import Flags


@dataclass(frozen=True)
class Bernoulli:
    """Columns of flags, with the statistics ``[observed, x]`` for all columns.

    Examples
    --------
    >>> flag = Bernoulli(1)
    >>> w = flag.weights(np.array([[4.0, 3.0]]), np.zeros((1, 2)))
    >>> np.exp(w[0, 0] + w[0, 1]).round(12).item()
    0.75
    """

    columns: int

    @property
    def owner(self) -> NDArray[np.intp]:
        return np.tile(np.arange(self.columns), 2)

    def cells(self) -> Array:
        return np.repeat([2.0, 1.0], self.columns)

    def uniform(self) -> Array:
        return np.repeat([1.0, 0.5], self.columns)

    def marginal(self, total: Array) -> Array:
        return np.concatenate([np.ones(self.columns), self.shares(total[None, :])[0]])

    def shares(self, sums: Array) -> Array:
        """Compute ``p = x / observed``; a column with no mass says nothing."""
        seen, on = sums[:, : self.columns], sums[:, self.columns :]
        return np.where(seen > 0, on / np.where(seen > 0, seen, 1.0), 0.5).clip(0.0, 1.0)

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Take ``[log(1 - p), log p - log(1 - p)]`` with p the share of ones."""
        p = self.shares(sums + virtual)
        off = log(1.0 - p)
        return np.concatenate([off, log(p) - off], axis=1)

    def log_prior(self, weights: Array, virtual: Array) -> float:
        return float(np.sum(virtual * weights))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Flags:
        p = np.exp(weights[:, : self.columns] + weights[:, self.columns :])
        on = rng.random((len(z), self.columns)) < p[z]
        return Flags(np.packbits(on, axis=1, bitorder="little"), None, self.columns)
