"""The two classes of two mixtures, or of one without labels: unmixed, made a model, and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from misnomer.channel import Channel
from misnomer.families import Bernoulli, Categorical, Count, Gaussian
from misnomer.model import Model, weights_of
from misnomer.solvers.moments.products import (
    FeatureMap,
    SideSums,
    feature_map,
    feature_rows,
    products,
)
from misnomer.solvers.task import Details, Fit, Task
from misnomer.stats import Stats, Sums
from misnomer.table import Batch, Group, Schema

Array = NDArray[np.float64]


MIN_VARIANCE_SHARE = 0.05  # of the column's own: less than this is sampling noise


def unmix_components(minus: Array, plus: Array, alpha: float, beta: float) -> Array:
    """Solve ``plus = alpha P1 + (1 - alpha) P0`` and ``minus = beta P1 + (1 - beta) P0``.

    Returns P0 and P1 as rows, (2, S): equation (9) of Denis et al.

    Examples
    --------
    >>> unmix_components(np.array([0.34]), np.array([0.66]), 0.7, 0.3).round(12).tolist()
    [[0.1], [0.9]]
    """
    gap = alpha - beta
    return np.stack([alpha * minus - beta * plus, (1 - beta) * plus - (1 - alpha) * minus]) / gap


def project(schema: Schema, mean: Array, whole: Array, rows: float) -> tuple[Array, float]:
    """Move mean statistics to the nearest ones that some distribution has.

    Probabilities are floored at ``1 / (rows + 2)`` and made to sum to one again; variances are
    floored at a twentieth of the column's.

    Parameters
    ----------
    schema : Schema
        The columns.
    mean : (K, S) array
        Mean statistics of each class; unmixing may have pushed them out of range.
    whole : (S,) array
        Mean statistics of all rows.
    rows : float
        How many rows they rest on.

    Returns
    -------
    mean : (K, S) array
        Possible mean statistics.
    moved : float
        The largest change of a probability (of a variance, as a share of the column's).
    """
    moved = [0.0]

    def inside(group: Group) -> Array:
        out, change = _inside(group, mean[:, group.span], whole[group.span], 1.0 / (rows + 2.0))
        moved.append(change)
        return out

    return schema.each(inside), max(moved)


def _inside(group: Group, mean: Array, whole: Array, floor: float) -> tuple[Array, float]:
    family = group.family
    if isinstance(family, Gaussian):
        return _variances(mean, whole, floor)
    if isinstance(family, Bernoulli):
        seen = np.clip(mean[:, : family.columns], floor, 1.0)
        raw = mean[:, family.columns :] / seen
        p = np.clip(raw, floor, 1.0 - floor)
        return np.concatenate([seen, seen * p], axis=1), float(abs(p - raw).max(initial=0.0))
    if isinstance(family, Count):
        length = np.maximum(mean.sum(axis=1, keepdims=True), floor)
        raw = mean / length
        p = np.maximum(raw, floor / max(float(whole.sum()), 1.0))
        p = p / p.sum(axis=1, keepdims=True)
        return length * p, float(abs(p - raw).max(initial=0.0))
    assert isinstance(family, Categorical)
    return _shares(family, mean, floor)


def _shares(family: Categorical, mean: Array, floor: float) -> tuple[Array, float]:
    if not family.sizes:
        return mean, 0.0
    seen = np.clip(np.add.reduceat(mean, family.starts, axis=1), floor, 1.0)[:, family.owner]
    raw = mean / seen
    p = family.shares(np.maximum(raw, floor))
    return seen * p, float(abs(p - raw).max(initial=0.0))


def _variances(mean: Array, whole: Array, floor: float) -> tuple[Array, float]:
    seen, first, second = np.split(mean, 3, axis=1)
    seen = np.clip(seen, floor, 1.0)
    at, spread = first / seen, second / seen
    all_seen, all_first, all_second = np.split(whole, 3)
    n = np.where(all_seen > 0, all_seen, 1.0)
    own = np.maximum(all_second / n - (all_first / n) ** 2, 0.0)
    raw = spread - at**2
    v = np.maximum(raw, MIN_VARIANCE_SHARE * own)
    scale = np.where(own > 0, own, 1.0)
    moved = float((abs(v - raw) / scale).max(initial=0.0))
    return np.concatenate([seen, seen * at, seen * (v + at**2)], axis=1), moved


def permuted(model: Model, order: NDArray[np.intp]) -> Model:
    """List the classes in another order: the same model under other names."""
    channel = replace(
        model.channel,
        matrix=model.channel.matrix[:, order],
        free=model.channel.free[:, order],
        counts=model.channel.counts[:, order],
    )
    return replace(model, prior=model.prior[order], channel=channel, weights=model.weights[order])


def align_classes(model: Model) -> Model:
    """Permute the classes until the sum of the channel's diagonal is largest.

    A permutation of classes leaves the likelihood as it is, so that the data cannot choose; the
    assumption that most labels are right does. For two classes: flip rates add up to less than 1.

    Examples
    --------
    >>> from misnomer.channel import fixed
    >>> from misnomer.table import Schema
    >>> model = Model(
    ...     np.array([0.4, 0.6]), fixed([[0.1, 0.8], [0.9, 0.2]]), np.zeros((2, 0)), Schema(())
    ... )
    >>> align_classes(model).channel.matrix.tolist(), align_classes(model).prior.tolist()
    ([[0.8, 0.1], [0.2, 0.9]], [0.6, 0.4])
    """
    L, K = model.channel.matrix.shape
    if L != K:
        return model
    _, order = linear_sum_assignment(model.channel.matrix, maximize=True)
    straight = np.array_equal(order, np.arange(K))
    return model if straight else permuted(model, order.astype(np.intp))


def dominant(channel: Channel) -> bool:
    """Tell whether each class is given its own label more often than any other."""
    matrix = channel.matrix
    return bool(np.all(np.diagonal(matrix) >= matrix.max(axis=0, initial=0.0) - 1e-12))


MIN_COVARIANCE = 1e-12  # a covariance of features of the order of 1 that is none
MAX_SKEW = 0.999  # s of 1 would leave one class without rows
MAX_TRIPLED_FEATURES = 48  # features whose triples are formed: those that speak loudest


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
    basis = _without_mirrors(feature_map(task.schema, whole.sums[0], whole.rows))
    _check(task.schema, basis)
    table = task.fold(
        lambda batch: products(basis, batch, np.zeros(len(batch), np.int32), 1), task.batches
    )
    mean, second = central(table, basis.owner)
    sign, loading = loadings(second)
    picked = np.sort(np.argsort(-loading, kind="stable")[:MAX_TRIPLED_FEATURES])
    third: Sums = task.fold(lambda batch: _triples(basis, batch, mean, picked), task.batches)
    pairs = second[np.ix_(picked, picked)]
    triples = third.arrays[0] / whole.rows
    if estimator == "literal":
        _check_flags(basis, len(picked))
        return fit_of(task, basis, *as_printed(pairs, triples), whole)
    size, s = solve(pairs, triples, sign[picked], basis.owner[picked])
    u = spread(second, size * sign[picked], picked, s)
    flag = np.isin(np.arange(len(u)), picked) & basis.flags
    u[flag] = (size * sign[picked])[flag[picked]]  # the paper's own formula
    return fit_of(task, basis, u, s, whole)


def central(table: SideSums, owner: NDArray[np.intp]) -> tuple[Array, Array]:
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
    z2 = second * np.outer(sign, sign)
    z3 = third * sign[:, None, None] * sign[None, :, None] * sign[None, None, :]
    u, weight, total = _over_triples(z2, z3, abs(z2), owner)
    if weight <= 0:
        raise ValueError(
            "the moment system of three columns has no real solution: no three columns vary "
            "together, so nothing tells two classes apart; give labels, or add columns"
        )
    return u, float(np.clip(-total / weight, -MAX_SKEW, MAX_SKEW))


def _over_triples(
    z2: Array, z3: Array, divisor: Array, owner: NDArray[np.intp]
) -> tuple[Array, float, float]:
    """Sum over all triples of different columns: u, what divides s, and z_ijk."""
    apart = owner[:, None] != owner[None, :]
    triple = apart[:, :, None] & apart[:, None, :] & apart[None, :, :]
    inner = z2[:, :, None] * z2[:, None, :] * z2[None, :, :] + z3**2 / 4
    top = np.where(triple, np.sqrt(np.maximum(inner, 0.0)), 0.0).sum(axis=(1, 2))
    below = np.where(triple, divisor[None, :, :], 0.0).sum(axis=(1, 2))
    u = top / np.where(below == 0, np.inf, below)
    weight = np.where(triple, 2 * u[:, None, None] * divisor[None, :, :], 0.0).sum()
    return u, float(weight), float(np.where(triple, z3, 0.0).sum())


def as_printed(second: Array, third: Array) -> tuple[Array, float]:
    """Follow Algorithm 3 to the letter: signs are lost in step 1, and restored by z_1i in step 3.

    ``u_k = sum_ij sqrt(z_ki z_kj z_ij + z_kij^2 / 4) / sum_ij z_ij`` over i, j, k all different;
    a root of a negative number is taken as 0.
    """
    u, weight, total = _over_triples(second, third, second, np.arange(len(second)))
    if weight == 0 or u[0] == 0:
        raise ValueError(
            "Algorithm 3 divides by zero: no three columns vary together, or the first tells "
            'nothing; use estimator="aligned"'
        )
    s = float(np.clip(-total / weight, -MAX_SKEW, MAX_SKEW))
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


def fit_of(task: Task, basis: FeatureMap, u: Array, s: float, whole: Stats) -> Fit:
    """Put the model of class 0 and class 1 together."""
    average = whole.sums[0] / whole.rows
    means = average + np.outer([-(1 + s), 1 - s], _of_statistics(task.schema, basis, u))
    means, moved = project(task.schema, means, average, whole.rows)
    prior = np.array([(1 - s) / 2, (1 + s) / 2])
    virtual = task.smoothing.virtual(task.schema, whole, np.full((1, 2), 0.5))
    weights = weights_of(task.schema, means * (whole.rows * prior)[:, None], virtual)
    model = Model(prior, task.channel, weights, task.schema)
    objective = task.fold(model.expect, task.batches).loglik
    objective += model.log_prior(virtual, task.smoothing.classes)
    details = Details(virtual=virtual)
    return Fit(model, objective, (objective,), details=details, projection=moved)


def _of_statistics(schema: Schema, basis: FeatureMap, u: Array) -> Array:
    """Turn a shift of features into one of mean statistics, (S,): which cells are seen stays."""
    families = [group.family for group in schema.groups]
    count = [family.columns * isinstance(family, Bernoulli | Gaussian) for family in families]
    pairs = zip(families, count, strict=True)
    free = np.concatenate([np.arange(len(family.owner)) >= d for family, d in pairs])
    out = np.zeros(len(free))
    out[free] = np.linalg.solve(basis.of[np.flatnonzero(free)].T.toarray(), u)
    return out


def _without_mirrors(basis: FeatureMap) -> FeatureMap:
    """Keep one feature of each flag: the other one is its mirror image."""
    kept = np.flatnonzero(~basis.mirrors)
    return replace(
        basis,
        of=basis.of[:, kept],
        owner=basis.owner[kept],
        flags=basis.flags[kept],
        mirrors=basis.mirrors[kept],
    )


def _triples(basis: FeatureMap, batch: Batch, mean: Array, picked: NDArray[np.intp]) -> Sums:
    """Sum ``w (x - mean)_i (x - mean)_j (x - mean)_k`` over rows, (f, f, f)."""
    f = len(picked)
    total = np.zeros((f * f, f))
    for _, features, weight in feature_rows(basis, batch, rows=512):
        x = features.toarray()[:, picked] - mean[picked]
        pairs = (x[:, :, None] * x[:, None, :]).reshape(len(x), f * f)
        total += pairs.T @ (x * weight[:, None])
    return Sums((total.reshape(f, f, f),))


def _check_flags(basis: FeatureMap, tripled: int) -> None:
    if not basis.flags.all() or tripled < len(basis.flags):
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
