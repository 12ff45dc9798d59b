"""The columns' word about each row, never from tables that contain the row itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from misnomer import kernels
from misnomer.model import weights_of
from misnomer.smoothing import Smoothing
from misnomer.solvers.sources_answers import left_out
from misnomer.solvers.task import tally
from misnomer.sources import Answers
from misnomer.stats import Stats
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]

_FOLDS = 5
# A priori naive Bayes overstates its evidence 2.5 times, give or take a factor of 2.2: what was
# measured for plain naive Bayes on real tables. A few hundred answers outweigh it.
_TRUST, _SPREAD = 0.4, 0.8
_LEAST = 0.01


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows in folds, so that each can be scored by the others.

    Attributes
    ----------
    schema : Schema
        The columns.
    parts : tuple of Batch
        The rows of each fold.
    places : tuple of arrays
        Where those rows stand in the table.
    """

    schema: Schema
    parts: tuple[Batch, ...]
    places: tuple[NDArray[np.intp], ...]

    def sums(self, share: Array) -> list[Array]:
        """Share the rows of each fold out over the classes by their weights, (K, S) each."""
        return [
            kernels.accumulate(part.blocks, _weighed(share[place], part.weight))
            for part, place in zip(self.parts, self.places, strict=True)
        ]

    def scores(self, share: Array, virtual: Array) -> Array:
        """Weigh each row's columns by tables made from the other folds, (n, K), centered."""
        sums = self.sums(share)
        total = np.sum(sums, axis=0)
        out = np.empty_like(share)
        for part, place, own in zip(self.parts, self.places, sums, strict=True):
            weights = weights_of(self.schema, total - own, virtual)
            out[place] = kernels.scores(part.blocks, weights, len(part))
        return out - out.mean(axis=1, keepdims=True)

    def virtual(self, share: Array, smoothing: Smoothing) -> Array:
        """Work out the virtual examples from the rows' most probable classes, (K, S)."""
        K = share.shape[1]
        best = share.argmax(axis=1)
        pairs = zip(self.parts, self.places, strict=True)
        by_label = sum(
            (tally(part, best[place], K) for part, place in pairs),
            Stats(np.zeros((K, K)), np.zeros((K, self.schema.statistics))),
        )
        reverse = np.eye(K)
        mass = np.bincount(best, minlength=K)
        for k in np.flatnonzero(mass):
            reverse[k] = share[best == k].mean(axis=0)
        return smoothing.virtual(self.schema, by_label, reverse)


def _weighed(share: Array, weight: Array | None) -> Array:
    return share if weight is None else share * weight[:, None]


def columns_of(schema: Schema, batch: Batch, seed: int, weight: Array | None = None) -> Columns:
    """Deal the rows out to the folds at random."""
    batch = replace(batch, weight=weight)
    order = np.random.default_rng(seed).permutation(len(batch))
    places = tuple(np.sort(part) for part in np.array_split(order, min(_FOLDS, len(batch))))
    return Columns(schema, tuple(batch.take(place) for place in places), places)


def trust(
    answers: Answers, base: Array, scores: Array, channels: Array, weight: Array | None = None
) -> float:
    """Find how far the columns can be trusted: a factor of at most one on their evidence.

    The factor that predicts every answer best from the rest of its row, columns included
    (``left_out``); columns that repeat each other get less than their nominal weight.

    Parameters
    ----------
    answers, channels
        As in ``left_out``.
    base : (n, K) array
        The log joint of the rows without their columns.
    scores : (n, K) array
        The columns' evidence, from tables that do not contain the row.
    weight : (n,) array, optional
        How much each row counts.
    """
    mass = 1.0 if weight is None else weight[answers.row]

    def cost(log_factor: float) -> float:
        chance = left_out(answers, base + np.exp(log_factor) * scores, channels)[1]
        pull = (log_factor - np.log(_TRUST)) ** 2 / (2 * _SPREAD**2)
        return pull - float((mass * np.log(np.maximum(chance, 1e-300))).sum())

    found = minimize_scalar(cost, bounds=(np.log(_LEAST), 0.0), options={"xatol": 0.02})
    return float(np.exp(found.x))
