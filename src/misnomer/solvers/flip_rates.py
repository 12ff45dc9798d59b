"""NB-CCCN: flip rates of two classes in closed form, from means and products of two columns.

Rows labeled + are a mixture ``alpha P1 + (1 - alpha) P0``, rows labeled - are
``beta P1 + (1 - beta) P0``. For functions of two different columns, with
``C`` the product of the differences of their means between + and -, D and E their covariances
within + and within -,

    (alpha - beta)^2 D = alpha (1 - alpha) C        (alpha - beta)^2 E = beta (1 - beta) C

How sure these are: the sums behind them add, so the sums without a part of the rows are the total
less that part, at no further pass. With G parts and estimates e_g,

    standard error^2 = (G - 1) / G sum_g (e_g - mean e)^2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.model import Model, weights_of
from misnomer.solvers.moments import (
    FeatureMap,
    SideSums,
    contrast,
    feature_map,
    pair_sums,
    pairs_of,
    products,
    project,
    unmix_components,
)
from misnomer.solvers.task import Details, Fit, Task, tally
from misnomer.stats import Stats
from misnomer.table import Batch

Array = NDArray[np.float64]


MAX_PRODUCT_FEATURES = 4000  # features whose products fit in memory


@dataclass(frozen=True)
class Mixture:
    """Shares of true class 1 among the rows labeled + (alpha) and - (beta)."""

    alpha: float
    beta: float
    clamped: float = 0.0  # how far alpha (1 - alpha) or beta (1 - beta) lay outside [0, 1/4]

    def prior(self, labeled: float) -> float:
        """Compute ``P(true 1) = beta + (alpha - beta) P(label +)``: equation (8)."""
        return self.beta + (self.alpha - self.beta) * labeled

    def flip_rates(self, labeled: float) -> tuple[float, float]:
        """Compute P(label + | true 0) and P(label - | true 1): equation (7).

        Examples
        --------
        >>> tuple(round(rate, 6) for rate in Mixture(0.7, 0.3).flip_rates(0.5))
        (0.3, 0.3)
        """
        p = self.prior(labeled)
        if min(p, 1.0 - p) < 1e-12:
            gone = 1 if p < 0.5 else 0
            raise ValueError(
                f"the closed form leaves no row to true class {gone}: that class vanishes; "
                'drop its label, or use solver="em" with smoothing'
            )
        return (1 - self.alpha) * labeled / (1 - p), self.beta * (1 - labeled) / p


@dataclass(frozen=True, eq=False)
class ClosedForm(Fit):
    """A fit in closed form, the mixtures behind it, and how sure they are."""

    mixture: Mixture = field(kw_only=True)  # alpha and beta
    # of "alpha", "beta", "prior" and "flip_rates", where they are known
    standard_errors: Mapping[str, Any] | None = field(default=None, kw_only=True)


def moments(task: Task, estimator: str = "least-squares") -> ClosedForm:
    """Find flip rates, prior and columns of two classes in closed form: two passes and a look.

    Parameters
    ----------
    task : Task
        Rows with two labels. Rows without a label are left out; trusted rows only add to the
        columns of their class.
    estimator : {"least-squares", "literal", "equation-13"}
        "least-squares" regresses D and E on C over all pairs; "literal" is (18) and (19) in print;
        "equation-13" takes beta from (18) and (15), and alpha from (13).

    Returns
    -------
    ClosedForm
        Least squares adds standard errors.
    """
    _check(task, estimator)
    sides = task.fold(lambda batch: tally(batch, _side(batch), 2), task.batches)
    if min(sides.mass) <= 0:
        raise ValueError("the closed form needs rows of both labels: one label has none")
    total = sides.sums.sum(axis=0)
    basis = feature_map(task.schema, total, sides.rows)
    if estimator != "least-squares":
        solve = literal if estimator == "literal" else equation_13
        return fit_of(task, sides, solve(basis, _products(task, basis)))
    u = contrast(basis, sides.sums[1] / sides.mass[1], sides.sums[0] / sides.mass[0])
    sums = task.fold(
        lambda batch: pair_sums(basis, u, batch, _part(batch), 2 * JACKKNIFE_PARTS), task.batches
    )
    parts = by_part(sums)
    fit = fit_of(task, sides, least_squares(basis, reduce(add, parts)))
    errors = jackknife(parts, lambda sums: _unknowns(least_squares(basis, sums), sums))
    named = {"alpha": errors[0], "beta": errors[1], "prior": errors[2], "flip_rates": errors[3:]}
    return replace(fit, standard_errors=named)


def least_squares(basis: FeatureMap, sums: SideSums) -> Mixture:
    """Regress D and E on C: ``r = sum C D / sum C^2``, then solve for alpha and beta."""
    minus, plus = sums.first / sums.mass[:, None]
    square = float(pairs_of(plus - minus, basis.words))
    check_informative(basis, plus - minus, square)
    D = sums.second[1] / sums.mass[1] - pairs_of(plus, basis.words)
    E = sums.second[0] / sums.mass[0] - pairs_of(minus, basis.words)
    rD, rE = max(0.0, float(D) / square), max(0.0, float(E) / square)
    gap = 1.0 / ((1 + rD + rE) ** 2 - 4 * rD * rE)  # (alpha - beta)^2
    return roots(rD * gap, rE * gap, gap)


def literal(basis: FeatureMap, table: SideSums) -> Mixture:
    """Compute ``sum C D / sum [(C + D + E)^2 - 4 D E]`` and the same with E: (18) and (19)."""
    C, D, E = _cells(basis, table)
    below = _denominator(C, D, E)
    return roots(float(C @ D) / below, float(C @ E) / below, float(C @ C) / below)


def equation_13(basis: FeatureMap, table: SideSums) -> Mixture:
    """Take beta from (18) and (15), and alpha from (13), each cell weighted by its C.

    Of the two admissible pairs, that with alpha > beta is taken: flip rates that add up to less
    than one.
    """
    C, D, E = _cells(basis, table)
    of_beta = float(C @ E) / _denominator(C, D, E)
    inside = float(np.clip(of_beta, 0.0, 0.25))
    half = float(np.sqrt(0.25 - inside))
    sums = float(C @ C), float(C @ D), float(C @ E)
    pairs = [(alpha_given_beta(beta, *sums), beta) for beta in (0.5 - half, 0.5 + half)]
    alpha, beta = max(pairs, key=lambda pair: pair[0] - pair[1])
    kept = float(np.clip(alpha, 0.0, 1.0))
    if kept - beta < 1e-6:
        raise ValueError(
            f"(13) gives alpha = {alpha:.3g} for beta = {beta:.3g}: no pair has alpha > beta; "
            'use estimator="least-squares"'
        )
    return Mixture(kept, beta, max(abs(kept - alpha), abs(inside - of_beta)))


def alpha_given_beta(beta: float, C: float, D: float, E: float) -> float:
    """Compute ``alpha = beta [(1 - beta)(C + D) - beta E] / (E (1 - 2 beta))``: equation (13).

    At beta = 0 and beta = 1, where E = 0, it is (12). At beta = 1/2 it is 0/0.

    Examples
    --------
    >>> round(alpha_given_beta(0.2, C=0.25, D=0.21, E=0.16), 6)
    0.7
    """
    if abs(1 - 2 * beta) < 1e-9:
        raise ValueError('(13) is 0/0 at beta = 1/2; use estimator="least-squares"')
    if min(beta, 1 - beta) < 1e-6:
        return C / (C + D) if beta < 0.5 else D / (C + D)
    return beta * ((1 - beta) * (C + D) - beta * E) / (E * (1 - 2 * beta))


def _cells(basis: FeatureMap, table: SideSums) -> tuple[Array, Array, Array]:
    """List C, D and E of every pair of features of different columns."""
    mean = table.first / table.mass[:, None]
    E, D = table.second / table.mass[:, None, None] - np.einsum("ri,rj->rij", mean, mean)
    c = mean[1] - mean[0]
    C = np.outer(c, c)
    other_column = basis.owner[:, None] != basis.owner[None, :]
    C, D, E = C[other_column], D[other_column], E[other_column]
    by_column = np.bincount(basis.owner, c**2, basis.columns).astype(np.float64)
    check_informative(basis, by_column, float(C @ C))
    return C, D, E


def _denominator(C: Array, D: Array, E: Array) -> float:
    below = float(np.sum((C + D + E) ** 2 - 4 * D * E))
    if below <= 0:
        raise ValueError(
            "the moment system (18)-(19) has no real solution: its denominator is "
            f'{below:.3g}; use estimator="least-squares"'
        )
    return below


def roots(of_alpha: float, of_beta: float, gap: float) -> Mixture:
    """Solve ``alpha (1 - alpha) = of_alpha`` and the same for beta, with alpha > beta.

    Two pairs are left; the one whose ``(alpha - beta)^2`` is nearest ``gap`` is taken.

    Examples
    --------
    >>> mixture = roots(0.21, 0.21, 0.16)
    >>> round(mixture.alpha, 6), round(mixture.beta, 6)
    (0.7, 0.3)
    """
    a, b = (float(np.clip(x, 0.0, 0.25)) for x in (of_alpha, of_beta))
    half_a, half_b = np.sqrt(0.25 - a), np.sqrt(0.25 - b)
    same = 1.0 if half_a > half_b else -1.0  # both roots on one side of 1/2
    pairs = [(0.5 + half_a, 0.5 - half_b), (0.5 + same * half_a, 0.5 + same * half_b)]
    pairs = [pair for pair in pairs if pair[0] - pair[1] > 1e-6]
    if not pairs:
        raise ValueError(
            "the moment system has no real solution with different shares of the classes under "
            "the two labels: the labels say nothing about the columns, collect more rows"
        )
    alpha, beta = min(pairs, key=lambda pair: abs((pair[0] - pair[1]) ** 2 - gap))
    return Mixture(float(alpha), float(beta), max(abs(a - of_alpha), abs(b - of_beta)))


def check_informative(basis: FeatureMap, by_column: Array, square: float) -> None:
    """Say which condition fails when no two columns differ between the two samples."""
    telling = int(np.sum(abs(by_column) > 1e-12))
    if square > 1e-24 and (telling > 1 or basis.words.any()):
        return
    d = basis.columns
    seen = "X has 1 feature(s)" if d == 1 else f"{telling} of {d} columns differ"
    raise ValueError(
        f"the closed form needs two columns whose means differ between the two labels, since it "
        f'compares pairs of columns: {seen}; add columns, or use solver="em"'
    )


def fit_of(task: Task, sides: Stats, mixture: Mixture) -> ClosedForm:
    """Unmix the columns, and put the model together."""
    labeled = float(sides.mass[1] / sides.rows)
    p, rates = mixture.prior(labeled), mixture.flip_rates(labeled)
    means = sides.sums / sides.mass[:, None]
    mean = unmix_components(means[0], means[1], mixture.alpha, mixture.beta)
    mean, moved = project(task.schema, mean, sides.sums.sum(axis=0) / sides.rows, sides.rows)
    prior = np.array([1 - p, p])
    trusted = task.fold(lambda batch: tally(batch, batch.given - 3, 2), task.batches)
    shares = np.array([[1 - mixture.beta, mixture.beta], [1 - mixture.alpha, mixture.alpha]])
    virtual = task.smoothing.virtual(task.schema, task.by_label, shares)
    sums = mean * (sides.rows * prior)[:, None] + trusted.sums
    wrong = np.clip(rates, 0.0, 1.0)
    matrix = np.array([[1 - wrong[0], wrong[1]], [wrong[0], 1 - wrong[1]]])
    channel = replace(task.channel, matrix=matrix)
    model = Model(prior, channel, weights_of(task.schema, sums, virtual), task.schema)
    objective = task.fold(model.expect, task.batches).loglik
    objective += model.log_prior(virtual, task.smoothing.classes)
    return ClosedForm(
        model,
        objective,
        (objective,),
        details=Details(virtual=virtual),
        projection=moved,
        mixture=mixture,
    )


def _side(batch: Batch) -> NDArray[np.int32]:
    """Keep labels 0 and 1; a missing label (2) and a trusted row (3, 4) are left out."""
    return np.where(batch.given < 2, batch.given, -1).astype(np.int32)


def _part(batch: Batch) -> NDArray[np.int32]:
    """Number the labels 0 and 1 of every part of the rows apart."""
    side = _side(batch)
    return np.where(side < 0, -1, side + 2 * (np.arange(len(side)) % JACKKNIFE_PARTS)).astype(
        np.int32
    )


def _unknowns(mixture: Mixture, sums: SideSums) -> Array:
    """List alpha, beta, P(true 1) and both flip rates."""
    labeled = float(sums.mass[1] / sums.mass.sum())
    rates = mixture.flip_rates(labeled)
    return np.array([mixture.alpha, mixture.beta, mixture.prior(labeled), *rates])


def _products(task: Task, basis: FeatureMap) -> SideSums:
    if len(basis.owner) > MAX_PRODUCT_FEATURES or basis.words.any():
        raise ValueError(
            f"the literal estimator needs a table of {len(basis.owner)} x {len(basis.owner)} "
            'products, and no text or counts; use estimator="least-squares"'
        )
    return task.fold(lambda batch: products(basis, batch, _side(batch), 2), task.batches)


def _check(task: Task, estimator: str) -> None:
    if estimator not in ("least-squares", "literal", "equation-13"):
        raise ValueError(
            f'estimator must be "least-squares", "literal" or "equation-13", not {estimator!r}'
        )
    L, K = task.channel.matrix.shape
    if (L, K) != (2, 2):
        raise ValueError(
            f"the closed form is for two labels of two classes, not {L} labels of {K} classes: "
            'use INB, or NoisyLabelNB(solver="em")'
        )
    if not task.channel.free.all():
        raise ValueError(
            "the closed form estimates both flip rates, but the channel fixes some cells; "
            'use solver="em", or PUNB where only positives are labeled'
        )


JACKKNIFE_PARTS = 20  # of the rows; each is left out once


def by_part(sums: SideSums) -> list[SideSums]:
    """Take the parts apart, (2 G, ...) -> G times (2, ...): side is the fastest index."""
    parts = [values.reshape(-1, 2, *values.shape[1:]) for values in sums.values]
    return [SideSums(*part) for part in zip(*parts, strict=True)]


def jackknife(parts: Sequence[SideSums], estimate: Callable[[SideSums], Array]) -> Array:
    """Compute the standard error of each number of an estimate; infinite where it fails.

    Examples
    --------
    >>> rng, one = np.random.default_rng(0), np.ones(2)
    >>> drawn = rng.normal(size=(JACKKNIFE_PARTS, 2, 1))
    >>> parts = [SideSums(one, first, one) for first in drawn]
    >>> error = jackknife(parts, lambda sums: sums.first[:, 0] / sums.mass)
    >>> by_hand = drawn[:, :, 0].std(axis=0, ddof=1) / np.sqrt(JACKKNIFE_PARTS)
    >>> np.allclose(error, by_hand)
    True
    """
    total = reduce(add, parts)
    try:
        left = np.stack([estimate(total - part) for part in parts if part.mass.sum() > 0])
    except ValueError:  # without some part the form has no solution: nothing is sure
        return np.full(len(estimate(total)), np.inf)
    G = len(left)
    error: Array = np.sqrt((G - 1) / G * np.sum((left - left.mean(axis=0)) ** 2, axis=0))
    return error
