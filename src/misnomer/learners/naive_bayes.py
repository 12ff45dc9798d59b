"""Naive Bayes as a learner: of the given labels, and of rows shared out behind a channel.

A fold is left out by subtracting its sums. Shared-out rows are counted by what the others say of
them, and a label could come back to its own row by a detour: it teaches the counts that say how
other rows are shared out. So every fold has a chain of rounds that never sees its labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.kernels.blocks import Words
from misnomer.learners.learner import Linear, Scored, View, within_reach
from misnomer.learners.rows import Rows
from misnomer.model import weights_of
from misnomer.smoothing import Smoothing
from misnomer.stats import Stats
from misnomer.table import Schema

Array = NDArray[np.float64]

ROUNDS = 6  # of sharing out and counting
STRICT_ROWS = 3000  # above, one chain serves all folds: a label hardly comes back to its row
STRICT_WEIGHTS = 20_000_000  # the same for weights worked out by all chains of a deal

#: One virtual example in every cell and of every class, five at the pooled variance.
USUAL = Smoothing(cells=1.0, shrink=5.0, extra=1e-4, classes=1.0)


@dataclass(frozen=True)
class NaiveBayes:
    """Counts the rows by their given labels."""

    name: str = "naive Bayes"

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by the counts of the other folds."""
        out, counts = np.zeros((len(rows), rows.classes)), Counts(rows)
        for _, folds in rows.splits():
            parts = [counts.statistics[places] for places in folds]
            pairs = zip(parts, folds, strict=True)
            own = [counts.of(part, rows.hard[places]) for part, places in pairs]
            total = _added(own)
            for places, part, mine in zip(folds, parts, own, strict=True):
                others = less(rows.schema, total, mine)
                weights, bias = counts.table(others, counts.virtual(others))
                out[places] += scored(part, weights) + bias
        weights, bias = counts.table(total, counts.virtual(total))
        scores = within_reach(out / len(rows.deals), rows.weight)
        return [Scored(scores, Linear(self.name, weights, bias))]


@dataclass(frozen=True)
class SharedNaiveBayes:
    """Counts rows as they are shared out behind a channel: EM, no row counting for itself."""

    name: str = "naive Bayes, shared out"

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by a chain of counts that never saw its fold's labels."""
        seen, counts = rows.seen_through(view.channel), Counts(rows)
        out = np.zeros((len(rows), rows.classes))
        deals = list(rows.splits())
        for _, folds in deals:
            chain = _Chain(rows, counts, seen, view.temper, folds)
            if not is_strict(rows, len(folds)):
                left_out = list(chain.run(-1)[1].values())
            else:
                left_out = [chain.run(place)[0] for place in range(len(folds))]
            for places, part, (weights, bias) in zip(folds, chain.parts, left_out, strict=True):
                out[places] += scored(part, weights) + bias
        weights, bias = chain.run(-1)[0]
        scores = within_reach(out / len(deals), rows.weight)
        return [Scored(scores, Linear(self.name, weights, bias))]


def is_strict(rows: Rows, folds: int) -> bool:
    """Tell whether every fold has a chain of its own."""
    weights = rows.classes * rows.schema.statistics * folds**2 * ROUNDS
    return len(rows) <= STRICT_ROWS and weights <= STRICT_WEIGHTS


Part = tuple[Array, Array]  # sums (K, S) and mass (K,)
Table = tuple[Array, Array]  # weights (K, S) and bias (K,)


