"""Symbols counted under two doubtful labels: the exact Dirichlet evidence of new symbols.

The true counts of a symbol depend on how many of its rows were ``moved`` by wrong labels, whatever
else happened. So the sum over all arrangements of wrong labels needs one distribution of ``moved``
per symbol, and their convolution:

    f(counts, test | t) = constant * sum_D [conv_i W_i](D) / (Gamma(A + n0 + D) Gamma(A + n1 - D))

where n0 and n1 count the rows of each class, those of the test in class t, A is the sum of the
Dirichlet parameters, and W_i is :func:`log_symbol_weight`.

All numbers are positive, so direct convolution keeps its relative accuracy (an FFT would not);
every result is scaled to a largest value of one and cut below ``MIN_KEPT_WEIGHT``: nothing is
denormal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from misnomer.solvers.exact import (
    Counts,
    LabeledCounts,
    checked_counts,
    labeled_counts,
    log_ending,
    log_symbol_weight,
)

Array = NDArray[np.float64]

MIN_LOG_SHARE = -138.0  # log of 1e-60: the cut tails (1e-140) then cannot be seen in any digit


def predictive(training: LabeledCounts) -> Array:
    """Return P(next symbol is j | its class is t, training), exactly, for every t and j.

    P(j | t) is the mean of (c_j + true count of j in t) / (A + true rows in t) over all
    arrangements of wrong labels; all symbols together cost as much as a few single ones.

    Returns
    -------
    (2, m) array
        One row per class; a row sums to one where ``training`` has a column for every symbol.

    Examples
    --------
    >>> from misnomer.solvers.exact import labeled_counts
    >>> predictive(labeled_counts([[3, 0], [1, 2]])).round(6)
    array([[0.8, 0.2],
           [0.4, 0.6]])
    >>> predictive(labeled_counts([[3, 0], [1, 2]], alpha=0.25)).round(6)
    array([[0.746769, 0.253231],
           [0.421792, 0.578208]])
    """
    factors, tilt = _tilted_factors(training, np.zeros_like(training.counts))
    tree = product_tree(factors)
    log_evidence = _log_total(tree, _ending(training, tree.mass, tilt, (0, 0)))
    rows = []
    for truth in (0, 1):
        message = _ending(training, tree.mass, tilt, (1 - truth, truth))
        messages = leaf_messages(tree, message)
        weighted = [_with_one_more(training, j, f, truth) for j, f in enumerate(factors)]
        rows.append([inner(m, w) for m, w in zip(messages, weighted, strict=True)])
    return np.asarray(np.exp(np.array(rows) - log_evidence))


def log_evidence(training: LabeledCounts, test: ArrayLike, truth: int) -> float:
    """Return log f(training counts, test counts | all test rows are of class ``truth``).

    Examples
    --------
    >>> from misnomer.solvers.exact import labeled_counts
    >>> training = labeled_counts([[3, 0], [1, 2]], alpha=0.25)
    >>> one = [log_evidence(training, [1, 0], truth) for truth in (0, 1)]
    >>> none = log_evidence(training, [0, 0], 0)
    >>> np.exp(np.array(one) - none).round(6)
    array([0.746769, 0.421792])
    """
    observed = checked_counts(test)
    if observed.shape != training.dirichlet.shape:
        raise ValueError(
            f"The test counts must have one entry per symbol ({len(training.dirichlet)}), "
            f"not shape {observed.shape}."
        )
    by_class = np.zeros_like(training.counts)
    by_class[truth] = observed
    factors, tilt = _tilted_factors(training, by_class)
    tree = product_tree(factors)
    extra = tuple(int(n) for n in by_class.sum(axis=1))
    total = _log_total(tree, _ending(training, tree.mass, tilt, (extra[0], extra[1])))
    parts = (*training.counts, observed)
    ways = sum(gammaln(p.sum() + 1) - gammaln(p + 1).sum() for p in parts)
    return float(total + ways + 2.0 * gammaln(training.total))


def _tilted_factors(training: LabeledCounts, test: Counts) -> tuple[list[Mass], float]:
    """Return W_i(n) exp(tilt n) of all symbols, their product peaking where it matters."""
    (kept, other), c = training.counts.tolist(), training.dirichlet.tolist()
    weights = [
        log_symbol_weight(kept[i], other[i], training.alpha, c[i], test=(int(t[0]), int(t[1])))
        for i, t in enumerate(test.T)
    ]
    tilt = _tilt(training, weights, test)
    factors = [mass_from_logs(f, w + tilt * np.arange(f, f + len(w))) for f, w in weights]
    return factors, tilt


def _tilt(training: LabeledCounts, weights: list[tuple[int, Array]], test: Counts) -> float:
    """Solve tilt = slope of log ending at the mean of the tilted product: both then peak there."""
    moved = np.concatenate([np.arange(first, first + len(w)) for first, w in weights])
    logs = np.concatenate([w for _, w in weights])
    starts = np.cumsum([0] + [len(w) for _, w in weights[:-1]])
    lengths = [len(w) for _, w in weights]
    size0, size1 = training.total + training.sizes + test.sum(axis=1)

    def slope(total_moved: float) -> float:
        return float(digamma(size1 - total_moved) - digamma(size0 + total_moved))

    def excess(tilt: float) -> float:
        tilted = logs + tilt * moved
        p = np.exp(tilted - np.repeat(np.maximum.reduceat(tilted, starts), lengths))
        means = np.add.reduceat(p * moved, starts) / np.add.reduceat(p, starts)
        return tilt - slope(float(means.sum()))

    low, high = np.minimum.reduceat(moved, starts).sum(), np.maximum.reduceat(moved, starts).sum()
    if low == high:
        return 0.0
    return float(brentq(excess, slope(high) - 1e-9, slope(low) + 1e-9, xtol=1e-6))


def _ending(training: LabeledCounts, product: Mass, tilt: float, extra: tuple[int, int]) -> Mass:
    """Return exp(-tilt D) / (Gamma(A + n0 + D) Gamma(A + n1 - D)), n with the ``extra`` rows."""
    logs = log_ending(training.total, training.sizes + np.asarray(extra), product.support)
    return mass_from_logs(product.first, logs - tilt * product.support)


def _log_total(tree: Node, ending: Mass) -> float:
    """Return the log of the sum of product times ending, once sure that no cut tail can matter."""
    total = inner(ending, tree.mass)
    share = total - ending.log_scale - tree.mass.log_scale - np.log(tree.mass.values.sum())
    if not share > MIN_LOG_SHARE:
        raise ValueError("The evidence underflows: use a larger dirichlet.")
    return total


def _with_one_more(training: LabeledCounts, symbol: int, factor: Mass, truth: int) -> Mass:
    """Return W(n) (c + true count of the symbol in class ``truth``)."""
    sign = 1 - 2 * truth
    true_count = training.counts[truth, symbol] + sign * factor.support
    return Mass(
        factor.first, factor.values * (training.dirichlet[symbol] + true_count), factor.log_scale
    )


MIN_KEPT_WEIGHT = 1e-140  # the product of two kept values is still a normal number


@dataclass(frozen=True)
class Mass:
    """The weight ``values[i] * exp(log_scale)`` at the whole number ``first + i``."""

    first: int
    values: Array
    log_scale: float = 0.0

    @property
    def support(self) -> NDArray[np.int64]:
        """The whole numbers that carry weight."""
        return np.arange(self.first, self.first + len(self.values))


@dataclass(frozen=True)
class Node:
    """A convolution of ``left`` and ``right``, or one factor where both are absent."""

    mass: Mass
    left: Node | None = None
    right: Node | None = None


def mass_from_logs(first: int, logs: Array) -> Mass:
    """Scale exp(logs) to a largest value of one and cut its tails.

    Examples
    --------
    >>> mass_from_logs(3, np.array([-2000.0, -1000.0, -1000.0]))
    Mass(first=4, values=array([1., 1.]), log_scale=-1000.0)
    """
    peak = float(logs.max())
    return _trimmed(first, np.exp(logs - peak), peak)


def convolve(p: Mass, q: Mass) -> Mass:
    """Return (p * q)(n) = sum_m p(m) q(n - m).

    Examples
    --------
    >>> convolve(Mass(0, np.array([1.0, 1.0])), Mass(-1, np.array([1.0, 1.0])))
    Mass(first=-1, values=array([0.5, 1. , 0.5]), log_scale=0.69...)
    """
    return _trimmed(p.first + q.first, np.convolve(p.values, q.values), p.log_scale + q.log_scale)


def pull_back(message: Mass, through: Mass, onto: Mass) -> Mass:
    """Return n -> sum_m through(m) message(n + m), for the numbers n that ``onto`` carries.

    This is the adjoint of :func:`convolve`: the sum of message times (onto * through) equals the
    sum of (the message pulled back through ``through``) times ``onto``.

    Examples
    --------
    >>> p, q = Mass(0, np.array([1.0, 0.5])), Mass(0, np.array([0.25, 1.0]))
    >>> message = Mass(0, np.array([1.0, 0.5, 0.25]))
    >>> back = pull_back(message, q, p)
    >>> pq = convolve(p, q)
    >>> bool(np.isclose(inner(message, pq), inner(back, p)))
    True
    """
    start = onto.first + through.first
    length = len(onto.values) + len(through.values) - 1
    padded = _on_range(message, start, length)
    values = np.correlate(padded, through.values, mode="valid")
    peak = float(values.max())
    if peak <= 0.0:
        raise ArithmeticError("The weights of a factor and its message do not overlap.")
    values = np.where(values >= MIN_KEPT_WEIGHT * peak, values / peak, 0.0)
    return Mass(onto.first, values, message.log_scale + through.log_scale + float(np.log(peak)))


def inner(message: Mass, mass: Mass) -> float:
    """Return the log of the sum over n of message(n) mass(n).

    Examples
    --------
    >>> inner(Mass(0, np.array([1.0, 1.0])), Mass(1, np.array([1.0, 0.5]), log_scale=2.0))
    2.0
    """
    values = _on_range(message, mass.first, len(mass.values))
    with np.errstate(divide="ignore"):
        return float(np.log(values @ mass.values) + message.log_scale + mass.log_scale)


def product_tree(factors: Sequence[Mass]) -> Node:
    """Convolve all factors by halves, keeping every partial product.

    Examples
    --------
    >>> coin = Mass(0, np.array([1.0, 1.0]))
    >>> tree = product_tree([coin] * 4)
    >>> (tree.mass.values * np.exp(tree.mass.log_scale)).round(9)
    array([1., 4., 6., 4., 1.])
    """
    if len(factors) == 1:
        return Node(factors[0])
    half = len(factors) // 2
    left, right = product_tree(factors[:half]), product_tree(factors[half:])
    return Node(convolve(left.mass, right.mass), left, right)


def leaf_messages(node: Node, message: Mass) -> list[Mass]:
    """Return, for each factor, the message pulled back through the product of all the others.

    One pass down the tree serves all factors: about the cost of two products, and no division.

    Examples
    --------
    >>> factors = [Mass(0, np.array([1.0, 0.5])), Mass(0, np.array([0.25, 1.0]))]
    >>> tree = product_tree(factors)
    >>> messages = leaf_messages(tree, Mass(0, np.array([1.0, 0.5, 0.25])))
    >>> [round(inner(m, f), 6) for m, f in zip(messages, factors, strict=True)]
    [-0.064539, -0.064539]
    """
    if node.left is None or node.right is None:
        return [message]
    to_left = pull_back(message, node.right.mass, node.left.mass)
    to_right = pull_back(message, node.left.mass, node.right.mass)
    return leaf_messages(node.left, to_left) + leaf_messages(node.right, to_right)


def _trimmed(first: int, values: Array, log_scale: float) -> Mass:
    peak = float(values.max())
    kept = np.flatnonzero(values >= MIN_KEPT_WEIGHT * peak)
    low, high = int(kept[0]), int(kept[-1]) + 1
    return Mass(first + low, values[low:high] / peak, float(log_scale + np.log(peak)))


def _on_range(mass: Mass, first: int, length: int) -> Array:
    """Return the values on first .. first + length - 1, with zeros where there is no weight."""
    result = np.zeros(length)
    low = max(first, mass.first)
    high = min(first + length, mass.first + len(mass.values))
    if low < high:
        result[low - first : high - first] = mass.values[low - mass.first : high - mass.first]
    return result


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """The counts of a column's symbols and the exact evidence that each carries.

    Attributes
    ----------
    name : str
        The column, for messages.
    symbols : tuple
        The symbols seen in training, in order.
    counts : (2, m) array
        Rows of each given class showing each symbol.
    n_symbols : int or None
        How many symbols there are; None stands for those seen.
    believe : callable
        Puts counts beside what is believed of labels and symbols.
    log_predictive : (2, m + 1) array
        Log P(symbol | class); the last column is a symbol not seen in training.
    """

    name: str
    symbols: tuple[object, ...]
    counts: Counts
    n_symbols: int | None
    believe: Callable[[Counts], LabeledCounts]
    log_predictive: Array

    def codes(self, values: Iterable[object]) -> NDArray[np.int64]:
        """Return the place of each symbol in ``symbols``; m, m + 1, ... are new ones."""
        place: dict[object, int] = {symbol: i for i, symbol in enumerate(self.symbols)}
        codes = np.array([place.setdefault(v, len(place)) for v in values], dtype=np.int64)
        if self.n_symbols is not None and len(place) > self.n_symbols:
            raise ValueError(
                f"{self.name} shows {list(place)[self.n_symbols]!r}, one symbol more than "
                f"n_symbols={self.n_symbols}: raise n_symbols."
            )
        return codes

    def log_ratio(self, values: Iterable[object]) -> Array:
        """Return log P(symbol | class 1) - log P(symbol | class 0) of each value."""
        codes = np.minimum(self.codes(values), len(self.symbols))
        return np.asarray(self.log_predictive[1, codes] - self.log_predictive[0, codes])

    def batch_log_ratio(self, values: Iterable[object]) -> float:
        """Return the same for all values together, known to be of one class."""
        codes = self.codes(values)
        if self.n_symbols is None:
            codes = codes[codes < len(self.symbols)]
        test = np.bincount(codes, minlength=len(self.symbols))
        new = len(test) - len(self.symbols)
        training = self.believe(np.pad(self.counts, ((0, 0), (0, new))))
        return log_evidence(training, test, 1) - log_evidence(training, test, 0)


def symbol_table(
    values: Iterable[object],
    given: NDArray[np.int64],
    weights: NDArray[np.int64],
    *,
    name: str,
    alpha: tuple[float, float],
    dirichlet: ArrayLike = 1.0,
    n_symbols: int | None = None,
) -> SymbolTable:
    """Count the symbols of a column under each given class, and weigh them.

    Examples
    --------
    >>> given, ones = np.array([0, 0, 1, 1]), np.ones(4, dtype=int)
    >>> table = symbol_table("aabb", given, ones, name="Column 0", alpha=(0.0, 0.0))
    >>> table.symbols, np.exp(table.log_ratio("ab")).round(9)
    (('a', 'b'), array([0.33333333, 3.        ]))
    """
    column = list(values)
    symbols = _sorted(set(column))
    place = {symbol: i for i, symbol in enumerate(symbols)}
    codes = np.array([place[v] for v in column], dtype=np.int64)
    counts = np.zeros((2, len(symbols)), dtype=np.int64)
    np.add.at(counts.reshape(-1), given * len(symbols) + codes, weights)
    believe = partial(labeled_counts, alpha=alpha, dirichlet=dirichlet, n_symbols=n_symbols)
    seen = predictive(believe(counts))
    unseen = np.ones((2, 1))  # no evidence, where the number of symbols leaves no room
    if n_symbols is not None and n_symbols > len(symbols):
        unseen = predictive(believe(np.pad(counts, ((0, 0), (0, 1)))))[:, -1:]
    logs = np.log(np.concatenate([seen, unseen], axis=1))
    return SymbolTable(name, symbols, counts, n_symbols, believe, logs)


def _sorted(symbols: set[object]) -> tuple[object, ...]:
    try:
        return tuple(sorted(symbols))  # type: ignore[type-var]
    except TypeError:  # words and numbers in one column have no order of their own
        return tuple(sorted(symbols, key=lambda s: (type(s).__name__, str(s))))
