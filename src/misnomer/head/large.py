"""Many rows: a sample explains the labels, passes over all rows count by what it says.

Naive Bayes is counted over all rows, in folds by row number, so that every row is judged by counts
in which it had no part; other learners stay as the sample has fitted them. Every pass is a sum over
batches, wherever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.head.answer import Answer, average
from misnomer.head.explain import Search
from misnomer.head.explanation import Explanation, heard
from misnomer.head.objective import joint_counts
from misnomer.head.rates import Strata, judged
from misnomer.kernels.blocks import Words
from misnomer.learners.learner import (
    PIECE_ROWS,
    Linear,
    Scorer,
    centered_scores,
    within_reach,
)
from misnomer.learners.logistic import MOST_WORK, is_embedding
from misnomer.learners.naive_bayes import RareWords, added, few_cells, less
from misnomer.learners.rows import joined
from misnomer.model import weights_of
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Task
from misnomer.stats import Stats, Sums
from misnomer.table import Batch, Column, Schema

Array = NDArray[np.float64]
Places = NDArray[np.intp]

MOST_ROWS = 10_000  # up to which every row takes part in every choice
MOST_CELLS = 10_000_000  # the same for filled cells times classes
SAMPLE_ROWS = 5_000
EMBEDDED_ROWS = 20_000  # the same of embeddings, at most
FOLDS = 4
CHANNEL_ROWS = 100.0  # virtual rows that hold the channel of all rows to the sample's


def is_large(task: Task) -> bool:
    """Tell whether choices are to be made on a sample."""
    rows, cells = task.extent
    if is_embedding(task.schema):
        return rows > sample_rows(task)
    if rows > MOST_ROWS:
        return True
    return rows > SAMPLE_ROWS and cells * task.channel.n_classes > MOST_CELLS


def sample_rows(task: Task) -> int:
    """Say how many rows explain the labels of a large table.

    Of embeddings logistic regression tells nearly all, and what it has not seen is lost: as many
    as its search can look at.
    """
    if not is_embedding(task.schema):
        return SAMPLE_ROWS
    width = sum(len(g.members) for g in task.schema.groups if g.kind == "gaussian")
    return int(np.clip(MOST_WORK // (width * task.channel.n_classes), SAMPLE_ROWS, EMBEDDED_ROWS))


def drawn(rows: int, size: int, seed: int) -> Places:
    """Draw row numbers, rising; all of them where there are no more.

    Examples
    --------
    >>> drawn(3, 5, 0).tolist(), len(drawn(1000, 10, 0))
    ([0, 1, 2], 10)
    """
    if rows <= size:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, size, replace=False))


def taken(batches: Sequence[Batch], rows: Places) -> Batch:
    """Collect the rows of these (rising) numbers, by whoever keeps them."""
    keeper: Any = batches
    if hasattr(keeper, "take"):
        found: Batch = keeper.take(rows)
        return found
    parts = []
    for batch in batches:
        first, last = np.searchsorted(rows, (batch.start, batch.start + len(batch)))
        parts.append(batch.take(rows[first:last] - batch.start))
    return joined(parts)


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """Names of some of the counts of a column, made up when asked for: few of many are.

    Examples
    --------
    >>> Names(Column("word", "count", width=9), np.array([2, 7]))[1]
    'word[7]'
    """

    column: Column
    kept: Places

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self.column.label(int(one)) for one in self.kept[place]]
        return self.column.label(int(self.kept[place]))


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows that explain the labels.

    Attributes
    ----------
    task : Task
        Of those rows, in one batch, without the words that no two of them have.
    back : (S,) array of int
        The place of each of its statistics among all.
    rows : (m,) array of int
        Their numbers.
    whole : Batch
        The same rows with all words.
    """

    task: Task
    back: Places
    rows: Places
    whole: Batch


