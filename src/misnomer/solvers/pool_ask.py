"""Which rows to have checked: those whose true class would settle most between explanations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST = 12
_LEAST = 1e-6  # nats


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
    """Draw the places of rows that tell much, each once: the more a row tells, the sooner.

    The very first ones would be alike, and a second row of a kind tells little; a draw (always the
    same one) is spread over all that is open.
    """
    open_rows = np.flatnonzero(allowed & (told > _LEAST))
    luck = np.random.default_rng(0).exponential(size=len(told))[open_rows]
    order = open_rows[np.argsort(luck / told[open_rows], kind="stable")]
    places = list(dict.fromkeys(place[order].tolist()))
    return places[:MOST]
