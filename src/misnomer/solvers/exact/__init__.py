"""Symbols counted under two doubtful labels, and what is believed of them: checked once, here.

Of a symbol, ``kept`` rows were given class 0 and ``other`` rows class 1; a row given class t truly
belongs to the other class with probability ``alpha[t]`` = P(true is the other | given t). Let
``moved`` be the rows truly of class 0 but given 1, less those truly of class 1 but given 0. Then
the true counts are kept + moved and other - moved, whatever else happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Pair = tuple[int, int]

MIN_DIRICHLET = 1e-9  # tested down to here; all digits are kept


@dataclass(frozen=True)
class LabeledCounts:
    """How often each symbol was seen under each given label, and what is believed of the labels."""

    counts: Counts  # (2, m): rows of each given class (first axis) showing each symbol
    # P(true class is the other one | given class), for given class 0 and 1
    alpha: tuple[float, float]
    dirichlet: Array  # (m,): dirichlet parameter of each symbol
    # sum of the parameters over *all* symbols, those without a column in ``counts`` too
    total: float

    @property
    def sizes(self) -> Counts:
        """Rows per given class."""
        return np.asarray(self.counts.sum(axis=1))


def labeled_counts(
    counts: ArrayLike,
    *,
    alpha: float | Sequence[float] = 0.0,
    dirichlet: ArrayLike = 1.0,
    n_symbols: int | None = None,
) -> LabeledCounts:
    """Check the input of the exact solver and bring it to one form.

    Examples
    --------
    >>> labeled_counts([[3, 1], [0, 2]], alpha=0.1, n_symbols=4).total
    4.0
    """
    table = checked_counts(counts)
    if table.ndim != 2 or table.shape[0] != 2:
        raise ValueError(
            f"Counts must have one row per class and two classes, not shape {table.shape}."
        )
    seen = table.shape[1]
    parameters = checked_dirichlet(dirichlet, seen)
    if n_symbols is None:
        return LabeledCounts(table, alpha_pair(alpha), parameters, float(parameters.sum()))
    if n_symbols < max(2, seen):
        raise ValueError(
            f"M = {n_symbols} symbols are too few: give at least {max(2, seen)}, "
            "the number of symbols in the counts and never less than 2."
        )
    if np.ndim(dirichlet) > 0 and n_symbols > seen:
        raise ValueError(
            "A Dirichlet parameter per symbol needs every symbol in the counts: "
            f"give {n_symbols} columns, or one number as dirichlet."
        )
    total = float(parameters.sum() + (n_symbols - seen) * parameters[0])
    return LabeledCounts(table, alpha_pair(alpha), parameters, total)


def alpha_pair(alpha: float | Sequence[float], below: float = 0.5) -> tuple[float, float]:
    """Return the mislabeling probability of each given class, checked to lie in [0, below).

    Examples
    --------
    >>> alpha_pair(0.25), alpha_pair((0.1, 0.0))
    ((0.25, 0.25), (0.1, 0.0))
    """
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if values.shape not in ((1,), (2,)):
        raise ValueError(f"alpha must be one number or a pair, not {len(values)} numbers.")
    if not np.all((values >= 0.0) & (values < below)):
        end = "1/2" if below == 0.5 else f"{below:g}"
        raise ValueError(f"alpha must lie in [0, {end}), but it is {alpha}.")
    return float(values[0]), float(values[-1])


def checked_counts(counts: ArrayLike) -> Counts:
    """Return counts as whole numbers, refusing negative and fractional ones.

    Examples
    --------
    >>> checked_counts([2.0, 0.0])
    array([2, 0])
    """
    values = np.asarray(counts, dtype=np.float64)
    if not np.all(np.isfinite(values)) or np.any(values < 0) or np.any(values != np.floor(values)):
        raise ValueError("Counts must be whole numbers that are not negative.")
    return values.astype(np.int64)


def checked_dirichlet(dirichlet: ArrayLike, n_symbols: int) -> Array:
    """Return one positive Dirichlet parameter per symbol.

    Examples
    --------
    >>> checked_dirichlet(0.5, 2)
    array([0.5, 0.5])
    """
    values = np.asarray(dirichlet, dtype=np.float64)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_symbols):
        raise ValueError(
            f"dirichlet must be one number or one per symbol ({n_symbols}), "
            f"not shape {values.shape}."
        )
    if not np.all((values >= MIN_DIRICHLET) & np.isfinite(values)):
        raise ValueError(f"dirichlet must be finite and at least {MIN_DIRICHLET}.")
    return np.broadcast_to(values, (n_symbols,)).astype(np.float64)


def checked_symbols(Ms: Sequence[int]) -> NDArray[np.int64]:
    """Return numbers of symbols, each at least 2.

    Examples
    --------
    >>> checked_symbols([2, 4])
    array([2, 4])
    """
    symbols = np.atleast_1d(np.asarray(Ms))
    if symbols.size == 0 or symbols.dtype.kind not in "iu" or symbols.min() < 2:
        raise ValueError(f"M must be a whole number of at least 2 symbols, but it is {Ms}.")
    return symbols.astype(np.int64)


def checked_sizes(N: int | Sequence[int]) -> Pair:
    """Return the rows of each given class.

    Examples
    --------
    >>> checked_sizes(10), checked_sizes((5, 8))
    ((10, 10), (5, 8))
    """
    sizes = np.atleast_1d(np.asarray(N))
    if sizes.shape not in ((1,), (2,)) or sizes.dtype.kind not in "iu" or sizes.min() < 0:
        raise ValueError(f"N must be one count of rows or a pair, not negative, but it is {N}.")
    return int(sizes[0]), int(sizes[-1])


def checked_prior(class_prior: Sequence[float]) -> tuple[float, float]:
    """Return the prior probability of both classes.

    Examples
    --------
    >>> checked_prior((0.25, 0.75))
    (0.25, 0.75)
    """
    prior = np.asarray(class_prior, dtype=np.float64)
    if prior.shape != (2,) or not np.all(prior > 0) or not np.isclose(prior.sum(), 1.0):
        raise ValueError(
            "class_prior must be two positive probabilities that add up to 1, "
            f"but it is {class_prior}."
        )
    return float(prior[0]), float(prior[1])


@lru_cache(maxsize=1024)
def log_moved(kept: int, other: int, alpha: tuple[float, float]) -> tuple[int, Array]:
    """Return the log distribution of (wrong among ``other``) - (wrong among ``kept``).

    P(n) = sum_t Bin(t; kept, alpha[0]) Bin(t + n; other, alpha[1]) is the coefficient of z^n in
    (1 + r0/z)^kept (1 + r1 z)^other / constant, r = alpha / (1 - alpha). Differentiating gives

        r0 (kept + n + 1) P(n + 1) = lean(n) P(n) + r1 (other - n + 1) P(n - 1),
        lean(n) = (other - kept) r0 r1 - (1 + r0 r1) n.

    Upward from the left end while lean >= 0, and downward from the right end while lean <= 0, every
    term is positive: ratios of neighbors come out to the last digits, far tails included.

    Returns
    -------
    first : int
        The least number moved.
    logs : array
        Log probabilities of first, first + 1, ...

    Examples
    --------
    >>> first, logs = log_moved(1, 1, (0.1, 0.2))
    >>> first, np.exp(logs).round(9)
    (-1, array([0.08, 0.74, 0.18]))
    """
    r0, r1 = (a / (1.0 - a) for a in alpha)
    both = r0 * r1
    first, last = (-kept if r0 else 0), (other if r1 else 0)
    meet = int(np.ceil((other - kept) * both / (1.0 + both)))
    steps = np.zeros(last - first)
    ratio = inf
    for n in range(first, min(meet, last)):
        lean = (other - kept) * both - (1.0 + both) * n
        ratio = (lean + both * (other - n + 1) / ratio) / (kept + n + 1)  # r0 P(n+1) / P(n)
        steps[n - first] = log(ratio) - log(r0)
    ratio = inf
    for n in range(last, max(meet, first), -1):
        lean = (other - kept) * both - (1.0 + both) * n
        ratio = (both * (kept + n + 1) / ratio - lean) / (other - n + 1)  # r1 P(n-1) / P(n)
        steps[n - 1 - first] = log(r1) - log(ratio)
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    logs = np.asarray(logs - logsumexp(logs))
    logs.setflags(write=False)  # it is cached
    return first, logs


def log_symbol_weight(
    kept: int,
    other: int,
    alpha: tuple[float, float],
    dirichlet: float,
    *,
    test: tuple[int, int] = (0, 0),
) -> tuple[int, Array]:
    """Return log W(moved) of one symbol seen ``test[t]`` times in test data of class t.

    W(n) = P(moved = n) Gamma(c + kept + test[0] + n) Gamma(c + other + test[1] - n) / Gamma(c)^2

    Examples
    --------
    >>> log_symbol_weight(2, 0, (0.0, 0.0), 1.0)
    (0, array([0.69314718]))
    """
    first, logs = log_moved(kept, other, alpha)
    moved = np.arange(first, first + len(logs))
    in_zero = gammaln(dirichlet + (kept + test[0] + moved))  # whole numbers first: they are exact
    in_one = gammaln(dirichlet + (other + test[1] - moved))
    return first, logs + in_zero + in_one - 2.0 * gammaln(dirichlet)


def log_ending(total: float | Array, sizes: Counts, moved: Counts) -> Array:
    """Return -log of Gamma(A + n0 + D) Gamma(A + n1 - D)."""
    return np.asarray(-gammaln(total + (sizes[0] + moved)) - gammaln(total + (sizes[1] - moved)))
