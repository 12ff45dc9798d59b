"""Categories: one indicator per value, ``P(x = v | z) = exp(weights[z, v])``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from misnomer.families.family import Array, log
from misnomer.kernels.blocks import Codes


@dataclass(frozen=True)
class Categorical:
    """Columns of categories; ``sizes`` says how many each has.

    Examples
    --------
    >>> coin = Categorical((2,))
    >>> np.exp(coin.weights(np.array([[3.0, 1.0]]), np.zeros((1, 2)))).tolist()
    [[0.75, 0.25]]
    """

    sizes: tuple[int, ...]

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where the statistics of each column begin, (d,)."""
        ends = np.cumsum(self.sizes, dtype=np.intp)
        return ends - np.array(self.sizes, np.intp)

    def cells(self) -> Array:
        return np.ones(sum(self.sizes))

    def uniform(self) -> Array:
        return np.repeat(1.0 / np.array(self.sizes, np.float64), self.sizes)

    def marginal(self, total: Array) -> Array:
        return self.shares(total[None, :])[0]

    def shares(self, sums: Array) -> Array:
        """Divide by the sum over a column's values; a column with no mass says nothing."""
        if not self.sizes:
            return sums
        mass = np.add.reduceat(sums, self.starts, axis=1)[:, self.owner]
        return np.where(mass > 0, sums / np.where(mass > 0, mass, 1.0), self.uniform())

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Take ``log (sums + virtual) / (the same, summed over the column's values)``."""
        return log(self.shares(sums + virtual))

    def log_prior(self, weights: Array, virtual: Array) -> float:
        return float(np.sum(virtual * weights))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Codes:
        columns = []
        for start, size in zip(self.starts, self.sizes, strict=True):
            steps = np.exp(weights[:, start : start + size]).cumsum(axis=1)[z]
            at = rng.random((len(z), 1)) * steps[:, -1:]
            columns.append((at >= steps).sum(axis=1).clip(max=size - 1))
        codes = np.stack(columns, axis=1) if columns else np.zeros((len(z), 0))
        return Codes(codes.astype(code_type(max(self.sizes, default=1))), self.sizes)


def code_type(size: int) -> type[np.unsignedinteger]:
    """Choose the smallest code that holds ``size`` categories and one more for "missing".

    Examples
    --------
    >>> code_type(255).__name__, code_type(256).__name__
    ('uint8', 'uint16')
    """
    if size <= np.iinfo(np.uint8).max:
        return np.uint8
    return np.uint16 if size <= np.iinfo(np.uint16).max else np.uint32
