"""The joint model believed as it stands: collapsed Bayes, cross-fitted, and whether it fits.

Where the columns really are independent given the class, their joint likelihood knows more than
the labels do: it needs no tempering, and rows without a label teach as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.solvers.pool_collapsed import settled, shared_out
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source, class_sums, naive_bayes, within_reach, without_each
from misnomer.solvers.pool_words import only_words, variances_of_words
from misnomer.table import Group

Array = NDArray[np.float64]

_CROSS_ROUNDS = 10
_WORDS = ("count", "text")  # kinds whose every statistic is a column
_NOTHING = 1e-9  # of a row's mean weight in a class: such a row is left out of its variances


def generative(rows: Rows, channel: Array) -> tuple[Rows, Source, Array]:
    """Run on all rows, then go on for a while without each fold and score that fold.

    Returns
    -------
    rows : Rows
        The rows, with the virtual examples that were chosen.
    source : Source
        Scores from posterior means.
    share : (n, K) array
        P(true | x, y) of all rows, by the run on all of them.
    """
    fitted, share = settled(rows, begun(rows, channel))

    def again(use: Any) -> Array:
        return shared_out(fitted, share[use], use, _CROSS_ROUNDS).share

    return fitted, cross_fitted(fitted, share, again, "generative"), share


def begun(rows: Rows, channel: Array) -> Array:
    """Compute P(true | given) of each row where the columns are not looked at, (n, K)."""
    seen = np.where((rows.label >= 0)[:, None], rows.hard @ channel, 1.0)
    seen = np.where(rows.trusted[:, None], rows.hard, seen)
    return np.asarray(seen / seen.sum(axis=1, keepdims=True))


def cross_fitted(rows: Rows, share: Array, again: Callable[[Any], Array], name: str) -> Source:
    """Score each fold by counts of the others, shared out once more (``again``) without it."""
    parts, masses = [], []
    for fold in range(len(rows.folds)):
        use = rows.without(fold)
        own = again(use) * rows.weight[use][:, None]
        parts.append(class_sums(rows.stats[use], own))
        masses.append(own.sum(axis=0))
    counted = share * rows.weight[:, None]
    total, mass = class_sums(rows.stats, counted), counted.sum(axis=0)
    weights, bias = naive_bayes(rows, total, mass, np.stack(parts), np.stack(masses))
    scores = np.empty_like(share)
    for place, part in enumerate(rows.folds):
        scores[part] = rows.stats[part] @ weights[place + 1].T + bias[place + 1]
    return Source(within_reach(scores), weights[0], bias[0], name)


@dataclass(frozen=True, eq=False)
class Dispersion:
    """Whether the evidence of the columns varies within classes as independent columns would.

    Attributes
    ----------
    ratio : float
        Variance of the summed evidence over the sum of the variances; one if independent.
    z : float
        Its distance from one in standard errors.
    """

    ratio: float
    z: float


def dispersion(rows: Rows, share: Array) -> Dispersion:
    """Compare Var(sum_j u_j | k) with sum_j Var(u_j | k), u_j what column j says for k.

    What a column says is counted from the other folds: a row agrees with its own counts in all
    columns at once, as if they were dependent.
    """
    counted = share * rows.weight[:, None]
    mass, K = np.maximum(counted.sum(axis=0), 1e-9), rows.classes
    stats = [rows.stats[fold] for fold in rows.folds]
    parts = [class_sums(own, counted[fold]) for own, fold in zip(stats, rows.folds, strict=True)]
    masses = np.stack([counted[fold].sum(axis=0) for fold in rows.folds])
    _, *tables = without_each(rows, parts, masses)[0]
    found = np.zeros((2, K))
    for own, fold, centered_weights in zip(stats, rows.folds, tables, strict=True):
        contrast = centered_weights * (K / (K - 1))
        if only_words(rows):
            found += variances_of_words(own, contrast, _inside(counted[fold]))
            continue
        for k in range(K):
            found[:, k] += _variances(rows, contrast[k], counted[fold, k], fold)
    ratio = np.where(found[1] > 0, found[0] / np.maximum(found[1], 1e-12), 1.0)
    part = mass / mass.sum()
    spread = float(np.sqrt((part**2 * 2.0 / np.maximum(mass, 1.0)).sum()))
    mean = float(part @ ratio)
    return Dispersion(mean, (mean - 1.0) / spread)


def _inside(counted: Array) -> Array:
    """Leave rows out that hardly belong to a class."""
    least = _NOTHING * np.maximum(counted.sum(axis=0), 1e-300) / len(counted)
    return np.where(counted > least, counted, 0.0)


def _variances(rows: Rows, contrast: Array, counted: Array, fold: slice) -> tuple[float, float]:
    """Take the variance of the summed evidence in a fold and the sum of variances, times mass."""
    mass = float(counted.sum())
    inside = np.flatnonzero(counted > _NOTHING * max(mass, 1e-300) / len(counted))
    if mass <= 0 or len(inside) < 2:
        return 0.0, 0.0
    chance = counted[inside] / counted[inside].sum()
    parts = evidence(rows, contrast, inside + fold.start)
    total = np.asarray(parts.sum(axis=1)).ravel()
    return mass * float(chance @ (total - chance @ total) ** 2), mass * _variance(parts, chance)


def evidence(rows: Rows, weights: Array, at: Any = slice(None)) -> Any:
    """Spell out what each column says of some rows, (n, d); for words, one column each."""
    owner = owners(rows)
    shape = len(owner), int(owner.max(initial=-1)) + 1
    return rows.stats[at] @ sparse.csr_array((weights, (np.arange(shape[0]), owner)), shape=shape)


def owners(rows: Rows) -> NDArray[np.intp]:
    """Number the column of each statistic, (S,); for words, one column each."""
    parts, columns = [np.zeros(0, np.intp)], 0
    for group in rows.schema.groups:
        parts.append(group.family.owner + columns)
        columns += _wide(rows, group) if group.kind in _WORDS else len(group.members)
    return np.concatenate(parts)


def names_of(rows: Rows, columns: NDArray[np.intp]) -> list[str]:
    """Name some of the columns that `owners` numbers."""
    found, first = dict.fromkeys(columns.tolist(), ""), 0
    for group in rows.schema.groups:
        for column in (rows.schema.columns[i] for i in group.members):
            size = column.width if group.kind in _WORDS else 1
            for one in found:
                if first <= one < first + size:
                    found[one] = column.label(one - first) if group.kind in _WORDS else column.name
            first += size
    return [found[one] for one in columns.tolist()]


def _wide(rows: Rows, group: Group) -> int:
    return sum(rows.schema.columns[i].width for i in group.members)


def _variance(parts: Any, chance: Array) -> float:
    """Sum the variances of the columns under the weights of the rows."""
    square = parts.power(2) if sparse.issparse(parts) else parts**2
    first, second = chance @ parts, chance @ square
    return float(np.sum(second - first**2))
