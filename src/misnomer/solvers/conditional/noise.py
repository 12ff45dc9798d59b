"""The channel as a softmax layer: free parameters instead of a matrix whose columns sum to one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import Channel

Array = NDArray[np.float64]
_SMALLEST = 1e-6  # where a free cell that is zero starts: its logit must be finite


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
        matrix = np.maximum(self.channel.matrix, _SMALLEST)
        if self.channel.tied == "cells":
            return np.log(matrix[self.channel.free])
        off = np.where(self._off, matrix, 0.0).sum(axis=0)
        odds = np.log(np.where(self._diagonal, matrix, 0.0).sum(axis=0).clip(_SMALLEST))
        odds -= np.log(off.clip(_SMALLEST))
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
