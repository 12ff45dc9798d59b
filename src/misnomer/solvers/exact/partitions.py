"""All training sets of two small classes, up to the names of the symbols, with their weights.

A training set is a table of M symbols with counts (a, b); P(e) does not care which symbol has which
counts. So the sets are the multisets of pairs that add up to (n0, n1): the *bipartite partitions*.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from misnomer.solvers.exact.counts import Array
from misnomer.solvers.exact.evidence import log_symbol_weight

MAX_NUMBERS_HELD = 20_000_000  # numbers held at once: 160 MB
MAX_SYMBOL_KINDS = 441  # kinds of symbol, (n0 + 1)(n1 + 1): twenty rows per class

Pair = tuple[int, int]


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
