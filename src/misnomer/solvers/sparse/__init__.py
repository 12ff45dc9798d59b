"""The model of thousands of labels: what occurs is kept, and the question a task asks of it.

It answers what any model answers. Scores are those of naive Bayes, tempered; of a row the best
classes are told, and what all others share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from misnomer import channel as channels
from misnomer.channel import Channel
from misnomer.estimate import Estimate, normal_quantile
from misnomer.evidence import Evidence, cells_of
from misnomer.families.family import log
from misnomer.kernels.blocks import Reals, Words
from misnomer.kernels.reference import softmax
from misnomer.posterior import NoiseMatrix, Posterior
from misnomer.solvers.sparse.naive_bayes import SparseFit, chances, fit_sparse, unseen
from misnomer.solvers.sparse.rows import (
    Background,
    Own,
    Places,
    Sums,
    Weights,
    candidates,
    cuts_of,
    evidence,
    occurring,
    sums_by_class,
    tokens,
    weights_of,
)
from misnomer.solvers.task import Details, Fit, Task
from misnomer.table import OWN_CLASS, Batch, Schema
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

_MAX_DENSE_CELLS = 1 << 27  # classes times statistics: a gigabyte of weights
_MAX_DENSE_BYTES = 4 << 30  # bytes that dense arrays may take
_N_DENSE_COPIES = 4  # weights, sums, virtual examples, and what is in between
_DENSE_SEARCH_ROWS = 20_000  # rows that a dense search looks at again and again
_MAX_DENSE_STEPS = 4e8  # rows times pairs of classes: about a minute
_MIN_LABELS = 200  # labels from which a task is looked at
_CONFIDENCE = 0.90


def is_many(rows: int, classes: int, statistics: int) -> bool:
    """Tell whether dense weights, or a dense share per row and class, would be too large or slow.

    Examples
    --------
    >>> is_many(200_000, 20, 100_000), is_many(200_000, 5_000, 1_000_000)
    (False, True)
    >>> is_many(1_000, 300, 20), is_many(20_000, 300, 20)
    (False, True)
    """
    if classes < _MIN_LABELS:
        return False
    large = 8 * _N_DENSE_COPIES * classes * max(statistics, rows, classes) > _MAX_DENSE_BYTES
    slow = min(rows, _DENSE_SEARCH_ROWS) * classes**2 > _MAX_DENSE_STEPS
    return classes * statistics > _MAX_DENSE_CELLS or large or slow


@dataclass(frozen=True, eq=False)
class SparseModel:
    """Naive Bayes of many classes, as sums that are kept where something was counted."""

    learns_checked: ClassVar[bool] = False
    bias: ClassVar[None] = None

    schema: Schema  # the columns
    # (d, 9): between which values the tenths of each real column lie; infinity where there are
    # fewer
    cuts: Array
    # the counts by class, and the virtual examples
    sums: Sums
    behind: Background
    prior: Array  # (K,): P(class) in the scores: the shares of the given labels
    scale: float  # what one nat of evidence is worth: under one where words repeat each other
    noise: NoiseMatrix  # P(given | true)
    rate: float  # the common error rate

    @property
    def channel(self) -> Channel:
        """A channel of which nothing is known beforehand."""
        return channels.blank(len(self.prior))

    def with_shares(self, shares: Array) -> SparseModel:
        """Keep the prior that the scores were made with."""
        return self

    @cached_property
    def _weights(self) -> Weights:
        return weights_of(self.sums, self.behind)

    @cached_property
    def _own(self) -> Own:
        return Own(self.sums, self.behind)

    def log_joint(self, batch: Batch) -> Array:
        """Compute log P(z, x, y) of every row and class, (n, K), up to a term free of z."""
        score = self.scale * evidence(tokens(batch.blocks, self.cuts), self._weights)
        label, known = batch.labels(len(self.prior))
        for row in np.flatnonzero((label >= 0) | (known >= 0)):
            score[row] += self._label(int(label[row]), int(known[row]))
        return score + np.log(self.prior)

    def posterior(self, batch: Batch) -> Posterior:
        """Find the best classes of each row and their shares, by its label where it has one."""
        label, known = batch.labels(len(self.prior))
        rows, n = tokens(batch.blocks, self.cuts), len(batch)
        found = candidates(rows, self._weights, self._own, label, np.zeros(n), self.prior)
        score = self.scale * found.evidence + np.log(self.prior)[found.classes]
        every = softmax(np.column_stack([score, found.others(self.scale)[0]]))[0]
        some = np.flatnonzero((label >= 0) & (known < 0))
        seen = np.ones(every.shape)
        given = np.broadcast_to(label[some, None], found.classes[some].shape)
        seen[some, :-1] = self.noise.at(given, found.classes[some])
        seen[some, -1] = self.rate / max(len(self.prior) - 1, 1)
        every *= seen
        share = (every / every.sum(axis=1, keepdims=True))[:, :-1]
        sure = np.flatnonzero(known >= 0)
        shares = Posterior.of_best(share, found.classes, len(self.prior))
        return shares.knowing(sure, known[sure])

    def evidence(self, batch: Batch) -> list[Evidence]:
        """Say which columns and words speak for which class, row by row."""
        return [self._evidence(batch.take(slice(i, i + 1))) for i in range(len(batch))]

    def _evidence(self, one: Batch) -> Evidence:
        rows, weights = tokens(one.blocks, self.cuts), self._weights
        which, often = rows.matrix.indices, rows.matrix.data
        terms = weights.cold[which].toarray() + weights.length[rows.owner[which]]
        hot = np.searchsorted(weights.where, which).clip(max=max(len(weights.where) - 1, 0))
        dense = np.isin(which, weights.where)
        terms[dense] += weights.hot[hot[dense]]
        label, known = (int(code[0]) for code in one.labels(len(self.prior)))
        names, values = self._names(one)
        said = self._label(label, known)
        terms *= self.scale * often[:, None]
        return Evidence(names, values, terms, np.log(self.prior), said)

    def _label(self, label: int, known: int) -> Array:
        """Log P(what is known of a row | class), (K,)."""
        every = np.arange(len(self.prior))
        if known >= 0:
            return log((every == known).astype(np.float64))
        if label < 0:
            return np.zeros(len(every))
        return log(self.noise.at(np.full(len(every), label), every))

    def _names(self, one: Batch) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Name what occurs in a row, and read it back."""
        names: list[str] = []
        values: list[Any] = []
        reals = 0
        for group, block in zip(self.schema.groups, one.blocks, strict=True):
            matrix, owner = occurring(block, self.cuts[reals:])
            reals += block.values.shape[1] if isinstance(block, Reals) else 0
            columns = [self.schema.columns[i] for i in group.members]
            used = matrix.indices
            which = used if isinstance(block, Words) else owner[used]
            some = cells_of(block, columns, which, matrix.data)
            names, values = names + some[0], values + some[1]
        return tuple(names), tuple(values)

    def with_rows(self, batch: Batch) -> SparseModel:
        """Add rows whose class is known, each by its weight: sums add."""
        K, rows = len(self.prior), tokens(batch.blocks, self.cuts)
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        more = sums_by_class(rows, batch.labels(K)[1], weight, K)
        counts = (self.sums.counts + more.counts).tocsr()
        counts.sort_indices()
        observed, mass = self.sums.observed + more.observed, self.sums.rows + more.rows
        return replace(self, sums=Sums(counts, observed, mass))


