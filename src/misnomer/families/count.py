"""Counts of words: ``log P(x | z) = sum_v x_v log p[z, v]``, the multinomial of a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.families.family import Array
from misnomer.kernels.blocks import Words

MEAN_DRAWN_LENGTH = 20  # words of a drawn document, in the mean: the model leaves lengths open


@dataclass(frozen=True)
class Count:
    """Columns of counts that share one distribution per class.

    Examples
    --------
    >>> words = Count(3)
    >>> np.exp(words.weights(np.array([[2.0, 1.0, 1.0]]), np.zeros((1, 3)))).tolist()
    [[0.5, 0.25, 0.25]]
    """

    columns: int

    @property
    def owner(self) -> NDArray[np.intp]:
        return np.arange(self.columns)

    def cells(self) -> Array:
        return np.ones(self.columns)

    def uniform(self) -> Array:
        return np.full(self.columns, 1.0 / max(self.columns, 1))

    def marginal(self, total: Array) -> Array:
        return self.shares(total[None, :])[0]

    def shares(self, sums: Array) -> Array:
        """Divide by the number of words; a class without words says nothing."""
        mass = sums.sum(axis=1, keepdims=True)
        out = sums / np.where(mass > 0, mass, 1.0)
        out[mass[:, 0] <= 0] = self.uniform()
        return np.asarray(out)

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Take ``log (sums + virtual) / (the same, summed over all words)``."""
        return kernels.log_shares(sums, virtual)

    def log_prior(self, weights: Array, virtual: Array) -> float:
        return float(np.sum(virtual * weights))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Words:
        lengths = rng.poisson(MEAN_DRAWN_LENGTH, len(z))
        p = np.exp(weights)
        p /= p.sum(axis=1, keepdims=True)
        counts = [rng.multinomial(m, p[k]) for m, k in zip(lengths, z, strict=True)]
        dense = np.array(counts, np.float64).reshape(len(z), self.columns)
        return Words(sparse.csr_array(dense))
