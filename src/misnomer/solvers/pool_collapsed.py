"""EM of the joint model in which no row counts for itself: collapsed variational Bayes.

A row that counts for its own class stays where it is, the more so the more columns there are. So
the rows are dealt out to pieces, and each piece is shared out by the counts of all others. Virtual
examples are chosen by how well rows are predicted that had no part in the counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.reference import softmax
from misnomer.model import weights_of
from misnomer.smoothing import Smoothing
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import class_sums, less, virtual_of

Array = NDArray[np.float64]

#: Virtual examples of a table about which nothing was said: Laplace's; more where rows ask for it.
USUAL = Smoothing(cells=1.0, shrink=5.0, extra=1e-4, classes=1.0)

_ROUNDS, _TOL = 40, 1e-3
_PIECES, _FEWEST_PIECES = 10, 5
_AT_MOST = 400_000  # weights of all pieces together, above which there are fewer pieces
_ON, _OFF = 2.0, 1.0  # prior rows on and off the diagonal: an error rate is Beta(1, 2)
_CHANCE = 2.0  # nats that a choice among few gains by chance
_CELLS = ("categorical", "bernoulli")
_STRONGER = (8.0, 32.0, 128.0)  # virtual examples per column, toward the whole table


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows shared out over the classes.

    Attributes
    ----------
    share : (n, K) array
        P(true | x, y) of each row, by the others.
    height : float
        Log likelihood of columns and labels, every piece predicted from the others.
    """

    share: Array
    height: float


def shared_out(rows: Rows, share: Array, use: Any, rounds: int = _ROUNDS) -> Shared:
    """Go round: shares to counts, counts of the other pieces to shares; of the rows in use.

    Parameters
    ----------
    rows : Rows
        The rows.
    share : (m, K) array
        Where to begin, of the rows in use.
    use : slice or array of int
        Which rows.
    rounds : int
        At most so many.
    """
    part = _Part.of(rows, use)
    height = 0.0
    for _ in range(rounds):
        fresh = np.empty_like(share)
        height = 0.0
        for place, total in part.totals(share):
            fresh[place], own = softmax(total)
            height += float(part.weight[place] @ own)
        fresh = np.where(part.trusted[:, None], part.hard, fresh)
        moved = float(np.abs(fresh - share).mean())
        share = fresh
        if moved < _TOL:
            break
    return Shared(share, height)


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows in use, and which of them make a piece."""

    rows: Rows
    stats: Any
    weight: Array
    hard: Array
    trusted: NDArray[np.bool_]
    labeled: NDArray[np.bool_]
    pieces: int

    @classmethod
    def of(cls, rows: Rows, use: Any) -> _Part:
        size = rows.classes * rows.stats.shape[1]
        pieces = int(np.clip(_AT_MOST // max(size, 1), _FEWEST_PIECES, _PIECES))
        return cls(
            rows, rows.stats[use], rows.weight[use], rows.hard[use], rows.trusted[use],
            rows.label[use] >= 0, pieces,
        )  # fmt: skip

    def totals(self, share: Array) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Compute the log joint of each piece's rows by the counts of the others, (m, K) each."""
        counted = share * self.weight[:, None]
        places = [np.arange(first, len(share), self.pieces) for first in range(self.pieces)]
        sums = np.stack([class_sums(self.stats[place], counted[place]) for place in places])
        total, mass = sums.sum(axis=0), counted.sum(axis=0)
        virtual = virtual_of(self.rows, total, mass)
        free = counted * (self.labeled & ~self.trusted)[:, None]
        joint = self.hard.T @ free
        for place, others in zip(places, less(self.rows, total, sums), strict=True):
            left = np.maximum(mass - counted[place].sum(axis=0), 0.0) + 1.0
            scores = self.stats[place] @ weights_of(self.rows.schema, others, virtual).T
            table = log_channel(np.maximum(joint - self.hard[place].T @ free[place], 0.0))
            yield place, scores + np.log(left / left.sum()) + self.hard[place] @ table


def log_channel(joint: Array) -> Array:
    """Compute log P(given | true) of (given, true) weights, an error rate being Beta(1, 2).

    Examples
    --------
    >>> np.exp(log_channel(np.array([[6.0, 0.0], [1.0, 0.0]]))).round(2).tolist()
    [[0.8, 0.33], [0.2, 0.67]]
    """
    cells = with_prior(joint)
    return np.asarray(np.log(cells / cells.sum(axis=0)))


def with_prior(joint: Array) -> Array:
    """Add prior rows to (given, true) weights: two are right, one is wrong anywhere, (K, K)."""
    K = len(joint)
    return np.asarray(joint + _OFF / (K - 1) + (_ON - _OFF / (K - 1)) * np.eye(K))


def settled(rows: Rows, share: Array) -> tuple[Rows, Array]:
    """Share all rows out, with as many virtual examples as predict left-out rows best.

    Those that the user has chosen stay, and so do those of words, which count in words.
    """
    best, found = rows, shared_out(rows, share, slice(None))
    cells = all(group.kind in _CELLS for group in rows.schema.groups)
    for m in _STRONGER if cells and rows.smoothing == USUAL else ():
        other = replace(rows, smoothing=stronger(rows.smoothing, m))
        again = shared_out(other, share, slice(None))
        if again.height <= found.height + _CHANCE:
            break
        best, found = other, again
    return best, found.share


def stronger(smoothing: Smoothing, m: float) -> Smoothing:
    """Put m virtual examples that say what the whole table says in place of the cells'."""
    return replace(smoothing, cells=0.0, m=m, prior="marginal")
