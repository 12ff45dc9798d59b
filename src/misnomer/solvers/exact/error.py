"""The average probability of error of the Combined Bayes Test, exactly.

It is a sum over all training sets. A training set is a table of M symbols with counts (a, b); P(e)
does not care which symbol has which counts. So the sets are the multisets of pairs that add up to
(n0, n1), the *bipartite partitions*, each with its weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from misnomer.solvers.exact import (
    Array,
    Pair,
    alpha_pair,
    checked_dirichlet,
    checked_prior,
    checked_sizes,
    checked_symbols,
    log_ending,
    log_symbol_weight,
)

MAX_NUMBERS_HELD = 20_000_000  # numbers held at once: 160 MB
MAX_SYMBOL_KINDS = 441  # kinds of symbol, (n0 + 1)(n1 + 1): twenty rows per class


@dataclass(frozen=True, eq=False)
class Partitions:
    """The multisets of (a, b) pairs adding up to one (n0, n1)."""

    # (P, n0 + n1 + 1): the convolution of the symbols' weights, at moved = -n0 .. n1.
    weights: Array
    parts: NDArray[np.int64]  # (P,): number of pairs other than (0, 0)
    log_repeats: Array  # (P,): log of the product of the factorials of the multiplicities


def count_partitions(sizes: Pair, most_parts: int) -> NDArray[np.int64]:
    """Count the multisets of ``parts`` pairs adding up to (n0, n1), for all up to ``sizes``.

    Returns
    -------
    (n0 + 1, n1 + 1, most_parts + 1) array

    Examples
    --------
    >>> [int(count_partitions((n, n), 2 * n)[n, n].sum()) for n in (1, 2, 3, 10)]
    [2, 9, 31, 59521]
    """
    count = np.zeros((sizes[0] + 1, sizes[1] + 1, most_parts + 1), dtype=np.int64)
    count[0, 0, 0] = 1
    for a, b in _pairs(sizes):
        # In place and upwards, so that a pair may be used again and again.
        if a:
            for n in range(a, sizes[0] + 1):
                count[n, b:, 1:] += count[n - a, : sizes[1] + 1 - b, :-1]
        else:
            for n in range(b, sizes[1] + 1):
                count[:, n, 1:] += count[:, n - b, :-1]
    return count


def partitions(
    sizes: Pair, most_parts: int, alpha: tuple[float, float], dirichlet: float
) -> dict[Pair, Partitions]:
    """List the partitions of every (n0, n1) up to ``sizes`` with at most ``most_parts`` pairs.

    Each is made once, by adding all copies of its last pair to a shorter one: one row of a product
    with a banded matrix.

    Examples
    --------
    >>> table = partitions((2, 2), 4, (0.0, 0.0), 1.0)
    >>> len(table[2, 2].parts), table[2, 2].weights[0]
    (9, array([0., 0., 1., 0., 0.]))
    """
    room = _checked_room(sizes, most_parts)
    table = {n: _empty(n, int(room[n])) for n in np.ndindex(sizes[0] + 1, sizes[1] + 1)}
    filled = dict.fromkeys(table, 0)
    table[0, 0].weights[0, 0], filled[0, 0] = 1.0, 1
    for pair in _pairs(sizes):
        powers = _powers(pair, sizes, most_parts, alpha, dirichlet)
        # Downwards, so that no target is a source before the next pair.
        for target in product(range(sizes[0], -1, -1), range(sizes[1], -1, -1)):
            for copies, power in enumerate(powers, start=1):
                source = (target[0] - copies * pair[0], target[1] - copies * pair[1])
                if min(source) < 0:
                    break
                filled[target] += _append(table, filled, source, target, copies, power, most_parts)
    return table


def _pairs(sizes: Pair) -> list[Pair]:
    return [p for p in np.ndindex(sizes[0] + 1, sizes[1] + 1) if p != (0, 0)]


def _checked_room(sizes: Pair, most_parts: int) -> NDArray[np.int64]:
    """Count the rows that are needed, refusing what would not fit in memory."""
    too_large = ValueError(
        f"N = {sizes} with {most_parts + 1} symbols is too large for exact enumeration: "
        "use smaller N or M, or own_counts_error."
    )
    if (sizes[0] + 1) * (sizes[1] + 1) > MAX_SYMBOL_KINDS:
        raise too_large
    room: NDArray[np.int64] = count_partitions(sizes, most_parts).sum(axis=2)
    widths = np.add.outer(np.arange(sizes[0] + 1), np.arange(sizes[1] + 1)) + 1
    if np.sum(room * widths) > MAX_NUMBERS_HELD:
        raise too_large
    return room


def _empty(sizes: Pair, rows: int) -> Partitions:
    weights = np.zeros((rows, sum(sizes) + 1))
    return Partitions(weights, np.zeros(rows, dtype=np.int64), np.zeros(rows))


def _powers(
    pair: Pair, sizes: Pair, most_parts: int, alpha: tuple[float, float], dirichlet: float
) -> list[Array]:
    """Return the weights of one, two, ... symbols with the same counts, as many as fit."""
    one = symbol_weight(pair, alpha, dirichlet)
    fits = min(n // p for n, p in zip(sizes, pair, strict=True) if p)
    powers = [one]
    while len(powers) < min(fits, most_parts):
        powers.append(np.convolve(powers[-1], one))
    return powers


def symbol_weight(
    pair: Pair, alpha: tuple[float, float], dirichlet: float, *, test: Pair = (0, 0)
) -> Array:
    """Return W(moved) / (a! b!) of a symbol counted a and b times, at moved = -a .. b.

    Examples
    --------
    >>> symbol_weight((1, 1), (0.1, 0.2), 1.0).round(9)
    array([0.16, 0.74, 0.36])
    """
    a, b = pair
    first, logs = log_symbol_weight(a, b, alpha, dirichlet, test=test)
    weight = np.zeros(a + b + 1)
    weight[a + first : a + first + len(logs)] = np.exp(logs - gammaln(a + 1) - gammaln(b + 1))
    return weight


def _append(
    table: dict[Pair, Partitions],
    filled: dict[Pair, int],
    source: Pair,
    target: Pair,
    copies: int,
    power: Array,
    most_parts: int,
) -> int:
    """Write the partitions of ``source`` with ``copies`` more symbols under ``target``."""
    old, new = table[source], table[target]
    rows = np.flatnonzero(old.parts[: filled[source]] + copies <= most_parts)
    where = slice(filled[target], filled[target] + len(rows))
    new.weights[where] = old.weights[rows] @ _banded(power, old.weights.shape[1])
    new.parts[where] = old.parts[rows] + copies
    new.log_repeats[where] = old.log_repeats[rows] + gammaln(copies + 1)
    return len(rows)


def _banded(kernel: Array, rows: int) -> Array:
    """Return the matrix whose product with a row vector is the convolution with ``kernel``."""
    band = np.zeros((rows, rows + len(kernel) - 1))
    for shift, value in enumerate(kernel):
        band[np.arange(rows), np.arange(rows) + shift] = value
    return band


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
