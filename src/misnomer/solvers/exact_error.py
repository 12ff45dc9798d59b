"""The average probability of error of the Combined Bayes Test, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from misnomer.solvers.exact_counts import Array, alpha_pair, checked_dirichlet
from misnomer.solvers.exact_partitions import Pair, Partitions, partitions, symbol_weight

SAME = 1e-12  # errors this close are equal but for rounding
_TIE = 1e-9  # relative; exact ties are common, and rounding must not decide them


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
        return int(self.symbols[np.argmax(self.error <= self.error.min() + SAME)])


def probability_of_error(
    M: int,
    N: int | Sequence[int],
    alpha: float | Sequence[float] = 0.0,
    *,
    assumed_alpha: float | Sequence[float] | None = None,
    dirichlet: float = 1.0,
    class_prior: Sequence[float] = (0.5, 0.5),
) -> float:
    """Return P(e), averaged over all pairs of symbol distributions, for one test observation.

    P(e) = P(class 0) P(decide 1 | class 0) + P(class 1) P(decide 0 | class 1), formula (6): a sum
    over all training sets of N rows per given class, M symbols, and the symbol to classify.

    Parameters
    ----------
    M : int
        Number of symbols, at least 2.
    N : int or pair of int
        Rows per given class.
    alpha : float or pair of float
        True probability that a given label is wrong, for each given class.
    assumed_alpha : float or pair of float, optional
        What the test believes instead of ``alpha``.
    dirichlet : float
        Dirichlet parameter of each symbol: 1 is uniform.
    class_prior : pair of float
        P(class 0), P(class 1) of the observation; a tie goes to class 0.

    Returns
    -------
    float

    Examples
    --------
    >>> round(probability_of_error(4, 10), 5)
    0.32093
    >>> round(probability_of_error(4, 10, 0.05), 5)
    0.32723
    """
    curve = error_curve(
        [M],
        N,
        alpha,
        assumed_alpha=assumed_alpha,
        dirichlet=dirichlet,
        class_prior=class_prior,
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
    truth = _Test(sizes, alpha_pair(alpha), c, symbols)
    tables = truth.tables(others)
    belief, believed = truth, tables
    if assumed_alpha is not None and alpha_pair(assumed_alpha) != truth.alpha:
        belief = _Test(sizes, alpha_pair(assumed_alpha), c, symbols)
        believed = belief.tables(others)
    error, mass = np.zeros(len(symbols)), np.zeros((2, len(symbols)))
    for rest, table in tables.items():
        joint = truth.joint(rest, table)
        seen = joint if belief is truth else belief.joint(rest, believed[rest])
        one = prior[1] * seen[1] > prior[0] * seen[0] * (1.0 + _TIE)
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

    def tables(self, others: int) -> dict[Pair, Partitions]:
        """List what the symbols other than the observed one can show."""
        return partitions(self.sizes, others, self.alpha, self.dirichlet)

    def joint(self, rest: Pair, table: Partitions) -> Array:
        """Return (2, P, m): class, partition of the other symbols, number of symbols.

        The symbol to classify has the counts that are not in ``rest``; M names times the ways to
        give M - 1 names to the others make one probability out of equal ones.
        """
        messages = [self._message(rest, truth) for truth in (0, 1)]
        ways = np.exp(self._log_ways(table))
        return np.stack([(table.weights @ message) * ways for message in messages])

    def _log_ways(self, table: Partitions) -> Array:
        spare = self.symbols - 1 - table.parts[:, None]
        with np.errstate(invalid="ignore"):
            ways = gammaln(self.symbols + 1) - gammaln(spare + 1) - table.log_repeats[:, None]
        return np.where(spare >= 0, ways, -np.inf)

    def _message(self, rest: Pair, truth: int) -> Array:
        """Return (moved in the rest, M): the ending seen through the symbol to classify."""
        pair = (self.sizes[0] - rest[0], self.sizes[1] - rest[1])
        moved = np.arange(-pair[0], pair[1] + 1)
        true_count = pair[truth] + (1 - 2 * truth) * moved
        weight = symbol_weight(pair, self.alpha, self.dirichlet) * (self.dirichlet + true_count)
        windows = np.lib.stride_tricks.sliding_window_view(self._ending(truth), len(weight), axis=0)
        return np.asarray(windows @ weight)

    def _ending(self, truth: int) -> Array:
        """Return N0! N1! Gamma(A)^2 / (Gamma(A + n0 + D) Gamma(A + n1 - D)), (D, M), A = c M."""
        total = self.dirichlet * self.symbols
        moved = np.arange(-self.sizes[0], self.sizes[1] + 1)[:, None]
        in_zero = gammaln(total + (self.sizes[0] + (truth == 0) + moved))
        in_one = gammaln(total + (self.sizes[1] + (truth == 1) - moved))
        ways = gammaln(np.array(self.sizes) + 1.0).sum()
        return np.asarray(np.exp(ways + 2.0 * gammaln(total) - in_zero - in_one))


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
