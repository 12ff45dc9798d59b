"""What every solver is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.kernels.blocks import Words
from misnomer.model import Model
from misnomer.posterior import NoiseMatrix, Posterior
from misnomer.smoothing import Smoothing
from misnomer.stats import Stats, Sums
from misnomer.table import Batch, Fold, Schema
from misnomer.verdict import Verdict

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
    sparse: bool = False  # whether labels are so many that only what occurs is kept

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


class Judge(Protocol):
    """Judges rows as the solver judged those that it learned from."""

    def posterior(self, batch: Batch) -> Array | Posterior:
        """Compute P(true class | what is known of each row), (n, K)."""
        ...


class Opinion(Protocol):
    """How far the numbers can be believed; worked out when somebody asks."""

    @property
    def intervals(self) -> dict[str, Any]:
        """Of the error rate, the noise matrix and the class shares, by name."""
        ...

    @property
    def verdict(self) -> Verdict:
        """Whether the data can tell."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Details:
    """What a solver found beside its model; None where it did not look."""

    virtual: Array | None = None  # the virtual examples in the model's weights
    class_shares: Array | None = None  # (K,): of the true classes, where the prior is not they
    # (L, K): where the model's channel is not it
    noise_matrix: Array | NoiseMatrix | None = None
    # (n, K): P(true class) of the rows, each by the others
    posterior: Array | Posterior | None = None
    judge: Judge | None = None
    opinion: Opinion | None = None
    groups: object = None  # what was found of groups of rows, by the head
    positives_among_unlabeled: float | None = None
    solver: str | None = None  # how the solver is called where it is not the one that was named
    notes: tuple[str, ...] = ()

    @property
    def intervals(self) -> dict[str, Any] | None:
        """The solver's own intervals."""
        return None if self.opinion is None else self.opinion.intervals

    @property
    def verdict(self) -> Verdict | None:
        """The solver's own verdict."""
        return None if self.opinion is None else self.opinion.verdict


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a solver ended, and how it got there."""

    model: Model  # the last model
    objective: float  # log likelihood plus log prior of the virtual examples, of ``model``
    history: tuple[float, ...]  # the objective before each pass
    converged: bool = True  # whether the gain per row fell under the tolerance
    details: Details = field(default_factory=Details)
    # (n,): what each start reached, where there were several to run to their end
    objectives: Array | None = field(default=None, kw_only=True)
    # how far a closed form was moved to be a distribution
    projection: float = field(default=0.0, kw_only=True)

    @property
    def virtual(self) -> Array:
        """The virtual examples in the model's weights: another search may go on with them."""
        if self.details.virtual is None:
            raise ValueError("this solver has no virtual examples: no search can go on from it")
        return self.details.virtual

    @property
    def passes(self) -> int:
        """How many passes over the rows it took."""
        return len(self.history)
