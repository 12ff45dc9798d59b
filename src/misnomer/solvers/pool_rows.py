"""The rows of a search, spelled out once: what every candidate of the pool is scored on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.reference import statistic
from misnomer.smoothing import Smoothing
from misnomer.solvers.conditional_features import Features, measure
from misnomer.solvers.pool_folds import deal, how_many, row_key
from misnomer.solvers.task import Task
from misnomer.stats import Stats
from misnomer.table import Batch, Fold, Schema, joined_groups

Array = NDArray[np.float64]
Matrix = Any  # (n, s) array, dense or sparse

_DENSE = 1500  # statistics up to which a table is spelled out densely
_MOST_COPIES = 20_000  # rows that whole weights may make
_THICK = 0.2  # share of cells in use above which it always is


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows sorted by fold, so that a fold is a slice.

    Attributes
    ----------
    schema, smoothing
        The columns, and the virtual examples of their counts.
    stats : (n, S) array or sparse array
        The statistics t(x).
    label : (n,) array of int
        The given label; -1 where there is none.
    trusted : (n,) array of bool
        Rows whose label is known to be right.
    weight : (n,) array
        What each row counts.
    edges : tuple of int
        Where the folds begin, and the last one ends.
    place : (n,) array of int
        The position of each row among the rows that were given.
    classes : int
        How many true classes there are (K).
    batch : Batch
        The same rows in compact form.
    """

    schema: Schema
    smoothing: Smoothing
    stats: Matrix
    label: NDArray[np.intp]
    trusted: NDArray[np.bool_]
    weight: Array
    edges: tuple[int, ...]
    place: NDArray[np.intp]
    classes: int
    batch: Batch

    def __len__(self) -> int:
        return len(self.label)

    @property
    def folds(self) -> list[slice]:
        """The rows of each fold."""
        return [slice(a, b) for a, b in zip(self.edges, self.edges[1:], strict=False)]

    @cached_property
    def labeled(self) -> NDArray[np.intp]:
        """Positions of the rows that have a label."""
        return np.flatnonzero(self.label >= 0)

    @cached_property
    def total(self) -> float:
        """Weight of the labeled rows."""
        return float(self.weight[self.labeled].sum())

    @cached_property
    def hard(self) -> Array:
        """One where a class is the given label, (n, K)."""
        out = np.zeros((len(self), self.classes))
        out[self.labeled, self.label[self.labeled]] = 1.0
        return out

    @cached_property
    def given(self) -> Array:
        """Share of each label among the given ones, half a row added to each, (K,)."""
        count = self.weight @ self.hard + 0.5
        return count / count.sum()

    @cached_property
    def features(self) -> Features:
        """What the conditional twin sees of a row."""
        return measure(self.schema, [self.batch], alone)

    @cached_property
    def least(self) -> Array | None:
        """What every variance is at least, in the place of its virtual examples, (S,)."""
        kinds = {group.kind for group in self.schema.groups}
        if "gaussian" not in kinds or self.stats is None:
            return None
        seen = np.asarray(self.weight @ self.stats)[None]
        mass = np.full((1, 1), self.weight.sum())
        virtual = self.smoothing.virtual(self.schema, Stats(mass, seen), np.ones((1, 1)))
        out = np.zeros(self.schema.statistics)
        for group in self.schema.groups:
            if group.kind == "gaussian":
                extra = np.array_split(np.arange(group.span.start, group.span.stop), 3)[1]
                out[extra] = virtual[0, extra]
        return out

    def without(self, fold: int) -> NDArray[np.intp]:
        """Positions of the rows outside a fold."""
        a, b = self.edges[fold], self.edges[fold + 1]
        return np.concatenate([np.arange(a), np.arange(b, len(self))])

    def kept(self, mask: NDArray[np.bool_]) -> Rows:
        """Keep some of the rows, in their folds."""
        before = np.concatenate([[0], np.cumsum(mask)])
        at = np.flatnonzero(mask)
        return replace(
            self,
            stats=self.stats[at],
            label=self.label[at],
            trusted=self.trusted[at],
            weight=self.weight[at],
            edges=tuple(int(before[edge]) for edge in self.edges),
            place=self.place[at],
            batch=self.batch.take(at),
        )

    def given_back(self, values: Array, n: int) -> Array:
        """Put values of these rows in the order of the n rows that were given, (n, ...).

        A row that stands here several times gets the mean of its values.
        """
        out = np.zeros((n, *values.shape[1:]))
        np.add.at(out, self.place, values)
        times = np.bincount(self.place, minlength=n).astype(np.float64)
        return out / np.maximum(times, 1.0).reshape(-1, *[1] * (values.ndim - 1))


