"""What every solver is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.kernels.blocks import Words
from misnomer.model import Model
from misnomer.smoothing import Smoothing
from misnomer.stats import Stats, Sums
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]
Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class Task:
    """Rows to learn from, and what is known or assumed about them."""

    # the columns, the rows, and who adds over them
    schema: Schema
    batches: Sequence[Batch]
    fold: Fold[Any]
    channel: Channel  # what may happen to labels; its matrix is where a search starts
    smoothing: Smoothing  # the virtual examples
    # when to stop, how many starts to try, and the seed of what is random
    max_iter: int = 200
    tol: float = 1e-6
    n_init: int = 1
    seed: int = 0
    progress: Progress | None = None  # called as ``progress(pass, objective)``
    # numbers of rows that were drawn by chance and checked: every sample of the rows holds them
    checked: NDArray[np.int64] | None = None

    @cached_property
    def extent(self) -> tuple[int, int]:
        """How many rows there are, and how many cells they fill."""
        rows, cells, _ = self._size
        return int(rows), int(cells)

    @property
    def labeled(self) -> float:
        """The weight of the rows that have a label, or are trusted to be of a class."""
        return self._size[2]

    @cached_property
    def _size(self) -> list[float]:
        totals: Array = self.fold(_Extent(self.channel.n_labels), self.batches).arrays[0]
        return np.asarray(totals).tolist()

    @cached_property
    def by_label(self) -> Stats:
        """Sums by given label, (L, S); a trusted row counts for the label of its class."""
        L = self.channel.n_labels

        def step(batch: Batch) -> Stats:
            if len(batch) and int(batch.given.max()) < L:
                return tally(batch, batch.given, L)
            trusted = batch.given > L
            label = np.where(trusted, batch.given - L - 1, batch.given)
            return tally(batch, np.where(batch.given == L, -1, label), L)

        return self.fold(step, self.batches)

    @cached_property
    def whole(self) -> Stats:
        """Sums over all rows, labeled or not, (1, S)."""
        return self.fold(lambda batch: tally(batch, np.zeros(len(batch)), 1), self.batches)


@dataclass(frozen=True)
class _Extent:
    """A step of a fold: the rows of a batch, their cells, and the weight of their labels."""

    labels: int

    def __call__(self, batch: Batch) -> Sums:
        cells = sum(
            block.matrix.nnz if isinstance(block, Words) else block.rows * block.width
            for block in batch.blocks
        )
        known = batch.given != self.labels
        labeled = known.sum() if batch.weight is None else batch.weight[known].sum()
        return Sums((np.array([len(batch), cells, labeled], np.float64),))


def tally(batch: Batch, code: NDArray[Any], size: int) -> Stats:
    """Sum the statistics of the rows by code; a negative code leaves a row out."""
    code = np.asarray(code, np.int32)
    kept: Any = slice(None) if not len(code) or int(code.min()) >= 0 else code >= 0
    weight = None if batch.weight is None else batch.weight[kept]
    mass = np.bincount(code[kept], weight, minlength=size).astype(np.float64)
    return Stats(np.diag(mass), kernels.tally(batch.blocks, code, size, batch.weight))


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a solver ended, and how it got there."""

    model: Model  # the last model
    objective: float  # log likelihood plus log prior of the virtual examples, of ``model``
    history: tuple[float, ...]  # the objective before each pass
    converged: bool = True  # whether the gain per row fell under the tolerance
    details: Mapping[str, Any] = field(default_factory=dict)  # what else the solver found, by name
    # (n,): what each start reached, where there were several to run to their end
    objectives: Array | None = field(default=None, kw_only=True)
    # how far a closed form was moved to be a distribution
    projection: float = field(default=0.0, kw_only=True)

    @property
    def passes(self) -> int:
        """How many passes over the rows it took."""
        return len(self.history)
