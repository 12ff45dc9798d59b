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
from misnomer.kernels.reference import softmax
from misnomer.smoothing import Smoothing
from misnomer.solvers.conditional import Linear, fit_conditional
from misnomer.solvers.pool_average import Average, Parts, confident_joint, doubts, shift_of
from misnomer.solvers.pool_candidates import Candidate, Field
from misnomer.solvers.pool_halves import Half
from misnomer.solvers.pool_judge import FOLDS, Judge, rows_of
from misnomer.solvers.pool_rows import Rows, labels
from misnomer.solvers.pool_sample import drawn, numbered, taken
from misnomer.solvers.pool_scores import Source, centered, naive_bayes
from misnomer.solvers.pool_search import posterior, search
from misnomer.solvers.pool_twin import Twin, margin
from misnomer.solvers.task import Task
from misnomer.table import Batch

Array = NDArray[np.float64]

THIN = 20_000  # rows on which the channel is found
_PASSES = 30  # of the twin's last fit
_NARROW = 20  # rows per statistic from which a twin may score the rows that it has seen


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of t(x) for rows of each fold, and last for rows never seen.

    Attributes
    ----------
    table, bias : (FOLDS + 1, K, S) and (FOLDS + 1, K) arrays
        Centered over the classes.
    """

    table: Array
    bias: Array

    def scores(self, batch: Batch, fold: NDArray[np.intp]) -> Array:
        """Score rows of several folds, (n, K)."""
        out = np.empty((len(batch), self.bias.shape[1]))
        for one in range(FOLDS):
            at = np.flatnonzero(fold == one)
            some = batch.take(at)
            out[at] = kernels.scores(some.blocks, self.table[one], len(at)) + self.bias[one]
        return centered(out)


def refit_all(
    task: Task, found: Field, answer: Average, smoothing: Smoothing
) -> tuple[Field, Average, Judge]:
    """Fit the best explanation of a sample to all rows: counts, twin, channel."""
    best, n = found.best, sum(len(batch) for batch in task.batches)
    place = drawn(n, THIN)
    rows = _thin(task, taken(task.batches, place), smoothing, place)
    counted = _counted(task, rows, best.source.name, answer)
    own = counted.scores(rows.batch, place % FOLDS)
    source = Source(own, counted.table[-1], counted.bias[-1], best.source.name)
    twin = weights = None
    if best.twin is not None:
        weights = _twin_weights(task, found, best, n)
        twin = _twin(weights, rows, best, source)
    begin = [(best.pooled.channel, best.pooled.scale)]
    scores = None if twin is None else twin.scores
    end = search(rows, source.scores, scores, begin, free=best.pooled.free)
    whole = Candidate(end, source, twin, best.name)
    return _ended(replace(found, rows=rows, candidates=(whole,), counted=whole), counted, weights)


def _thin(task: Task, batch: Batch, smoothing: Smoothing, place: NDArray[np.intp]) -> Rows:
    label, trusted = labels(batch, task.channel.n_labels)
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    edges, K = (0, len(batch)), task.channel.n_classes
    return Rows(task.schema, smoothing, None, label, trusted, weight, edges, place, K, batch)


def _counted(task: Task, rows: Rows, name: str, answer: Average) -> Weights:
    """Count all rows once more, by their labels or by what the sample says of each."""
    K, S = rows.classes, rows.schema.statistics
    parts, masses = np.zeros((FOLDS, K, S)), np.zeros((FOLDS, K))
    for start, batch in numbered(task.batches):
        for fold in range(FOLDS):
            some = batch.take(rows_of(fold, start))
            sums, mass = _shared_out(some, name, answer)
            parts[fold] += sums
            masses[fold] += mass
    total, mass = parts.sum(axis=0), masses.sum(axis=0)
    table, bias = naive_bayes(rows, total, mass, total - parts, mass - masses)
    return Weights(np.roll(table, -1, axis=0), np.roll(bias, -1, axis=0))


def _shared_out(batch: Batch, name: str, answer: Average) -> tuple[Array, Array]:
    """Sum the statistics of a batch by class, (K, S), and its rows, (K,)."""
    K = len(answer.bias)
    label, trusted = labels(batch, K)
    if name in ("full", "generative"):
        table = answer.bias + np.log(np.maximum(answer.fitted, 1e-300))
        known = np.where(np.eye(K, dtype=bool), 0.0, -np.inf)
        table = np.concatenate([table, answer.bias[None], known])
        codes = batch.given.astype(np.int32, copy=False)
        joint, sums, _ = kernels.expect(batch.blocks, answer.weights, table, codes, batch.weight)
        return sums, joint.sum(axis=0)
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    if name == "prune":
        weight = weight * _kept(batch, label, trusted, answer)
    code = label.astype(np.int32)
    seen = label >= 0
    mass = np.bincount(label[seen], weight[seen], minlength=K).astype(np.float64)
    return kernels.tally(batch.blocks, code, K, weight), mass


def _kept(
    batch: Batch, label: NDArray[np.intp], trusted: NDArray[np.bool_], answer: Average
) -> Array:
    """Compute how far each row keeps its label by what the sample says, (n,)."""
    share = softmax(kernels.scores(batch.blocks, answer.weights, len(batch)) + answer.bias)[0]
    share *= answer.fitted[label]
    own = share[np.arange(len(label)), label] / np.maximum(share.sum(axis=1), 1e-300)
    return np.where(trusted, 1.0, own)


def _twin_weights(task: Task, found: Field, best: Candidate, n: int) -> Weights:
    """Fit the twin to all rows; where columns are many, also to halves that score each other."""
    assert best.twin is not None and found.on is not None
    channel = fixed(best.pooled.channel)
    settings: dict[str, Any] = {"penalty": best.twin.penalty, "max_iter": _PASSES, "tol": 1e-5}
    table = np.mean(best.twin.folds, axis=0)
    start = Linear(np.zeros(0), np.zeros(0), found.on.unrotated(table), table[0].copy(), 0.0, False)
    fit = [fit_conditional(task.schema, task.batches, task.fold, channel, start=start, **settings)]
    if task.schema.statistics * _NARROW > n:
        for other in (1, 0):
            half = Half(task.batches, other)
            one = fit_conditional(task.schema, half, task.fold, channel, start=fit[0], **settings)
            fit.append(one)
    order = [fit[1 + fold % 2] if len(fit) > 1 else fit[0] for fold in range(FOLDS)] + [fit[0]]
    weights = np.stack([one.weights - one.weights.mean(axis=0) for one in order])
    return Weights(weights, np.stack([centered(one.intercept) for one in order]))


def _twin(weights: Weights, rows: Rows, best: Candidate, source: Source) -> Twin:
    assert best.twin is not None
    scores = weights.scores(rows.batch, rows.place % FOLDS)
    factor = margin(source.scores) / max(margin(scores), 1e-9)
    linear = weights.table[-1], weights.bias[-1]
    return Twin(scores * factor, best.twin.penalty, best.pooled.channel, factor, (), linear)


def _ended(found: Field, counted: Weights, twin: Weights | None) -> tuple[Field, Average, Judge]:
    """Put counts, twin and channel together: what rows are judged by, and what is reported."""
    rows, whole = found.rows, found.best
    end, point = whole.pooled, whole.pooled.point
    table, bias = (1.0 - point.mix) * counted.table, (1.0 - point.mix) * counted.bias
    if twin is not None and whole.twin is not None:
        table = table + point.mix * whole.twin.factor * twin.table
        bias = bias + point.mix * whole.twin.factor * twin.bias
    table, bias = end.scale * table, end.scale * (bias + point.bias)
    after = posterior(rows, end.share, end.channel)
    judged, wrong, plain = doubts(rows, end.share, end.share, after)
    shift = shift_of(plain, wrong, rows.weight[judged])
    judge = Judge(table[:-1], bias[:-1], end.channel, shift)
    confident = confident_joint(rows, end.share @ end.channel.T)
    reported = 0.5 * (end.channel + confident)
    parts: Parts = ((1.0, whole),)
    answer = Average(parts, end.share, end.channel, reported, after, table[-1], bias[-1])
    return found, answer, judge
