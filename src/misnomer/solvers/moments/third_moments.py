"""NB-UNL: two classes without any label, from products of two and of three columns.

With ``p_i, q_i`` the means of feature i in class 1 and class 0, x_i its mean over all rows and
``P(class 1) = (1 + s) / 2``, put ``p_i = x_i + (1 - s) u_i`` and ``q_i = x_i - (1 + s) u_i``.
For features of different columns the central moments are

    z_ij = (1 - s^2) u_i u_j            z_ijk = -2 s (1 - s^2) u_i u_j u_k
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.families import Bernoulli, Categorical, Gaussian
from misnomer.model import Model, weights_of
from misnomer.solvers.moments.components import project
from misnomer.solvers.moments.products import (
    FeatureMap,
    Products,
    feature_map,
    feature_rows,
    products,
)
from misnomer.solvers.task import Fit, Task
from misnomer.stats import Stats
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]

MIN_COVARIANCE = 1e-12  # a covariance of features of the order of 1 that is none
MAX_SKEW = 0.999  # s of 1 would leave one class without rows
MAX_TRIPLED_FEATURES = 48  # features whose triples are formed: those that speak loudest


@dataclass(frozen=True, eq=False)
class Triples:
    """Sum over rows of ``w (x - mean)_i (x - mean)_j (x - mean)_k``, (f, f, f): it adds."""

    total: Array

    def __add__(self, other: Triples) -> Triples:
        return Triples(self.total + other.total)


def third_moments(task: Task, estimator: str = "aligned") -> Fit:
    """Find prior and columns of two classes from unlabeled rows: three passes and a look.

    Parameters
    ----------
    task : Task
        Rows; their labels are not looked at.
    estimator : {"aligned", "literal"}
        "aligned" takes signs from the leading eigenvector of the covariances, and |z_ij| in the
        denominator of u; "literal" is Algorithm 3 in print, for flags.
    """
    if estimator not in ("aligned", "literal"):
        raise ValueError(f'estimator must be "aligned" or "literal", not {estimator!r}')
    whole = task.whole
    basis = _without_mirrors(feature_map(task.schema, whole.sums[0], whole.rows), task.schema)
    _check(task.schema, basis)
    table = task.fold(
        lambda batch: products(basis, batch, np.zeros(len(batch), np.int32), 1), task.batches
    )
    mean, second = central(table, basis.owner)
    sign, loading = loadings(second)
    picked = np.sort(np.argsort(-loading, kind="stable")[:MAX_TRIPLED_FEATURES])
    third = task.fold(lambda batch: _triples(basis, batch, mean, picked), task.batches)
    pairs = second[np.ix_(picked, picked)]
    triples = third.total / whole.rows
    if estimator == "literal":
        _check_flags(task.schema, len(picked))
        return fit_of(task, *as_printed(pairs, triples), whole)
    size, s = solve(pairs, triples, sign[picked], basis.owner[picked])
    u = spread(second, size * sign[picked], picked, s)
    flag = np.isin(np.arange(len(u)), picked) & _flags(task.schema)
    u[flag] = (size * sign[picked])[flag[picked]]  # the paper's own formula
    return fit_of(task, u, s, whole)


def central(table: Products, owner: NDArray[np.intp]) -> tuple[Array, Array]:
    """Compute the mean of each feature and ``z_ij``; 0 within a column, which says nothing."""
    mean = table.first[0] / table.mass[0]
    second = table.second[0] / table.mass[0] - np.outer(mean, mean)
    silent = (owner[:, None] == owner[None, :]) | (abs(second) < MIN_COVARIANCE)
    return mean, np.where(silent, 0.0, second)


def loadings(second: Array) -> tuple[Array, Array]:
    """Align signs by the leading eigenvector of the covariance between columns.

    The square root in the formula of u loses its sign; ``z_ij`` has that of ``u_i u_j``.
    """
    _, vectors = np.linalg.eigh(second)
    lead = vectors[:, -1]
    return np.where(lead < 0, -1.0, 1.0), abs(lead)


def solve(second: Array, third: Array, sign: Array, owner: NDArray[np.intp]) -> tuple[Array, float]:
    """Solve for |u| and s over all triples of different columns.

    ``|u_k| = sum_ij sqrt(z_ki z_kj z_ij + z_kij^2 / 4) / sum_ij |z_ij|`` and
    ``s = -sum_ijk z_ijk / sum_ijk 2 u_i z_jk``, with the signs of u taken out.
    """
    apart = owner[:, None] != owner[None, :]
    triple = apart[:, :, None] & apart[:, None, :] & apart[None, :, :]
    z2 = second * np.outer(sign, sign)
    z3 = third * sign[:, None, None] * sign[None, :, None] * sign[None, None, :]
    inner = z2[:, :, None] * z2[:, None, :] * z2[None, :, :] + z3**2 / 4
    top = np.where(triple, np.sqrt(np.maximum(inner, 0.0)), 0.0).sum(axis=(1, 2))
    below = np.where(triple, abs(z2)[None, :, :], 0.0).sum(axis=(1, 2))
    u = top / np.where(below > 0, below, 1.0)
    weight = np.where(triple, 2 * u[:, None, None] * abs(z2)[None, :, :], 0.0).sum()
    if weight <= 0:
        raise ValueError(
            "the moment system of three columns has no real solution: no three columns vary "
            "together, so nothing tells two classes apart; give labels, or add columns"
        )
    s = -float(np.where(triple, z3, 0.0).sum() / weight)
    return u, float(np.clip(s, -MAX_SKEW, MAX_SKEW))


def as_printed(second: Array, third: Array) -> tuple[Array, float]:
    """Follow Algorithm 3 to the letter: signs are lost in step 1, and restored by z_1i in step 3.

    ``u_k = sum_ij sqrt(z_ki z_kj z_ij + z_kij^2 / 4) / sum_ij z_ij`` over i, j, k all different;
    a root of a negative number is taken as 0.
    """
    apart = ~np.eye(len(second), dtype=bool)
    triple = apart[:, :, None] & apart[:, None, :] & apart[None, :, :]
    inner = second[:, :, None] * second[:, None, :] * second[None, :, :] + third**2 / 4
    top = np.where(triple, np.sqrt(np.maximum(inner, 0.0)), 0.0).sum(axis=(1, 2))
    below = np.where(triple, second[None, :, :], 0.0).sum(axis=(1, 2))
    u = top / np.where(below == 0, np.inf, below)
    weight = float(np.where(triple, 2 * u[:, None, None] * second[None, :, :], 0.0).sum())
    if weight == 0 or u[0] == 0:
        raise ValueError(
            "Algorithm 3 divides by zero: no three columns vary together, or the first tells "
            'nothing; use estimator="aligned"'
        )
    s = float(np.clip(-np.where(triple, third, 0.0).sum() / weight, -MAX_SKEW, MAX_SKEW))
    sign = np.sign(second[0] / ((1 - s**2) * u[0]))
    sign[0] = np.sign(u[0])
    return abs(u) * sign, s


def spread(second: Array, u: Array, picked: NDArray[np.intp], s: float) -> Array:
    """Regress every feature on the picked ones: ``u_i = sum_j z_ij u_j / ((1-s^2) sum_j u_j^2)``.

    Linear, so that the values of a category still add up to zero.
    """
    link = (second[:, picked] != 0) @ u**2
    out: Array = second[:, picked] @ u / ((1 - s**2) * np.where(link > 0, link, 1.0))
    return out


def fit_of(task: Task, u: Array, s: float, whole: Stats) -> Fit:
    """Put the model of class 0 and class 1 together."""
    average = whole.sums[0] / whole.rows
    shift = np.stack([-(1 + s) * u, (1 - s) * u])
    means = np.stack([_shifted(task.schema, average, row) for row in shift])
    means, moved = project(task.schema, means, average, whole.rows)
    prior = np.array([(1 - s) / 2, (1 + s) / 2])
    virtual = task.smoothing.virtual(task.schema, whole, np.full((1, 2), 0.5))
    weights = weights_of(task.schema, means * (whole.rows * prior)[:, None], virtual)
    model = Model(prior, task.channel, weights, task.schema)
    objective = task.fold(model.expect, task.batches).loglik
    objective += model.log_prior(virtual, task.smoothing.classes)
    details = {"virtual": virtual}
    return Fit(model, objective, (objective,), details=details, projection=moved)


def _shifted(schema: Schema, average: Array, shift: Array) -> Array:
    """Add a shift of the features to mean statistics: the way back from features, (S,)."""
    parts, start = [], 0
    for group in schema.groups:
        old, family = average[group.span], group.family
        d = family.columns
        size = len(old) - d * isinstance(family, Bernoulli | Gaussian)
        delta = shift[start : start + size]
        start += size
        if isinstance(family, Bernoulli):
            parts.append(np.concatenate([old[:d], old[d:] + delta]))
        elif isinstance(family, Gaussian):
            parts.append(_shifted_reals(old, delta, d))
        else:
            parts.append(old + delta)
    return np.concatenate(parts)


def _shifted_reals(old: Array, delta: Array, d: int) -> Array:
    seen, first, second = np.split(old, 3)
    n = np.where(seen > 0, seen, 1.0)
    m = first / n
    v = np.maximum(second / n - m**2, 0.0)
    line = delta[:d] * np.sqrt(v)
    square = delta[d:] * v * np.sqrt(2.0) + 2 * m * line
    return np.concatenate([seen, first + line, second + square])


def _without_mirrors(basis: FeatureMap, schema: Schema) -> FeatureMap:
    """Keep one feature of each flag: the other one is its mirror image."""
    parts = []
    for group in schema.groups:
        d = group.family.columns
        size = len(group.family.owner) - d * isinstance(group.family, Gaussian)
        mirrored = (np.arange(size) < d) & isinstance(group.family, Bernoulli)
        parts.append(~mirrored)
    kept = np.flatnonzero(np.concatenate(parts)) if parts else np.zeros(0, np.intp)
    return FeatureMap(basis.of[:, kept], basis.owner[kept], basis.words)


def _flags(schema: Schema) -> NDArray[np.bool_]:
    """Tell which features are those of flags, (f,)."""
    parts = []
    for group in schema.groups:
        d = group.family.columns
        size = len(group.family.owner) - d * isinstance(group.family, Bernoulli | Gaussian)
        parts.append(np.full(size, isinstance(group.family, Bernoulli)))
    return np.concatenate(parts)


def _triples(basis: FeatureMap, batch: Batch, mean: Array, picked: NDArray[np.intp]) -> Triples:
    f = len(picked)
    total = np.zeros((f * f, f))
    for x, weight in feature_rows(basis, batch, rows=512):
        x = x[:, picked] - mean[picked]
        pairs = (x[:, :, None] * x[:, None, :]).reshape(len(x), f * f)
        total += pairs.T @ (x * weight[:, None])
    return Triples(total.reshape(f, f, f))


def _check_flags(schema: Schema, columns: int) -> None:
    flags = all(isinstance(group.family, Bernoulli) for group in schema.groups)
    if not flags or columns != sum(group.family.columns for group in schema.groups):
        raise ValueError(
            f"Algorithm 3 in print is for flags, {MAX_TRIPLED_FEATURES} at most: cut other columns "
            'into flags, or use estimator="aligned"'
        )


def _check(schema: Schema, basis: FeatureMap) -> None:
    for group in schema.groups:
        if not isinstance(group.family, Bernoulli | Categorical | Gaussian):
            raise ValueError(
                f"column {schema.columns[group.members[0]].name!r} holds counts or text, which "
                "the moments of three columns do not cover; use channel=unlabeled(2) with EM"
            )
    if basis.columns < 3:
        d = basis.columns
        seen = "X has 1 feature(s)" if d == 1 else f"X has {d} columns"
        raise ValueError(
            f"two classes without labels are told apart by three columns at least: {seen}"
        )
