"""Logistic regression through the channel, in three strengths.

    - sum_i w_i log sum_k P(y_i | k) softmax(b + phi(x_i) . V)_k + penalty / 2 |V|^2

phi are the statistics, centered and scaled. The penalty is said in words: before labels are seen,
the log-odds of a typical row have a standard deviation of one, three or ten. Few columns are
rotated to the axes of phi'phi, where the size of each direction is known and the search needs few
steps; sparse ones stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.kernels.threads import each
from misnomer.learners.learner import (
    LEAST_CHANCE,
    Linear,
    Scored,
    View,
    calibrated,
    centered,
    clear_gain,
)
from misnomer.learners.rows import Matrix, Rows
from misnomer.solvers.features import Features, measure
from misnomer.solvers.lbfgs import STEPS_REMEMBERED, minimise
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]

STRENGTHS = (1.0, 3.0, 10.0)  # prior standard deviations of a typical row's log-odds
EMBEDDED = (0.3, 1.0)  # the same where reals are many: each says little
TYPICAL_CURVATURE = 0.15  # p (1 - p) of a row: scales the search, not its end
MAX_STEPS, TOLERANCE, FLAT_SLOPE = 60, 1e-5, 1e-2
MOST_WORK = 100_000_000  # cells times classes: beyond, few directions are looked at, or no words
WORK_OF_ALL = 10_000_000  # the same, up to which every strength is fitted and heard
MOST_SQUARED = 100  # real columns up to which their squares are features, too


@dataclass(frozen=True)
class Logistic:
    """Fits the labels, not the columns: columns that repeat each other do not count twice."""

    strengths: tuple[float, ...] = STRENGTHS
    name: str = "logistic"

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by fits without its fold, the strongest penalty first."""
        work = rows.classes * _cells_of_a_step(rows)
        if work > MOST_WORK and sparse.issparse(rows.statistics):
            return []
        if work <= WORK_OF_ALL:
            fits = (self._fit(kind, rows, view) for kind in self._kinds(rows))
            return [_linear(fit) for fit in fits]
        return self._chosen(rows, view)

    def _chosen(self, rows: Rows, view: View) -> list[Scored]:
        """Let the first fold choose one strength of a long search, if it is worth it at all."""
        unproven = (self.name, "is not better")
        if unproven in view.memory:
            return []
        tried: list[CrossFit] = []
        for _, kinds in groupby(self._kinds(rows), key=itemgetter(1)):
            for place, kind in enumerate(kinds):
                tried.append(self._fit(kind, rows, view))
                if tried[-1].gain(view) < 0:
                    break  # weights that are held less will not make up for so much
                if place and tried[-1].first_fold < tried[-2].first_fold:
                    break  # a still weaker penalty will do no better
        best = max(tried, key=lambda one: one.first_fold)
        if best.gain(view) > 0:
            return [_linear(best)]
        view.memory[unproven] = np.zeros(0)
        return []

    def _fit(self, kind: tuple[float, bool], rows: Rows, view: View) -> CrossFit:
        """Pose the search of one strength and scale."""
        strength, common = kind
        bases = view.bases.setdefault(self.name, {})
        if common not in bases:
            bases[common] = basis_of(rows, common)
        name = f"{self.name} {strength:g}{' common' if common else ''}"
        return CrossFit(name, (self.name, common), strength, bases[common], rows, view)

    def _kinds(self, rows: Rows) -> list[tuple[float, bool]]:
        """List strengths, and whether reals have one scale: many are an embedding, or are not."""
        if not is_embedding(rows.schema):
            return [(strength, False) for strength in self.strengths]
        own = [(strength, False) for strength in self.strengths[:2]]
        return [*own, *((strength, True) for strength in EMBEDDED)]


