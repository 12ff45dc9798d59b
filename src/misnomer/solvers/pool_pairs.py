"""Whether pairs of columns are independent within the classes.

The spread of the summed evidence can look right by chance, or because some columns repeat each
other and others are opposed. Pairs do not cancel: clusters that were made by dependent columns
rather than by the classes leave pairs behind that belong together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.families import Categorical
from misnomer.model import weights_of
from misnomer.solvers.pool_generative import evidence, owners
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import class_sums, virtual_of

Array = NDArray[np.float64]

_WIDEST = 200  # columns and categories whose pairs are looked at
_FLAT = 1e-12
_EXPECTED = 1.0  # rows in a cell of two categories, below which it tells nothing


@dataclass(frozen=True, eq=False)
class Said:
    """What columns say of the rows: a number each, or one indicator for every category.

    Attributes
    ----------
    values : (n, c) array
        The numbers and indicators.
    owner : (c,) array of int
        The column of each.
    category : (c,) array of bool
        Whether it is an indicator.
    """

    values: Array
    owner: NDArray[np.intp]
    category: NDArray[np.bool_]


def pairs_z(rows: Rows, share: Array, *, together: bool = False) -> float:
    """Test all pairs of columns at once: a z value, about normal where they are independent.

    With r the correlation of two columns within class k, and m_k rows, ``(m_k - 1) r^2`` has mean
    one; for two categories of frequency p and q it counts ``(1 - p)(1 - q)``, which makes the sum
    over two columns Pearson's chi-squared. The sum over pairs and classes is compared with what it
    should be. ``share`` is P(true | x, y), (n, K). What columns say of the classes is looked at
    within each of them, or over all rows at once (``together``).
    """
    counted = share * rows.weight[:, None]
    mass = np.maximum(counted.sum(axis=0), 1e-9)
    sums = class_sums(rows.stats, counted)
    weights = weights_of(rows.schema, sums, virtual_of(rows, sums, mass))
    K, total, free = len(mass), 0.0, 0.0
    for k in range(K):
        contrast = weights[k] - (weights.sum(axis=0) - weights[k]) / (K - 1)
        chance = rows.weight / rows.weight.sum() if together else counted[:, k] / mass[k]
        square, worth = squared_correlations(_said(rows, contrast, chance), chance)
        many = 1.0 / max(float(chance @ chance), 1e-300)  # rows, as far as they count
        total += (many - 1.0) * float(worth @ square)
        free += float(worth.sum())
    return (total - free) / float(np.sqrt(2.0 * max(free, 1.0)))


def squared_correlations(said: Said, chance: Array) -> tuple[Array, Array]:
    """Compute r^2 of every pair that varies, and what it counts; weights of the rows sum to one.

    Examples
    --------
    >>> two = Said(np.array([[0.0, 1.0], [1.0, 0.0]]), np.arange(2), np.zeros(2, bool))
    >>> square, worth = squared_correlations(two, np.array([0.5, 0.5]))
    >>> square.tolist(), worth.tolist()
    ([1.0], [1.0])
    """
    mean = chance @ said.values
    away = said.values - mean
    covariance = away.T @ (away * chance[:, None])
    own = np.diag(covariance)
    spread = np.sqrt(np.maximum(own, _FLAT))
    rare = np.where(said.category, mean, 1.0)
    pair = (own[:, None] > _FLAT) & (own > _FLAT) & (said.owner[:, None] < said.owner)
    pair &= np.outer(rare, rare) > _EXPECTED * float(chance @ chance)
    left = np.where(said.category, 1.0 - mean, 1.0)
    return (covariance / np.outer(spread, spread))[pair] ** 2, np.outer(left, left)[pair]


def _said(rows: Rows, contrast: Array, chance: Array) -> Said:
    """Spell out what the columns say for a class; of many, what varies most."""
    owner = owners(rows)
    category = np.zeros(len(owner), bool)
    for group in rows.schema.groups:
        category[group.span] = isinstance(group.family, Categorical)
    said = evidence(rows, np.where(category, 0.0, contrast))
    size = np.concatenate([_variance(said, chance), _variance(rows.stats, chance) * contrast**2])
    columns = said.shape[1]
    kept = np.concatenate([np.isin(np.arange(columns), owner[~category]), category])
    top = np.flatnonzero(kept)
    top = np.sort(top[np.argsort(-size[top], kind="stable")[:_WIDEST]])
    some, cells = top[top < columns], top[top >= columns] - columns
    return Said(
        np.concatenate([_dense(said, some), _dense(rows.stats, cells)], axis=1),
        np.concatenate([some, owner[cells]]),
        np.repeat([False, True], [len(some), len(cells)]),
    )


def _dense(values: object, columns: NDArray[np.intp]) -> Array:
    if sparse.issparse(values):
        return np.asarray(sparse.csc_array(values)[:, columns].toarray())
    return np.asarray(values)[:, columns]


def _variance(values: object, chance: Array) -> Array:
    square = values.power(2) if sparse.issparse(values) else np.asarray(values) ** 2  # type: ignore[attr-defined]
    return np.asarray(chance @ square - (chance @ values) ** 2).ravel()  # type: ignore[operator]
