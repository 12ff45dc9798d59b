"""Which rows to have checked: those whose true class would settle most between explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST = 12


def information(shares: Sequence[Array], weight: Array) -> Array:
    """Compute what a row's true class tells about the explanation, in nats, (n,).

    ``H(sum_e w_e p_e) - sum_e w_e H(p_e)``, with p_e the row's P(true | x, y) under explanation e:
    large where each explanation is sure and they disagree.

    Examples
    --------
    >>> sure = [np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])]
    >>> information(sure, np.array([1.0, 1.0])).round(3).tolist()
    [0.693, 0.0]
    """
    weight = weight / weight.sum()
    table = np.stack(shares)
    mean = np.tensordot(weight, table, 1)
    return np.asarray(_entropy(mean) - np.tensordot(weight, _entropy(table), 1))


def _entropy(share: Array) -> Array:
    return -(share * np.log(np.maximum(share, 1e-12))).sum(axis=-1)


def most_telling(told: Array, allowed: NDArray[np.bool_], place: NDArray[np.intp]) -> list[int]:
    """Name the places of the rows that tell most, each once."""
    order = np.argsort(np.where(allowed, -told, np.inf), kind="stable")
    out: list[int] = []
    for row in order[: 4 * MOST]:
        if allowed[row] and told[row] > 1e-6 and int(place[row]) not in out:
            out.append(int(place[row]))
    return out[:MOST]