def sample(task: Task) -> Sample:
    """Draw the rows that explain the labels; those that were drawn and checked are among them."""
    some = drawn(task.extent[0], sample_rows(task), task.seed)
    if task.checked is not None:
        some = np.union1d(some, task.checked).astype(np.intp)
    batch = taken(task.batches, some)
    blocks, back, columns = list(batch.blocks), [], list(task.schema.columns)
    for at, group in enumerate(task.schema.groups):
        every = np.arange(group.span.start, group.span.stop)
        block = blocks[at]
        if isinstance(block, Words) and len(group.members) == 1:
            times = np.bincount(block.matrix.indices, minlength=block.width)
            seen = np.flatnonzero(times > 1)  # a word of one row teaches the others nothing
            column = columns[group.members[0]]
            words = cast("tuple[str, ...]", Names(column, seen))
            columns[group.members[0]] = replace(column, width=len(seen), words=words)
            blocks[at] = Words(sparse.csr_array(block.matrix[:, seen]))
            every = every[seen]
        back.append(every)
    few = replace(batch, blocks=tuple(blocks), start=0)
    small = replace(task, schema=Schema(tuple(columns)), batches=[few], fold=_alone)
    places = np.concatenate(back) if back else np.zeros(0, np.intp)
    return Sample(small, places, some, batch)


def _alone(step: Any, batches: Any) -> Any:
    return step(next(iter(batches)))


def rows_of_fold(fold: int, start: int) -> slice:
    """Find the rows of a fold in a batch that begins at a row number: every fourth.

    Examples
    --------
    >>> rows_of_fold(1, 0), rows_of_fold(1, 6)
    (slice(1, None, 4), slice(3, None, 4))
    """
    return slice((fold - start) % FOLDS, None, FOLDS)


def judge_rows(
    logits: Array,
    batch: Batch,
    label: Places,
    known: Places,
    channel: Array,
    strata: Strata | None,
) -> Array:
    """Compute P(true class | x, what is said), (n, K), from the logits of rows."""
    share = kernels.softmax(logits)[0]
    seen = np.where((label >= 0)[:, None], channel[label], 1.0)
    if strata is not None and strata.judges:
        stratum = strata.of(batch, logits)
        share = share * strata.ratio[stratum]
        at = np.flatnonzero(label >= 0)
        seen[at] = strata.channels[stratum[at], label[at]]
    told = np.flatnonzero(known >= 0)
    if len(told):
        seen[told] = np.eye(channel.shape[1])[known[told]]
    return judged(share, seen)


@dataclass(frozen=True, eq=False)
class Stored:
    """The posterior of every row, by its number."""

    values: Array

    def posterior(self, batch: Batch) -> Array:
        """Look P(true | x, y) of each row up, (n, K)."""
        return self.values[batch.start : batch.start + len(batch)]


@dataclass(frozen=True, eq=False)
class Judge:
    """What the other folds say of a row.

    Attributes
    ----------
    weights : FOLDS arrays (K, S)
        Logits of the rows of each fold are ``t(x) . weights + bias``, and what others say.
    bias : (FOLDS, K) array
        See above.
    others : sequence of (factor, Scorer)
        Learners that are not linear.
    channel : (K, K) array
        P(given | true).
    strata : Strata or None
        Where errors strike.
    """

    weights: tuple[Array, ...]
    bias: Array
    others: tuple[tuple[float, Scorer], ...]
    channel: Array
    strata: Strata | None = None

    def logits(self, batch: Batch) -> Array:
        """Score the rows of a batch by their numbers, (n, K)."""
        out = np.empty((len(batch), self.bias.shape[1]))
        for fold in range(FOLDS):
            cut = rows_of_fold(fold, batch.start)
            some = batch.take(cut)
            out[cut] = kernels.scores(some.blocks, self.weights[fold], len(some)) + self.bias[fold]
        for factor, scorer in self.others:
            out += factor * centered_scores(scorer, batch)
        return out

    def posterior(self, batch: Batch) -> Array:
        """Compute P(true | x, y) of each row, (n, K)."""
        out = self.logits(batch)
        label, known = batch.labels(len(self.channel))
        for begin in range(0, len(out), PIECE_ROWS):
            at = slice(begin, begin + PIECE_ROWS)
            some = batch if self.strata is None else batch.take(at)
            out[at] = judge_rows(out[at], some, label[at], known[at], self.channel, self.strata)
        return out


