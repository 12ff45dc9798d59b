"""Many rows: the explanation that won on a sample is fitted to all of them, pass by pass.

Weights come from all rows; every pass is a sum over batches. The temper, the mix and the channel,
a few dozen numbers, are found on rows drawn for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.channel import fixed
from misnomer.families.family import LOG_ZERO
from misnomer.smoothing import Smoothing
from misnomer.solvers.conditional import Linear, fit_conditional
from misnomer.solvers.difficulty_fit import DifficultyFit
from misnomer.solvers.pool_average import Average, Parts, doubts, shift_of
from misnomer.solvers.pool_candidates import Candidate, Field
from misnomer.solvers.pool_confident import confident_joint
from misnomer.solvers.pool_halves import Half
from misnomer.solvers.pool_judge import FOLDS, Judge, folds_of
from misnomer.solvers.pool_rows import Rows, labels
from misnomer.solvers.pool_sample import drawn, taken
from misnomer.solvers.pool_scores import Source, centered, margin, within_reach, without_each
from misnomer.solvers.pool_search import posterior, search
from misnomer.solvers.pool_twin import Twin
from misnomer.solvers.task import Task
from misnomer.stats import Sums
from misnomer.table import Batch

Array = NDArray[np.float64]

THIN = 20_000  # rows on which the channel is found
_ROUNDS = 3  # of counting by what the last count says
_LITTLE = 1e-4  # nats a row that a further round must gain
_PASSES = 30  # of the twin's last fit
_NARROW = 20  # rows per statistic from which a twin may score the rows that it has seen


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of t(x) for rows never seen, then for rows of each fold.

    Attributes
    ----------
    table : 1 + FOLDS arrays (K, S)
        Centered over the classes.
    bias : (1 + FOLDS, K) array
        Likewise.
    """

    table: tuple[Array, ...]
    bias: Array

    def scores(self, batch: Batch, fold: NDArray[np.intp]) -> Array:
        """Score rows of several folds, (n, K)."""
        out = np.empty((len(batch), self.bias.shape[1]))
        for one in range(FOLDS):
            at = np.flatnonzero(fold == one)
            some = batch.take(at)
            own = kernels.scores(some.blocks, self.table[1 + one], len(at))
            out[at] = own + self.bias[1 + one]
        return within_reach(out)


def refit_all(
    task: Task,
    found: Field,
    looked: DifficultyFit,
    back: NDArray[np.intp],
    smoothing: Smoothing,
    *,
    refit: bool = True,
) -> tuple[Field, Average, Judge]:
    """Fit the best explanation of a sample to all rows: counts, twin, channel.

    Rows are counted by their labels, then (``refit``) by what that says of them, as long as it
    explains the labels better. Where errors strike rows that are hard to tell, rows are judged
    without a channel. ``back`` is the place of the statistics of the sample among all.
    """
    best, n = found.best, task.extent[0]
    place = drawn(n, THIN)
    rows = _thin(task, taken(task.batches, place), smoothing, place)
    twin = None if best.twin is None else _twin_weights(task, found, best, back, n)
    plain = counted = _counted(task, rows, None)
    found = replace(found, rows=rows)
    ended = _ended(found, counted, twin, best, "given")
    for _ in range(_ROUNDS if refit else 0):
        counted = _counted(task, rows, ended.judge())
        again = _ended(found, counted, twin, ended.found.best, "full")
        gain = ended.found.best.objective - again.found.best.objective
        if gain > 0:
            ended = again
        if gain < _LITTLE * len(rows):
            break
    answer, judge = _judged(ended)
    if looked.found:
        known = plain if looked.plain else None
        answer, judge = _by_difficulty(ended.found, answer, judge, looked, known)
    return ended.found, answer, judge


def _by_difficulty(
    found: Field, answer: Average, judge: Judge, looked: DifficultyFit, plain: Weights | None
) -> tuple[Average, Judge]:
    """Take the shift of the boundary out; where errors were found, judge by what is left."""
    shift = found.best.pooled.scale * found.best.pooled.point.bias
    tables = (answer.weights, *(judge.scale * one for one in judge.weights))
    bias = np.concatenate([answer.bias[None], judge.bias]) - shift
    if plain is not None:
        tables, bias = plain.table, plain.bias
    tables = tuple(looked.scale * one for one in tables)
    bias = looked.scale * bias + looked.shift
    answer = replace(answer, weights=tables[0], bias=bias[0])
    if not looked.judges:
        return answer, judge
    answer = replace(answer, fitted=looked.channel, reported=looked.channel)
    return answer, Judge(tables[1:], bias[1:], np.ones_like(looked.channel))


def _thin(task: Task, batch: Batch, smoothing: Smoothing, place: NDArray[np.intp]) -> Rows:
    label, trusted = labels(batch, task.channel.n_labels)
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    edges, K = (0, len(batch)), task.channel.n_classes
    return Rows(task.schema, smoothing, None, label, trusted, weight, edges, place, K, batch)


def _counted(task: Task, rows: Rows, judge: Judge | None) -> Weights:
    """Count all rows, by their labels or by what a judge says of each."""
    *parts, masses = task.fold(_Count(rows.classes, judge), task.batches).arrays
    return Weights(*without_each(rows, parts, masses))


@dataclass(frozen=True, eq=False)
class _Count:
    """A step of a fold: the statistics of a batch by fold and class, and its rows."""

    classes: int
    judge: Judge | None

    def __call__(self, batch: Batch) -> Sums:
        found = []
        for fold, some in enumerate(folds_of(batch)):
            judge = self.judge
            one = _by_label(some, self.classes) if judge is None else _shared_out(some, judge, fold)
            found.append(one)
        sums, masses = zip(*found, strict=True)
        return Sums((*sums, np.stack(masses)))


