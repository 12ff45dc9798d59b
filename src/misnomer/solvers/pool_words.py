"""What words say within classes, of all classes and words at once: how it varies, who differs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import class_sums, scored

Array = NDArray[np.float64]


_WORDS = ("count", "text")  # kinds whose every statistic is a column


def only_words(rows: Rows) -> bool:
    """Tell whether rows are nothing but sparse counts of words."""
    return sparse.issparse(rows.stats) and all(g.kind in _WORDS for g in rows.schema.groups)


def variances_of_words(stats: Any, contrast: Array, counted: Array) -> Array:
    """Take the variance of the summed evidence, and the sum of the words' variances, times mass.

    With p_i the share of row i in a class, a word x that says c has the variance
    ``c^2 (sum p x^2 - (sum p x)^2)``; what a row says in all is one product.

    Parameters
    ----------
    stats : (n, S) sparse array
        Counts of words.
    contrast : (K, S) array
        What a word says for each class.
    counted : (n, K) array
        How much of each row counts for each class; classes of fewer than two rows have none.

    Returns
    -------
    (2, K) array

    Examples
    --------
    >>> from scipy import sparse
    >>> stats = sparse.csr_array(np.array([[1.0, 1.0], [0.0, 0.0]]))  # the words repeat each other
    >>> variances_of_words(stats, np.ones((1, 2)), np.ones((2, 1))).tolist()
    [[2.0], [1.0]]
    """
    mass = counted.sum(axis=0)
    several = (np.count_nonzero(counted, axis=0) > 1) & (mass > 0)
    chance = counted / np.where(several, mass, 1.0)
    total = scored(stats, contrast)
    total = total - (chance * total).sum(axis=0)
    whole = (chance * total**2).sum(axis=0)
    first = class_sums(stats, chance)
    second = first if (stats.data == 1).all() else class_sums(stats.power(2), chance)
    each = np.einsum("ks,ks->k", contrast * contrast, second - first * first)
    return np.where(several, mass * np.stack([whole, each]), 0.0)


def told_apart(
    stats: Any,
    kind: NDArray[np.intp],
    other: NDArray[np.bool_],
    fold: NDArray[np.intp],
    weight: Array,
    *,
    cells: float,
    classes: float,
) -> Array:
    """Score rows by a naive Bayes of their own kind, out of fold: are they the other or not, (n,).

    Of the counts N of a word among the other rows of a kind and the rest, the fold of a row left
    out, the log-odds are ``sum_v x_v log (N_1v + cells) / (N_0v + cells)``, less the same of their
    sums over words for every word of the row, and ``log (n_1 + classes) / (n_0 + classes)``.

    Parameters
    ----------
    stats : (n, S) sparse array
        Counts of words, as compressed rows.
    kind, other, fold : (n,) arrays
        Which naive Bayes a row belongs to, which of its two classes, and its fold.
    weight : (n,) array
        Of the rows.
    cells, classes : float
        Virtual examples of every word, and of both classes.

    Examples
    --------
    >>> from scipy import sparse
    >>> stats = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> other, fold = np.array([False, True, False, True]), np.array([0, 0, 1, 1])
    >>> told_apart(stats, np.zeros(4, int), other, fold, np.ones(4), cells=1, classes=1).round(2)
    array([-0.69,  0.69, -0.69,  0.69])
    """
    length = np.diff(stats.indptr)
    row = np.repeat(np.arange(len(kind)), length)
    pair, pairs = _numbered(kind[row] * stats.shape[1] + stats.indices)
    counted = weight[row] * stats.data
    odds = stats.data * _log_odds(pair, pairs, other[row], fold[row], counted, cells)
    words = np.bincount(row, stats.data, minlength=len(kind))
    number = int(kind.max(initial=-1)) + 1
    in_all = _log_odds(kind, number, other, fold, weight * words, cells * stats.shape[1])
    prior = _log_odds(kind, number, other, fold, weight, classes)
    return np.bincount(row, odds, minlength=len(kind)) - words * in_all + prior


def _numbered(key: NDArray[Any]) -> tuple[NDArray[np.intp], int]:
    """Number the keys that occur, from zero; and how many there are."""
    seen = np.zeros(int(key.max(initial=-1)) + 1, np.intp)
    seen[key] = 1
    place = np.cumsum(seen) - 1
    return place[key], int(seen.sum())


def _log_odds(
    what: NDArray[np.intp],
    number: int,
    other: NDArray[np.bool_],
    fold: NDArray[np.intp],
    counted: Array,
    virtual: float,
) -> Array:
    """Take log (N_1 + virtual) / (N_0 + virtual) of what each entry counts, without its fold."""
    folds = int(fold.max(initial=-1)) + 1
    shape = (folds, 2, number)
    at = (fold * 2 + other) * number + what
    parts = np.bincount(at, counted, minlength=folds * 2 * number).reshape(shape)
    left = np.maximum(parts.sum(axis=0) - parts, 0.0) + virtual
    heights = np.log(left[:, 1]) - np.log(left[:, 0])
    return np.asarray(heights[fold, what])
