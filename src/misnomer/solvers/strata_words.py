"""Where labels are wrong more often, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.difficulty_fit import Margin
from misnomer.solvers.strata_columns import Variable
from misnomer.verdict import Verdict

Array = NDArray[np.float64]
Found = tuple[Variable, Margin, Array, Array]  # its gain, error rates and weights of its strata

_SENTENCES = 4  # of a verdict


def told(verdict: Verdict, columns: Sequence[Found]) -> Verdict:
    """Add what was found of columns to a verdict; "trust" becomes "ranking"."""
    tests = {
        "columns_that_tell_errors": [one.name for one, *_ in columns],
        "columns_nats": [round(margin.gain, 2) for _, margin, *_ in columns],
        "error_rate_by_column": {
            one.name: {
                word: round(float(share), 3)
                for word, share, rows in zip(one.words, rate, mass, strict=True)
                if rows
            }
            for one, _, rate, mass in columns
        },
    }
    level = "ranking" if verdict.level == "trust" else verdict.level
    sentences = (*(sentence(*one) for one in columns), *verdict.sentences)[:_SENTENCES]
    return Verdict(level, sentences, {**verdict.tests, **tests})


def sentence(one: Variable, margin: Margin, rate: Array, mass: Array) -> str:
    """Say where labels are wrong more often.

    Examples
    --------
    >>> ward = Variable("ward", 0, 0, (0, 1), (), ("ward = A", "ward = B", "ward is missing"))
    >>> gain = Margin("ward", 40.0, 4.0, 5.0, np.zeros(0, np.intp))
    >>> sentence(ward, gain, np.array([0.06, 0.38, 0.0]), np.array([200.0, 100.0, 0.0]))[:68]
    'Labels are wrong more often where ward = B: about 38%, elsewhere 6% '
    """
    high, often, seldom = divided(rate, mass)
    return (
        f"Labels are wrong more often where {one.where(high)}: about {often:.0%}, elsewhere "
        f"{seldom:.0%} ({margin.gain:.1f} nats gained out of fold, z = {margin.z:.1f}). Rows are "
        "judged accordingly, and one matrix for all rows is only an average."
    )


def divided(rate: Array, mass: Array) -> tuple[list[int], float, float]:
    """Divide strata into those with many errors and the rest: the places, and both mean rates.

    The cut in the order of the rates that sets the two parts apart most, by ``n1 n2 (r1 - r2)^2``.

    Examples
    --------
    >>> divided(np.array([0.1, 0.4, 0.0]), np.array([10.0, 10.0, 20.0]))[0]
    [1]
    """
    there = np.flatnonzero(mass > 0)
    order = there[np.argsort(-rate[there], kind="stable")]
    wrong, rows = np.cumsum((rate * mass)[order]), np.cumsum(mass[order])
    first = wrong / rows
    rest = (wrong[-1] - wrong) / np.maximum(rows[-1] - rows, 1e-9)
    apart = rows * (rows[-1] - rows) * (first - rest) ** 2
    cut = int(apart.argmax())
    return sorted(order[: cut + 1].tolist()), float(first[cut]), float(rest[cut])
