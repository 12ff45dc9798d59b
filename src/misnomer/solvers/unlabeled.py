"""Two classes where labels are missing: of all rows, or of all but some positives.

Without labels, three columns that vary together tell the classes apart: their moments say how
common each is and how far apart the means lie.

With some positives, the population is ``p P1 + (1 - p) P0`` and the labeled rows are P1. With C the
product of the differences of two columns' means between the two, and D their covariance in the
population, ``p (1 - p) C = (1 - p)^2 D`` in every cell. Weighting each cell by C gives

    p = sum C D / sum (C D + C^2)

Equation (17) in print exchanges two products, and its sums over all values are 0/0: "literal" is
that formula with the first value of every column left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import positive_unlabeled
from misnomer.families import Bernoulli, Categorical, Gaussian
from misnomer.model import Model, weights_of
from misnomer.solvers.em import best_of, bounded, climb
from misnomer.solvers.flip_rates import check_informative
from misnomer.solvers.moments import (
    FeatureMap,
    SideSums,
    contrast,
    feature_map,
    feature_rows,
    pair_sums,
    pairs_of,
    products,
    project,
    unmix_components,
)
from misnomer.solvers.task import Details, Fit, Task, tally
from misnomer.stats import Stats, Sums
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]

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
    _check_columns(task.schema, basis)
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
    other_column = owner[:, None] != owner[None, :]
    triple = other_column[:, :, None] & other_column[:, None, :] & other_column[None, :, :]
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


def _check_columns(schema: Schema, basis: FeatureMap) -> None:
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


#: Share of the positives that a two-sample design labels: none, as far as the population goes.
LABELED_SHARE_TWO_SAMPLE = 1e-12
MIN_START_SHARE = 0.1  # EM starts no nearer to a class without rows, which it would never leave
START_SHARES = (0.5, 0.9)  # P(positive) of the further starts of EM


def closed_form(task: Task, design: str, estimator: str = "least-squares") -> Fit:
    """Find P(positive) in the population and the columns of both classes: two passes and a look.

    Parameters
    ----------
    task : Task
        Label 1 is positive, label 0 or none is unlabeled.
    design : {"two-sample", "one-sample"}
        The positives are a sample of their own, and the unlabeled rows the population; or the
        population is all rows, some of whose positives were labeled.
    estimator : {"least-squares", "literal"}
        Weight each cell by C, or sum (17) as printed.
    """
    sides, share = _closed_form(task, design, estimator)
    return _at(task, design, sides, share, share)


def _closed_form(task: Task, design: str, estimator: str = "least-squares") -> tuple[Stats, float]:
    sides = task.fold(lambda batch: tally(batch, _side(batch), 2), task.batches)
    _check_positives(sides, design)
    basis = feature_map(task.schema, sides.sums.sum(axis=0), sides.rows)
    share = share_as_printed if estimator == "literal" else positive_share
    rare = 1 / (_population(sides, design).rows + 2)
    return sides, float(np.clip(share(task, basis, sides, design), rare, 1 - rare))


def _at(task: Task, design: str, sides: Stats, share: float, p: float) -> Fit:
    """Take p as P(positive), and find the columns of the negatives by unmixing."""
    population = _population(sides, design)
    means = np.stack([population.sums[0] / population.rows, sides.sums[1] / sides.mass[1]])
    # Labeled rows are pure: alpha = 1, beta = p.
    mean = unmix_components(means[0], means[1], 1.0, p)
    mean, moved = project(task.schema, mean, means[0], population.rows)
    prior = np.array([1 - p, p])
    labeled = min(1.0 - 1e-9, sides.mass[1] / max(population.rows * p, 1e-300))
    channel = positive_unlabeled(labeled if design == "one-sample" else LABELED_SHARE_TWO_SAMPLE)
    channel = replace(channel, classes=task.channel.classes, labels=task.channel.labels)
    virtual = task.smoothing.virtual(task.schema, population, prior[None, :])
    sums = mean * (population.rows * prior)[:, None]
    model = Model(prior, channel, weights_of(task.schema, sums, virtual), task.schema)
    objective = model.log_prior(virtual, task.smoothing.classes)
    details = Details(virtual=virtual)
    return Fit(model, objective, (objective,), details=details, projection=moved)


def positive_share(task: Task, basis: FeatureMap, sides: Stats, design: str) -> float:
    """Compute ``p = sum C D / sum (C D + C^2)`` over all pairs of columns."""
    population = _population(sides, design)
    u = contrast(basis, sides.sums[1] / sides.mass[1], population.sums[0] / population.rows)
    sums = task.fold(lambda batch: pair_sums(basis, u, batch, _side(batch), 2), task.batches)
    positive, mean, pairs = _averages(sums, design)
    square = float(pairs_of(positive - mean, basis.words))
    check_informative(basis, positive - mean, square)
    covariance = float(pairs) - float(pairs_of(mean, basis.words))
    return covariance / (covariance + square) if covariance > 0 else 0.0


def share_as_printed(task: Task, basis: FeatureMap, sides: Stats, design: str) -> float:
    """Compute (17), without the first value of each column.

    ``sum (P_ij - Q_i Q_j) / sum (P_ij + P_i P_j - P_i Q_j - Q_i P_j)``, P of the population and Q
    of the positives. Right would be ``P_i P_j`` above and ``Q_i Q_j`` below.
    """
    table = task.fold(lambda batch: products(basis, batch, _side(batch), 2), task.batches)
    Q, P, both = _averages(table, design)
    first = np.zeros(len(basis.owner), bool)
    first[np.unique(basis.owner, return_index=True)[1]] = True
    used = (basis.owner[:, None] != basis.owner[None, :]) & ~first[:, None] & ~first[None, :]
    above = float((both - np.outer(Q, Q))[used].sum())
    mixed = np.outer(P, Q)
    below = float((both + np.outer(P, P) - mixed - mixed.T)[used].sum())
    if below == 0:
        raise ValueError('(17) in print is 0/0 here; use estimator="closed-form"')
    return above / below


def _averages(sums: SideSums, design: str) -> tuple[Array, Array, Array]:
    """Average the features of the positives; and those of the population, and their products."""
    whole = slice(0, 1 if design == "two-sample" else 2)
    mass, first, second = (values[whole].sum(axis=0) for values in sums.values)
    return sums.first[1] / sums.mass[1], first / mass, second / mass


def em_from_closed_form(task: Task, design: str) -> Fit:
    """Run EM from the closed form and from two other shares of positives; keep the best end.

    The likelihood of a two-sample design is that of a one-sample design whose labeling rate is
    free, so EM is the same; only then is the prior that of the unlabeled rows. Where negatives
    are rare, both samples look alike, and the closed form may say 0 instead of 1: likelihood
    tells these ends apart.
    """
    task = bounded(task)
    sides, share = _closed_form(task, design)
    coded = replace(task, batches=[_coded(batch) for batch in task.batches])
    shares = dict.fromkeys(
        [float(np.clip(share, MIN_START_SHARE, 1 - MIN_START_SHARE)), *START_SHARES]
    )
    best = best_of(_climb(coded, design, _at(task, design, sides, share, p)) for p in shares)
    return best if design == "one-sample" else replace(best, model=_of_unlabeled(best.model))


def _climb(coded: Task, design: str, start: Fit) -> Fit:
    """Run EM on all rows, whose prior is not that of the unlabeled ones in a two-sample design."""
    positives, rows = coded.by_label.mass[1], coded.whole.rows
    p = float(start.model.prior[1])
    if design == "two-sample":
        p = (positives + p * (rows - positives)) / rows
    labeled = float(np.clip(positives / (rows * p), 1e-9, 1 - 1e-9))
    channel = replace(start.model.channel, matrix=positive_unlabeled(labeled).matrix)
    model = replace(start.model, prior=np.array([1 - p, p]), channel=channel)
    return climb(coded, model, start.virtual)


def _of_unlabeled(model: Model) -> Model:
    """Turn the prior of all rows into that of the unlabeled ones, which then say nothing."""
    prior = model.channel.reverse(model.prior)[0]
    channel = replace(model.channel, matrix=positive_unlabeled(LABELED_SHARE_TWO_SAMPLE).matrix)
    return replace(model, prior=prior, channel=channel)


def _population(sides: Stats, design: str) -> Stats:
    if design == "two-sample":
        return Stats(sides.joint[:1, :1], sides.sums[:1])
    return Stats(np.array([[sides.rows]]), sides.sums.sum(axis=0, keepdims=True))


def _side(batch: Batch) -> NDArray[np.int32]:
    """Positive (1) or not known to be (0); a row trusted to be positive is positive."""
    return ((batch.given == 1) | (batch.given == 4)).astype(np.int32)


def _coded(batch: Batch) -> Batch:
    """Let a missing label be what it is here: not labeled positive."""
    return batch.judged_by(_side(batch))


def _check_positives(sides: Stats, design: str) -> None:
    if design not in ("two-sample", "one-sample"):
        raise ValueError(f'design must be "two-sample" or "one-sample", not {design!r}')
    if sides.mass[1] <= 0:
        raise ValueError(
            "no row is labeled positive (1): positive-unlabeled learning needs some positives"
        )
    if sides.mass[0] <= 0:
        raise ValueError(
            "every row is labeled positive: positive-unlabeled learning needs unlabeled rows (0)"
        )
