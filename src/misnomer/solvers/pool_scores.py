"""Naive Bayes scores of rows that had no part in the counts behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.model import weights_of
from misnomer.solvers.pool_rows import Rows
from misnomer.stats import Stats

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Source:
    """Scores ``t(x) . weights[k] + bias[k]`` from counts.

    Attributes
    ----------
    scores : (n, K) array
        Of the training rows, out of fold, centered.
    weights, bias : (K, S) and (K,) arrays
        From the counts of all rows, centered.
    name : str
        What was counted.
    chains : (c, n, K) array, or None
        Of shared-out rows, scores without the labels of each fold, and with all labels.
    """

    scores: Array
    weights: Array
    bias: Array
    name: str
    chains: Array | None = None


def centered(scores: Array) -> Array:
    """Take off the mean over the classes (the last axis)."""
    return scores - scores.mean(axis=-1, keepdims=True)


def class_sums(stats: object, share: Array) -> Array:
    """Share the statistics out over the classes, (K, S)."""
    return np.asarray((stats.T @ share).T)  # type: ignore[attr-defined]


def out_of_fold(rows: Rows, share: Array, name: str = "given") -> Source:
    """Score each row by the sums of the other folds: count per fold once, then subtract.

    Parameters
    ----------
    rows : Rows
        The rows.
    share : (n, K) array
        How much of each row counts for each class, weights included.
    name : str
        What is counted.
    """
    parts = np.stack([class_sums(rows.stats[fold], share[fold]) for fold in rows.folds])
    masses = np.stack([share[fold].sum(axis=0) for fold in rows.folds])
    total, mass = parts.sum(axis=0), masses.sum(axis=0)
    left = np.maximum(mass - masses, 0.0)
    weights, bias = naive_bayes(rows, total, mass, less(rows, total, parts), left)
    scores = np.empty_like(share)
    for place, fold in enumerate(rows.folds):
        scores[fold] = rows.stats[fold] @ weights[place + 1].T + bias[place + 1]
    return Source(centered(scores), weights[0], bias[0], name)


def less(rows: Rows, total: Array, parts: Array) -> Array:
    """Subtract; counts that rounding made negative are zero, sums of reals may be negative."""
    left = total - parts
    for group in rows.schema.groups:
        if group.kind != "gaussian":
            left[..., group.span] = np.maximum(left[..., group.span], 0.0)
    return left


def naive_bayes(
    rows: Rows, total: Array, mass: Array, others: Array, masses: Array
) -> tuple[Array, Array]:
    """Turn sums into centered weights and log priors: of all rows, then of each set of others.

    Parameters
    ----------
    total, mass : (K, S) and (K,) arrays
        Sums over all rows; their spread is what variances are shrunk to.
    others, masses : (F, K, S) and (F, K) arrays
        Further sums.

    Returns
    -------
    weights, bias : (1 + F, K, S) and (1 + F, K) arrays
        The first are those of all rows.
    """
    virtual = rows.smoothing.virtual(rows.schema, Stats(np.diag(mass), total), np.eye(len(mass)))
    weights = np.empty((1 + len(others), *total.shape))
    for out, sums in zip(weights, (total, *others), strict=True):
        one = weights_of(rows.schema, sums, virtual)
        np.subtract(one, one.mean(axis=0), out=out)
    prior = np.concatenate([mass[None], masses]) + rows.smoothing.classes
    prior = np.log(np.maximum(prior, 1e-300) / prior.sum(axis=1, keepdims=True))
    return weights, centered(prior)
