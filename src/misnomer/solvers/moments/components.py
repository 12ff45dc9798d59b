"""The two classes of two mixtures: unmixed, moved back into the simplex, and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from misnomer.channel import Channel
from misnomer.families import Bernoulli, Categorical, Count, Gaussian
from misnomer.model import Model
from misnomer.table import Group, Schema

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
