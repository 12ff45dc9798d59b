"""The joint model believed as it stands: variational Bayes, cross-fitted, and whether it fits.

Where the columns really are independent given the class, their joint likelihood knows more than
the labels do: it needs no tempering, and rows without a label teach as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import digamma

from misnomer.families import Bernoulli, Categorical, Gaussian
from misnomer.kernels.reference import softmax
from misnomer.model import weights_of
from misnomer.solvers.dirichlet import LEAST
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source, centered, class_sums, naive_bayes
from misnomer.stats import Stats
from misnomer.table import Group

Array = NDArray[np.float64]

_ROUNDS, _CROSS_ROUNDS, _TOL = 40, 10, 1e-3
_WORDS = ("count", "text")  # kinds whose every statistic is a column
_NOTHING = 1e-9  # of a row's mean weight in a class: such a row is left out of its variances
_ON, _OFF = 2.0, 1.0  # prior rows on and off the diagonal: an error rate is Beta(1, 2)


def expected_weights(rows: Rows, sums: Array, virtual: Array) -> Array:
    """Compute the weights ``E log p`` under the Dirichlet posteriors of the columns, (K, S).

    Real columns keep their point estimates.
    """

    def part(group: Group) -> Array:
        own, prior = sums[:, group.span], virtual[:, group.span]
        if isinstance(group.family, Gaussian):
            return group.family.weights(own, prior)
        total = np.maximum(own + prior, LEAST)
        if isinstance(group.family, Bernoulli):
            seen, on = np.split(total, 2, axis=1)
            off = digamma(np.maximum(seen - on, LEAST)) - digamma(seen)
            return np.concatenate([off, digamma(on) - digamma(seen) - off], axis=1)
        if isinstance(group.family, Categorical):
            mass = np.add.reduceat(total, group.family.starts, axis=1)[:, group.family.owner]
        else:
            mass = total.sum(axis=1, keepdims=True)
        return np.asarray(digamma(total) - digamma(mass))

    return rows.schema.each(part)


def expected_channel(joint: Array) -> Array:
    """Compute E log P(given | true) of expected (given, true) weights, (K, K)."""
    right = np.diag(joint) + _ON
    wrong = joint.sum(axis=0) - np.diag(joint) + _OFF
    cells = joint + _OFF / (len(joint) - 1)
    np.fill_diagonal(cells, right)
    return np.asarray(digamma(cells) - digamma(right + wrong))


def shared_out(rows: Rows, share: Array, use: Any, rounds: int) -> Array:
    """Go round: shares to expected parameters, those to shares; only of the rows in use."""
    stats, weight, hard = rows.stats[use], rows.weight[use], rows.hard[use]
    labeled, trusted = rows.label[use] >= 0, rows.trusted[use]
    free = (labeled & ~trusted)[:, None]
    for _ in range(rounds):
        counted = share * weight[:, None]
        mass, sums = counted.sum(axis=0), class_sums(stats, counted)
        virtual = virtual_of(rows, sums, mass)
        prior = digamma(mass + 1.0) - digamma(mass.sum() + len(mass))
        scores = stats @ expected_weights(rows, sums, virtual).T + prior
        table = expected_channel(hard.T @ (counted * free))
        fresh = softmax(scores + np.where(labeled[:, None], hard @ table, 0.0))[0]
        fresh = np.where(trusted[:, None], hard, fresh)
        moved = float(np.abs(fresh - share).mean())
        share = fresh
        if moved < _TOL:
            break
    return share


def virtual_of(rows: Rows, sums: Array, mass: Array) -> Array:
    """Take the virtual examples of the counts of the classes, (K, S)."""
    return rows.smoothing.virtual(rows.schema, Stats(np.diag(mass), sums), np.eye(len(mass)))


def generative(rows: Rows, channel: Array) -> tuple[Source, Array]:
    """Run on all rows, then go on for a while without each fold and score that fold.

    Returns
    -------
    source : Source
        Scores from posterior means.
    share : (n, K) array
        P(true | x, y) of all rows, by the run on all of them.
    """
    seen = np.where((rows.label >= 0)[:, None], rows.hard @ channel, 1.0)
    seen = np.where(rows.trusted[:, None], rows.hard, seen)
    share = shared_out(rows, seen / seen.sum(axis=1, keepdims=True), slice(None), _ROUNDS)
    parts, masses = [], []
    for fold in range(len(rows.folds)):
        use = rows.without(fold)
        own = shared_out(rows, share[use], use, _CROSS_ROUNDS) * rows.weight[use][:, None]
        parts.append(class_sums(rows.stats[use], own))
        masses.append(own.sum(axis=0))
    counted = share * rows.weight[:, None]
    total, mass = class_sums(rows.stats, counted), counted.sum(axis=0)
    weights, bias = naive_bayes(rows, total, mass, np.stack(parts), np.stack(masses))
    scores = np.empty_like(share)
    for place, part in enumerate(rows.folds):
        scores[part] = rows.stats[part] @ weights[place + 1].T + bias[place + 1]
    return Source(centered(scores), weights[0], bias[0], "generative"), share


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
    """Compare Var(sum_j u_j | k) with sum_j Var(u_j | k), u_j what column j says for k."""
    counted = share * rows.weight[:, None]
    mass = np.maximum(counted.sum(axis=0), 1e-9)
    sums = class_sums(rows.stats, counted)
    weights = weights_of(rows.schema, sums, virtual_of(rows, sums, mass))
    K = len(mass)
    contrast = weights - (weights.sum(axis=0) - weights) / (K - 1)
    ratio = np.ones(K)
    for k in range(K):
        chance = counted[:, k] / mass[k]
        inside = np.flatnonzero(chance > _NOTHING / len(chance))
        chance = chance[inside] / chance[inside].sum()
        parts = evidence(rows, contrast[k], inside)
        total = np.asarray(parts.sum(axis=1)).ravel()
        whole = float(chance @ (total - chance @ total) ** 2)
        ratio[k] = whole / max(_variance(parts, chance), 1e-12)
    part = mass / mass.sum()
    spread = float(np.sqrt((part**2 * 2.0 / np.maximum(mass, 1.0)).sum()))
    mean = float(part @ ratio)
    return Dispersion(mean, (mean - 1.0) / spread)


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
