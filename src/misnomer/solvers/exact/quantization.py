"""How many symbols to cut a measurement into, and P(e) where training sets are too many to list.

The Combined Bayes Test looks at the counts of all symbols, because they tell about the labels. A
rule that looks only at the two counts of the observed symbol itself loses little (nothing at
alpha = 0, nothing with two symbols), and its P(e) is an integral over two probabilities. No rule
is better than the test, so that P(e) is an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from scipy.special import betainccinv, betaln, ndtr, roots_jacobi, roots_legendre, xlog1py, xlogy

from misnomer.solvers.exact import (
    Array,
    Pair,
    alpha_pair,
    checked_dirichlet,
    checked_sizes,
    checked_symbols,
)
from misnomer.solvers.exact.error import MAX_ROUNDING, error_curve

Method = Literal["exact", "own-counts"]

MAX_ROWS_INTEGRATED = 126  # in both classes: 64 nodes are exact up to degree 127
FINE_NODES = 400


def own_counts_error(
    M: int, N: int | Sequence[int], alpha: float | Sequence[float] = 0.0, *, dirichlet: float = 1.0
) -> float:
    """Return P(e) of the best rule that sees the observed symbol's own counts a and b only.

    P(e) = M/2 sum_{a,b} min_t E[p_t Bin(a; n0, q0) Bin(b; n1, q1)], where p0 and p1 are
    Beta(c, (M - 1) c), q0 = (1 - alpha0) p0 + alpha0 p1, and q1 likewise. Up to 126 rows this is
    exact (Gauss-Jacobi), an upper bound on the P(e) of the Combined Bayes Test. Beyond, the rule is
    to choose the class under which the symbol is relatively more frequent, with a normal
    difference of frequencies.

    Examples
    --------
    >>> round(own_counts_error(4, 10), 5), round(own_counts_error(4, 10, 0.25), 5)
    (0.32093, 0.37593)
    >>> round(own_counts_error(30, 1000, 0.05), 4)
    0.2588
    """
    symbols, sizes = int(checked_symbols([M])[0]), checked_sizes(N)
    c = float(checked_dirichlet(dirichlet, 1)[0])
    error = _binomial_error if sum(sizes) <= MAX_ROWS_INTEGRATED else _normal_error
    return error(symbols, sizes, alpha_pair(alpha), c)


def best_quantization(
    N: int | Sequence[int],
    alpha: float | Sequence[float] = 0.0,
    *,
    dirichlet: float = 1.0,
    method: Method = "exact",
) -> int:
    """Return M*, the number of symbols, up to the number of rows, for which P(e) is smallest.

    ``M* = argmin_M P(e; M)``: with few symbols the classes look alike, with many each is seen too
    seldom to learn from.

    Parameters
    ----------
    N : int or pair of int
        Rows per given class.
    alpha : float or pair of float
        Probability that a given label is wrong, for each given class.
    dirichlet : float
        Dirichlet parameter of each symbol.
    method : {"exact", "own-counts"}
        Whose P(e): that of the Combined Bayes Test, by enumeration (up to eleven rows per class),
        or that of :func:`own_counts_error`, for any N.

    Returns
    -------
    int

    Examples
    --------
    >>> best_quantization(5, 0.1), best_quantization(5, 0.1, method="own-counts")
    (3, 3)
    >>> best_quantization(1000, 0.1, method="own-counts")
    26
    """
    sizes, pair = checked_sizes(N), alpha_pair(alpha)
    c = float(checked_dirichlet(dirichlet, 1)[0])
    if method == "exact":
        return _best_exact(sizes, pair, c)
    if method == "own-counts":
        return _best_own_counts(sizes, pair, c)
    raise ValueError(f"method must be 'exact' or 'own-counts', but it is {method!r}.")


@lru_cache(maxsize=256)
def _best_exact(sizes: Pair, alpha: tuple[float, float], dirichlet: float) -> int:
    symbols = range(2, max(sum(sizes), 4) + 1)
    return error_curve(symbols, sizes, alpha, dirichlet=dirichlet).best


@lru_cache(maxsize=256)
def _best_own_counts(sizes: Pair, alpha: tuple[float, float], dirichlet: float) -> int:
    def error(M: int) -> float:
        return own_counts_error(M, sizes, alpha, dirichlet=dirichlet)

    return _lowest(error, 2, max(sum(sizes), 4))


def _lowest(function: Callable[[int], float], low: int, high: int) -> int:
    """Return where a function that falls and then rises is lowest.

    Examples
    --------
    >>> _lowest(lambda n: (n - 37) ** 2, 2, 1000), _lowest(lambda n: n, 2, 1000)
    (37, 2)
    """
    value = lru_cache(maxsize=None)(function)
    first, step = low, 1
    while low + step < high and value(low + step) < value(low) - MAX_ROUNDING:
        low, step = low + step, step * 2
    low, high = max(first, low - step), min(high, low + step)
    while low < high:
        middle = (low + high) // 2
        if value(middle) <= value(middle + 1) + MAX_ROUNDING:
            high = middle
        else:
            low = middle + 1
    return low


def _binomial_error(M: int, sizes: Pair, alpha: tuple[float, float], c: float) -> float:
    nodes, weights = roots_jacobi((sum(sizes) + 3) // 2, (M - 1) * c - 1.0, c - 1.0)
    p0, p1, weight = _both((1.0 + nodes) / 2.0, weights)
    q0, q1 = _seen(p0, p1, alpha)
    a, b = _binomial(q0, sizes[0]), _binomial(q1, sizes[1])
    joint = [a.T @ (b * (weight * p)[:, None]) for p in (p0, p1)]
    return float(M / 2.0 * np.minimum(*joint).sum())


def _normal_error(M: int, sizes: Pair, alpha: tuple[float, float], c: float) -> float:
    """Compare (c + a) / (A + n0) with (c + b) / (A + n1), a and b normal."""
    nodes, weights = roots_legendre(FINE_NODES)
    t = 3.1 * (1.0 + nodes)  # P(p > x) = exp(-t^2): smooth in t for any c
    above = np.exp(-(t**2))
    p0, p1, weight = _both(betainccinv(c, (M - 1) * c, above), weights * t * above)
    q0, q1 = _seen(p0, p1, alpha)
    share0, share1 = (1.0 / (M * c + n) for n in sizes)
    gap = (c + sizes[1] * q1) * share1 - (c + sizes[0] * q0) * share0
    variance = sizes[0] * q0 * (1.0 - q0) * share0**2 + sizes[1] * q1 * (1.0 - q1) * share1**2
    one = ndtr(gap / np.sqrt(np.maximum(variance, 1e-300)))
    return float(M / 2.0 * np.sum(weight * (p0 * one + p1 * (1.0 - one))))


def _both(p: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return all pairs of nodes, flat, and their weights, which sum to one."""
    p0, p1 = np.meshgrid(p, p, indexing="ij")
    weight = weights / weights.sum()
    return p0.ravel(), p1.ravel(), np.outer(weight, weight).ravel()


def _seen(p0: Array, p1: Array, alpha: tuple[float, float]) -> tuple[Array, Array]:
    """Return the probabilities of the symbol under the given labels."""
    return (1.0 - alpha[0]) * p0 + alpha[0] * p1, (1.0 - alpha[1]) * p1 + alpha[1] * p0


def _binomial(chance: Array, size: int) -> Array:
    """Return Bin(k; size, chance) for k = 0 .. size, one row per chance."""
    k = np.arange(size + 1)
    log_ways = -np.log(size + 1.0) - betaln(k + 1.0, size - k + 1.0)
    logs = xlogy(k, chance[:, None]) + xlog1py(size - k, -chance[:, None])
    return np.asarray(np.exp(log_ways + logs))
