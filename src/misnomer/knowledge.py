"""What is known about the errors beforehand, in words -> a Channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer import channel as channels
from misnomer.channel import Channel
from misnomer.estimate import normal_quantile

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Knowledge:
    """Partial knowledge about how labels go wrong; what is not said stays open.

    Attributes
    ----------
    rates : mapping class -> float
        Known error rates: this share of the class bears another label.
    cells : mapping (given, true) -> float
        Known shares: P(given | true).
    never : sequence of (given, true)
        What cannot happen.
    most : float or mapping class -> float
        Error rates are at most this, for all classes or for some.
    counts : float or (L, K) array
        Virtual rows: a number for each cell, or a table of them.
    diagonal : float
        Where the search starts for what is open: the share of right labels.

    Examples
    --------
    >>> known = Knowledge(rates={"ill": 0.2}, never=[("ill", "well")])
    >>> known.channel(["ill", "well"]).matrix.round(2).tolist()
    [[0.8, 0.0], [0.2, 1.0]]
    >>> bounded = Knowledge(most=0.1).channel(["a", "b"])
    >>> bounded.refit(np.array([[70.0, 5.0], [30.0, 95.0]])).matrix.round(2).tolist()
    [[0.9, 0.05], [0.1, 0.95]]
    """

    rates: Mapping[Any, float] = field(default_factory=dict)
    cells: Mapping[tuple[Any, Any], float] = field(default_factory=dict)
    never: Sequence[tuple[Any, Any]] = ()
    most: float | Mapping[Any, float] | None = None
    counts: ArrayLike = 0.0
    diagonal: float = 0.8

    def channel(self, labels: Sequence[Any]) -> Channel:
        """Build the channel between these labels, sorted as the classes of a classifier are."""
        names = list(np.unique(np.asarray(labels)).tolist())
        K = len(names)
        open_channel = channels.free(K, self.diagonal, counts=self._counts(K))
        pairs = {(_place(g, names), _place(t, names)): v for (g, t), v in self.cells.items()}
        pairs |= {(_place(g, names), _place(t, names)): 0.0 for g, t in self.never}
        for name, rate in self.rates.items():
            at = _place(name, names)
            pairs[at, at] = 1.0 - _share(rate, f"the error rate of {name!r}")
        for cell, value in pairs.items():
            _share(value, f"P({names[cell[0]]!r} | {names[cell[1]]!r})")
            open_channel = open_channel.restrict([cell], value)
        return open_channel if self.most is None else self._bounded(open_channel, names)

    def _counts(self, K: int) -> Array:
        counts = np.asarray(self.counts, np.float64)
        if counts.shape not in ((), (K, K)) or not np.isfinite(counts).all() or (counts < 0).any():
            raise ValueError(
                f"counts are a number of 0 or more, or a {K} x {K} table of them "
                f"(rows given, columns true), not an array of shape {counts.shape}"
            )
        return counts

    def _bounded(self, start: Channel, names: list[Any]) -> Channel:
        limits = np.ones(len(names))
        if isinstance(self.most, Mapping):
            for name, value in self.most.items():
                limits[_place(name, names)] = _share(value, f"the bound of {name!r}")
        else:
            limits[:] = _share(self.most, "the bound on the error rates")
        kept = np.where(start.free | (np.eye(len(names)) > 0), 0.0, start.matrix)
        over = kept.sum(axis=0) > limits + 1e-12
        known = ~np.diag(start.free) & (1.0 - np.diag(start.matrix) > limits + 1e-12)
        if (over | known).any():
            name = names[int(np.argmax(over | known))]
            raise ValueError(
                f"what is known about {name!r} exceeds its bound on the error rate: raise the bound"
            )
        bounded = Bounded(**{f.name: getattr(start, f.name) for f in fields(start)}, most=limits)
        return replace(bounded, matrix=bounded.held(start.matrix))


@dataclass(frozen=True, eq=False)
class Bounded(Channel):
    """A channel whose error rates stay under a bound, class by class.

    Where the best rate lies above the bound, the best admissible one lies on it, and the errors
    keep their proportions: the likelihood of a column is concave.
    """

    # (K,): the largest error rate of each true class
    most: Array = field(default_factory=lambda: np.ones(0))

    def refit(self, joint: Array) -> Self:
        """Refit as any channel, then hold each class to its bound."""
        fresh = super().refit(joint)
        return replace(self, matrix=self.held(fresh.matrix))

    def held(self, matrix: Array) -> Array:
        """Scale the open errors of each column down until they keep the bound."""
        right = np.eye(*matrix.shape) > 0
        loose = np.where(self.free & ~right, matrix, 0.0).sum(axis=0)
        stuck = np.where(~self.free & ~right, matrix, 0.0).sum(axis=0)
        room = np.maximum(self.most - stuck, 0.0)
        tight = (loose > room) & np.diag(self.free)
        scale = np.where(tight, room / np.where(loose > 0, loose, 1.0), 1.0)
        out = np.where(self.free & ~right, matrix * scale, matrix)
        diagonal = np.where(tight, 1.0 - stuck - room, np.diag(matrix))
        return np.where(right, diagonal, out)


def channel_of(knowledge: Knowledge | Mapping[str, Any], labels: Sequence[Any]) -> Channel:
    """Turn what the user knows into a channel; a mapping names the fields of Knowledge.

    Examples
    --------
    >>> channel_of({"rates": {"spam": 0.1}}, ["ham", "spam"]).matrix.round(2).tolist()
    [[0.8, 0.1], [0.2, 0.9]]
    """
    if isinstance(knowledge, Knowledge):
        return knowledge.channel(labels)
    known = [f.name for f in fields(Knowledge)]
    extra = [str(key) for key in knowledge if key not in known]
    if extra:
        raise ValueError(f"knowledge has no part {extra[0]!r}; its parts are {', '.join(known)}")
    return Knowledge(**knowledge).channel(labels)


def rows_needed(rate: float, *, within: float = 0.02, confidence: float = 0.90) -> int:
    """Count the trusted rows, drawn at random, that tell an error rate to within so much.

    The smallest n whose Wilson interval at the rate reaches no further than ``within`` to either
    side. Rows must be drawn blindly: those picked because they look wrong tell another rate.

    Examples
    --------
    >>> rows_needed(0.2)
    1161
    >>> rows_needed(0.2, within=0.05)
    203
    """
    _share(rate, "the rate")
    if not 0 < within < 1:
        raise ValueError(f"within is {within}: give a distance between 0 and 1, such as 0.02")
    z = normal_quantile(confidence)
    low, high = 0, 1
    while _reach(rate, high, z) > within:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _reach(rate, middle, z) <= within else (middle, high)
    return high


def _reach(rate: float, n: int, z: float) -> float:
    """Tell how far the Wilson interval of n rows reaches from the rate."""
    center = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return float(max(abs(center - half - rate), abs(center + half - rate)))


def _place(name: Any, names: list[Any]) -> int:
    if name not in names:
        raise ValueError(f"knowledge names the class {name!r}, but the labels are {names}")
    return names.index(name)


def _share(value: Any, what: str) -> float:
    if not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{what} must lie between 0 and 1, not {value}")
    return float(value)