def alone(step: Any, batches: Iterable[Batch]) -> Any:
    """Add over one batch: a fold of what is at hand."""
    return step(next(iter(batches)))


def spelled(
    task: Task,
    batch: Batch,
    smoothing: Smoothing,
    *,
    place: NDArray[np.intp] | None = None,
    folds: int | None = None,
) -> Rows:
    """Spell out the rows of a batch; a whole weight is taken as that many rows."""
    place = np.arange(len(batch)) if place is None else place
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    whole = np.array_equal(weight, weight.round()) and weight.sum() <= _MOST_COPIES
    if whole and not np.array_equal(weight, np.ones(len(batch))):
        times = np.repeat(np.arange(len(batch)), weight.astype(np.intp))
        batch, place = replace(batch.take(times), weight=None), place[times]
    label, trusted = labels(batch, task.channel.n_labels)
    key = row_key(batch)
    fold = deal(label, key, folds or how_many(len(batch)))
    order = np.lexsort((key, label, fold))
    batch = batch.take(order)
    edges = np.concatenate([[0], np.cumsum(np.bincount(fold))])
    return Rows(
        task.schema,
        smoothing,
        matrix(batch),
        label[order],
        trusted[order],
        np.ones(len(order)) if batch.weight is None else batch.weight,
        tuple(int(edge) for edge in edges),
        place[order],
        task.channel.n_classes,
        batch,
    )


def labels(batch: Batch, n_labels: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Read evidence codes: the label (-1 for none), and whether it is trusted."""
    trusted = batch.given > n_labels
    label = np.where(trusted, batch.given - n_labels - 1, batch.given)
    return np.where(batch.given == n_labels, -1, label).astype(np.intp), trusted


def matrix(batch: Batch) -> Matrix:
    """Write out t(x) of all blocks side by side, (n, S): densely where it is small."""
    parts = [statistic(block) for block in batch.blocks]
    width = sum(part.shape[1] for part in parts)
    filled = sum(part.size if isinstance(part, np.ndarray) else int(part.nnz) for part in parts)
    if width <= _DENSE or filled > _THICK * width * len(batch):
        dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
        return np.concatenate(dense, axis=1)
    return sparse.csr_array(sparse.hstack([sparse.csr_array(part) for part in parts]))


def joined(batches: Sequence[Batch]) -> Batch:
    """Put batches one under another."""
    if len(batches) == 1:
        return batches[0]
    columns = zip(*(batch.blocks for batch in batches), strict=True)
    given = np.concatenate([batch.given for batch in batches])
    weight = None
    if any(batch.weight is not None for batch in batches):
        ones = [np.ones(len(b)) if b.weight is None else b.weight for b in batches]
        weight = np.concatenate(ones)
    stacked = tuple(_stacked(list(blocks)) for blocks in columns)
    return Batch(stacked, given, weight, group=joined_groups(batches))


def _stacked(blocks: list[Any]) -> Any:
    first = blocks[0]
    if hasattr(first, "codes"):
        return replace(first, codes=np.concatenate([b.codes for b in blocks]))
    if hasattr(first, "bits"):
        seen = None
        if any(b.observed is not None for b in blocks):
            full = [np.full_like(b.bits, 255) if b.observed is None else b.observed for b in blocks]
            seen = np.concatenate(full)
        return replace(first, bits=np.concatenate([b.bits for b in blocks]), observed=seen)
    if hasattr(first, "values"):
        return replace(first, values=np.concatenate([b.values for b in blocks]))
    return replace(first, matrix=sparse.csr_array(sparse.vstack([b.matrix for b in blocks])))


__all__ = ["Fold", "Matrix", "Rows", "joined", "labels", "matrix", "spelled"]
