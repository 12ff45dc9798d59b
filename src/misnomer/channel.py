"""P(given label | true class): how labels go wrong, and what is known about it beforehand.

``matrix[y, z] = P(given y | true z)``: rows are given, columns are true, columns sum to one.
A cell that is not *free* keeps its value for ever: that is how structure is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.families.family import log

__all__ = [
    "Channel",
    "auto",
    "fixed",
    "flips",
    "free",
    "identity",
    "positive_unlabeled",
    "uniform",
    "unlabeled",
]

Array = NDArray[np.float64]

COLUMN_SUM_TOLERANCE = 1e-6  # what rounding may leave of a column's sum


@dataclass(frozen=True, eq=False)
class Channel:
    """The noise between the true class and the given label.

    Attributes
    ----------
    matrix : (L, K) array
        P(given | true); each column sums to one.
    free : (L, K) array of bool
        The cells that a refit may change.
    counts : (L, K) array
        Dirichlet prior counts: virtual rows, added to every refit.
    tied : {"cells", "classes", "one"}
        What a refit estimates: each free cell, one error rate per true class, or one for all.
    classes, labels : tuple, optional
        Names of the true classes and of the given labels, where they differ from the data's.

    Examples
    --------
    >>> flips([0.2, 0.5]).matrix.tolist()
    [[0.8, 0.5], [0.2, 0.5]]
    """

    matrix: Array
    free: NDArray[np.bool_]
    counts: Array
    tied: str = "cells"
    classes: tuple[Any, ...] | None = None
    labels: tuple[Any, ...] | None = None

    @property
    def n_labels(self) -> int:
        """How many given labels there are (L)."""
        return int(self.matrix.shape[0])

    @property
    def n_classes(self) -> int:
        """How many true classes there are (K)."""
        return int(self.matrix.shape[1])

    def refit(self, joint: Array) -> Channel:
        """Give each column the shares of ``joint``, the (L, K) weight of (given, true).

        Free cells share out what the fixed cells of their column leave.
        """
        if not self.free.any() or not self.n_labels:
            return self
        mass = _tie(joint + self.counts, self.free, self.tied)
        mass = np.where(self.free, mass, 0.0)
        total = mass.sum(axis=0)
        left = 1.0 - np.where(self.free, 0.0, self.matrix).sum(axis=0)
        gone = total < np.finfo(np.float64).tiny  # a class that vanished keeps its old column
        fresh = mass * (left / np.where(gone, 1.0, total))
        known = ~self.free | gone
        return replace(self, matrix=np.where(known, self.matrix, fresh))

    def reverse(self, prior: Array) -> Array:
        """Turn the channel round: ``P(true | given)``, (L, K), rows sum to one."""
        joint = self.matrix * prior
        total = joint.sum(axis=1, keepdims=True)
        return np.where(total > 0, joint / np.where(total > 0, total, 1.0), prior)

    def table(self, prior: Array) -> Array:
        """List ``log prior[z] + log P(evidence | z)`` for every evidence code a row can have.

        Codes 0..L-1 are given labels, L is no label at all, L+1+k is "trusted to be class k".
        """
        K = self.n_classes
        evidence = np.concatenate([self.matrix, np.ones((1, K)), np.eye(K)])
        return log(evidence) + log(prior)

    def log_prior(self) -> float:
        """Log density of the prior counts at this matrix, up to a constant."""
        return float(np.sum(self.counts * np.where(self.free, log(self.matrix), 0.0)))

    def restrict(self, cells: Sequence[tuple[int, int]], value: float = 0.0) -> Channel:
        """Fix some cells (given, true) for ever, at zero ("cannot happen") or another value."""
        matrix, free = self.matrix.copy(), self.free.copy()
        for given, true in cells:
            matrix[given, true], free[given, true] = value, False
        fixed = np.where(free, 0.0, matrix).sum(axis=0)
        loose = np.where(free, matrix, 0.0)
        total = loose.sum(axis=0)
        bad = (fixed > 1 + 1e-9) | ((total <= 0) & (abs(fixed - 1) > 1e-9))
        if bad.any():
            raise ValueError(
                f"the fixed cells of column {int(np.argmax(bad))} of the channel leave no way "
                "for it to sum to one; free a cell of that column or change a value"
            )
        loose *= (1.0 - fixed) / np.where(total > 0, total, 1.0)
        return replace(self, matrix=np.where(free, loose, matrix), free=free)


def _tie(mass: Array, free: NDArray[np.bool_], tied: str) -> Array:
    """Spread the mass off the diagonal evenly, per column or over the whole matrix."""
    if tied == "cells":
        return mass
    right, wrong, cells = tied_mass(mass, free, tied)
    off = np.where(free, wrong / np.maximum(cells, 1), 0.0)
    return np.where(np.eye(*mass.shape) > 0, right, off)


def tied_mass(
    mass: Array, free: NDArray[np.bool_], tied: str
) -> tuple[Array, Array, NDArray[np.intp]]:
    """Add up the mass on and off the diagonal, by column or over the whole matrix, (K,) each.

    The last value counts the free cells off the diagonal, by column.
    """
    diagonal = np.eye(*mass.shape) > 0
    off = free & ~diagonal
    right, wrong = (np.where(where, mass, 0.0).sum(axis=0) for where in (diagonal, off))
    if tied == "one":
        right, wrong = np.full_like(right, right.sum()), np.full_like(wrong, wrong.sum())
    return right, wrong, off.sum(axis=0)


def _channel(matrix: ArrayLike, free: bool, counts: ArrayLike, tied: str = "cells") -> Channel:
    matrix = np.array(matrix, np.float64)
    every = np.full(matrix.shape, free)
    return Channel(matrix, every, np.broadcast_to(np.array(counts, float), matrix.shape), tied)


def _even(n_classes: int, rate: float) -> Array:
    """Spread an error rate evenly over the other classes."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"an error rate must lie between 0 and 1, not {rate}")
    off = rate / (n_classes - 1) if n_classes > 1 else 0.0
    return np.eye(n_classes) * (1.0 - rate - off) + off


