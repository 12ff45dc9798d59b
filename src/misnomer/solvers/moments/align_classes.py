"""Name the classes so that the channel's diagonal is as large as it can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from misnomer.channel import Channel
from misnomer.model import Model


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
