"""The columns' word about each row, never from tables that contain the row itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class Columns(ABC):
    """The rows in folds, so that each can be scored by the others; wherever the rows are."""

    schema: Schema

    @abstractmethod
    def sums(self, share: Array) -> list[Array]:
        """Share the rows of each fold out over the classes by their weights, (K, S) each."""

    @abstractmethod
    def weighed(self, weights: list[Array]) -> Array:
        """Weigh each row's columns by the weights (K, S) of its fold, (n, K)."""

    @abstractmethod
    def by_class(self, best: NDArray[np.intp], K: int) -> Stats:
        """Add the rows up by their most probable classes."""

    def scores(self, share: Array, virtual: Array) -> Array:
        """Weigh each row's columns by tables made from the other folds, (n, K), centered."""
        sums = self.sums(share)
        total = np.sum(sums, axis=0)
        out = self.weighed([weights_of(self.schema, total - own, virtual) for own in sums])
        out -= out.mean(axis=1, keepdims=True)
        return out

    def virtual(self, share: Array, smoothing: Smoothing) -> Array:
        """Work out the virtual examples from the rows' most probable classes, (K, S)."""
        K = share.shape[1]
        best = share.argmax(axis=1)
        reverse = np.eye(K)
        mass = np.bincount(best, minlength=K)
        for k in np.flatnonzero(mass):
            reverse[k] = share[best == k].mean(axis=0)
        return smoothing.virtual(self.schema, self.by_class(best, K), reverse)


@dataclass(frozen=True, eq=False)
class ColumnsHere(Columns):
    """The rows of a table in memory.

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
        """Share the rows of each fold out, fold after fold."""
        return [
            shared_out(part, share[place])
            for part, place in zip(self.parts, self.places, strict=True)
        ]

    def weighed(self, weights: list[Array]) -> Array:
        """Weigh the rows fold after fold."""
        out = np.empty((sum(map(len, self.parts)), len(weights[0])))
        for part, place, own in zip(self.parts, self.places, weights, strict=True):
            out[place] = kernels.scores(part.blocks, own, len(part))
        return out

    def by_class(self, best: NDArray[np.intp], K: int) -> Stats:
        """Add the folds up."""
        pairs = zip(self.parts, self.places, strict=True)
        zero = Stats(np.zeros((K, K)), np.zeros((K, self.schema.statistics)))
        return sum((tally(part, best[place], K) for part, place in pairs), zero)


def shared_out(batch: Batch, share: Array) -> Array:
    """Share some rows out over the classes by their weights, (K, S)."""
    mass = share if batch.weight is None else share * batch.weight[:, None]
    return np.asarray(kernels.accumulate(batch.blocks, mass))


def dealt(n: int, seed: int) -> tuple[NDArray[np.intp], ...]:
    """Deal n rows out to the folds at random: the places of each fold, in rising order."""
    order = np.random.default_rng(seed).permutation(n)
    return tuple(np.sort(part) for part in np.array_split(order, min(_FOLDS, n)))


def columns_of(schema: Schema, batch: Batch, seed: int, weight: Array | None = None) -> ColumnsHere:
    """Deal the rows of a table in memory out to the folds."""
    batch = replace(batch, weight=weight)
    places = dealt(len(batch), seed)
    return ColumnsHere(schema, tuple(batch.take(place) for place in places), places)


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
