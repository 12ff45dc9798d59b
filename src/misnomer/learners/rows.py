"""The rows that learners are fitted to, and the folds that keep a label from its own score.

Rows with equal columns stand in one fold: what one of them is labeled must not tell the label of
the other. Only where most rows equal others, because their columns have few values, are they dealt
one by one: without them nothing would be left to learn from. Folds are dealt by a seed and by what
rows hold, so that neither the order of the rows or the columns nor the names of the classes matter,
and a row of weight two is the same row twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Codes, Flags, Reals, Words
from misnomer.kernels.reference import statistic
from misnomer.smoothing import Smoothing
from misnomer.table import Batch, Schema, joined_checks, joined_groups

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Keys = NDArray[np.uint64]
Matrix = Any  # (n, s) array, dense or sparse

FOLDS = 5
FOLDS_OF_FEW, FEW_ROWS = 10, 300  # rows below which ten folds are dealt
DEALS, SOME_ROWS = 3, 1000  # few rows are dealt more than once
COPIES_SHARE = 0.25  # of distinct rows, below which equal rows are no copies: values are few
CELLS_AT_ONCE = 1 << 16  # that stay in the cache while something is made of each
THICK = 0.2  # share of filled cells from which statistics are written out densely
SHARE_ROUNDS = 20  # of EM over the class shares behind the answers
DENSE_STATISTICS = 1500  # up to which statistics are written out densely


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in compact form, with what is known of their classes.

    Attributes
    ----------
    schema : Schema
        The columns.
    batch : Batch
        The rows.
    label : (n,) array of int
        The given label; -1 where there is none.
    known : (n,) array of int
        The true class that somebody has told; -1 where nobody has.
    weight : (n,) array
        What each row counts.
    classes : int
        How many true classes there are (K).
    deals : sequence of (n,) arrays of int
        The fold of each row, in each deal.
    smoothing : Smoothing
        The virtual examples of counts.
    evidence : (n, K) array, optional
        P(what several people said of a row | true class), each row up to a factor.
    design : (n,) array, optional
        Design weights: one over the chance by which a row of known class was drawn, else zero.
    """

    schema: Schema
    batch: Batch
    label: Places
    known: Places
    weight: Array
    classes: int
    deals: Sequence[Places]
    smoothing: Smoothing
    evidence: Array | None = None
    design: Array | None = None

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def labeled(self) -> Places:
        """Positions of the rows that have a label."""
        return np.flatnonzero(self.label >= 0)

    @cached_property
    def informed(self) -> Places:
        """Positions of the rows of which something is said: a label, the class, answers."""
        said = (self.label >= 0) | (self.known >= 0)
        if self.evidence is not None:
            said |= (self.evidence != self.evidence[:, :1]).any(axis=1)
        return np.flatnonzero(said)

    @cached_property
    def hard(self) -> Array:
        """The class of each row by its label, or by what is known, one-hot and weighted, (n, K).

        Answers share a row out over the classes.
        """
        out = np.zeros((len(self), self.classes))
        if self.evidence is not None:
            at = self.informed
            out[at] = likely_classes(self.evidence[at], self.weight[at]) * self.weight[at, None]
            out[self.known >= 0] = 0.0
        told = np.where(self.known >= 0, self.known, self.label)
        at = np.flatnonzero(told >= 0)
        out[at, told[at]] = self.weight[at]
        return out

    def seen_through(self, channel: Array) -> Array:
        """Compute P(what is said of a row | true class), (n, K): label, answers and knowledge.

        Examples
        --------
        >>> rows = Rows(
        ...     Schema(()), Batch((), np.zeros(3, np.int32)), np.array([0, 1, -1]),
        ...     np.array([-1, 0, -1]), np.ones(3), 2, (), Smoothing(),
        ... )
        >>> rows.seen_through(np.array([[0.9, 0.2], [0.1, 0.8]])).tolist()
        [[0.9, 0.2], [0.1, 0.0], [1.0, 1.0]]
        """  # fmt: skip
        seen = np.ones((len(self), channel.shape[1]))
        seen[self.labeled] = channel[self.label[self.labeled]]
        if self.evidence is not None:
            seen *= self.evidence
        told = np.flatnonzero(self.known >= 0)
        if len(told):
            seen[told] *= np.eye(channel.shape[1])[self.known[told]]
        return seen

    @cached_property
    def at_face_value(self) -> tuple[Places, Array]:
        """Positions of rows with labels or answers, and the likelihood if labels are right."""
        if self.evidence is None:
            return self.labeled, np.eye(self.classes)[self.label[self.labeled]]
        return self.informed, self.seen_through(np.eye(self.classes))[self.informed]

    @cached_property
    def statistics(self) -> Matrix:
        """The statistics t(x) of all rows, (n, S): dense where they are few."""
        parts = [statistic(block) for block in self.batch.blocks]
        if not parts:
            return np.zeros((len(self), 0))
        width = sum(part.shape[1] for part in parts)
        filled = sum(p.size if isinstance(p, np.ndarray) else int(p.nnz) for p in parts)
        if width <= DENSE_STATISTICS or filled > THICK * width * len(self):
            dense = [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]
            return dense[0] if len(dense) == 1 else np.concatenate(dense, axis=1)
        return sparse.csr_array(sparse.hstack([sparse.csr_array(part) for part in parts]))

    @cached_property
    def worth(self) -> Array:
        """One over the number of equal columns that a statistic's column is one of, (S,).

        A column that stands in the table twice tells nothing new, and counts once in all.
        """
        out = np.ones(self.schema.statistics)
        for group, block in zip(self.schema.groups, self.batch.blocks, strict=True):
            cells = _column_cells(block)
            if cells is None or len(group.members) < 2:
                continue
            marks = [column.tobytes() for column in np.ascontiguousarray(cells.T)]
            seen: dict[bytes, int] = {}
            for mark in marks:
                seen[mark] = seen.get(mark, 0) + 1
            count = np.array([seen[mark] for mark in marks], np.float64)
            out[group.span] = 1.0 / count[group.family.owner]
        return out

    def splits(self) -> Iterator[tuple[Places, list[Places]]]:
        """List the deals, each as the fold of every row and the rows of every fold."""
        for fold in self.deals:
            yield fold, [np.flatnonzero(fold == f) for f in range(int(fold.max()) + 1)]

    def take(self, places: Places) -> Rows:
        """Keep some of the rows, in their folds."""
        return replace(
            self,
            batch=self.batch.take(places),
            label=self.label[places],
            known=self.known[places],
            weight=self.weight[places],
            deals=[fold[places] for fold in self.deals],
            evidence=None if self.evidence is None else self.evidence[places],
            design=None if self.design is None else self.design[places],
        )