def _cells_of_a_step(rows: Rows) -> int:
    """Count what a step of the search looks at: filled cells, and coefficients again and again."""
    statistics = rows.statistics
    if not sparse.issparse(statistics):
        reals = [len(g.members) for g in rows.schema.groups if g.kind == "gaussian"]
        left_out = sum(2 * d if d > MOST_SQUARED else d for d in reals)
        return len(rows) * (int(statistics.shape[1]) - left_out)
    return int(statistics.nnz + STEPS_REMEMBERED * len(np.unique(statistics.indices)))


def is_embedding(schema: Schema) -> bool:
    """Tell whether there are so many reals that their sums speak, not single ones."""
    return sum(len(g.members) for g in schema.groups if g.kind == "gaussian") > MOST_SQUARED


def _linear(fit: CrossFit) -> Scored:
    """Score the rows, and turn coefficients into weights of their statistics."""
    scores, table = fit.cross_fit()
    return Scored(scores, Linear(fit.name, *fit.basis.weights(table)))


class CrossFit:
    """One strength, fitted without each fold; a search begins where one of its family ended.

    Parameters
    ----------
    name : str
        What is fitted; searches remember it.
    family : object
        Whose coefficients mean the same.
    strength : float
        Prior standard deviation of a typical row's log-odds.
    basis : Basis
        The features.
    """

    def __init__(
        self, name: str, family: Any, strength: float, basis: Basis, rows: Rows, view: View
    ) -> None:
        self.name, self.family = name, family
        self.rows, self.memory, self.basis = rows, view.memory, basis
        seen = rows.seen_through(view.channel)
        penalty = basis.size / strength**2
        self.problem = _Problem(basis, seen, rows.weight, penalty, view.anchor)

    def solve(self, use: NDArray[np.intp], fold: Any) -> Array:
        """Find the coefficients without a fold, from those of an earlier search or strength."""
        memory, key, last = self.memory, (self.name, fold), (self.family, fold)
        table = self.problem.solve(use, memory.get(key, memory.get(last)))
        memory[key] = memory[last] = table
        return table

    def scores(self, places: NDArray[np.intp], table: Array) -> Array:
        """Score rows, (n, K)."""
        return np.asarray(self.basis.features[places] @ table[1:] + table[0])

    @cached_property
    def _first(self) -> tuple[NDArray[np.intp], Array]:
        """The rows of the first fold, and their scores by the others."""
        at, (fold, folds) = self.rows.informed, next(self.rows.splits())
        places = np.intersect1d(folds[0], at)
        return places, centered(self.scores(places, self.solve(at[fold[at] != 0], (0, 0))))

    @cached_property
    def first_fold(self) -> float:
        """Explain what is said of the first fold by the others, tempered: log likelihood."""
        places, scores = self._first
        seen, weight = self.problem.seen[places], self.rows.weight[places]
        chance = (calibrated(scores, seen, weight) * seen).sum(axis=1)
        return float(weight @ np.log(np.maximum(chance, LEAST_CHANCE)))

    def gain(self, view: View) -> int:
        """Tell from that fold whether this is clearly better than naive Bayes (1) or worse (-1).

        Both explain the labels by the channel that naive Bayes has found.
        """
        if view.seen is None or view.chance is None:
            return 1
        at, scores = self._first
        return clear_gain(scores, view.seen[at], self.rows.weight[at], view.chance[at])

    def cross_fit(self) -> tuple[Array, Array]:
        """Score every row by fits without its fold, (n, K), and fit to all: (1 + p, K)."""
        rows, at = self.rows, self.rows.informed
        scores = np.zeros((len(rows), rows.classes))
        pieces = [
            (at[fold[at] != place], places, (number, place))
            for number, (fold, folds) in enumerate(rows.splits())
            for place, places in enumerate(folds)
        ]
        tables = each(lambda piece: self.solve(piece[0], piece[2]), pieces)
        for (_, places, _), table in zip(pieces, tables, strict=True):
            scores[places] += self.scores(places, table)
        self.memory.setdefault((self.name, "all"), table)
        return centered(scores / len(rows.deals)), self.solve(at, "all")


