"""Logistic regression on likenesses, through the channel: columns together, on few rows.

    - sum_i w_i log sum_k P(y_i | k) softmax(b + f(x_i))_k + penalty / 2 |f|^2
    f(x) = sum_m a_m k(x, x_m),     k(x, x') = exp(-|phi(x) - phi(x')|^2 / mean |phi|^2)

phi are the columns, centered and scaled. Rows that are alike in all columns have one class,
whatever each column says by itself: two moons, a chessboard. Trees see that, too, but only where
rows are many; this one is asked where they are not. Marks x_m are the distinct rows, of many the
first by a digest of what they hold, so that the order of the rows does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.reference import statistic
from misnomer.learners.learner import Scored, View, centered, clear_gain
from misnomer.learners.logistic import WORK_OF_ALL, Basis, CrossFit, is_embedding, standardized
from misnomer.learners.rows import Rows, row_keys
from misnomer.learners.trees import are_enough
from misnomer.table import Batch

Array = NDArray[np.float64]

STRENGTH = 1.0  # prior standard deviation of a typical row's log-odds
MARKS = 500  # rows that others are compared with
RANK = 150  # directions that likenesses are said in
ALIKE = 1e-6  # lengths that differ less are the same: which axes they have is rounding
LEAST_DIRECTION = 1e-4  # of the longest: shorter ones are rounding, or say nothing


@dataclass(frozen=True)
class Kernel:
    """Fits the labels by the likeness of rows, where they are too few for trees."""

    name: str = "kernel"

    def cross_fit(self, rows: Rows, view: View) -> list[Scored]:
        """Score every row by fits without its fold; nothing where trees are asked, or of texts."""
        bases = view.bases.setdefault(self.name, {})
        if not bases:
            bases["likeness"] = likeness_of(rows) if suits(rows) else None
        found = bases["likeness"]
        if found is None:
            return []
        (scale, shift, marks), basis = found
        fit = CrossFit(self.name, self.name, STRENGTH, basis, rows, view)
        scores, table = fit.cross_fit()
        weights, bias = basis.weights(table)
        together = _is_better(rows, view, scores)
        scorer = Likeness(self.name, scale, shift, marks, weights, bias)
        return [Scored(scores, scorer, together)]


def _is_better(rows: Rows, view: View, scores: Array) -> bool:
    """Tell whether likeness explains what is said clearly better than columns one by one do."""
    if view.chance is None or view.seen is None:
        return False
    at = rows.informed
    return clear_gain(scores[at], view.seen[at], rows.weight[at], view.chance[at]) > 0


def suits(rows: Rows) -> bool:
    """Tell whether rows are few, and said in few numbers."""
    few = not are_enough(rows) and len(rows) * RANK * rows.classes <= WORK_OF_ALL
    return few and not sparse.issparse(rows.statistics) and not is_embedding(rows.schema)


Map = tuple[Array, Array, Array]  # (p, S) and (p,): phi = t(x) . map' + shift; (m, p) marks


def likeness_of(rows: Rows) -> tuple[Map, Basis] | None:
    """Choose marks, and say the likeness to them in few directions; None where no column tells.

    With U L U' the likenesses of the marks among themselves, a row has the features
    k(x, marks) U / sqrt(L): their inner products are likenesses again.
    """
    phi, back, shift = standardized(rows)
    back = np.asarray(back.toarray() if sparse.issparse(back) else back)
    weight = rows.weight / rows.weight.sum()
    size = float(weight @ np.einsum("ij,ij->i", phi, phi))
    if size <= 0:
        return None
    phi, back, shift = (part / np.sqrt(size) for part in (phi, back, shift))
    marks = phi[marked(rows)]
    length, side = np.linalg.eigh(likenesses(marks, marks))
    last = length[-RANK:][0] * (1.0 - ALIKE)  # directions of one length stay together
    kept = np.flatnonzero(length >= max(last, LEAST_DIRECTION * length[-1]))
    turn = side[:, kept] / np.sqrt(length[kept])
    features = likenesses(phi, marks) @ turn
    mean = weight @ features
    features -= mean
    power = rows.weight @ features**2
    typical = float(power.sum() / rows.weight.sum())
    return (back, shift, marks), Basis(features, power, turn, -mean, typical)


def marked(rows: Rows) -> NDArray[np.intp]:
    """Choose the rows that others are compared with: distinct, and wherever they stand."""
    at = np.flatnonzero(rows.weight > 0)
    _, first = np.unique(row_keys(rows.batch)[at], return_index=True)
    return at[first[:MARKS]]


def likenesses(one: Array, other: Array) -> Array:
    """Compute exp(-|x - x'|^2) of all pairs, (n, m).

    Examples
    --------
    >>> likenesses(np.array([[0.0], [1.0]]), np.array([[0.0]])).round(3).tolist()
    [[1.0], [0.368]]
    """
    square = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2.0 * one @ other.T
    return np.exp(-np.maximum(square, 0.0))


@dataclass(frozen=True, eq=False)
class Likeness:
    """Scores ``k(x, marks) . weights[k] + bias[k]``.

    Attributes
    ----------
    scale : (p, S) array
        Makes features of statistics: phi = t(x) . scale' + shift.
    shift : (p,) array
        See above.
    marks : (m, p) array
        The features of the rows that others are compared with.
    weights, bias : (K, m) and (K,) arrays
        What likeness to each says.
    """

    name: str
    scale: Array
    shift: Array
    marks: Array
    weights: Array
    bias: Array

    def scores(self, batch: Batch) -> Array:
        """Score the classes of rows, (n, K), centered."""
        parts = [statistic(block) for block in batch.blocks]
        stats = np.concatenate([p if isinstance(p, np.ndarray) else p.toarray() for p in parts], 1)
        phi = stats @ self.scale.T + self.shift
        return centered(likenesses(phi, self.marks) @ self.weights.T + self.bias)

    def exchanged(self) -> Likeness:
        """Number the classes from the other end."""
        weights = np.ascontiguousarray(self.weights[::-1])
        return replace(self, weights=weights, bias=self.bias[::-1].copy())

    def arrays(self) -> Mapping[str, NDArray[np.generic]]:
        """Lay out the marks and what they say."""
        parts = ("scale", "shift", "marks", "weights", "bias")
        return {name: getattr(self, name) for name in parts}
