"""The column families: what to sum, and how sums become weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.families.family import Array, Family, log
from misnomer.kernels.blocks import Codes, Flags, Reals, Words

__all__ = ["Bernoulli", "Categorical", "Count", "Family", "Gaussian", "code_type"]

MEAN_DRAWN_LENGTH = 20  # words of a drawn document, in the mean: the model leaves lengths open
MIN_VARIANCE = 1e-300  # a variance of exactly zero has no density


@dataclass(frozen=True)
class Bernoulli:
    """Yes/no columns: ``log P(x | z) = observed log(1 - p) + x logit p``.

    The statistics are ``[observed, x]``, each for all columns.

    Examples
    --------
    >>> flag = Bernoulli(1)
    >>> w = flag.weights(np.array([[4.0, 3.0]]), np.zeros((1, 2)))
    >>> np.exp(w[0, 0] + w[0, 1]).round(12).item()
    0.75
    """

    columns: int

    @property
    def owner(self) -> NDArray[np.intp]:
        return np.tile(np.arange(self.columns), 2)

    def cells(self) -> Array:
        return np.repeat([2.0, 1.0], self.columns)

    def uniform(self) -> Array:
        return np.repeat([1.0, 0.5], self.columns)

    def marginal(self, total: Array) -> Array:
        return np.concatenate([np.ones(self.columns), self.shares(total[None, :])[0]])

    def shares(self, sums: Array) -> Array:
        """Compute ``p = x / observed``; a column with no mass says nothing."""
        seen, on = sums[:, : self.columns], sums[:, self.columns :]
        return np.where(seen > 0, on / np.where(seen > 0, seen, 1.0), 0.5).clip(0.0, 1.0)

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Take ``[log(1 - p), log p - log(1 - p)]`` with p the share of ones."""
        p = self.shares(sums + virtual)
        off = log(1.0 - p)
        return np.concatenate([off, log(p) - off], axis=1)

    def log_prior(self, weights: Array, virtual: Array) -> float:
        return float(np.sum(virtual * weights))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Flags:
        p = np.exp(weights[:, : self.columns] + weights[:, self.columns :])
        on = rng.random((len(z), self.columns)) < p[z]
        return Flags(np.packbits(on, axis=1, bitorder="little"), None, self.columns)


