"""Dirichlet distributions: expected logarithms and divergences, for shares and for a channel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from misnomer.channel import Channel
from misnomer.families.family import log

Array = NDArray[np.float64]

MIN_DIRICHLET = 1e-3  # a Dirichlet prior must be positive


def prior_counts(channel: Channel) -> Array:
    """Take the channel's own counts; where it has none, two right rows and one wrong one.

    Examples
    --------
    >>> from misnomer.channel import flips
    >>> prior_counts(flips([0.2, 0.2])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    if channel.counts.any() or not channel.n_labels:
        return np.maximum(channel.counts, MIN_DIRICHLET)
    L, K = channel.matrix.shape
    off = 1.0 / max(L - 1, 1)
    return np.eye(L, K) * (2.0 - off) + off


def expected_channel(channel: Channel, joint: Array) -> Array:
    """Compute E log P(given | true), (L, K); fixed cells are known."""
    if not channel.n_labels:
        return np.zeros(channel.matrix.shape)
    known = log(channel.matrix)
    free, left = channel.free, 1.0 - np.where(channel.free, 0.0, channel.matrix).sum(axis=0)
    if channel.tied == "cells":
        total = np.where(free, joint, 0.0).sum(axis=0)
        fresh = digamma(joint) - digamma(np.where(total > 0, total, 1.0))
    else:
        right, wrong, cells = _tied(channel, joint)
        total = digamma(right + wrong)
        spread = digamma(wrong) - total - np.log(np.maximum(cells, 1))
        fresh = np.where(np.eye(*joint.shape) > 0, digamma(right) - total, spread)
    return np.where(free, fresh + log(left), known)


def channel_divergence(channel: Channel, joint: Array, counts: Array) -> float:
    """Sum the divergences of the channel's free parameters from their prior."""
    if not channel.free.any():
        return 0.0
    if channel.tied == "cells":
        free = channel.free
        pairs = [(joint[free[:, k], k], counts[free[:, k], k]) for k in range(joint.shape[1])]
        return sum(divergence(a[None, :], b[None, :]) for a, b in pairs if len(a) > 1)
    after, before = (np.stack(_tied(channel, x)[:2], axis=1) for x in (joint, counts))
    if channel.tied == "one":
        after, before = after[:1], before[:1]
    return divergence(after, before)


def _tied(channel: Channel, joint: Array) -> tuple[Array, Array, Array]:
    """Collect the mass on and off the diagonal, by column or over the whole matrix."""
    diagonal = np.eye(*joint.shape) > 0
    off = channel.free & ~diagonal
    right, wrong = (np.where(where, joint, 0.0).sum(axis=0) for where in (diagonal, off))
    if channel.tied == "one":
        right, wrong = np.full_like(right, right.sum()), np.full_like(wrong, wrong.sum())
    return np.maximum(right, MIN_DIRICHLET), np.maximum(wrong, MIN_DIRICHLET), off.sum(axis=0)


def log_mean(params: Array) -> Array:
    """Compute ``E log p = psi(a) - psi(sum a)`` under a Dirichlet distribution.

    Examples
    --------
    >>> log_mean(np.array([1.0, 1.0])).round(12).tolist()
    [-1.0, -1.0]
    """
    out: Array = digamma(params) - digamma(params.sum())
    return out


def divergence(after: Array, before: Array) -> float:
    """Sum KL(Dirichlet(after) || Dirichlet(before)) over rows.

    Examples
    --------
    >>> divergence(np.array([[2.0, 1.0]]), np.array([[1.0, 1.0]])).__round__(6)  # log 2 - 1/2
    0.193147
    """
    total = after.sum(axis=1)
    height = gammaln(total) - gammaln(after).sum(axis=1)
    height -= gammaln(before.sum(axis=1)) - gammaln(before).sum(axis=1)
    slope = (after - before) * (digamma(after) - digamma(total)[:, None])
    return float(height.sum() + slope.sum())
