"""Naive Bayes as a learner: of the given labels, and of rows shared out behind a channel.

A fold is left out by subtracting its sums. Shared-out rows are counted by what the others say of
them, and a label could come back to its own row by a detour: it teaches the counts that say how
other rows are shared out. So every fold has a chain of rounds that never sees its labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.kernels.blocks import Block
from misnomer.learners.learner import (
    Learner,
    Linear,
    Scored,
    View,
    over_classes,
    within_reach,
)
from misnomer.learners.rows import Rows
from misnomer.model import weights_of
from misnomer.smoothing import Smoothing
from misnomer.stats import Stats
from misnomer.table import Schema

Array = NDArray[np.float64]

ROUNDS = 6  # of sharing out and counting
SETTLED = 0.01  # rows that a round moves from class to class, under which others would move none
STRICT_ROWS = 3000  # above, one chain serves all folds: a label hardly comes back to its row
STRICT_WEIGHTS = 20_000_000  # the same for weights worked out by all chains of a deal

FEW_CELLS = 0.1  # virtual examples in every cell, where rare words are to say more

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
            parts = [blocks_of(rows, places) for places in folds]
            pairs = zip(parts, folds, strict=True)
            own = [counts.of(part, rows.hard[places]) for part, places in pairs]
            total = added(own)
            for places, part, mine in zip(folds, parts, own, strict=True):
                others = less(rows.schema, total, mine)
                weights, bias = counts.table(others, counts.virtual(others))
                out[places] += kernels.scores(part, weights, len(places)) + bias
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
        for turn, (_, folds) in enumerate(deals, 1):
            chains = _Chains(rows, counts, seen, view.temper, folds)
            strict = is_strict(rows, len(folds))
            left_out = chains.left_out(strict=strict, whole=turn == len(deals))
            for places, part, (weights, bias) in zip(folds, chains.parts, left_out, strict=True):
                out[places] += kernels.scores(part, weights, len(places)) + bias
        weights, bias = chains.whole
        scores = within_reach(out / len(deals), rows.weight)
        return [Scored(scores, Linear(self.name, weights, bias))]


@dataclass(frozen=True)
class RareWords:
    """Naive Bayes of texts once more, with a tenth of a virtual word: what is rare says more.

    How many virtual words are right depends on the noise and is not seen beforehand; the head
    hears both. Shared-out rows are asked where labels cannot come back to themselves, which rare
    words would make of them.
    """

    who: NaiveBayes | SharedNaiveBayes
    name: str = "naive Bayes of rare words"

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row as the other does; nothing where there are no words."""
        has_words = any(group.kind in ("count", "text") for group in rows.schema.groups)
        leaks = isinstance(self.who, SharedNaiveBayes) and not is_strict(
            rows, int(rows.deals[0].max()) + 1
        )
        if not has_words or leaks:
            return []
        return with_few_cells(self.who, rows, view, self.name)


def with_few_cells(
    who: Learner, rows: Rows, view: View, name: str = RareWords.name
) -> list[Scored]:
    """Ask once more, rare words and categories saying more; nothing where that is said already."""
    if rows.smoothing != USUAL:
        return []
    found = who.cross_fit(replace(rows, smoothing=few_cells(USUAL)), view)
    named = [(one, one.scorer) for one in found if isinstance(one.scorer, Linear)]
    return [replace(one, scorer=replace(scorer, name=name)) for one, scorer in named]


def few_cells(smoothing: Smoothing) -> Smoothing:
    """Take fewer virtual examples in every cell."""
    return replace(smoothing, cells=FEW_CELLS)


def is_strict(rows: Rows, folds: int) -> bool:
    """Tell whether every fold has a chain of its own."""
    weights = rows.classes * rows.schema.statistics * folds**2 * ROUNDS
    return len(rows) <= STRICT_ROWS and weights <= STRICT_WEIGHTS


Part = tuple[Array, Array]  # sums (K, S) and mass (K,)
Table = tuple[Array, Array]  # weights (K, S) and bias (K,)

_NONE = -1  # the fold that is left out where none is


