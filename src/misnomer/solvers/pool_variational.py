"""Variational Bayes of the joint model, as an explanation among others.

Its rows count for themselves and so hold to their labels; where columns repeat each other that is
a virtue, for the joint likelihood would carry them off to clusters of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from misnomer.families import Bernoulli, Categorical, Gaussian
from misnomer.kernels.reference import softmax
from misnomer.solvers.dirichlet import LEAST
from misnomer.solvers.pool_collapsed import with_prior
from misnomer.solvers.pool_generative import begun, cross_fitted
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source, class_sums, virtual_of
from misnomer.table import Group

Array = NDArray[np.float64]

_ROUNDS, _CROSS_ROUNDS, _TOL = 40, 10, 1e-3


def variational(rows: Rows, channel: Array) -> tuple[Source, Array]:
    """Run on all rows, then go on for a while without each fold and score that fold.

    Returns
    -------
    source : Source
        Scores from posterior means.
    share : (n, K) array
        P(true | x, y) of all rows, by the run on all of them.
    """
    share = expected(rows, begun(rows, channel), slice(None), _ROUNDS)

    def again(use: Any) -> Array:
        return expected(rows, share[use], use, _CROSS_ROUNDS)

    return cross_fitted(rows, share, again, "variational"), share


def expected(rows: Rows, share: Array, use: Any, rounds: int) -> Array:
    """Go round: shares to expected parameters, those to shares; only of the rows in use."""
    stats, weight, hard = rows.stats[use], rows.weight[use], rows.hard[use]
    labeled, trusted = rows.label[use] >= 0, rows.trusted[use]
    free = (labeled & ~trusted)[:, None]
    for _ in range(rounds):
        counted = share * weight[:, None]
        mass, sums = counted.sum(axis=0), class_sums(stats, counted)
        virtual = virtual_of(rows, sums, mass)
        prior = digamma(mass + 1.0) - digamma(mass.sum() + len(mass))
        scores = stats @ expected_weights(rows, sums, virtual).T + prior
        table = expected_channel(hard.T @ (counted * free))
        fresh = softmax(scores + np.where(labeled[:, None], hard @ table, 0.0))[0]
        fresh = np.where(trusted[:, None], hard, fresh)
        moved = float(np.abs(fresh - share).mean())
        share = fresh
        if moved < _TOL:
            break
    return share


def expected_weights(rows: Rows, sums: Array, virtual: Array) -> Array:
    """Compute the weights ``E log p`` under the Dirichlet posteriors of the columns, (K, S).

    Real columns keep their point estimates.
    """

    def part(group: Group) -> Array:
        own, prior = sums[:, group.span], virtual[:, group.span]
        if isinstance(group.family, Gaussian):
            return group.family.weights(own, prior)
        total = np.maximum(own + prior, LEAST)
        if isinstance(group.family, Bernoulli):
            seen, on = np.split(total, 2, axis=1)
            off = digamma(np.maximum(seen - on, LEAST)) - digamma(seen)
            return np.concatenate([off, digamma(on) - digamma(seen) - off], axis=1)
        if isinstance(group.family, Categorical):
            mass = np.add.reduceat(total, group.family.starts, axis=1)[:, group.family.owner]
        else:
            mass = total.sum(axis=1, keepdims=True)
        return np.asarray(digamma(total) - digamma(mass))

    return rows.schema.each(part)


def expected_channel(joint: Array) -> Array:
    """Compute E log P(given | true) of expected (given, true) weights, (K, K)."""
    cells = with_prior(joint)
    return np.asarray(digamma(cells) - digamma(cells.sum(axis=0)))
