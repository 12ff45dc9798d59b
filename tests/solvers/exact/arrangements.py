"""Formula (4) of Lynch and Willett as it stands: every arrangement of wrong labels, one by one.

All terms are positive: fractions give exact results, floats nearly so and much faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, factorial, prod

Number = Fraction | float


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write ``total`` as ``parts`` counts."""
    if parts == 1:
        yield (total,)
        return
    for head in range(total + 1):
        for tail in compositions(total - head, parts - 1):
            yield (head, *tail)


def rising(start: Number, length: int) -> Number:
    """Gamma(start + length) / Gamma(start)."""
    return prod((start + i for i in range(length)), start=1)


@cache
def dirichlet_mean(counts: tuple[int, ...], parameters: tuple[Number, ...]) -> Number:
    """The mean of prod_i p_i^counts_i where p is Dirichlet."""
    above = prod((rising(c, n) for c, n in zip(parameters, counts, strict=True)), start=1)
    return above / rising(sum(parameters), sum(counts))


def multinomial(counts: Sequence[int]) -> int:
    """The number of orders of that many rows of each kind."""
    return factorial(sum(counts)) // prod(factorial(n) for n in counts)


def evidence(
    counts: Sequence[Sequence[int]],
    test: Sequence[int],
    truth: int,
    alpha: Sequence[Number],
    parameters: Sequence[Number],
) -> Number:
    """The probability of training and test counts, the test rows being of class ``truth``."""
    zero, one = counts
    total = 0
    for out in product(*(range(n + 1) for n in zero)):  # given 0, truly 1
        for into in product(*(range(n + 1) for n in one)):  # given 1, truly 0
            wrong, right = sum(out), sum(into)
            chance = alpha[0] ** wrong * (1 - alpha[0]) ** (sum(zero) - wrong)
            chance *= alpha[1] ** right * (1 - alpha[1]) ** (sum(one) - right)
            ways = prod(comb(n, t) for n, t in zip(zero, out, strict=True))
            ways *= prod(comb(n, t) for n, t in zip(one, into, strict=True))
            true = [
                tuple(z - o + i for z, o, i in zip(zero, out, into, strict=True)),
                tuple(n - i + o for n, o, i in zip(one, out, into, strict=True)),
            ]
            true[truth] = tuple(int(n + y) for n, y in zip(true[truth], test, strict=True))
            means = [dirichlet_mean(counts, tuple(parameters)) for counts in true]
            total += ways * chance * means[0] * means[1]
    return total * multinomial(zero) * multinomial(one) * multinomial(test)


def error(
    symbols: int,
    sizes: tuple[int, int],
    alpha: Sequence[Number],
    parameters: Sequence[Number],
    assumed: Sequence[Number] | None = None,
    n_test: int = 1,
) -> Number:
    """Formula (6) with equal priors and ``n_test`` test rows; a tie goes to class 0."""
    total = 0
    for zero in compositions(sizes[0], symbols):
        for one in compositions(sizes[1], symbols):
            for test in compositions(n_test, symbols):
                args = (zero, one), test
                true = [evidence(*args, t, alpha, parameters) for t in (0, 1)]
                seen = true
                if assumed is not None:
                    seen = [evidence(*args, t, assumed, parameters) for t in (0, 1)]
                total += true[0] if seen[1] > seen[0] else true[1]
    return total / 2