def _by_label(batch: Batch, classes: int) -> tuple[Array, Array]:
    """Sum the statistics of a batch by label, (K, S), and its rows, (K,)."""
    label, _ = labels(batch, classes)
    seen = label >= 0
    weight = None if batch.weight is None else batch.weight[seen]
    mass = np.bincount(label[seen], weight, minlength=classes).astype(np.float64)
    return kernels.tally(batch.blocks, label.astype(np.int32), classes, batch.weight), mass


def _shared_out(batch: Batch, judge: Judge, fold: int) -> tuple[Array, Array]:
    """Sum the statistics of a batch of one fold by true class, (K, S), and its rows, (K,)."""
    K, bias = len(judge.channel), judge.bias[fold]
    table = bias + np.log(np.maximum(judge.channel, 1e-300))
    known = np.where(np.eye(K, dtype=bool), 0.0, LOG_ZERO)
    table = np.concatenate([table, bias[None], known])
    codes = batch.given.astype(np.int32, copy=False)
    weights = judge.scale * judge.weights[fold]
    joint, sums, _ = kernels.expect(batch.blocks, weights, table, codes, batch.weight)
    return sums, joint.sum(axis=0)


def _twin_weights(
    task: Task, found: Field, best: Candidate, back: NDArray[np.intp], n: int
) -> Weights:
    """Fit the twin to all rows; where columns are many, also to halves that score each other."""
    assert best.twin is not None and found.on is not None
    channel = fixed(best.pooled.channel)
    settings: dict[str, Any] = {"penalty": best.twin.penalty, "max_iter": _PASSES, "tol": 1e-5}
    table = np.mean(best.twin.folds, axis=0)
    begin = np.zeros((len(table[0]), task.schema.statistics))
    begin[:, back] = found.on.unrotated(table)
    start = Linear(np.zeros(0), np.zeros(0), begin, table[0].copy(), 0.0, False)
    fit = [fit_conditional(task.schema, task.batches, task.fold, channel, start=start, **settings)]
    if task.schema.statistics * _NARROW > n:
        for other in (1, 0):
            half = Half(task.fold, other)
            again = fit_conditional(
                task.schema, task.batches, half, channel, start=fit[0], **settings
            )
            fit.append(again)
    order = [fit[0]] + [fit[1 + fold % 2] if len(fit) > 1 else fit[0] for fold in range(FOLDS)]
    weights = tuple(one.weights - one.weights.mean(axis=0) for one in order)
    return Weights(weights, np.stack([centered(one.intercept) for one in order]))


@dataclass(frozen=True, eq=False)
class _Ended:
    """An explanation of all rows: scores are ``scale`` times these weights, and their bias."""

    found: Field
    weights: Weights
    scale: float

    def judge(self, shift: float = 0.0) -> Judge:
        channel = self.found.best.pooled.channel
        return Judge(self.weights.table[1:], self.weights.bias[1:], channel, shift, self.scale)


def _ended(
    found: Field, counted: Weights, weights: Weights | None, best: Candidate, name: str
) -> _Ended:
    """Find temper, mix and channel on the rows drawn for it; say what all rows are judged by."""
    rows = found.rows
    scores = counted.scores(rows.batch, rows.place % FOLDS)
    source = Source(scores, counted.table[0], counted.bias[0], name)
    twin = None if weights is None else _twin(weights, rows, best, source)
    begin = [(best.pooled.channel, best.pooled.scale)]
    other = None if twin is None else twin.scores
    end = search(rows, scores, other, begin, free=best.pooled.free)
    whole = Candidate(end, source, twin, name if twin is None else best.name)
    found = replace(found, candidates=(whole,), counted=whole)
    if weights is None or twin is None:
        bias = end.scale * (counted.bias + end.point.bias)
        return _Ended(found, Weights(counted.table, bias), end.scale)
    own, part = 1.0 - end.point.mix, end.point.mix * twin.factor
    table = tuple(
        end.scale * (own * a + part * b) for a, b in zip(counted.table, weights.table, strict=True)
    )
    bias = end.scale * (own * counted.bias + part * weights.bias + end.point.bias)
    return _Ended(found, Weights(table, bias), 1.0)


def _twin(weights: Weights, rows: Rows, best: Candidate, source: Source) -> Twin:
    assert best.twin is not None
    scores = weights.scores(rows.batch, rows.place % FOLDS)
    factor = margin(source.scores) / max(margin(scores), 1e-9)
    linear = weights.table[0], weights.bias[0]
    return Twin(scores * factor, best.twin.penalty, best.pooled.channel, factor, (), linear)


def _judged(ended: _Ended) -> tuple[Average, Judge]:
    """Say what an explanation says of the rows drawn, and what all rows are judged by."""
    rows, best = ended.found.rows, ended.found.best
    end = best.pooled
    after = posterior(rows, end.share, end.channel)
    judged, wrong, doubt = doubts(rows, end.share, end.share, after)
    shift = shift_of(doubt, wrong, rows.weight[judged])
    confident = confident_joint(rows, end.share @ end.channel.T)
    parts: Parts = ((1.0, best),)
    reported = 0.5 * (end.channel + confident)
    weights, bias = ended.scale * ended.weights.table[0], ended.weights.bias[0]
    answer = Average(parts, end.share, end.channel, reported, after, weights, bias)
    return answer, ended.judge(shift)