def likely_classes(evidence: Array, weight: Array) -> Array:
    """Share rows out by their evidence and the class shares that explain it best, (n, K).

    Examples
    --------
    >>> said = np.array([[0.8, 0.2], [0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    >>> likely_classes(said, np.ones(4)).round(2).tolist()
    [[0.93, 0.07], [0.93, 0.07], [0.67, 0.33], [0.76, 0.24]]
    """
    prior = np.full(evidence.shape[1], 1.0 / evidence.shape[1])
    for _ in range(SHARE_ROUNDS):
        joint = evidence * prior
        out = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        mass = weight @ out + 1.0 / len(prior)
        prior = mass / mass.sum()
    return np.asarray(out)


def rows_of(
    schema: Schema, batch: Batch, classes: int, smoothing: Smoothing, seed: int, labels: int
) -> Rows:
    """Deal the rows of a batch out over folds."""
    label, known = batch.labels(labels)
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    keys, told = row_keys(batch), np.where(known >= 0, known, label)
    if len(np.unique(keys)) < COPIES_SHARE * weight.sum():
        keys = told_apart(keys)
    count = len(np.unique(keys))
    folds, times = how_many_folds(count), how_many_deals(count)
    deals = [deal(told, keys, folds, seed * times + time) for time in range(times)]
    design = None if batch.design is None else np.where(known >= 0, batch.design, 0.0)
    return Rows(schema, batch, label, known, weight, classes, deals, smoothing, design=design)


def how_many_folds(rows: int) -> int:
    """Take ten folds of few rows, five of many.

    Examples
    --------
    >>> how_many_folds(100), how_many_folds(1000)
    (10, 5)
    """
    return FOLDS_OF_FEW if rows < FEW_ROWS else FOLDS


def how_many_deals(rows: int) -> int:
    """Deal few rows more than once: how they fall should not decide.

    Examples
    --------
    >>> how_many_deals(500), how_many_deals(5000)
    (3, 1)
    """
    return DEALS if rows < SOME_ROWS else 1


