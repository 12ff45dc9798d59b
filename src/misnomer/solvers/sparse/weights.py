"""Sums and weights of many classes over many words, kept where something was counted.

With m virtual examples spread like the whole table, ``a = m p``, the probability of word v in class
k is ``(c[k, v] + a[v]) / (N[k] + m)``. Its logarithm is ``log a[v]``, which no class owns, plus
``log1p(c[k, v] / a[v])``, which is zero where nothing was counted, minus ``log(N[k] + m)``, one
number per class. So K times V weights are a sparse matrix and a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.solvers.sparse.rows import Places, Tokens

Array = NDArray[np.float64]

_FEWEST, _MOST = 0.5, 1e4  # bounds of an automatic m
_HOT = 0.1  # share of the classes that know a word from which its weights are kept dense
_HOT_BYTES = 1 << 28  # what those may take


@dataclass(frozen=True, eq=False)
class Sums:
    """What was counted in each class; sums of different rows add.

    Attributes
    ----------
    counts : csr_array (K, S)
        How often each statistic occurs in the rows of each class.
    observed : (K, G) array
        The same, summed over each distribution.
    rows : (K,) array
        Rows of each class.
    """

    counts: sparse.csr_array
    observed: Array
    rows: Array

    def __add__(self, other: Sums) -> Sums:
        counts = sparse.csr_array(self.counts + other.counts)
        return Sums(counts, self.observed + other.observed, self.rows + other.rows)


def sums_by_class(rows: Tokens, label: Places, weight: Array, classes: int) -> Sums:
    """Add the rows of each class up; a negative label, or no weight, leaves a row out.

    Examples
    --------
    >>> rows = Tokens(sparse.csr_array([[1.0, 0.0], [2.0, 1.0]]), np.zeros(2, int))
    >>> sums_by_class(rows, np.array([1, 1]), np.ones(2), 2).counts.toarray().tolist()
    [[0.0, 0.0], [3.0, 1.0]]
    """
    kept = np.flatnonzero((label >= 0) & (weight > 0))
    who = sparse.csr_array((weight[kept], (label[kept], kept)), shape=(classes, len(rows)))
    counts = sparse.csr_array(who @ rows.matrix)
    counts.sort_indices()
    mass = np.bincount(label[kept], weight[kept], minlength=classes).astype(np.float64)
    observed = np.asarray((counts @ rows.owners).toarray())
    return Sums(counts, observed, mass)


@dataclass(frozen=True, eq=False)
class Background:
    """The virtual examples, the same for every class: ``m`` of each distribution, (G,).

    ``share`` is the statistic's share in its distribution, over all rows, (S,).
    """

    share: Array
    m: Array
    owner: Places

    @property
    def virtual(self) -> Array:
        """How often each statistic occurs in the virtual examples, (S,)."""
        return np.asarray(self.m[self.owner] * self.share)


def background(sums: Sums, rows: Tokens) -> Background:
    """Find the marginal shares, and how many virtual examples of each distribution to add."""
    owner, G = rows.owner, max(rows.groups, 1)
    total = np.asarray(rows.matrix.sum(axis=0), np.float64).ravel()
    whole = np.bincount(owner, total, minlength=G)
    share = total / np.where(whole > 0, whole, 1.0)[owner]
    return Background(share, automatic_m(sums, share, owner), owner)


def automatic_m(sums: Sums, share: Array, owner: Places) -> Array:
    """Estimate m of each distribution by moments, (G,): how far classes differ beyond chance.

    ``1 / (1 + m) = [sum_k N_k |f_k - p|^2 - (K - 1) sum v] / ((N - sum_k N_k^2 / N) sum v)`` with
    f the frequencies of class k, p the shares and ``v = p(1 - p)``.
    """
    counts, N = sums.counts, sums.observed
    G = N.shape[1]
    which = sparse.csr_array((np.ones(len(owner)), (np.arange(len(owner)), owner)), (len(owner), G))
    square = np.asarray((counts.multiply(counts) @ which).toarray())  # (K, G) sum c^2
    cross = np.asarray((counts.multiply(share[None, :]).tocsr() @ which).toarray())
    inside = np.where(N > 0, square / np.where(N > 0, N, 1.0) - 2 * cross, 0.0)
    p2 = np.bincount(owner, share**2, minlength=G)
    variance = np.bincount(owner, share * (1.0 - share), minlength=G)
    whole = N.sum(axis=0)
    excess = inside.sum(axis=0) + whole * p2 - ((N > 0).sum(axis=0) - 1) * variance
    spread = (whole - (N**2).sum(axis=0) / np.where(whole > 0, whole, 1.0)) * variance
    part = excess / np.where(spread > 0, spread, 1.0)
    m = np.clip(1.0 / np.where(part > 0, part, 1.0) - 1.0, _FEWEST, _MOST)
    return np.where(spread <= 0, 1.0, np.where(part > 0, m, _MOST))


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each statistic speaks for each class, beyond what it says of all of them.

    Attributes
    ----------
    cold : csr_array (S, K)
        ``log1p(c / a)`` of what few classes know.
    hot : (H, K) array
        The same of what many classes know, dense.
    where : (H,) array
        Which statistics those are.
    length : (G, K) array
        ``-log(N + m)``: what each word, or each observed cell, costs a class.
    """

    cold: sparse.csr_array
    hot: Array
    where: Places
    length: Array


def weights_of(sums: Sums, behind: Background) -> Weights:
    """Turn sums and virtual examples into weights."""
    counts = sums.counts
    K, S = counts.shape
    known = np.bincount(counts.indices, minlength=S)
    where = np.flatnonzero(known > _HOT * K)
    most = max(_HOT_BYTES // (8 * K), 1)
    where = np.sort(where[np.argsort(-known[where], kind="stable")[:most]])
    value = np.log1p(counts.data / behind.virtual[counts.indices])
    every = sparse.csr_array((value, counts.indices, counts.indptr), shape=(K, S))
    hot = np.ascontiguousarray(every[:, where].toarray().T)
    rest = np.ones(S, bool)
    rest[where] = False
    kept = rest[counts.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    cold = sparse.csr_array((value[kept], counts.indices[kept], ends), shape=(K, S)).T.tocsr()
    return Weights(cold, hot, where, -np.log(sums.observed + behind.m).T)
