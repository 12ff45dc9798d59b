"""How hard a row is: levels of the margin between its two best classes.

A channel for all rows says that errors reach rows far from any boundary as often as rows near one.
The levels are strata (``strata.py``) that may have error rates of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Levels = NDArray[np.intp]


def margin(scores: Array) -> Array:
    """Take the distance of the best class from the second, (n,).

    Examples
    --------
    >>> margin(np.array([[3.0, 1.0, 0.0], [0.0, 0.0, -1.0]])).tolist()
    [2.0, 0.0]
    """
    top = np.partition(scores, -2, axis=1)
    return np.asarray(top[:, -1] - top[:, -2])


def levels_of(scores: Array, count: int) -> Levels:
    """Sort rows into levels, (n,): 0 the hardest rows of each class, ``count - 1`` the easiest.

    Each likely class is cut into equal parts of its own, since rare classes lie nearer to the
    boundary as a whole. Equal margins share a level.

    Examples
    --------
    >>> levels_of(np.array([[1.0, 0.0], [5.0, 0.0], [0.0, 2.0], [0.0, 9.0]]), 2).tolist()
    [0, 1, 0, 1]
    """
    likely, away = scores.argmax(axis=1), margin(scores)
    out = np.zeros(len(scores), np.intp)
    for k in range(scores.shape[1]):
        at = np.flatnonzero(likely == k)
        if len(at):
            below = np.searchsorted(np.sort(away[at]), away[at])
            out[at] = below * count // len(at)
    return out
