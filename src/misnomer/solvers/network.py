"""Scores of the true classes by layers over t(x), and the channel as one more layer.

    h_0 = t(x);  h_j = tanh(W_j h_{j-1} + a_j);  scores = W_m h_{m-1} + a_m

The first layer reads the compact rows through the kernels, so a pass is a fold over batches.
Without hidden layers the scores are a sum of evidence; with them there is still a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.evidence import Evidence
from misnomer.kernels.reference import softmax
from misnomer.model import Model
from misnomer.stats import Stats
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


MIN_FREE_CELL = 1e-6  # where a free cell that is zero starts: its logit must be finite


@dataclass(frozen=True, eq=False)
class NoiseLayer:
    """``channel[:, z] = left[z] softmax(logits[:, z])`` over the free cells of each column.

    ``left`` is what the fixed cells leave. Tied channels have one parameter per column (or one in
    all): the logit of the diagonal against all other free cells together.
    """

    channel: Channel

    @property
    def size(self) -> int:
        """How many parameters there are."""
        if not self.channel.n_labels or not self.channel.free.any():
            return 0
        cells = {"cells": int(self.channel.free.sum()), "one": 1}
        return cells.get(self.channel.tied, self.channel.n_classes)

    def start(self) -> Array:
        """Read the parameters off the channel."""
        if not self.size:
            return np.zeros(0)
        matrix = np.maximum(self.channel.matrix, MIN_FREE_CELL)
        if self.channel.tied == "cells":
            return np.log(matrix[self.channel.free])
        off = np.where(self._off, matrix, 0.0).sum(axis=0)
        odds = np.log(np.where(self._diagonal, matrix, 0.0).sum(axis=0).clip(MIN_FREE_CELL))
        odds -= np.log(off.clip(MIN_FREE_CELL))
        return odds if self.channel.tied == "classes" else np.array([odds.mean()])

    def at(self, parameters: Array) -> Channel:
        """Build the channel of these parameters."""
        if not self.size:
            return self.channel
        free = self.channel.free
        left = 1.0 - np.where(free, 0.0, self.channel.matrix).sum(axis=0)
        matrix = np.where(free, left * self._shares(parameters), self.channel.matrix)
        return replace(self.channel, matrix=matrix)

    def gradient(self, parameters: Array, joint: Array) -> Array:
        """Differentiate ``sum (joint + counts) log channel`` by the parameters.

        For the logits: ``mass[y, z] - share[y, z] sum_y mass[y, z]``.
        """
        if not self.size:
            return np.zeros(0)
        mass = np.where(self.channel.free, joint + self.channel.counts, 0.0)
        slope: Array = mass - self._shares(parameters) * mass.sum(axis=0)
        if self.channel.tied == "cells":
            return slope[self.channel.free]
        columns = np.where(self._diagonal, slope, 0.0).sum(axis=0)
        return columns if self.channel.tied == "classes" else np.array([columns.sum()])

    @property
    def _diagonal(self) -> NDArray[np.bool_]:
        return self.channel.free & (np.eye(*self.channel.matrix.shape) > 0)

    @property
    def _off(self) -> NDArray[np.bool_]:
        return self.channel.free & ~self._diagonal

    def _shares(self, parameters: Array) -> Array:
        """Take the softmax over the free cells of each column, (L, K); 0 in the fixed ones."""
        free = self.channel.free
        if self.channel.tied == "cells":
            logits = np.zeros(free.shape)
            logits[free] = parameters
        else:
            even = -np.log(np.maximum(self._off.sum(axis=0), 1))
            logits = np.where(self._diagonal, parameters, even)
        top = np.where(free, logits, -np.inf).max(axis=0)
        share = np.where(free, np.exp(np.where(free, logits - top, 0.0)), 0.0)
        total = share.sum(axis=0)
        return share / np.where(total > 0, total, 1.0)


@dataclass(frozen=True, eq=False)
class NoSums(Model):
    """A model of the labels rather than of the columns: it refuses what takes P(x)."""

    refusal: ClassVar[str]  # a sentence with a place for what there is not

    def expect(self, batch: Batch) -> Stats:
        """Refuse: there are no sums to learn from."""
        raise ValueError(self.refusal.format("sufficient sums"))

    def maximise(self, stats: Stats, virtual: Array, classes: float = 0.0) -> Model:
        """Refuse: there are no sums to learn from."""
        raise ValueError(self.refusal.format("sufficient sums"))

    def log_prior(self, virtual: Array, classes: float = 0.0) -> float:
        """Refuse: virtual examples have no density here."""
        raise ValueError(self.refusal.format("virtual examples"))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Batch, NDArray[np.intp]]:
        """Refuse: P(x) is not modeled."""
        raise ValueError(self.refusal.format("rows to draw"))


@dataclass(frozen=True, eq=False)
class Network(NoSums):
    """Classes scored by layers over t(x); ``weights`` are those of the first layer, (H, S).

    ``prior`` is what the network says of a row of which nothing is known.
    """

    refusal = "a model with hidden layers has no {}: fit it without hidden layers"

    layers: Layers = field(kw_only=True)

    def log_joint(self, batch: Batch) -> Array:
        """Compute log P(z, y | x) up to a term free of z, (n, K)."""
        nothing = upward(self.layers[1][None, :], self.layers)[-1]
        scores = forward(batch, self.layers)[-1] - nothing
        return scores + self.table[batch.given]

    def evidence(self, batch: Batch) -> list[Evidence]:
        """Refuse: hidden layers mix the columns."""
        raise ValueError(self.refusal.format("weights of evidence that add up"))


def ignorant(layers: Layers) -> Array:
    """Compute P(true class) of a row of which nothing is known, (K,)."""
    prior: Array = softmax(upward(layers[1][None, :], layers)[-1])[0][0]
    return prior