class Counts:
    """Sums of statistics by class, and the weights they make."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def of(self, blocks: Sequence[Block], share: Array) -> Part:
        """Share the statistics of some rows out over the classes."""
        return kernels.accumulate(blocks, share), share.sum(axis=0)

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
        weights -= weights.sum(axis=0) / len(weights)
        return weights, prior - prior.sum() / len(prior)


class _Chains:
    """Rounds of sharing out and counting: over all rows, and over the rows outside each fold.

    All chains go a round together: a fold's rows are read once for all of them.
    """

    def __init__(
        self, rows: Rows, counts: Counts, seen: Array, temper: float, folds: list[NDArray[np.intp]]
    ) -> None:
        self.rows, self.counts, self.folds = rows, counts, folds
        self.seen, self.temper = seen, temper
        self.parts = [blocks_of(rows, places) for places in folds]  # cut once for all rounds
        pairs = zip(self.parts, folds, strict=True)
        self.first = [counts.of(part, rows.hard[places]) for part, places in pairs]
        self.whole: Table

    def left_out(self, *, strict: bool, whole: bool) -> list[Table]:
        """Share out and count until little would change; what is counted without each fold.

        ``strict``: by a chain that never saw its labels, else by one chain for all folds.
        ``whole``: also of all rows, for others.
        """
        chains = [_Chain(self, fold) for fold in (range(len(self.folds)) if strict else ())]
        every = [] if strict and not whole else [_Chain(self, _NONE)]
        for _ in range(ROUNDS - 1):
            if self._round([*chains, *every]) < SETTLED:
                break
        if whole:
            self.whole = every[0].table()
        if strict:
            return [chain.table() for chain in chains]
        return [every[0].table(fold) for fold in range(len(self.folds))]

    def _round(self, chains: list[_Chain]) -> float:
        """Share the rows of every fold out by what each chain has counted of the other folds.

        Returns how many rows of a fold moved to a class, or from it, at most.
        """
        moved = 0.0
        for fold in range(len(self.folds)):
            asked = [chain for chain in chains if chain.without != fold]
            tables = [chain.table(fold) for chain in asked]
            for chain, part in zip(asked, self._shared(fold, tables), strict=True):
                moved = max(moved, float(np.abs(part[1] - chain.own[fold][1]).max()))
                chain.own[fold] = part
        for chain in chains:
            chain.add_up()
        return moved

    def _shared(self, fold: int, tables: list[Table]) -> Iterator[Part]:
        """Share the rows of a fold out by each of some tables, and count them."""
        K, places, part = self.rows.classes, self.folds[fold], self.parts[fold]
        weight, seen = self.rows.weight[places], self.seen[places]
        table = np.concatenate([weights for weights, _ in tables])
        found = kernels.scores(part, table, len(places))
        spans = [slice(at, at + K) for at in range(0, found.shape[1], K)]
        for span, (_, bias) in zip(spans, tables, strict=True):
            scores = within_reach(found[:, span] + bias, weight)
            joint = kernels.softmax(self.temper * scores)[0] * seen
            total = np.maximum(over_classes(joint), 1e-300)
            found[:, span] = joint / total[:, None] * weight[:, None]
        sums, mass = self.counts.of(part, found)
        for span in spans:
            yield sums[span], mass[span]


class _Chain:
    """What is counted of each fold, one left out."""

    def __init__(self, chains: _Chains, without: int) -> None:
        self.without, self.counts, self.schema = without, chains.counts, chains.rows.schema
        self.own = {f: part for f, part in enumerate(chains.first) if f != without}
        if not self.own:
            none = np.zeros(0, np.intp)
            empty = blocks_of(chains.rows, none), chains.rows.hard[none]
            self.own = {without: chains.counts.of(*empty)}
        self.add_up()
        labels = self.total
        pairs = self.own.items()
        self.virtual = {f: self.counts.virtual(less(self.schema, labels, p)) for f, p in pairs}
        self.virtual[_NONE] = self.counts.virtual(labels)

    def add_up(self) -> None:
        """Add the folds up."""
        self.total = added(list(self.own.values()))

    def table(self, fold: int = _NONE) -> Table:
        """Make weights of all that was counted, without one more fold if one is named."""
        part = self.total if fold == _NONE else less(self.schema, self.total, self.own[fold])
        return self.counts.table(part, self.virtual[fold])


def added(parts: Sequence[Part]) -> Part:
    """Add parts up."""
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


def blocks_of(rows: Rows, places: NDArray[np.intp]) -> tuple[Block, ...]:
    """Take the columns of some rows, in compact form."""
    return tuple(block.take(places) for block in rows.batch.blocks)


__all__ = [
    "USUAL",
    "Counts",
    "NaiveBayes",
    "RareWords",
    "SharedNaiveBayes",
    "added",
    "few_cells",
    "less",
    "with_few_cells",
]
