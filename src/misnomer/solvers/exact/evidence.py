"""Symbols counted under two doubtful labels: the exact Dirichlet evidence of new symbols.

Of a symbol, ``kept`` rows were given class 0 and ``other`` rows class 1; a row given class t truly
belongs to the other class with probability ``alpha[t]`` = P(true is the other | given t). Let
``moved`` be the rows truly of class 0 but given 1, less those truly of class 1 but given 0. Then
the true counts are kept + moved and other - moved, whatever else happened. So the sum over all
arrangements of wrong labels needs one distribution of ``moved`` per symbol, and their convolution:

    f(counts, test | t) = constant * sum_D [conv_i W_i](D) / (Gamma(A + n0 + D) Gamma(A + n1 - D))

where n0 and n1 count the rows of each class, those of the test in class t, A is the sum of the
Dirichlet parameters, and W_i is :func:`log_symbol_weight`.

All numbers are positive, so direct convolution keeps its relative accuracy (an FFT would not);
every result is scaled to a largest value of one and cut below ``MIN_KEPT_WEIGHT``: nothing is
denormal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import digamma, gammaln, logsumexp

from misnomer.solvers.exact.counts import Counts, LabeledCounts, checked_counts

Array = NDArray[np.float64]


MIN_LOG_SHARE = -138.0  # log of 1e-60: the cut tails (1e-140) then cannot be seen in any digit


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
    >>> from misnomer.solvers.exact.counts import labeled_counts
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
    >>> from misnomer.solvers.exact.counts import labeled_counts
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


def log_ending(total: float | Array, sizes: Counts, moved: Counts) -> Array:
    """Return -log of Gamma(A + n0 + D) Gamma(A + n1 - D)."""
    return np.asarray(-gammaln(total + (sizes[0] + moved)) - gammaln(total + (sizes[1] - moved)))


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
        factor.first,
        factor.values * (training.dirichlet[symbol] + true_count),
        factor.log_scale,
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
