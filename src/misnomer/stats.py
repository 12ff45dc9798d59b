"""Sums over rows, as values that add: the only thing that travels between a pass and a solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stats:
    """What one pass over the rows leaves behind: ``stats(A) + stats(B) = stats(A and B)``.

    Examples
    --------
    >>> one = Stats(np.eye(2), np.ones((2, 3)), -1.5)
    >>> two = one + one
    >>> two.loglik, two.mass.tolist()
    (-3.0, [2.0, 2.0])
    """

    # (R, K): weight of the rows by evidence code (given label, none, trusted class) and true class
    joint: Array
    sums: Array  # (K, S): sum of the sufficient statistics t(x), shared out over the true classes
    loglik: float = 0.0  # sum of log P(x, y) over the rows, up to a term free of the parameters

    def __add__(self, other: Stats) -> Stats:
        return Stats(self.joint + other.joint, self.sums + other.sums, self.loglik + other.loglik)

    def __mul__(self, factor: float) -> Stats:
        return Stats(self.joint * factor, self.sums * factor, self.loglik * factor)

    __rmul__ = __mul__

    @property
    def mass(self) -> Array:
        """Weight of the rows by true class, (K,)."""
        total: Array = self.joint.sum(axis=0)
        return total

    @property
    def rows(self) -> float:
        """Weight of all the rows."""
        return float(self.joint.sum())


@dataclass(frozen=True, eq=False)
class Sums:
    """Arrays that add, one by one: what a pass leaves behind that no `Stats` describes.

    Examples
    --------
    >>> one = Sums((np.ones(2), np.eye(1)))
    >>> (one + one).arrays[0].tolist()
    [2.0, 2.0]
    """

    arrays: tuple[Array, ...]

    def __add__(self, other: Sums) -> Sums:
        return Sums(tuple(a + b for a, b in zip(self.arrays, other.arrays, strict=True)))