class Counts:
    """Sums of statistics by class, and the weights they make."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.statistics = rows, rows.statistics

    def of(self, statistics: Any, share: Array) -> Part:
        """Share the statistics of some rows out over the classes."""
        return class_sums(statistics, share), share.sum(axis=0)

    def virtual(self, by_label: Part) -> Array:
        """Make the virtual examples, (K, S), from rows by label, none of those left out."""
        rows, stats = self.rows, Stats(np.diag(by_label[1]), by_label[0])
        return rows.smoothing.virtual(rows.schema, stats, np.eye(rows.classes))

    def table(self, part: Part, virtual: Array) -> Table:
        """Turn sums into weights and log priors, centered over the classes."""
        rows, (sums, mass) = self.rows, part
        bare = mass <= 1e-9
        if bare.any():  # a class of which no row is left looks like the table
            sums = np.where(bare[:, None], sums.sum(axis=0), sums)
        weights = weights_of(rows.schema, sums, virtual) * rows.worth
        prior = np.log(np.maximum(mass + self.rows.smoothing.classes, 1e-300))
        return weights - weights.sum(axis=0) / len(weights), prior - prior.sum() / len(prior)


class _Chain:
    """Rounds of sharing out and counting over the rows outside one fold."""

    def __init__(
        self, rows: Rows, counts: Counts, seen: Array, temper: float, folds: list[NDArray[np.intp]]
    ) -> None:
        self.rows, self.counts, self.folds = rows, counts, folds
        self.seen, self.temper = seen, temper
        self.parts = [counts.statistics[places] for places in folds]  # cut once for all rounds
        pairs = zip(self.parts, folds, strict=True)
        self.first = [counts.of(part, rows.hard[places]) for part, places in pairs]

    def run(self, without: int) -> tuple[Table, dict[int, Table]]:
        """Share out and count until little would change, a fold left out; -1 leaves none out.

        Returns what was counted of all the other folds, and of those without each.
        """
        own = {f: part for f, part in enumerate(self.first) if f != without}
        labels, schema = self._added(own), self.rows.schema
        virtual = {f: self.counts.virtual(less(schema, labels, part)) for f, part in own.items()}
        for _ in range(ROUNDS - 1):
            tables = self._left_out(own, virtual)
            own = {f: self._shared(f, table) for f, table in tables.items()}
        whole = self.counts.table(self._added(own), self.counts.virtual(labels))
        return whole, self._left_out(own, virtual) if without < 0 else {}

    def _left_out(self, own: dict[int, Part], virtual: dict[int, Array]) -> dict[int, Table]:
        total, schema = self._added(own), self.rows.schema
        return {
            f: self.counts.table(less(schema, total, part), virtual[f]) for f, part in own.items()
        }

    def _shared(self, fold: int, table: Table) -> Part:
        places, (weights, bias) = self.folds[fold], table
        weight = self.rows.weight[places]
        scores = within_reach(scored(self.parts[fold], weights) + bias, weight)
        joint = kernels.softmax(self.temper * scores)[0] * self.seen[places]
        total = np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        return self.counts.of(self.parts[fold], joint / total * weight[:, None])

    def _added(self, own: dict[int, Part]) -> Part:
        none = np.zeros(0, np.intp)
        empty = self.counts.statistics[none], self.rows.hard[none]
        return _added(list(own.values()) or [self.counts.of(*empty)])


def _added(parts: list[Part]) -> Part:
    sums = parts[0][0].copy()
    for one, _ in parts[1:]:
        sums += one
    return sums, np.sum([mass for _, mass in parts], axis=0)


def less(schema: Schema, total: Part, part: Part) -> Part:
    """Subtract; counts that rounding made negative are zero, sums of reals may be negative."""
    left = total[0] - part[0]
    for group in schema.groups:
        if group.kind != "gaussian":
            np.maximum(left[:, group.span], 0.0, out=left[:, group.span])
    return left, np.maximum(total[1] - part[1], 0.0)


def class_sums(statistics: Any, share: Array) -> Array:
    """Share the statistics out over the classes, (K, S)."""
    if sparse.issparse(statistics) and statistics.format == "csr":
        return kernels.accumulate((Words(statistics),), share)
    return np.asarray((statistics.T @ share).T)


def scored(statistics: Any, weights: Array) -> Array:
    """Weigh the statistics of rows, (n, K)."""
    if sparse.issparse(statistics) and statistics.format == "csr":
        return kernels.scores((Words(statistics),), weights, statistics.shape[0])
    return np.asarray(statistics @ weights.T)


__all__ = ["USUAL", "Counts", "NaiveBayes", "SharedNaiveBayes", "class_sums", "less", "scored"]
