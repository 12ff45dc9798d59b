"""The columns of a crowd's rows where the rows come by batches, here or on other machines.

The rows' shares stay with whoever learns; a batch gets those of its own rows, and gives back sums,
or the scores of its rows. Folds are dealt by the rows' numbers alone, as of a table in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.solvers.sources_columns import Columns, dealt, shared_out
from misnomer.solvers.task import tally
from misnomer.stats import Stats
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]
Folds = NDArray[np.uint8]


class Passes(Protocol):
    """Who goes over batches with arrays beside them, whose rows are those of the batches."""

    def each(
        self, step: Callable[..., Any], batches: Sequence[Batch], *beside: NDArray[Any]
    ) -> Iterator[Any]:
        """Yield ``step(batch, *the batch's rows of the arrays)``, in the batches' order."""

    def total(
        self, step: Callable[..., Any], batches: Sequence[Batch], *beside: NDArray[Any]
    ) -> Any:
        """Add the same up."""


@dataclass(frozen=True, eq=False)
class ColumnBatches(Columns):
    """Rows by batches.

    Attributes
    ----------
    schema : Schema
        The columns.
    batches : sequence of Batch
        The rows; each batch knows the number of its first row.
    fold : (n,) array of int
        The fold of each row.
    passes : Passes
        Who goes over the batches.
    """

    schema: Schema
    batches: Sequence[Batch]
    fold: Folds
    passes: Passes

    def sums(self, share: Array) -> list[Array]:
        """Share the rows of each fold out, batch after batch."""
        step = partial(sums_by_fold, self._folds)
        return list(self.passes.total(step, self.batches, share, self.fold))

    def weighed(self, weights: list[Array]) -> Array:
        """Weigh the rows batch after batch."""
        out, start = np.empty((len(self.fold), len(weights[0]))), 0
        step = partial(scores_by_fold, weights)
        for scores in self.passes.each(step, self.batches, self.fold):
            out[start : start + len(scores)] = scores
            start += len(scores)
        return out

    def by_class(self, best: NDArray[np.intp], K: int) -> Stats:
        """Add the batches up."""
        found: Stats = self.passes.total(partial(_tally, K), self.batches, best.astype(np.int32))
        return found

    @property
    def _folds(self) -> int:
        return int(self.fold.max()) + 1


def sums_by_fold(folds: int, batch: Batch, share: Array, fold: Folds) -> Array:
    """Share the rows of a batch out over the classes, fold by fold, (F, K, S)."""
    own = [np.flatnonzero(fold == f) for f in range(folds)]
    return np.stack([shared_out(batch.take(rows), share[rows]) for rows in own])


def scores_by_fold(weights: list[Array], batch: Batch, fold: Folds) -> Array:
    """Weigh the columns of a batch's rows, each by the weights of its fold, (n, K)."""
    out = np.empty((len(batch), len(weights[0])))
    for f, own in enumerate(weights):
        rows = np.flatnonzero(fold == f)
        out[rows] = kernels.scores(batch.take(rows).blocks, own, len(rows))
    return out


def _tally(K: int, batch: Batch, best: NDArray[np.int32]) -> Stats:
    return tally(batch, best, K)


def column_batches(
    schema: Schema, batches: Sequence[Batch], rows: int, passes: Passes, seed: int
) -> ColumnBatches:
    """Deal the rows of some batches out to the folds."""
    fold = np.empty(rows, np.uint8)
    for f, places in enumerate(dealt(rows, seed)):
        fold[places] = f
    return ColumnBatches(schema, batches, fold, passes)
