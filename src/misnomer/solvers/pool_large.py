"""Many rows: choose the explanation on a sample, then fit it once to all rows, pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.channel import fixed
from misnomer.kernels.blocks import Words
from misnomer.kernels.reference import softmax
from misnomer.smoothing import Smoothing
from misnomer.solvers.conditional import Linear, fit_conditional
from misnomer.solvers.pool_average import Average
from misnomer.solvers.pool_candidates import Candidate, Field
from misnomer.solvers.pool_rows import Rows, joined, labels
from misnomer.solvers.pool_scores import Source, centered, naive_bayes
from misnomer.solvers.pool_search import search
from misnomer.solvers.pool_twin import Twin, margin
from misnomer.solvers.task import Task
from misnomer.table import Batch

Array = NDArray[np.float64]

MOST_ROWS = 20_000  # up to which every row takes part in every choice
MOST_CELLS = 40_000_000  # the same for statistics times classes
SAMPLE = 5_000
_FOLDS = 5
_PASSES = 30  # of the twin's last fit
_NARROW = 20  # rows per statistic from which scores of the rows themselves will do


def is_large(task: Task) -> bool:
    """Tell whether choices are to be made on a sample."""
    rows = sum(len(batch) for batch in task.batches)
    if rows > MOST_ROWS:
        return True
    cells = sum(_cells(batch) for batch in task.batches)
    return rows > SAMPLE and cells * task.channel.n_classes > MOST_CELLS


def _cells(batch: Batch) -> int:
    return sum(
        block.matrix.nnz if isinstance(block, Words) else block.rows * block.width
        for block in batch.blocks
    )


def sample(task: Task) -> tuple[Batch, NDArray[np.intp]]:
    """Take every m-th row of each label, in their order; and where they stood."""
    L = task.channel.n_labels
    label = np.concatenate([labels(batch, L)[0] for batch in task.batches])
    step = max(1, len(label) // SAMPLE)
    turn = np.zeros(len(label), np.intp)
    for one in np.unique(label):
        at = np.flatnonzero(label == one)
        turn[at] = np.arange(len(at)) % step
    chosen, parts, start = np.flatnonzero(turn == 0), [], 0
    for batch in task.batches:
        own = chosen[(chosen >= start) & (chosen < start + len(batch))] - start
        parts.append(batch.take(own))
        start += len(batch)
    return joined(parts), chosen


@dataclass(frozen=True, eq=False)
class Part(Sequence[Batch]):
    """Every ``step``-th row of each batch from ``first`` on, or all but those."""

    batches: Sequence[Batch]
    first: int
    step: int
    others: bool = False

    def __len__(self) -> int:
        return len(self.batches)

    @overload
    def __getitem__(self, place: int) -> Batch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Batch]: ...
    def __getitem__(self, place: int | slice) -> Batch | Sequence[Batch]:
        """Cut a batch when it is asked for."""
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        return self._cut(self.batches[place])

    def __iter__(self) -> Iterator[Batch]:
        """Cut the batches one by one."""
        return map(self._cut, self.batches)

    def _cut(self, batch: Batch) -> Batch:
        if not self.others:
            return batch.take(slice(self.first, None, self.step))
        return batch.take(np.flatnonzero(np.arange(len(batch)) % self.step != self.first))


def row_arrays(task: Task, smoothing: Smoothing) -> Rows:
    """Collect labels and weights of all rows; their columns stay in the batches."""
    L = task.channel.n_labels
    pairs = [labels(batch, L) for batch in task.batches]
    label, trusted = (np.concatenate(part) for part in zip(*pairs, strict=True))
    weight = [np.ones(len(b)) if b.weight is None else b.weight for b in task.batches]
    n = len(label)
    return Rows(
        task.schema,
        smoothing,
        None,
        label,
        trusted,
        np.concatenate(weight),
        (0, n),
        np.arange(n),
        task.channel.n_classes,
        task.batches[0].take(slice(0, 0)),
    )


def by_row(task: Task, step: Callable[[Batch], Array]) -> Array:
    """Compute an array of each batch and put them one under another."""
    return np.concatenate([step(batch) for batch in task.batches])


def refit_all(task: Task, found: Field, answer: Average, smoothing: Smoothing) -> Field:
    """Fit the best explanation of a sample to all rows: counts, twin, channel."""
    best, rows = found.best, row_arrays(task, smoothing)
    source = _counted(task, rows, best.source.name, answer)
    twin = None
    if best.twin is not None:
        twin = _twin(task, found, best, source, len(rows))
    begin = [(best.pooled.channel, best.pooled.scale)]
    scores = None if twin is None else twin.scores
    end = search(rows, source.scores, scores, begin, free=best.pooled.free)
    whole = Candidate(end, source, twin, best.name)
    return replace(found, rows=rows, candidates=(whole,), counted=whole)


def _counted(task: Task, rows: Rows, name: str, answer: Average) -> Source:
    """Count once more, by the labels or by what the sample says of each row."""
    table = np.log(np.maximum(answer.fitted, 1e-300))
    starts = np.cumsum([0, *(len(batch) for batch in task.batches)])

    def share(place: int, batch: Batch) -> Array:
        at = slice(starts[place], starts[place + 1])
        hard, weight = rows.hard[at], rows.weight[at][:, None]
        if name == "given":
            return hard * weight
        scores = kernels.scores(batch.blocks, answer.weights, len(batch)) + answer.bias
        after = softmax(scores + np.where((rows.label[at] >= 0)[:, None], hard @ table, 0.0))[0]
        after = np.where(rows.trusted[at][:, None], hard, after)
        return (after * hard if name == "prune" else after) * weight

    parts = np.zeros((_FOLDS, rows.classes, rows.schema.statistics))
    masses = np.zeros((_FOLDS, rows.classes))
    for place, batch in enumerate(task.batches):
        own = share(place, batch)
        for fold in range(_FOLDS):
            cut = slice(fold, None, _FOLDS)
            some = np.ascontiguousarray(own[cut])
            parts[fold] += kernels.accumulate(batch.take(cut).blocks, some)
            masses[fold] += some.sum(axis=0)
    total, mass = parts.sum(axis=0), masses.sum(axis=0)
    weights, bias = naive_bayes(rows, total, mass, total - parts, mass - masses)
    scores = _by_fold(task, weights[1:], bias[1:])
    return Source(centered(scores), weights[0], bias[0], name)


def _by_fold(task: Task, weights: Array, bias: Array) -> Array:
    """Score every row by the weights of its fold: its place in the batch, modulo their number."""

    def step(batch: Batch) -> Array:
        out = np.empty((len(batch), bias.shape[1]))
        for fold in range(len(bias)):
            cut = slice(fold, None, len(bias))
            some = batch.take(cut)
            out[cut] = kernels.scores(some.blocks, weights[fold], len(some)) + bias[fold]
        return out

    return by_row(task, step)


def _twin(task: Task, found: Field, best: Candidate, source: Source, n: int) -> Twin:
    """Fit the twin to all rows; where columns are many, also to halves that score each other."""
    assert best.twin is not None and found.on is not None
    channel = fixed(best.pooled.channel)
    settings: dict[str, Any] = {"penalty": best.twin.penalty, "max_iter": _PASSES, "tol": 1e-5}
    table = best.twin.folds[0]
    start = Linear(np.zeros(0), np.zeros(0), found.on.unrotated(table), table[0].copy(), 0.0, False)
    whole = fit_conditional(task.schema, task.batches, task.fold, channel, start=start, **settings)
    halves = [whole]
    if task.schema.statistics * _NARROW > n:
        halves = [
            fit_conditional(
                task.schema,
                Part(task.batches, half, 2, others=True),
                task.fold,
                channel,
                start=whole,
                **settings,
            )
            for half in range(2)
        ]
    weights = np.stack([one.weights for one in halves])
    bias = np.stack([one.intercept for one in halves])
    scores = centered(_by_fold(task, weights, bias))
    factor = margin(source.scores) / max(margin(scores), 1e-9)
    linear = whole.weights - whole.weights.mean(axis=0), centered(whole.intercept)
    return Twin(scores * factor, best.twin.penalty, best.pooled.channel, factor, (), linear)
