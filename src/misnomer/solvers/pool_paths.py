"""Where twins begin: a channel to be taken as known, and falling penalties.

With several classes the likelihood of labels behind a channel has many valleys, and the channel
that counts of dependent columns suggest may lie in a poor one. So twins begin there and also at a
channel that no search can lead astray: labels taken as they are leave one valley alone, and rows
that such a twin is sure of count the second channel out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels import softmax
from misnomer.solvers.pool_channel import even
from misnomer.solvers.pool_confident import confident_joint
from misnomer.solvers.pool_rows import Rows
from misnomer.solvers.pool_scores import Source
from misnomer.solvers.pool_search import Pooled, Start, search
from misnomer.solvers.pool_twin import Basis, Twin, cross_fit

Array = NDArray[np.float64]
Found = list[tuple[Pooled, Twin]]
Note = Callable[[float], None]

HOPELESS = 4.0  # nats behind: such an explanation would have no weight
_DENSE_PENALTIES = (200.0, 50.0, 10.0, 2.0, 0.3)
_SPARSE_PENALTIES = (10.0, 2.0, 0.3)
_ALONE = 0.99  # a twin's part where dependent columns drown naive Bayes
_PLAIN = 0.98  # diagonal of labels taken as they are
_AGAIN, _GAIN = 3, 1.0  # times that the best one's channel is taken as known; nats each must gain


@dataclass(frozen=True, eq=False)
class Paths:
    """The ways to look for twins.

    Attributes
    ----------
    rows, on : Rows, Basis
        What is fitted.
    source : Source
        The naive Bayes scores that a twin is mixed with.
    counted : Pooled
        The best explanation by such scores alone.
    kinds : tuple of bool
        Even and free splits of the errors, as far as there is hope.
    penalties : tuple of float
        Falling; empty chooses them by the table.
    note : callable
        Told every objective.
    """

    rows: Rows
    on: Basis
    source: Source
    counted: Pooled
    kinds: tuple[bool, ...]
    penalties: tuple[float, ...] = ()
    note: Note = field(default=lambda objective: None)

    def __call__(self) -> Found:
        """Go all ways, and on from where the best of each has ended."""
        counted = self._by_counts()
        found = self._on(counted)
        if self.rows.classes == 2:  # one valley or two, which the counts find
            return found
        best, twin = min(counted, key=_value)
        sure = self._sure(twin.penalty)
        tried = self._begun(sure, sure.channel)
        if min(map(_value, tried)) > best.objective - _GAIN:
            return found + tried  # the same valley, or a worse one
        return found + self._on(tried + self._falling(self._sure))

    def _by_counts(self) -> Found:
        """Begin at the channel of the counts; once more where labels are taken as they are."""
        channel = self.counted.channel
        found = self._falling(lambda penalty, last: self._fit(channel, penalty, last))
        best = min(found, key=_value)[1]
        return found + self._begun(self._plain(best.penalty, best), channel)

    def _sure(self, penalty: float, _: Twin | None = None) -> Twin:
        """Begin at the channel that rows count out whose class a plain twin is sure of."""
        plain = self._plain(penalty, None)
        chance = softmax(plain.scores / plain.factor)[0] @ plain.channel.T
        return self._fit(confident_joint(self.rows, chance), penalty, plain)

    def _plain(self, penalty: float, start: Twin | None) -> Twin:
        return self._fit(even(self.rows.classes, _PLAIN), penalty, start)

    def _fit(self, channel: Array, penalty: float, start: Twin | None) -> Twin:
        return cross_fit(self.rows, self.on, channel, penalty, self.source.scores, start)

    def _falling(self, way: Callable[[float, Twin | None], Twin]) -> Found:
        """Lower the penalty until that has lost."""
        found: Found = []
        twin = None
        for penalty in self.penalties or _penalties(self.rows):
            twin = way(penalty, twin)
            ends = self._begun(twin, twin.channel)
            found += ends
            if min(map(_value, ends)) > min(map(_value, found)) + HOPELESS:
                break
        return found

    def _on(self, found: Found) -> Found:
        """Take the best one's own channel as known, while that gains."""
        for _ in range(_AGAIN):
            best, twin = min(found, key=_value)
            ends = self._ends(
                self._fit(best.channel, twin.penalty, twin), self._starts(best.channel)
            )
            found = found + ends
            if min(map(_value, ends)) > best.objective - _GAIN:
                break
        return found

    def _begun(self, twin: Twin, channel: Array) -> Found:
        """Search from a channel, and from few errors that are spread evenly."""
        first, *others = self._starts(channel)
        return self._ends(
            twin, [first, (even(self.rows.classes, 0.9), self.counted.scale), *others]
        )

    def _starts(self, channel: Array) -> list[Start]:
        """Begin with a little of the twin, and with the twin alone."""
        return [(channel, self.counted.scale), (channel, 1.0, _ALONE)]

    def _ends(self, twin: Twin, starts: list[Start]) -> Found:
        found = []
        for free in self.kinds:
            end = search(self.rows, self.source.scores, twin.scores, starts, free=free)
            self.note(end.objective)
            found.append((end, twin))
        return found


def _value(one: tuple[Pooled, Twin]) -> float:
    return one[0].objective


def _penalties(rows: Rows) -> tuple[float, ...]:
    return _SPARSE_PENALTIES if sparse.issparse(rows.stats) else _DENSE_PENALTIES