def row_keys(batch: Batch) -> Keys:
    """Mix the cells of each row into one number, equal for equal rows, (n,).

    A value is mixed with all the values of its column and their shares, wherever that stands.

    Examples
    --------
    >>> codes = np.array([[1, 0], [0, 1], [1, 0]], np.uint8)
    >>> a, b, c = row_keys(Batch((Codes(codes, (2, 2)),), np.zeros(3, np.int32)))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    total = np.zeros(len(batch), np.uint64)
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    seen: set[bytes] = set()  # a column that stands there twice tells nothing new
    for block in batch.blocks:
        cells = _column_cells(block)
        if isinstance(block, Words):
            total += _word_keys(block)
            continue
        assert cells is not None
        for keys in _cell_keys(cells, weight):
            mark = keys.tobytes()
            if mark not in seen:
                total += keys
                seen.add(mark)
    return total


def told_apart(keys: Keys) -> Keys:
    """Give equal rows numbers of their own, by their order, (n,)."""
    order = np.argsort(keys, kind="stable")
    first = np.concatenate([[True], keys[order][1:] != keys[order][:-1]])
    start = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    turn = np.empty(len(keys), np.uint64)
    turn[order] = np.arange(len(keys)) - start
    return np.asarray(np.where(turn > 0, mixed(keys ^ mixed(turn)), keys))


def _cell_keys(cells: NDArray[Any], weight: Array) -> Iterator[Keys]:
    """Mix each cell with all the values of its column, column by column; some at a time."""
    step = max(CELLS_AT_ONCE // max(len(cells), 1), 1)
    for begin in range(0, cells.shape[1], step):
        columns = np.ascontiguousarray(cells[:, begin : begin + step].T, np.float64) + 0.0
        yield from _columns_keys(columns, weight)


def _columns_keys(columns: Array, weight: Array) -> Keys:
    """Mix the cells of some columns, each in a line, (c, n)."""
    order = np.argsort(columns, axis=1, kind="stable")
    values = np.take_along_axis(columns, order, axis=1)
    same = (values[:, 1:] == values[:, :-1]) | np.isnan(values[:, :-1])  # gaps are last
    first = np.pad(~same, ((0, 0), (1, 0)), constant_values=True)
    run = np.maximum.accumulate(np.where(first, np.arange(columns.shape[1]), 0), axis=1)
    # of the values as they are sorted, each by the first cell that has it
    number = np.cumsum(first.ravel()) - 1
    share = np.bincount(number, weight[order].ravel())[number] / weight.sum()
    marks = mixed(np.take_along_axis(values, run, axis=1).view(np.uint64))
    marks ^= mixed(np.round(share, 9).view(np.uint64)).reshape(marks.shape)
    every = np.bitwise_xor.reduce(np.where(first, mixed(marks), np.uint64(0)), axis=1)
    keys = mixed(marks ^ every[:, None])
    keys[~first[:, 1:].any(axis=1)] = 0  # a constant tells nothing
    out = np.empty_like(keys)
    np.put_along_axis(out, order, keys, axis=1)
    return out


def _word_keys(block: Words) -> Keys:
    matrix = block.matrix
    marks = mixed(np.arange(block.width, dtype=np.uint64) + np.uint64(1))
    cells = marks[matrix.indices] * np.asarray(matrix.data, np.float64).view(np.uint64)
    row = np.repeat(np.arange(block.rows), np.diff(matrix.indptr))
    out = np.zeros(block.rows, np.uint64)
    np.add.at(out, row, mixed(cells))
    return out


def mixed(values: Keys) -> Keys:
    """Scramble 64-bit numbers: neighbors end far apart (the finalizer of splitmix64)."""
    out = values + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        out = (out ^ (out >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(out ^ (out >> np.uint64(31)))


def _column_cells(block: Any) -> NDArray[Any] | None:
    """Write the cells of a block's columns, (n, d); None where columns are words."""
    if isinstance(block, Codes):
        return np.asarray(block.codes)
    if isinstance(block, Reals):
        return np.asarray(block.values)
    if isinstance(block, Flags):
        bits = np.unpackbits(block.bits, axis=1, bitorder="little")[:, : block.columns]
        if block.observed is None:
            return bits
        seen = np.unpackbits(block.observed, axis=1, bitorder="little")[:, : block.columns]
        return np.where(seen > 0, bits, 2).astype(np.uint8)
    return None


def deal(label: Places, keys: Keys, folds: int, seed: int) -> Places:
    """Deal the distinct rows of every label out over the folds, (n,).

    Labels take turns by their luckiest row, whatever their names; equal rows that are labeled apart
    count for the label of the lower luck.

    Examples
    --------
    >>> label, keys = np.array([0, 0, 1, 1]), np.arange(4, dtype=np.uint64)
    >>> fold = deal(label, keys, 2, 0)
    >>> sorted(fold[:2].tolist()), sorted(fold[2:].tolist())
    ([0, 1], [0, 1])
    """
    known, distinct = np.unique(keys, return_inverse=True)
    distinct = distinct.ravel()
    luck = mixed(known ^ mixed(np.array([seed], np.uint64)))
    best = np.full(int(label.max(initial=0)) + 2, np.iinfo(np.uint64).max)
    np.minimum.at(best, label, luck[distinct])  # without a label: the last
    first = np.full(len(known), np.iinfo(np.uint64).max)
    np.minimum.at(first, distinct, best[label])
    order = np.lexsort((luck, first))
    fold = np.empty(len(known), np.intp)
    fold[order] = np.arange(len(known)) % folds
    return fold[distinct]


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
    brought = None
    if all(batch.brought is not None for batch in batches):
        brought = np.concatenate([b.brought for b in batches if b.brought is not None])
    beside = {"group": joined_groups(batches), "brought": brought, **joined_checks(batches)}
    return Batch(stacked, given, weight, **beside)


def _stacked(blocks: list[Any]) -> Any:
    first = blocks[0]
    if isinstance(first, Codes):
        return replace(first, codes=np.concatenate([b.codes for b in blocks]))
    if isinstance(first, Flags):
        seen = None
        if any(b.observed is not None for b in blocks):
            full = [np.full_like(b.bits, 255) if b.observed is None else b.observed for b in blocks]
            seen = np.concatenate(full)
        return replace(first, bits=np.concatenate([b.bits for b in blocks]), observed=seen)
    if isinstance(first, Reals):
        return replace(first, values=np.concatenate([b.values for b in blocks]))
    return replace(first, matrix=sparse.csr_array(sparse.vstack([b.matrix for b in blocks])))
