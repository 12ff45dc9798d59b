"""Positive weights on consecutive whole numbers: scaled, convolved and pulled back.

A sum over many symbols of a product of weights is one convolution after another. All numbers are
positive, so direct convolution keeps its relative accuracy (an FFT would not); every result is
scaled to a largest value of one and cut where it falls below ``FLOOR``: nothing is ever denormal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FLOOR = 1e-140  # the product of two kept values is still a normal number


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
    values = np.where(values >= FLOOR * peak, values / peak, 0.0)
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
    kept = np.flatnonzero(values >= FLOOR * peak)
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