@dataclass(frozen=True, eq=False)
class Tallied:
    """A step of a fold: the weight of (given, true) by what a judge says, (L, K)."""

    judge: Judge | Stored
    labels: int

    def __call__(self, batch: Batch) -> Sums:
        """Judge the rows, and add."""
        after = self.judge.posterior(batch)
        label, _ = batch.labels(self.labels)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        return Sums((joint_counts(label, after * weight[:, None]),))


@dataclass(frozen=True, eq=False)
class _Counted:
    """A step of a fold: sums and mass of the rows of each fold, by label or as a judge says."""

    classes: int
    labels: int
    judge: Judge | None = None

    def __call__(self, batch: Batch) -> Sums:
        sums, masses = [], np.zeros((FOLDS, self.classes))
        share = self._shares(batch)
        for fold in range(FOLDS):
            cut = rows_of_fold(fold, batch.start)
            own = np.ascontiguousarray(share[cut])
            sums.append(kernels.accumulate(batch.take(cut).blocks, own))
            masses[fold] = own.sum(axis=0)
        return Sums((*sums, masses))

    def _shares(self, batch: Batch) -> Array:
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        if self.judge is not None:
            return np.asarray(self.judge.posterior(batch) * weight[:, None])
        label, known = batch.labels(self.labels)
        told = np.where(known >= 0, known, label)
        hard = np.zeros((len(batch), self.classes))
        at = np.flatnonzero(told >= 0)
        hard[at, told[at]] = weight[at]
        return hard


def spread_out(
    task: Task,
    small: Sample,
    answer: Answer,
    search: Search,
    find_strata: Callable[[Answer], Strata | None],
    smoothing: Smoothing,
) -> tuple[Answer, Strata | None, Judge]:
    """Count naive Bayes over all rows, in the place of the sample's, and let the head hear it."""
    if not task.schema.statistics:
        strata = find_strata(answer)
        settled, judge = _settled(task, answer, _judge(answer, strata, answer.linear, []))
        return settled, strata, judge
    worth = np.ones(task.schema.statistics)
    worth[small.back] = answer.rows.worth
    step = _Counted(task.channel.n_classes, task.channel.n_labels)
    plain, rare = _tables(task, [smoothing, few_cells(smoothing)], worth, step)
    factors, rest = _factors(answer), _fixed(answer, small.back, task.schema.statistics)
    parts = [(factors[0] + factors[1], plain), (factors[2], rare)]
    first = _judge(answer, find_strata(answer), rest, parts)
    (shared,) = _tables(task, [smoothing], worth, replace(step, judge=first))
    answer = _heard(answer, search, small, (plain, shared, rare))
    factors, rest = _factors(answer), _fixed(answer, small.back, task.schema.statistics)
    strata, parts = find_strata(answer), list(zip(factors, (plain, shared, rare), strict=True))
    judge = _judge(answer, strata, rest, parts)
    weights = rest.weights + sum(factor * tables[0] for factor, (tables, _) in parts)
    bias = rest.bias + sum(factor * shifts[0] for factor, (_, shifts) in parts)
    settled, judge = _settled(task, replace(answer, linear=Linear("head", weights, bias)), judge)
    return settled, strata, judge


def _heard(answer: Answer, search: Search, small: Sample, counted: Sequence[Tables]) -> Answer:
    """Let the head hear naive Bayes of all rows, as it will judge them: it knows more by now.

    Where checked rows have a say, the head stays as they have it.
    """
    if any(one.surprise is not None for one in answer.explanations):
        return answer
    scores = [_scored(small, tables, answer.rows.weight) for tables in counted]
    found = []
    for one in answer.explanations:
        scored = list(one.problem.scored)
        for kind, place in _counted(one):
            scored[place] = replace(scored[place], scores=scores[kind])
        problem = replace(one.problem, scored=scored)
        vector = problem.write(one.point.channel, one.point)
        found.append(heard(search.climb(problem, vector, one.typical)))
    return average(found, leans=not search.ground.of_labels)