def solve(task: Task) -> Fit:
    """Find the best classes of every row, and the confusions between them.

    The compact rows are in one batch. Rows of which a person has said the class are judged by
    their label: what was said is taken in when the audit concludes.
    """
    (batch,) = task.batches
    K = task.channel.n_classes
    label, known = batch.labels(K)
    sure = known >= 0 if batch.said is None else (known >= 0) & (batch.said == OWN_CLASS)
    cuts = cuts_of(batch.blocks)
    rows = tokens(batch.blocks, cuts)
    fit = fit_sparse(rows, label, K, trusted=sure, base=batch.weight, progress=task.progress)
    noise, judged = noise_of(fit), fit.judged
    model: Any = SparseModel(
        task.schema, cuts, fit.sums, fit.behind, fit.prior, judged.scale, noise, judged.rate
    )
    shares = fit.shares
    details = Details(
        posterior=shares,
        judge=_Judge(shares),
        opinion=_Opinion(fit, noise, shares, np.where(sure, -1, label), label),
        class_shares=fit.class_shares,
        noise_matrix=noise,
        solver="sparse",
        notes=(_note(task.schema, fit),),
    )
    return Fit(model, judged.loglik, judged.history, judged.converged, details)


def _note(schema: Schema, fit: SparseFit) -> str:
    K, M = fit.pairs.labels, fit.found.classes.shape[1]
    return (
        f"{K:,} labels and {schema.statistics:,} words and values are too many for dense "
        f"weights: sums are kept where something was counted, and of each row the {M} best classes."
    )


