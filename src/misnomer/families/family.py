"""What a family of columns must be able to say."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Block
from misnomer.kernels.reference import LOG_ZERO as LOG_ZERO

Array = NDArray[np.float64]


def log(probability: Array) -> Array:
    """Take the logarithm, with ``log 0 = LOG_ZERO`` so that no NaN is ever born of 0 * inf.

    Examples
    --------
    >>> log(np.array([1.0, 0.0])).tolist()
    [0.0, -1000000.0]
    """
    with np.errstate(divide="ignore"):
        out = np.log(probability)
    return np.asarray(np.maximum(out, LOG_ZERO, out=out))


class Family(Protocol):
    """Some columns of one kind, as an exponential family with statistics t(x).

    ``log P(x | z) = t(x) . weights[z]`` up to a term free of z.
    """

    @property
    def columns(self) -> int:
        """How many columns of the table it covers (d)."""

    @property
    def owner(self) -> NDArray[np.intp]:
        """The column that each statistic belongs to, (s,)."""

    def cells(self) -> Array:
        """One virtual example in every cell, (s,): what additive smoothing adds."""

    def uniform(self) -> Array:
        """One virtual example that says nothing, (s,)."""

    def marginal(self, total: Array) -> Array:
        """One virtual example at the average of all rows, given their sums, (s,)."""

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Turn sums, with the virtual examples in them, into natural parameters, (K, s)."""

    def log_prior(self, weights: Array, virtual: Array) -> float:
        """Log density of the virtual examples under these weights."""

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Block:
        """Draw a row for each true class in z."""