def _scored(small: Sample, tables: Tables, weight: Array) -> Array:
    """Score the rows of the sample by counts in which they had no part, (m, K)."""
    weights, biases = tables
    out = np.empty((len(small.rows), len(biases[0])))
    for fold in range(FOLDS):
        at = np.flatnonzero(small.rows % FOLDS == fold)
        some = small.whole.take(at)
        out[at] = kernels.scores(some.blocks, weights[fold + 1], len(some)) + biases[fold + 1]
    return within_reach(out, weight)


def _settled(task: Task, answer: Answer, judge: Judge) -> tuple[Answer, Judge]:
    """Let all rows say what the channel is; that of the sample holds it."""
    mass = task.fold(Tallied(judge, task.channel.n_labels), task.batches).arrays[0]
    held = mass + CHANNEL_ROWS * answer.channel
    judge = replace(judge, channel=held / held.sum(axis=0))
    return replace(answer, channel=judge.channel), judge


Tables = tuple[list[Array], list[Array]]  # weights and biases: of all rows, then without each fold


def _tables(
    task: Task, smoothings: Sequence[Smoothing], worth: Array, step: _Counted
) -> list[Tables]:
    """Count, and turn the sums into centered weights: of all rows, then without each fold."""
    *sums, masses = task.fold(step, task.batches).arrays
    parts = list(zip(sums, masses, strict=True))
    whole = added(parts)
    out: list[Tables] = [([], []) for _ in smoothings]
    for sums, mass in [whole, *(less(task.schema, whole, part) for part in parts)]:
        stats = Stats(np.diag(mass), sums)
        for smoothing, (weights, biases) in zip(smoothings, out, strict=True):
            virtual = smoothing.virtual(task.schema, stats, np.eye(len(mass)))
            table = weights_of(task.schema, sums, virtual)
            table *= worth
            table -= table.sum(axis=0) / len(table)
            weights.append(table)
            prior = np.log(mass + max(smoothing.classes, 1e-9))
            biases.append(prior - prior.mean())
    return out


def _counted(one: Explanation) -> list[tuple[int, int]]:
    """List the learners that are counted over all rows: kind, and place among the scored ones.

    Kinds are naive Bayes of the labels, of shared-out rows, and of the labels with rare words.
    """
    rare = [j for j, each in enumerate(one.problem.scored) if each.scorer.name == RareWords.name]
    return [(0, 0), (1, 1), *((2, j) for j in rare)]


def _factors(answer: Answer) -> list[float]:
    """What each kind that is counted is multiplied by, all in all."""
    found = np.zeros(3)
    for weight, one in zip(answer.weights, answer.explanations, strict=True):
        own = (1.0 - answer.lean) * weight * one.factors()
        for kind, place in _counted(one):
            found[kind] += own[place]
    found[1] += answer.lean * answer.lean_factor
    return [float(factor) for factor in found]


def _fixed(answer: Answer, back: Places, size: int) -> Linear:
    """Take naive Bayes of the sample out of the linear part, and lay the rest out over all."""
    weights, bias = answer.linear.weights.copy(), answer.linear.bias.copy()
    for weight, one in zip(answer.weights, answer.explanations, strict=True):
        own = (1.0 - answer.lean) * weight * one.factors()
        own[1] += answer.lean * answer.lean_factor * weight
        for _, place in _counted(one):
            scorer = one.problem.scored[place].scorer
            assert isinstance(scorer, Linear)
            weights -= own[place] * scorer.weights
            bias -= own[place] * scorer.bias
    full = np.zeros((len(weights), size))
    full[:, back] = weights
    return Linear("rest", full, bias)


def _judge(
    answer: Answer, strata: Strata | None, rest: Linear, parts: list[tuple[float, Tables]]
) -> Judge:
    weights, biases = [], []
    for fold in range(1, FOLDS + 1):
        table, bias = rest.weights, rest.bias
        for factor, (tables, shifts) in parts:
            table, bias = table + factor * tables[fold], bias + factor * shifts[fold]
        weights.append(np.ascontiguousarray(table))
        biases.append(bias)
    return Judge(tuple(weights), np.stack(biases), answer.others, answer.channel, strata)