def noise_of(fit: SparseFit) -> NoiseMatrix:
    """List P(given | true) of the pairs that occur, with the intervals of such shares of rows."""
    pairs, judged, K = fit.pairs, fit.judged, fit.pairs.labels
    value = chances(pairs, judged.mass, judged.rate, judged.virtual)
    right, rest = unseen(pairs, judged.mass, judged.rate, judged.virtual)
    lost = np.setdiff1d(np.arange(K), pairs.true[pairs.right])  # no doubtful row has that label
    given, true = np.append(pairs.given, lost), np.append(pairs.true, lost)
    value = np.append(value, right[lost])
    order = np.argsort(given * K + true)
    given, true, value = given[order], true[order], value[order]
    rows = np.bincount(pairs.true, judged.mass, minlength=K)[true] + judged.virtual.rows
    reach = normal_quantile(_CONFIDENCE) * np.sqrt(value * (1.0 - value) / rows)
    low, high = np.maximum(value - reach, 0.0), np.minimum(value + reach, 1.0)
    return NoiseMatrix(given, true, value, low, high, (K, K), rest)


@dataclass(frozen=True, eq=False)
class _Judge:
    """Knows the rows that it was made of, by their numbers."""

    shares: Posterior

    def posterior(self, batch: Batch) -> Posterior:
        """Take what was found of these rows."""
        return self.shares.take(slice(batch.start, batch.start + len(batch)))


@dataclass(frozen=True, eq=False)
class _Opinion:
    """How far the numbers hold: nothing was tested beyond the fit."""

    fit: SparseFit
    noise: NoiseMatrix
    shares: Posterior
    doubtful: Places
    label: Places

    @cached_property
    def intervals(self) -> dict[str, Any]:
        """Those of shares of so many rows; the model's own error is not in them."""
        n, labeled = len(self.label), int((self.label >= 0).sum())
        wrong = np.where(self.doubtful < 0, 0.0, self.shares.other_than(self.doubtful))
        prior = self.fit.class_shares
        reach = normal_quantile(_CONFIDENCE) * np.sqrt(prior * (1.0 - prior) / n)
        return {
            "error_rate": share_of(float(wrong.sum()) / labeled, labeled),
            "noise_matrix": self.noise,
            "class_prior": (prior - reach, prior + reach),
        }

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the classes can be told apart, and have enough rows."""
        return verdict_of(self.fit, self.label)


def share_of(rate: float, labeled: int) -> Estimate:
    """Give a rate the interval of a share of so many rows."""
    reach = normal_quantile(_CONFIDENCE) * float(np.sqrt(max(rate * (1.0 - rate), 0.0) / labeled))
    return Estimate(rate, max(rate - reach, 0.0), min(rate + reach, 1.0))


_MIN_CLASS_ROWS = 10  # rows of a class
_MIN_SHARE_OF_BEST = 0.75  # mean probability of the best class from the columns alone
_MAX_LOST_SHARE = 0.05  # share of the rows in classes whose own label is not their most usual one


def verdict_of(fit: SparseFit, label: NDArray[np.intp]) -> Verdict:
    """Say how far the numbers hold: nothing was tested beyond the fit."""
    pairs, judged = fit.pairs, fit.judged
    K = pairs.labels
    own = np.bincount(pairs.true[pairs.right], judged.mass[pairs.right], minlength=K)
    other = np.zeros(K)
    np.maximum.at(other, pairs.true[~pairs.right], judged.mass[~pairs.right])
    size = np.bincount(label[label >= 0], minlength=K)
    lost = float(size[other > own].sum() / max(size.sum(), 1))
    certain = float(judged.alone.max(axis=1).mean())
    small = int((size < _MIN_CLASS_ROWS).sum())
    said = []
    if lost > _MAX_LOST_SHARE:
        said.append(f"For classes with {lost:.0%} of the rows another label is more usual.")
    if certain < _MIN_SHARE_OF_BEST:
        said.append(
            f"The columns say little about the class (mean certainty {certain:.0%}), so many "
            "errors cannot be seen."
        )
    if small:
        said.append(f"{small:,} of the {K:,} labels have fewer than {_MIN_CLASS_ROWS} rows.")
    if not judged.converged:
        said.append("The fit had not settled when it was stopped.")
    said.append("The interval is that of a share of so many rows; the model's own error comes on.")
    tests = {"lost": lost, "certainty_of_the_columns": certain, "small_labels": small}
    tests |= {"scale": judged.scale, "converged": judged.converged}
    return Verdict("cannot tell" if lost > _MAX_LOST_SHARE else "assumed", tuple(said), tests)