@dataclass(frozen=True)
class Categorical:
    """Columns of categories: ``P(x = v | z) = exp(weights[z, v])``; ``sizes``: how many each has.

    Examples
    --------
    >>> coin = Categorical((2,))
    >>> np.exp(coin.weights(np.array([[3.0, 1.0]]), np.zeros((1, 2)))).tolist()
    [[0.75, 0.25]]
    """

    sizes: tuple[int, ...]

    @property
    def columns(self) -> int:
        return len(self.sizes)

    @cached_property
    def owner(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where the statistics of each column begin, (d,)."""
        ends = np.cumsum(self.sizes, dtype=np.intp)
        return ends - np.array(self.sizes, np.intp)

    def cells(self) -> Array:
        return np.ones(sum(self.sizes))

    def uniform(self) -> Array:
        return np.repeat(1.0 / np.array(self.sizes, np.float64), self.sizes)

    def marginal(self, total: Array) -> Array:
        return self.shares(total[None, :])[0]

    def shares(self, sums: Array) -> Array:
        """Divide by the sum over a column's values; a column with no mass says nothing."""
        if not self.sizes:
            return sums
        mass = np.add.reduceat(sums, self.starts, axis=1)[:, self.owner]
        return np.where(mass > 0, sums / np.where(mass > 0, mass, 1.0), self.uniform())

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Take ``log (sums + virtual) / (the same, summed over the column's values)``."""
        return log(self.shares(sums + virtual))

    def log_prior(self, weights: Array, virtual: Array) -> float:
        return float(np.sum(virtual * weights))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Codes:
        columns = []
        for start, size in zip(self.starts, self.sizes, strict=True):
            steps = np.exp(weights[:, start : start + size]).cumsum(axis=1)[z]
            at = rng.random((len(z), 1)) * steps[:, -1:]
            columns.append((at >= steps).sum(axis=1).clip(max=size - 1))
        codes = np.stack(columns, axis=1) if columns else np.zeros((len(z), 0))
        return Codes(codes.astype(code_type(max(self.sizes, default=1))), self.sizes)


def code_type(size: int) -> type[np.unsignedinteger]:
    """Choose the smallest code that holds ``size`` categories and one more for "missing".

    Examples
    --------
    >>> code_type(255).__name__, code_type(256).__name__
    ('uint8', 'uint16')
    """
    if size <= np.iinfo(np.uint8).max:
        return np.uint8
    return np.uint16 if size <= np.iinfo(np.uint16).max else np.uint32


@dataclass(frozen=True)
class Count:
    """Counts of words: ``log P(x | z) = sum_v x_v log p[z, v]``, the multinomial of a document.

    Examples
    --------
    >>> words = Count(3)
    >>> np.exp(words.weights(np.array([[2.0, 1.0, 1.0]]), np.zeros((1, 3)))).tolist()
    [[0.5, 0.25, 0.25]]
    """

    columns: int

    @property
    def owner(self) -> NDArray[np.intp]:
        return np.arange(self.columns)

    def cells(self) -> Array:
        return np.ones(self.columns)

    def uniform(self) -> Array:
        return np.full(self.columns, 1.0 / max(self.columns, 1))

    def marginal(self, total: Array) -> Array:
        return self.shares(total[None, :])[0]

    def shares(self, sums: Array) -> Array:
        """Divide by the number of words; a class without words says nothing."""
        mass = sums.sum(axis=1, keepdims=True)
        out = sums / np.where(mass > 0, mass, 1.0)
        out[mass[:, 0] <= 0] = self.uniform()
        return np.asarray(out)

    def weights(self, sums: Array, virtual: Array) -> Array:
        """Take ``log (sums + virtual) / (the same, summed over all words)``."""
        return kernels.log_shares(sums, virtual)

    def log_prior(self, weights: Array, virtual: Array) -> float:
        return float(np.sum(virtual * weights))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Words:
        lengths = rng.poisson(MEAN_DRAWN_LENGTH, len(z))
        p = np.exp(weights)
        p /= p.sum(axis=1, keepdims=True)
        counts = [rng.multinomial(m, p[k]) for m, k in zip(lengths, z, strict=True)]
        dense = np.array(counts, np.float64).reshape(len(z), self.columns)
        return Words(sparse.csr_array(dense))


@dataclass(frozen=True)
class Gaussian:
    """Columns of reals, normal in each class: statistics ``[observed, u, u^2]``, u = x - center.

    ``log P(x | z) = observed (-log(2 pi v) / 2 - m^2 / 2v) + u m / v - u^2 / 2v``. The virtual
    examples of a column are ``[m, extra, m * v0]``: m examples *about the class's own mean* with
    variance v0, so that they shrink the variance and leave the mean alone, and a variance that is
    added at the end.

    Examples
    --------
    >>> g = Gaussian((10.0,))
    >>> w = g.weights(np.array([[4.0, 0.0, 16.0]]), np.zeros((1, 3)))  # mean 10, variance 4
    >>> mean, variance = g.moments(w)
    >>> mean.tolist(), variance.tolist()
    ([[10.0]], [[4.0]])
    """

    center: tuple[float, ...]

    @property
    def columns(self) -> int:
        return len(self.center)

    @property
    def owner(self) -> NDArray[np.intp]:
        return np.tile(np.arange(self.columns), 3)

    def cells(self) -> Array:
        return np.zeros(3 * self.columns)

    def uniform(self) -> Array:
        return np.zeros(3 * self.columns)

    def marginal(self, total: Array) -> Array:
        return np.zeros(3 * self.columns)

    def spread(self, sums: Array) -> tuple[Array, Array, Array]:
        """Split sums into mass, mean (about the center) and sum of squares about the mean."""
        mass, first, second = _thirds(sums)
        mean = first / (mass if (mass > 0).all() else np.where(mass > 0, mass, 1.0))
        squares = second - mean * first
        return mass, mean, np.maximum(squares, 0.0, out=squares)

    def variance(self, sums: Array) -> tuple[Array, Array]:
        """Compute the variance of all rows and the pooled variance within classes, (d,) each."""
        total = self.spread(sums.sum(axis=0, keepdims=True))
        seen = np.where(total[0] > 0, total[0], 1.0)[0]
        return total[2][0] / seen, self.spread(sums)[2].sum(axis=0) / seen

    def weights(self, sums: Array, virtual: Array) -> Array:
        mass, mean, squares = self.spread(sums)
        if not (mass > 0).all():  # virtual rows of a class without any lie about the mean of all
            usual = self.spread(sums.sum(axis=0, keepdims=True))[1]
            mean = np.where(mass > 0, mean, usual)
        m, extra, about_mean = _thirds(virtual)
        seen = mass + m
        silent = seen <= 0  # no row and no virtual row: no evidence
        v = (squares + about_mean) / np.where(silent, 1.0, seen) + extra
        v = np.maximum(np.where(silent, 1.0, v), MIN_VARIANCE)
        out = np.empty(sums.shape)
        height, slope, bend = _thirds(out)
        np.divide(-0.5, v, out=bend)
        np.divide(mean, v, out=slope)
        np.multiply(-0.5, np.log(2 * np.pi * v) + mean * slope, out=height)
        out[np.tile(silent, 3)] = 0.0
        return out

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """Read the mean and the variance of each class and column off the weights."""
        _, first, second = _thirds(weights)
        v = -0.5 / np.where(second < 0, second, -0.5)
        return first * v + np.array(self.center), v

    def log_prior(self, weights: Array, virtual: Array) -> float:
        """Sum ``-m (log(2 pi v) + v0 / v) / 2``: the virtual examples lie about the mean."""
        v = self.moments(weights)[1]
        m, _, about_mean = _thirds(virtual)
        return -0.5 * float(np.sum(m * np.log(2 * np.pi * v) + about_mean / v))

    def draw(self, weights: Array, z: NDArray[np.intp], rng: np.random.Generator) -> Reals:
        mean, v = self.moments(weights)
        values = rng.normal(mean[z], np.sqrt(v[z]))
        return Reals(values, np.array(self.center))


def _thirds(statistics: Array) -> tuple[Array, Array, Array]:
    """Cut what is there for each column three times; np.split takes ten times as long."""
    d = statistics.shape[1] // 3
    return statistics[:, :d], statistics[:, d : 2 * d], statistics[:, 2 * d :]
