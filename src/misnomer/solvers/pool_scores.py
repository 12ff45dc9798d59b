"""Naive Bayes scores of rows that had no part in the counts behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.families import Count
from misnomer.kernels.blocks import Words
from misnomer.solvers.pool_rows import Rows
from misnomer.stats import Stats
from misnomer.table import Schema

Array = NDArray[np.float64]

_REACH = 1e3  # median margins


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


def margin(scores: Array) -> float:
    """Take the median distance of the best class from the second."""
    top = np.partition(scores, -2, axis=-1)
    return float(np.median(top[..., -1] - top[..., -2]))


def within_reach(scores: Array) -> Array:
    """Center; classes a thousand median margins behind the best are all equally impossible.

    A value that its column never had may put a row billions of nats away, and what a search then
    sees of the other rows is lost to rounding.

    Examples
    --------
    >>> far = within_reach(np.array([[1.0, -1.0], [2.0, -2.0], [0.0, -1e22]]))
    >>> far.tolist()
    [[1.0, -1.0], [2.0, -2.0], [2000.0, -2000.0]]
    """
    behind = scores - scores.max(axis=-1, keepdims=True)
    reach = _REACH * max(margin(behind), 1.0)
    return centered(scores if behind.min(initial=0.0) >= -reach else np.maximum(behind, -reach))


def class_sums(stats: Any, share: Array) -> Array:
    """Share the statistics out over the classes, (K, S)."""
    if sparse.issparse(stats) and stats.format == "csr":
        return kernels.accumulate((Words(stats),), share)
    return np.asarray((stats.T @ share).T)


def scored(stats: Any, weights: Array) -> Array:
    """Weigh the statistics of rows, (n, K)."""
    if sparse.issparse(stats) and stats.format == "csr":
        return kernels.scores((Words(stats),), weights, stats.shape[0])
    return np.asarray(stats @ weights.T)


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
    stats = [rows.stats[fold] for fold in rows.folds]
    parts = [class_sums(own, share[fold]) for own, fold in zip(stats, rows.folds, strict=True)]
    masses = np.stack([share[fold].sum(axis=0) for fold in rows.folds])
    weights, bias = without_each(rows, parts, masses)
    scores = np.empty_like(share)
    for place, fold in enumerate(rows.folds):
        scores[fold] = scored(stats[place], weights[place + 1]) + bias[place + 1]
    return Source(within_reach(scores), weights[0], bias[0], name)


def less(rows: Rows, total: Array, parts: Array) -> Array:
    """Subtract; counts that rounding made negative are zero, sums of reals may be negative."""
    left = total - parts
    for group in rows.schema.groups:
        if group.kind != "gaussian":
            np.maximum(left[..., group.span], 0.0, out=left[..., group.span])
    return left


def without_each(
    rows: Rows, parts: Sequence[Array], masses: Array
) -> tuple[tuple[Array, ...], Array]:
    """Turn the sums of parts into centered weights and log priors: of all, then without each part.

    The weights take the place of the sums, which may be large.

    Parameters
    ----------
    parts, masses : F arrays (K, S), and an (F, K) array
        Sums over the rows of each part.

    Returns
    -------
    weights : 1 + F arrays (K, S)
        The first are those of all rows; the others are where the parts were.
    bias : (1 + F, K) array
        Likewise.
    """
    parts = [one if one.flags.writeable else one.copy() for one in parts]
    total, mass = np.zeros_like(parts[0]), masses.sum(axis=0)
    for part in parts:
        total += part
    virtual = virtual_of(rows, total, mass)
    for part in parts:
        _centered_weights(rows.schema, total, virtual, part, less=part)
    _centered_weights(rows.schema, total, virtual, total)
    return (total, *parts), _log_prior(rows, mass, np.maximum(mass - masses, 0.0))


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
    virtual = virtual_of(rows, total, mass)
    weights = _beside((1 + len(others), *total.shape))
    for out, sums in zip(weights, (total, *others), strict=True):
        _centered_weights(rows.schema, sums, virtual, out)
    return weights, _log_prior(rows, mass, masses)


def virtual_of(rows: Rows, total: Array, mass: Array) -> Array:
    """Take the virtual examples of the counts of the classes, (K, S).

    The least variance of a column is that of all rows: few may be counted where rows are shared
    out, and alike in a column.
    """
    found = rows.smoothing.virtual(rows.schema, Stats(np.diag(mass), total), np.eye(len(mass)))
    return found if rows.least is None else np.maximum(found, rows.least)


def _beside(shape: tuple[int, int, int]) -> Array:
    """Make room for tables, (F, K, S), the classes side by side as products with rows want them."""
    tables, K, S = shape
    return np.empty((tables, S, K)).swapaxes(1, 2)


def _centered_weights(
    schema: Schema, sums: Array, virtual: Array, out: Array, *, less: Array | None = None
) -> None:
    """Write the weights of sums (less those of a part), family by family, centered, (K, S)."""
    for group in schema.groups:
        at = (slice(None), group.span)
        if isinstance(group.family, Count):
            part = None if less is None else less[at]
            kernels.log_shares(sums[at], virtual[at], part, out=out[at], centered=True)
            continue
        own = sums[at]
        if less is not None:
            own = own - less[at]
            own = own if group.kind == "gaussian" else np.maximum(own, 0.0)
        found = group.family.weights(own, virtual[at])
        np.subtract(found, found.mean(axis=0), out=out[at])


def _log_prior(rows: Rows, mass: Array, masses: Array) -> Array:
    """Take the log of the shares of the classes, of all rows, then of others, centered."""
    prior = np.concatenate([mass[None], masses]) + rows.smoothing.classes
    return centered(np.log(np.maximum(prior, 1e-300) / prior.sum(axis=1, keepdims=True)))
