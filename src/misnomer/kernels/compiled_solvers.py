"""The kernels of single solvers in C++: the names and answers of ``reference``, faster."""

from __future__ import annotations

import numpy as np

from misnomer.kernels import _compiled, reference
from misnomer.kernels.blocks import Array
from misnomer.kernels.compiled import row_codes
from misnomer.kernels.reference import Explained, Labels, Matched


def log_shares(
    sums: Array,
    virtual: Array,
    less: Array | None = None,
    *,
    out: Array | None = None,
    centered: bool = False,
) -> Array:
    """Take ``log c - log sum_s c`` with ``c = max(sums - less, 0) + virtual``, (K, S).

    Counts that are not positive are left to the definition, which says what they mean.

    Examples
    --------
    >>> np.exp(log_shares(np.array([[2.0, 1.0, 0.0]]), np.ones((1, 3)))).round(3).tolist()
    [[0.5, 0.333, 0.167]]
    """
    sums = np.asarray(sums, np.float64)
    virtual = np.broadcast_to(np.asarray(virtual, np.float64), sums.shape)
    if less is not None:
        less = np.broadcast_to(np.asarray(less, np.float64), sums.shape)
    if out is None:
        K, S = sums.shape
        out = np.empty((S, K)).T if sums.strides[0] < sums.strides[1] else np.empty((K, S))
    if out.shape != sums.shape:
        raise ValueError(f"out has shape {out.shape}; the sums have {sums.shape}.")
    if not _compiled.log_shares(sums, virtual, less, out, centered):
        return reference.log_shares(sums, virtual, less, out=out, centered=centered)
    return out


def softmax(scores: Array) -> tuple[Array, Array]:
    """Turn log weights into shares: ``exp(a - height)`` and ``height = log sum exp(a)``.

    Examples
    --------
    >>> share, height = softmax(np.log([[1.0, 3.0]]))
    >>> share.round(2).tolist(), np.exp(height).round(2).tolist()
    ([[0.25, 0.75]], [4.0])
    """
    share = np.array(scores, np.float64, order="C")
    height = np.empty(len(share))
    _compiled.softmax(share, height)
    return share, height


def pooled(
    scores: Array,
    contrast: Array | None,
    codes: Labels,
    weight: Array,
    table: Array,
    scale: float,
    mix: float,
    bias: Array,
) -> Explained:
    """Explain labels by ``q = softmax(scale (scores + mix contrast + bias))`` behind a table.

    Examples
    --------
    >>> table, codes = np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([0, 1], np.int32)
    >>> even = pooled(np.zeros((2, 2)), None, codes, np.ones(2), table, 1.0, 0.0, np.zeros(2))
    >>> round(float(np.exp(even.loglik)), 4), even.size.tolist()
    (0.2475, [1.0, 1.0])
    """
    K = len(scores)
    rest = np.zeros(K * K + 4 * K + 2)
    match = _pooled(scores, contrast, codes, weight, table, scale, mix, bias, rest)
    first, mean = rest[K * K :][: 2 * K], rest[K * K + 2 * K :][: 2 * K]
    return Explained(
        *match, rest[: K * K].reshape(K, K), first.reshape(2, K), mean.reshape(2, K), rest[-2:]
    )


def matched(
    scores: Array,
    contrast: Array | None,
    codes: Labels,
    weight: Array,
    table: Array,
    scale: float,
    mix: float,
    bias: Array,
) -> Matched:
    """Find what `pooled` does without the sums behind derivatives.

    Examples
    --------
    >>> table, codes = np.array([[0.9, 0.2], [0.1, 0.8]]), np.array([0, 1], np.int32)
    >>> even = matched(np.zeros((2, 2)), None, codes, np.ones(2), table, 1.0, 0.0, np.zeros(2))
    >>> round(float(np.exp(even.loglik)), 4), even.size.tolist()
    (0.2475, [1.0, 1.0])
    """
    return _pooled(scores, contrast, codes, weight, table, scale, mix, bias, None)


def _pooled(
    scores: Array,
    contrast: Array | None,
    codes: Labels,
    weight: Array,
    table: Array,
    scale: float,
    mix: float,
    bias: Array,
    rest: Array | None,
) -> Matched:
    scores, table = np.ascontiguousarray(scores, np.float64), np.ascontiguousarray(table)
    other = None if contrast is None else np.ascontiguousarray(contrast, np.float64)
    joint, size = np.zeros(table.shape), np.zeros(len(scores))
    loglik = _compiled.pooled(
        scores,
        other,
        row_codes(codes, len(table), least=0),
        np.ascontiguousarray(weight, np.float64),
        table,
        float(scale),
        float(mix),
        np.ascontiguousarray(bias, np.float64),
        joint,
        size,
        rest,
    )
    return Matched(loglik, joint, size)
