"""The average probability of error of the Combined Bayes Test, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from misnomer.solvers.exact.counts import Array, alpha_pair, checked_dirichlet
from misnomer.solvers.exact.evidence import log_ending
from misnomer.solvers.exact.partitions import Pair, Partitions, partitions, symbol_weight

Observed = tuple[tuple[int, int, int], ...]  # rows given 0, rows given 1, and times in the test

MAX_ROUNDING = 1e-12  # errors this close are equal but for rounding
TIE_TOLERANCE = 1e-9  # relative; exact ties are common, and rounding must not decide them


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """P(e) for several numbers of symbols.

    Attributes
    ----------
    symbols : (m,) array
        Numbers of symbols M.
    error : (m,) array
        Average probability of error for each.
    mass : (2, m) array
        The sum of all probabilities under either class: one, but for rounding.
    """

    symbols: NDArray[np.int64]
    error: Array
    mass: Array

    @property
    def best(self) -> int:
        """The number of symbols with the smallest error, the first one if tied."""
        return int(self.symbols[np.argmax(self.error <= self.error.min() + MAX_ROUNDING)])


def probability_of_error(
    M: int,
    N: int | Sequence[int],
    alpha: float | Sequence[float] = 0.0,
    *,
    assumed_alpha: float | Sequence[float] | None = None,
    dirichlet: float = 1.0,
    class_prior: Sequence[float] = (0.5, 0.5),
    n_test: int = 1,
) -> float:
    """Return P(e), averaged over all pairs of symbol distributions.

    ``P(e) = P(class 0) P(decide 1 | class 0) + P(class 1) P(decide 0 | class 1)``, formula (6): a
    sum over all training sets of N rows per given class, M symbols, and the symbols to classify.

    Parameters
    ----------
    M : int
        Number of symbols, at least 2.
    N : int or pair of int
        Rows per given class.
    alpha : float or pair of float
        True probability that a given label is wrong, for each given class; less than 1. Beyond 1/2
        a test that knows it only exchanges the names of the classes.
    assumed_alpha : float or pair of float, optional
        What the test believes instead of ``alpha``.
    dirichlet : float
        Dirichlet parameter of each symbol: 1 is uniform.
    class_prior : pair of float
        P(class 0), P(class 1) of the observation; a tie goes to class 0.
    n_test : int
        Observations to classify together, all of one class. Time grows steeply with it.

    Returns
    -------
    float

    Examples
    --------
    >>> round(probability_of_error(4, 10), 5)
    0.32093
    >>> round(probability_of_error(4, 10, 0.05), 5)
    0.32723
    >>> [round(probability_of_error(2, 4, 0.1, n_test=n), 4) for n in (1, 2, 3)]
    [0.3808, 0.3635, 0.3487]
    """
    curve = error_curve(
        [M],
        N,
        alpha,
        assumed_alpha=assumed_alpha,
        dirichlet=dirichlet,
        class_prior=class_prior,
        n_test=n_test,
    )
    return float(curve.error[0])


def error_curve(
    Ms: Sequence[int],
    N: int | Sequence[int],
    alpha: float | Sequence[float] = 0.0,
    *,
    assumed_alpha: float | Sequence[float] | None = None,
    dirichlet: float = 1.0,
    class_prior: Sequence[float] = (0.5, 0.5),
    n_test: int = 1,
) -> ErrorCurve:
    """Return :func:`probability_of_error` for several M, at about the cost of the largest.

    Examples
    --------
    >>> error_curve([2, 3, 4, 5], 5).error.round(4)
    array([0.3611, 0.3452, 0.3457, 0.3504])
    """
    symbols, sizes = checked_symbols(Ms), checked_sizes(N)
    prior = checked_prior(class_prior)
    others = min(int(symbols.max()) - 1, sum(sizes))
    c = float(checked_dirichlet(dirichlet, 1)[0])
    truth = _Test(sizes, alpha_pair(alpha, below=1.0), c, symbols, _checked_tests(n_test))
    belief = truth
    if assumed_alpha is not None:
        belief = replace(truth, alpha=alpha_pair(assumed_alpha, below=1.0))
    tables = truth.tables(others)
    believed = tables if belief.alpha == truth.alpha else belief.tables(others)
    error, mass = np.zeros(len(symbols)), np.zeros((2, len(symbols)))
    for observed, rest in all_observed(sizes, n_test, int(symbols.max())):
        joint = truth.joint(observed, rest, tables[rest])
        seen = joint if believed is tables else belief.joint(observed, rest, believed[rest])
        one = prior[1] * seen[1] > prior[0] * seen[0] * (1.0 + TIE_TOLERANCE)
        error += np.where(one, prior[0] * joint[0], prior[1] * joint[1]).sum(axis=0)
        mass += joint.sum(axis=1)
    return ErrorCurve(symbols, error, mass)


@dataclass(frozen=True, eq=False)
class _Test:
    """One model of training and test: the joint probabilities of all that can be seen."""

    sizes: Pair
    alpha: tuple[float, float]
    dirichlet: float
    symbols: NDArray[np.int64]
    n_test: int

    def tables(self, others: int) -> dict[Pair, Partitions]:
        """List what the symbols other than the observed ones can show."""
        return partitions(self.sizes, others, self.alpha, self.dirichlet)

    def joint(self, observed: Observed, rest: Pair, table: Partitions) -> Array:
        """Return (2, P, m): class, partition of the other symbols, number of symbols.

        The ways to give M names to the observed and the other symbols, and to order the test, make
        one probability out of equal ones.
        """
        messages = [self._message(observed, truth) for truth in (0, 1)]
        ways = np.exp(self._log_ways(observed, table))
        return np.stack([(table.weights @ message) * ways for message in messages])

    def _log_ways(self, observed: Observed, table: Partitions) -> Array:
        spare = self.symbols - len(observed) - table.parts[:, None]
        repeats = gammaln(np.array(list(Counter(observed).values())) + 1.0).sum()
        orders = gammaln(self.n_test + 1.0) - sum(gammaln(y + 1.0) for _, _, y in observed)
        with np.errstate(invalid="ignore"):
            ways = gammaln(self.symbols + 1) - gammaln(spare + 1) - table.log_repeats[:, None]
        return np.where(spare >= 0, ways + orders - repeats, -np.inf)

    def _message(self, observed: Observed, truth: int) -> Array:
        """Return (moved in the rest, M): the ending seen through the symbols of the test."""
        weight = np.ones(1)
        for symbol in observed:
            weight = np.convolve(weight, self._weight(symbol, truth))
        windows = np.lib.stride_tricks.sliding_window_view(self._ending(truth), len(weight), axis=0)
        return np.asarray(windows @ weight)

    def _weight(self, symbol: tuple[int, int, int], truth: int) -> Array:
        """Weigh what moved in a symbol counted a and b times, and y times in the test."""
        a, b, y = symbol
        test = (0, y) if truth else (y, 0)
        return symbol_weight((a, b), self.alpha, self.dirichlet, test=test)

    def _ending(self, truth: int) -> Array:
        """Return N0! N1! Gamma(A)^2 / (Gamma(A + n0 + D) Gamma(A + n1 - D)), (D, M), A = c M."""
        total = np.asarray(self.dirichlet * self.symbols, np.float64)
        moved = np.arange(-self.sizes[0], self.sizes[1] + 1)[:, None]
        rows = np.array(self.sizes) + self.n_test * (np.arange(2) == truth)
        ways = gammaln(np.array(self.sizes) + 1.0).sum() + 2.0 * gammaln(total)
        return np.asarray(np.exp(ways + log_ending(total, rows, moved)))


def all_observed(sizes: Pair, n_test: int, symbols: int) -> Iterator[tuple[Observed, Pair]]:
    """List what the symbols of the test may show, up to their names, and what is left to others.

    Examples
    --------
    >>> [observed for observed, _ in all_observed((1, 0), 2, 2)]
    [((0, 0, 2),), ((1, 0, 2),), ((0, 0, 1), (0, 0, 1)), ((0, 0, 1), (1, 0, 1))]
    """
    pairs = list(np.ndindex(sizes[0] + 1, sizes[1] + 1))
    for counts in _sums(n_test, n_test):
        if len(counts) > symbols:
            continue
        choices = [
            combinations_with_replacement([(*pair, y) for pair in pairs], times)
            for y, times in Counter(counts).items()
        ]
        for chosen in product(*choices):
            observed = tuple(symbol for part in chosen for symbol in part)
            rest = tuple(size - sum(s[t] for s in observed) for t, size in enumerate(sizes))
            if min(rest) >= 0:
                yield observed, (rest[0], rest[1])


def _sums(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Write a number as a sum of positive ones that do not grow."""
    if total == 0:
        yield ()
    for head in range(min(total, largest), 0, -1):
        for tail in _sums(total - head, head):
            yield (head, *tail)


def _checked_tests(n_test: int) -> int:
    if not isinstance(n_test, int | np.integer) or n_test < 1:
        raise ValueError(f"n_test must be a whole number of at least 1, but it is {n_test}.")
    return int(n_test)


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
