"""Scores brought to the scale of the given labels, with or without a bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_lbfgs import minimise
from misnomer.solvers.pool_scores import margin

Array = NDArray[np.float64]

_BIAS = 1.5  # nats per squared bias, as in the pool
_FAR = 50.0


def tempered(
    scores: Array, label: NDArray[np.intp], weight: Array, *, bias: bool
) -> tuple[float, Array]:
    """Maximise ``sum_i w_i log softmax(s (S_i + a))_y - 1.5 |a|^2``: the scale s, and s a.

    Without ``bias``, a is zero.

    Examples
    --------
    >>> S = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> scale, shift = tempered(S, np.array([0, 0, 1, 1]), np.ones(4), bias=False)
    >>> round(scale, 2), shift.tolist()  # three of four agree: log 3 / 2
    (0.55, [0.0, 0.0])
    """
    K, n = scores.shape[1], len(label)
    hard = np.zeros((n, K))
    hard[np.arange(n), label] = 1.0

    def loss(vector: Array) -> tuple[float, Array]:
        scale = float(np.exp(np.clip(vector[0], -_FAR, _FAR)))
        moved = scores + vector[1:] if bias else scores
        share = softmax(scale * moved)[0]
        own = np.maximum((share * hard).sum(axis=1), 1e-300)
        residual = (share - hard) * weight[:, None]
        slope = np.zeros(K + 1)
        slope[0] = scale * float((residual * moved).sum())
        if bias:
            slope[1:] = scale * residual.sum(axis=0) + 2.0 * _BIAS * vector[1:]
        cost = _BIAS * float(vector[1:] @ vector[1:])
        return -float(weight @ np.log(own)) + cost, slope

    start = np.zeros(K + 1)
    start[0] = -np.log(max(margin(scores), 1e-6))
    vector, _ = minimise(loss, start)
    scale = float(np.exp(np.clip(vector[0], -_FAR, _FAR)))
    return scale, scale * vector[1:]