def identity(n_classes: int) -> Channel:
    """Take every label as true."""
    return _channel(np.eye(n_classes), False, 0.0)


def uniform(n_classes: int, rate: float = 0.2, *, counts: ArrayLike = 0.0) -> Channel:
    """One unknown error rate for all classes, spread evenly over the others."""
    return _channel(_even(n_classes, rate), True, counts, "one")


def flips(rates: Sequence[float], *, counts: ArrayLike = 0.0) -> Channel:
    """One unknown error rate per true class, spread evenly over the others; start at ``rates``."""
    columns = [_even(len(rates), rate)[:, k] for k, rate in enumerate(rates)]
    return _channel(np.stack(columns, axis=1), True, counts, "classes")


def free(n_classes: int, diagonal: float = 0.8, *, counts: ArrayLike = 0.0) -> Channel:
    """Any K x K matrix; start with ``diagonal`` (1 would be absorbing: EM never leaves it)."""
    return _channel(_even(n_classes, 1.0 - diagonal), True, counts)


def auto(n_classes: int) -> Channel:
    """Any K x K matrix, with a virtual row for each right label and a tenth for each wrong one."""
    return free(n_classes, counts=0.9 * np.eye(n_classes) + 0.1)


def blank(n_classes: int) -> Channel:
    """Any K x K matrix, of which nothing is known; it takes no room, however many classes."""
    shape = (n_classes, n_classes)
    matrix, free, counts = (
        np.broadcast_to(np.array(one), shape) for one in (1.0 / n_classes, True, 0.0)
    )
    return Channel(matrix, free, counts)


def fixed(matrix: ArrayLike) -> Channel:
    """Take a known matrix as it is."""
    return _channel(checked_matrix(matrix), False, 0.0)


def unlabeled(n_classes: int) -> Channel:
    """No labels at all: classes are clusters."""
    return _channel(np.zeros((0, n_classes)), False, 0.0)


def positive_unlabeled(labeled: float = 0.5) -> Channel:
    """A positive is labeled (1) with probability ``labeled``; a negative never is (0).

    Examples
    --------
    >>> positive_unlabeled(0.3).matrix.tolist()
    [[1.0, 0.7], [0.0, 0.3]]
    """
    channel = _channel([[1.0, 1.0 - labeled], [0.0, labeled]], True, 0.0)
    return channel.restrict([(1, 0)])


def checked_matrix(matrix: ArrayLike | Channel) -> Array:
    """Check that a matrix is a channel: shares of each true class (column) that sum to one.

    Columns are rescaled to sum to one exactly; a matrix stored in float32 or printed with seven
    digits passes.

    Examples
    --------
    >>> checked_matrix([[0.9, 0.2], [0.1, 0.8]]).tolist()
    [[0.9, 0.2], [0.1, 0.8]]
    """
    out = np.array(getattr(matrix, "matrix", matrix), np.float64)
    if out.ndim != 2 or not out.size:
        raise ValueError(
            f"a channel is a table (given labels x true classes), not of shape {out.shape}"
        )
    odd = ~np.isfinite(out) | (out < 0)
    if odd.any():
        given, true = np.argwhere(odd)[0]
        raise ValueError(
            f"a channel holds probabilities, not {out[given, true]} in row {given}, column {true}"
        )
    total = out.sum(axis=0)
    bad = int(np.argmax(abs(total - 1)))
    if abs(total[bad] - 1) > COLUMN_SUM_TOLERANCE:
        raise ValueError(
            f"column {bad} of the channel sums to {total[bad]:.6g}, not 1; rows are given labels, "
            "columns are true classes, and each column is a distribution over given labels"
        )
    return np.asarray(out / total)
