"""Positive and unlabeled rows: P(positive) from pairs of columns, then the negatives by unmixing.

The population is ``p P1 + (1 - p) P0`` and the labeled positives are P1. With C the product of
the differences of two columns' means between the two, and D their covariance in the population,
``p (1 - p) C = (1 - p)^2 D`` in every cell. Weighting each cell by C gives

    p = sum C D / sum (C D + C^2)

Equation (17) in print exchanges two products, and its sums over all values are 0/0: "literal" is
that formula with the first value of every column left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import positive_unlabeled
from misnomer.model import Model, weights_of
from misnomer.solvers.em import best_of, bounded, climb
from misnomer.solvers.moments.components import project, unmix_components
from misnomer.solvers.moments.flip_rates import check_informative
from misnomer.solvers.moments.products import (
    FeatureMap,
    SideSums,
    contrast,
    feature_map,
    pair_sums,
    pairs_of,
    products,
)
from misnomer.solvers.task import Details, Fit, Task, tally
from misnomer.stats import Stats
from misnomer.table import Batch

Array = NDArray[np.float64]

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
    _check(sides, design)
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


def _check(sides: Stats, design: str) -> None:
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
