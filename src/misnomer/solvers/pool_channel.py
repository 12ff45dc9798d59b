"""Channels that a search may end in: one error rate per class, errors spread evenly or freely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Array = NDArray[np.float64]

_SLACK = 1.1  # a true class may be called by another name a little more often than by its own
_LEAST = 1e-300


def even(classes: int, diagonal: float) -> Array:
    """Give every class the same diagonal, errors spread evenly.

    Examples
    --------
    >>> even(2, 0.9).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    off = (1.0 - diagonal) / (classes - 1)
    matrix = np.full((classes, classes), off)
    np.fill_diagonal(matrix, diagonal)
    return matrix.round(15)


def dominant(matrix: Array) -> bool:
    """Tell whether a label most often means its own class.

    ``R[k, k] >= R[k, j]`` in rows; in columns ``1.1 R[k, k] >= R[j, k]``, so that a class whose
    labels are a coin toss is still let in.

    Examples
    --------
    >>> dominant(np.array([[0.6, 0.2], [0.4, 0.8]])), dominant(np.array([[0.4, 0.2], [0.6, 0.8]]))
    (True, False)
    """
    own = np.diag(matrix)
    rows = own[:, None] >= matrix - 1e-6
    columns = _SLACK * own >= matrix - 1e-6
    return bool(rows.all() and columns.all())


def assembled(rates: Array, split: Array) -> Array:
    """Put ``1 - rate`` on the diagonal of each column, ``rate * split`` off it.

    Examples
    --------
    >>> assembled(np.array([0.2, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [[0.8, 0.5], [0.2, 0.5]]
    """
    out = split * rates
    out.flat[:: len(rates) + 1] = 1.0 - rates  # a split has nothing on its diagonal
    return out


def splits(classes: int, logits: Array | None = None) -> Array:
    """Share the errors of each true class out over the other labels, evenly or by logits, (K, K).

    Examples
    --------
    >>> splits(3)[:, 0].tolist()
    [0.0, 0.5, 0.5]
    """
    off = 1.0 - np.eye(classes)
    if logits is None:
        return off / (classes - 1)
    top = np.where(off > 0, logits, -np.inf).max(axis=0)
    share = np.where(off > 0, np.exp(np.minimum(logits - top, 0.0)), 0.0)
    return share / share.sum(axis=0)


def price_of_split(joint: Array, split: Array, count: float) -> float:
    """What free splits cost: fitted log likelihood less Dirichlet-multinomial evidence.

    ``joint`` is the expected (given, true) weight; ``count`` the Dirichlet prior count of a cell.
    The penalty that the fit has paid for its split is given back. So a free split is preferred to
    an even one only where its K (K - 2) further cells earn their place.

    Examples
    --------
    >>> errors = np.array([[9.0, 5.0, 5.0], [5.0, 9.0, 5.0], [5.0, 5.0, 9.0]])
    >>> price_of_split(errors, splits(3), 0.1) > 0  # evenly spread: freedom was not worth it
    True
    """
    off = ~np.eye(len(joint), dtype=bool)
    wrong = joint * off

    def beta(counts: Array) -> Array:
        cells = np.where(off, gammaln(np.where(off, counts, 1.0)), 0.0)
        return cells.sum(axis=0) - gammaln((counts * off).sum(axis=0))

    prior = np.where(off, count, 0.0)
    evidence = float((beta(wrong + prior) - beta(prior)).sum())
    height = np.where(off, np.log(np.maximum(split, _LEAST)), 0.0)
    return float((wrong * height).sum()) - evidence + count * float(height.sum())
