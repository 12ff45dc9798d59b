"""Scores of the true classes by a stack of layers over t(x); none hidden makes a linear model.

    h_0 = t(x);  h_j = tanh(W_j h_{j-1} + a_j);  scores = W_m h_{m-1} + a_m

The first layer reads the compact rows through the kernels, so a pass is a fold over batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.table import Batch

Array = NDArray[np.float64]
Layers = tuple[Array, ...]  # W_1, a_1, W_2, a_2, ...


def forward(batch: Batch, layers: Layers) -> list[Array]:
    """Compute what each layer puts out, the scores last: [(n, H), ..., (n, K)]."""
    return upward(kernels.scores(batch.blocks, layers[0], len(batch)) + layers[1], layers)


def upward(first: Array, layers: Layers) -> list[Array]:
    """Go on from what the first layer takes in, (n, H)."""
    out = [first]
    for weights, intercept in zip(layers[2::2], layers[3::2], strict=True):
        out[-1] = np.tanh(out[-1])
        out.append(out[-1] @ weights.T + intercept)
    return out


def backward(batch: Batch, layers: Layers, out: list[Array], residual: Array) -> Layers:
    """Compute the gradient of ``sum_i residual_i . scores_i`` for every layer.

    Examples
    --------
    >>> from misnomer.kernels.blocks import Reals
    >>> batch = Batch((Reals(np.array([[2.0]]), np.zeros(1)),), np.zeros(1, np.int32))
    >>> linear = (np.zeros((2, 3)), np.zeros(2))
    >>> backward(batch, linear, forward(batch, linear), np.array([[1.0, -1.0]]))[0].tolist()
    [[1.0, 2.0, 4.0], [-1.0, -2.0, -4.0]]
    """
    slopes: list[Array] = []
    for level in range(len(out) - 1, 0, -1):
        slopes = [residual.T @ out[level - 1], residual.sum(axis=0), *slopes]
        residual = (residual @ layers[2 * level]) * (1.0 - out[level - 1] ** 2)
    first = kernels.accumulate(batch.blocks, np.ascontiguousarray(residual))
    return (first, residual.sum(axis=0), *slopes)


def blank(sizes: Sequence[int], rng: np.random.Generator) -> Layers:
    """Begin: zero weights without a hidden layer, else small random ones to break the tie.

    ``sizes`` runs from the statistics over the hidden units to the classes.
    """
    layers: list[Array] = []
    for inside, outside in pairwise(sizes):
        spread = np.sqrt(2.0 / (inside + outside)) if len(sizes) > 2 else 0.0
        layers += [spread * rng.standard_normal((outside, inside)), np.zeros(outside)]
    return tuple(layers)


def flat(layers: Sequence[Array]) -> Array:
    """Write all parameters in one vector."""
    return np.concatenate([part.ravel() for part in layers])


def shaped(vector: Array, like: Layers) -> Layers:
    """Read them back."""
    edges = np.cumsum([part.size for part in like])[:-1]
    parts = np.split(vector[: sum(part.size for part in like)], edges)
    return tuple(part.reshape(one.shape) for part, one in zip(parts, like, strict=True))