@dataclass(frozen=True, eq=False)
class Basis:
    """The features of the rows in the terms of the search.

    Attributes
    ----------
    features : (n, p) array or sparse array
        Each row.
    power : (p,) array
        Sum of squares of each feature.
    back : (S, p) array or sparse array
        Weights of t(x) that each feature stands for.
    shift : (p,) array
        What each feature is at t(x) = 0.
    size : float
        The mean square of a row.
    """

    features: Matrix
    power: Array
    back: Matrix
    shift: Array
    size: float

    def weights(self, table: Array) -> tuple[Array, Array]:
        """Turn (1 + p, K) coefficients, bias first, into weights of t(x) and a bias, centered."""
        weights = np.asarray(self.back @ table[1:]).T
        bias = table[0] + self.shift @ table[1:]
        return np.ascontiguousarray(weights - weights.mean(axis=0)), centered(bias)


def basis_of(rows: Rows, common: bool = False) -> Basis:
    """Make features: centered and scaled columns, rotated where they are dense.

    ``common``: all reals have one scale, that of their mean variance.
    """
    found = _shrunk(rows, measure(rows.schema, [rows.batch], _alone), common)
    stats = rows.statistics
    if sparse.issparse(stats):
        back = sparse.csr_array(found.change.T)
        features = sparse.csr_array(stats @ back)
        kept = np.unique(features.indices)  # words that no row has keep the coefficient zero
        features, back = sparse.csr_array(features[:, kept]), sparse.csr_array(back[:, kept])
        square = np.asarray(features.multiply(features).sum(axis=1)).ravel()
        even = np.full(len(kept), square.sum() / max(len(kept), 1))
        return Basis(features, even, back, np.zeros(len(kept)), _mean(rows, square))
    phi, back, shift = _dense(found, stats)
    most = max(MOST_WORK // (len(rows) * rows.classes), 1)  # of more directions the longest
    size, axes, features = _rotated(phi, rows.weight, most)
    typical = _mean(rows, np.einsum("ij,ij->i", phi, phi))
    return Basis(features, size, back.T @ axes, shift @ axes, typical)


def _rotated(phi: Array, weight: Array, most: int) -> tuple[Array, Array, Array]:
    """Find the axes of phi'phi: sums of squares, the longest last, axes, and the rows along them.

    Where columns are more than rows, rows say it by their inner products.
    """
    heavy = phi * np.sqrt(weight)[:, None]
    wide = phi.shape[1] > phi.shape[0]
    size, side = np.linalg.eigh(heavy @ heavy.T if wide else heavy.T @ heavy)
    kept = np.flatnonzero(size > 1e-9 * max(size[-1] if len(size) else 0.0, 1e-300))[-most:]
    size, side = size[kept], side[:, kept]
    if not wide:
        return size, side, phi @ side
    turn = side / np.sqrt(size)
    return size, heavy.T @ turn, (phi @ heavy.T) @ turn


def _dense(found: Features, stats: Array) -> tuple[Array, Any, Array]:
    """Make the features, (n, p), and the map ``t(x) . back' + shift`` that makes them of others."""
    S = stats.shape[1]
    used = np.flatnonzero(np.diff(found.change.indptr)) if S else np.zeros(0, np.intp)
    if len(used) > len(stats):
        return _wide(found, stats, used)
    unit = sparse.csr_array((np.ones(len(used)), (np.arange(len(used)), used)), (len(used), S))
    back, shift = found.fold(unit.toarray(), np.zeros(len(used)))
    # a sparse product: every feature is the same number, wherever its column stands
    phi = np.asarray((sparse.csr_array(back) @ stats.T).T) + shift
    order = _canonical(phi)
    return np.ascontiguousarray(phi[:, order]), back[order], shift[order]


def standardized(rows: Rows) -> tuple[Array, Any, Array]:
    """Center and scale the columns, no squares: what `_dense` makes, each column weighing alike."""
    found = measure(rows.schema, [rows.batch], _alone)
    return _dense(_shrunk(rows, found, common=False, most_squared=0), rows.statistics)


def _canonical(phi: Array) -> NDArray[np.intp]:
    """Order the columns by what they hold, wherever they stand."""
    marks = np.random.default_rng(0).random(len(phi))
    keys = [float((marks * column).sum()) for column in phi.T]
    return np.argsort(keys, kind="stable")


def _mean(rows: Rows, values: Array) -> float:
    return float(rows.weight @ values / rows.weight.sum())


def _wide(found: Features, stats: Array, used: NDArray[np.intp]) -> tuple[Array, Any, Array]:
    """Make the features of more columns than rows, column by column: no square table of them."""
    centered_by = sparse.csr_array(found.owner @ (found.owner.T @ sparse.diags_array(found.share)))
    back = sparse.csr_array((found.change - centered_by.T)[used])
    return np.asarray(stats @ back.T) - found.shift[used], back, -found.shift[used]


def _shrunk(
    rows: Rows, found: Features, common: bool, most_squared: int = MOST_SQUARED
) -> Features:
    """Leave the squares of many real columns out; let equal columns weigh as one."""
    root = np.sqrt(rows.worth)
    keep = root.copy()
    for group in rows.schema.groups:
        d = len(group.members)
        if group.kind == "gaussian" and d > most_squared:
            lines = slice(group.span.start + d, group.span.start + 2 * d)
            keep[lines.stop : group.span.stop] = 0.0
            if common:
                rate = found.change.diagonal()[lines]
                spread = np.where(rate > 0, 1.0 / np.where(rate > 0, rate, 1.0), 0.0)
                keep[lines] *= spread / max(float(np.sqrt(np.mean(spread**2))), 1e-300)
    change = sparse.csr_array(sparse.diags_array(keep) @ found.change)
    change.eliminate_zeros()
    return replace(found, change=change, share=found.share * root, shift=found.shift * keep)


def _alone(step: Any, batches: Iterable[Batch]) -> Any:
    """Add over one batch: a fold of what is at hand."""
    return step(next(iter(batches)))


@dataclass(frozen=True, eq=False)
class _Problem:
    """One penalty: coefficients (1 + p, K), bias first, from some of the rows."""

    basis: Basis
    seen: Array  # (n, K) P(what is said of a row | true class)
    weight: Array
    penalty: float
    anchor: Array | None = None  # (K,) virtual rows that hold the class shares

    def solve(self, use: NDArray[np.intp], start: Array | None = None) -> Array:
        """Find the coefficients that explain the labels of the rows ``use`` best."""
        features, weight, seen = self.basis.features[use], self.weight[use], self.seen[use]
        power = np.concatenate([[max(float(weight.sum()), 1.0)], self.basis.power])
        penalty = np.concatenate([[0.0], np.full(len(self.basis.power), self.penalty)])[:, None]
        pace = 1.0 / np.sqrt(TYPICAL_CURVATURE * power[:, None] + penalty)
        ridge, shape = penalty * pace**2, (len(pace), seen.shape[1])
        even, codes = np.ones((1, shape[1])), np.zeros(len(use), np.int32)

        def loss(vector: Array) -> tuple[float, Array]:
            table = vector.reshape(shape)
            logits = features @ (table * pace)[1:] + pace[0] * table[0]
            cost, residual, _ = kernels.label_slopes(
                logits, even, codes, weight, besides=seen, anchor=self.anchor, overwrite=True
            )
            value = cost + 0.5 * float((ridge * table**2).sum())
            slope = np.concatenate([residual.sum(axis=0)[None], features.T @ residual])
            return value, (slope * pace + ridge * table).ravel()

        begin = np.zeros(shape) if start is None else start / pace
        vector, _, _ = minimise(
            loss, begin.ravel(), max_iter=MAX_STEPS, tol=TOLERANCE, slope=FLAT_SLOPE
        )
        return vector.reshape(shape) * pace
