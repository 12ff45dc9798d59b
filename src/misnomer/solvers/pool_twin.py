"""The conditional twin: weights that maximise the likelihood of the labels behind a channel.

    - sum_i w_i log sum_k R[y_i, k] softmax(b + phi(x_i) . V)_k + penalty / 2 |V|^2

Few columns are rotated to the axes of phi'phi, where the size of each direction is known and the
search needs few steps; sparse ones stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.reference import softmax
from misnomer.solvers.pool_lbfgs import minimise
from misnomer.solvers.pool_rows import Matrix, Rows
from misnomer.solvers.pool_scores import centered, margin

Array = NDArray[np.float64]

_SEVERAL = 2.0  # rows, each worth a quarter at most
_TOL = 1e-5
_CURVE = 0.15  # typical p (1 - p) of a row: scales the search, not its end


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
    axes : (S, p) array, or None
        The rotation, where there is one.
    """

    features: Matrix
    power: Array
    back: Matrix
    shift: Array
    axes: Array | None = None

    def weights(self, coefficients: Array) -> tuple[Array, Array]:
        """Turn (1 + p, K) coefficients, bias first, into weights of t(x) and a bias, centered."""
        weights = np.asarray(self.back @ coefficients[1:]).T
        bias = coefficients[0] + self.shift @ coefficients[1:]
        return weights - weights.mean(axis=0), centered(bias)

    def unrotated(self, coefficients: Array) -> Array:
        """Say the coefficients of the features before the rotation, (K, S)."""
        own = coefficients[1:]
        return np.asarray(own.T if self.axes is None else (self.axes @ own).T)


def basis(rows: Rows) -> Basis:
    """Make features: centered and scaled columns, rotated where they are few."""
    found = rows.features
    if sparse.issparse(rows.stats):
        back = sparse.csr_array(found.change.T)
        features = sparse.csr_array(rows.stats @ back)
        size = float(features.multiply(features).sum()) / features.shape[1]
        return Basis(features, np.full(features.shape[1], size), back, np.zeros(back.shape[1]))
    S = rows.stats.shape[1]
    back, shift = found.fold(np.eye(S), np.zeros(S))
    phi = rows.stats @ back.T + shift
    size, axes = np.linalg.eigh(phi.T @ phi)
    kept = size > 1e-9 * max(size[-1], 1e-300)
    axes = axes[:, kept]
    return Basis(phi @ axes, size[kept], back.T @ axes, shift @ axes, axes)


@dataclass(frozen=True, eq=False)
class Twin:
    """Twin scores of the training rows, out of fold, in the units of the naive Bayes scores.

    Attributes
    ----------
    scores : (n, K) array
        The scores.
    penalty : float
        Of the squared weights.
    channel : (K, K) array
        The channel that was taken as known.
    factor : float
        What brought the scores to those units.
    folds : tuple of arrays
        The coefficients of each fold: the next search starts there.
    linear : pair of arrays, or None
        Weights of t(x) and bias, where they are known already.
    """

    scores: Array
    penalty: float
    channel: Array
    factor: float
    folds: tuple[Array, ...]
    linear: tuple[Array, Array] | None = None


def cross_fit(
    rows: Rows, on: Basis, channel: Array, penalty: float, like: Array, start: Twin | None = None
) -> Twin:
    """Fit without each fold, score that fold; give the scores the median margin of ``like``."""
    scores = np.empty((len(rows), rows.classes))
    found = []
    for place, fold in enumerate(rows.folds):
        begin = None if start is None else start.folds[place]
        fitted = fit(rows, on, channel, penalty, rows.without(place), begin)
        scores[fold] = on.features[fold] @ fitted[1:] + fitted[0]
        found.append(fitted)
    scores = centered(scores)
    own = margin(scores)
    units = margin(like)
    factor = units / own if own > 0 and units > 0 else 1.0
    return Twin(scores * factor, penalty, channel, factor, tuple(found))


def without_two(rows: Rows, on: Basis, twin: Twin) -> Array:
    """Score every row without the labels of its own fold and of one other, (1 + F, n, K).

    The last are scores without those of its own fold alone.
    """
    out = np.stack([twin.scores] * (len(rows.folds) + 1))
    for a, first in enumerate(rows.folds):
        for b, second in enumerate(rows.folds[:a]):
            use = np.setdiff1d(rows.without(a), np.arange(len(rows))[second])
            found = fit(rows, on, twin.channel, twin.penalty, use, twin.folds[a])
            for chain, fold in ((a, second), (b, first)):
                out[chain, fold] = on.features[fold] @ found[1:] + found[0]
                out[chain, fold] = twin.factor * centered(out[chain, fold])
    return out


def fit(
    rows: Rows,
    on: Basis,
    channel: Array,
    penalty: float,
    use: NDArray[np.intp],
    start: Array | None = None,
) -> Array:
    """Find bias and coefficients, (1 + p, K), from the labeled rows among ``use``."""
    use = use[rows.label[use] >= 0]
    features, weight = on.features[use], rows.weight[use]
    seen = np.where(rows.trusted[use][:, None], rows.hard[use], rows.hard[use] @ channel)
    pace = 1.0 / np.sqrt(_CURVE * on.power + penalty)
    ridge = (penalty * pace**2)[:, None]
    shape = (1 + len(pace), rows.classes)

    def loss(vector: Array) -> tuple[float, Array]:
        table = vector.reshape(shape)
        share = softmax(features @ (table[1:] * pace[:, None]) + table[0])[0]
        joint = seen * share
        chance = np.maximum(joint.sum(axis=1), 1e-300)
        residual = (share - joint / chance[:, None]) * weight[:, None]
        value = -float(weight @ np.log(chance)) + 0.5 * float((ridge * table[1:] ** 2).sum())
        slope = (features.T @ residual) * pace[:, None] + ridge * table[1:]
        return value, np.concatenate([residual.sum(axis=0), slope.ravel()])

    begin = np.zeros(shape)
    if start is not None:
        begin = np.concatenate([start[:1], start[1:] / pace[:, None]])
    vector, _ = minimise(loss, begin.ravel(), max_iter=60, tol=_TOL, slope=1e-2)
    table = vector.reshape(shape).copy()
    table[1:] *= pace[:, None]
    return table


def unexplained(rows: Rows, on: Basis, share: Array, channel: Array) -> float:
    """Test whether the features know more of the labels than P(true | x) does: a z value.

    With e the label less its probability, feature j and label k have
    ``z_jk = sum_i phi_ij e_ik / sqrt(sum_i phi_ij^2 p_ik (1 - p_ik))``; their squares add up to
    about as many as there are, unless other weights would explain the labels better.
    """
    at = rows.labeled
    chance = np.clip(share[at] @ channel.T, 1e-9, 1.0)
    weight = rows.weight[at][:, None]
    features = on.features[at]
    square = features.multiply(features) if sparse.issparse(features) else features**2
    slope = np.asarray(features.T @ ((rows.hard[at] - chance) * weight))
    spread = np.asarray(square.T @ (chance * (1.0 - chance) * weight**2))
    most = square.max(axis=0)
    most = most.toarray().ravel() if sparse.issparse(most) else most
    seen = spread > _SEVERAL * most[:, None]  # else a row or two would decide
    if not seen.any():
        return 0.0
    ratio = slope[seen] ** 2 / spread[seen]
    return float((ratio - 1.0).sum() / np.sqrt(2.0 * seen.sum()))
