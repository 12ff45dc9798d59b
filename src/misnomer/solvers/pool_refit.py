"""Rows counted by what an earlier answer says of them, and scores that no row has a hand in itself.

Sharing rows out and counting them again lets a label reach its own score by a detour: it teaches
the counts that say how its neighbors are shared out, and those are counted for its score. So every
fold has a chain of its own, which never sees the labels of that fold; it is what scores them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_objective import Point
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import (
    Source,
    class_sums,
    less,
    naive_bayes,
    out_of_fold,
    within_reach,
)
from misnomer.solvers.pool_search import Pooled, posterior, search

Array = NDArray[np.float64]

_SETTLED = 2e-3  # mean change of the shares at which a refit ends
_LEAST = 1e-3  # of either part of a mix
_AT_ONCE = 4_000_000  # weights that may stand side by side


def refit(
    rows: Rows,
    start: Pooled,
    source: Source,
    twins: Array | None,
    *,
    full: bool,
    rounds: int,
    strict: bool = True,
) -> tuple[Pooled, Source]:
    """Share rows out and count them, in turn: in full, or only as far as they keep their label.

    Parameters
    ----------
    rows : Rows
        The rows.
    start, source
        The answer to begin with, and the counts behind it.
    twins : (c, n, K) array or None
        Scores of the conditional twin in each chain.
    full : bool
        Count a row for the classes that it does not have the label of, too.
    rounds : int
        At most so many.
    strict : bool
        Have a chain for every fold; otherwise one of all rows, which many rows can do with.
    """
    end, before = start, None
    chains = np.arange(len(rows.folds) + 1) if strict else np.array([len(rows.folds)])
    scores, twin = _begun(rows, source, chains), None if twins is None else twins[-1]
    for _ in range(rounds):
        shares = np.stack(
            [
                _shared(rows, one, None if twins is None else twins[place], end, full)
                for place, one in enumerate(scores)
            ]
        )
        if before is not None and np.abs(shares[-1] - before).mean() < _SETTLED:
            break
        before = shares[-1]
        scores, weights, bias = chained(rows, shares, chains)
        name = "full" if full else "prune"
        source = Source(unseen(rows, scores), weights, bias, name, scores)
        begin = [(end.channel, end.scale, _inside(end.point.mix))]
        end = search(rows, source.scores, twin, begin, free=end.free)
    return end, source


def _inside(mix: float) -> float:
    """Keep a mix off its ends, from where no search leads away."""
    return min(max(mix, _LEAST), 1.0 - _LEAST)


def _begun(rows: Rows, source: Source, chains: NDArray[np.intp]) -> Array:
    """Find the scores of each chain to begin with, (c, n, K)."""
    if source.chains is not None and len(source.chains) == len(chains):
        return source.chains
    shape = (len(chains), *source.scores.shape)
    if len(chains) > 1 and source.name == "given":
        given = rows.hard * rows.weight[:, None]
        return chained(rows, np.broadcast_to(given, shape), chains)[0]
    return np.broadcast_to(source.scores, shape)


def _shared(rows: Rows, scores: Array, twin: Array | None, end: Pooled, full: bool) -> Array:
    """Compute how much of each row counts for each class, (n, K), by the scores of one chain."""
    after = posterior(rows, _chance(scores, twin, end.point), end.channel)
    return (after if full else after * rows.hard) * rows.weight[:, None]


def _chance(scores: Array, twin: Array | None, point: Point) -> Array:
    mixed = scores if twin is None else scores + point.mix * (twin - scores)
    return softmax(point.scale * (mixed + point.bias))[0]


def unseen(rows: Rows, scores: Array) -> Array:
    """Score each fold by the chain that never saw its labels, (n, K), if there is one."""
    if len(scores) == 1:
        return np.asarray(scores[0])
    return np.concatenate([scores[place, fold] for place, fold in enumerate(rows.folds)])


def chained(rows: Rows, shares: Array, chains: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Score all rows in every chain, by counts of that chain without their own fold.

    Parameters
    ----------
    rows : Rows
        The rows.
    shares : (c, n, K) array
        How much of each row counts in each chain.
    chains : (c,) array of int
        The fold that each does without; the last is of all rows.

    Returns
    -------
    scores : (c, n, K) array
        Scores, centered.
    weights, bias : (K, S) and (K,) arrays
        Of the chain of all rows.
    """
    count, _, K = shares.shape
    if count == 1:
        one = out_of_fold(rows, shares[0])
        return one.scores[None], one.weights, one.bias
    wide = len(rows.folds) * K * rows.stats.shape[1]
    step = max(1, _AT_ONCE // wide)
    scores = np.empty(shares.shape)
    for first in range(0, count, step):
        some = np.arange(first, min(first + step, count))
        weights, bias = _side_by_side(rows, shares[some], chains[some])
        for place, fold in enumerate(rows.folds):
            table = weights[:, place + 1].reshape(len(some) * K, -1)
            found = (rows.stats[fold] @ table.T).reshape(-1, len(some), K)
            scores[some, fold] = np.swapaxes(found, 0, 1) + bias[:, place + 1, None]
    return within_reach(scores), weights[-1, 0], bias[-1, 0]


def _side_by_side(rows: Rows, shares: Array, chains: NDArray[np.intp]) -> tuple[Array, Array]:
    """Count some chains: weights of all their rows, then without each fold, (c, 1 + F, K, S)."""
    folds, (count, _, K) = rows.folds, shares.shape
    parts = np.empty((count, len(folds), K, rows.stats.shape[1]))
    masses = np.empty((count, len(folds), K))
    for place, fold in enumerate(folds):
        own = np.where((chains == place)[:, None, None], 0.0, shares[:, fold])
        table = np.swapaxes(own, 0, 1).reshape(-1, count * K)
        parts[:, place] = class_sums(rows.stats[fold], table).reshape(count, K, -1)
        masses[:, place] = own.sum(axis=1)
    found = []
    for part, mass in zip(parts, masses, strict=True):
        total, left = part.sum(axis=0), np.maximum(mass.sum(axis=0) - mass, 0.0)
        found.append(naive_bayes(rows, total, mass.sum(axis=0), less(rows, total, part), left))
    weights, bias = zip(*found, strict=True)
    return np.stack(weights), np.stack(bias)
