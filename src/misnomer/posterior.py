"""What an audit keeps: P(true class) of its rows, and P(given | true).

Where labels are many, a share per row and class, or a cell per pair of classes, is too much. So a
row keeps its best classes and a matrix the pairs that occur; where there are few, that is all of
them. Nobody who asks needs to know which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Places = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Posterior:
    """P(true class | what is known of a row): of the best M classes, or of all.

    Examples
    --------
    >>> two = Posterior(np.array([[0.5, 0.25]]), np.array([[7, 2]]), 9)
    >>> two.best.tolist(), two.at(np.array([2])).tolist(), two.other_than(np.array([2])).tolist()
    ([7], [0.25], [0.75])
    """

    share: Array  # (n, M)
    classes: NDArray[np.integer[Any]]  # (n, M): which those are; all of them stand in order
    n_classes: int

    @classmethod
    def of(cls, found: Any) -> Posterior:
        """Take shares of all classes, (n, K), or what is a posterior already."""
        if isinstance(found, Posterior):
            return found
        share = np.asarray(found, np.float64)
        return cls(share, np.broadcast_to(np.arange(share.shape[1]), share.shape), share.shape[1])

    @classmethod
    def of_best(cls, share: Array, classes: NDArray[np.integer[Any]], n_classes: int) -> Posterior:
        """Take the shares of some classes of each row, in any order."""
        found = cls(share, classes, n_classes)
        return cls.of(found._laid_out()) if found.is_whole else found

    @classmethod
    def joined(cls, parts: Sequence[Posterior]) -> Posterior:
        """Put rows one under another."""
        share = np.concatenate([part.share for part in parts])
        if parts[0].is_whole:
            return cls.of(share)
        return cls(share, np.concatenate([part.classes for part in parts]), parts[0].n_classes)

    def __len__(self) -> int:
        return len(self.share)

    @property
    def is_whole(self) -> bool:
        """Whether every class is kept."""
        return self.share.shape[1] == self.n_classes

    def take(self, rows: Any) -> Posterior:
        """Select rows."""
        return replace(self, share=self.share[rows], classes=self.classes[rows])

    @cached_property
    def array(self) -> Array:
        """Lay the shares of all classes out, (n, K); classes that are not kept have none."""
        return self.share if self.is_whole else self._laid_out()

    def _laid_out(self) -> Array:
        out = np.zeros((len(self), self.n_classes))
        np.put_along_axis(out, self.classes.astype(np.intp), self.share, axis=1)
        return out

    @property
    def best(self) -> NDArray[np.intp]:
        """The most probable class of each row, (n,)."""
        place = self.share.argmax(axis=1)[:, None]
        return np.take_along_axis(self.classes, place, axis=1)[:, 0].astype(np.intp)

    @property
    def rest(self) -> Array:
        """What the classes that are not kept share, (n,)."""
        if self.is_whole:
            return np.zeros(len(self))
        return np.maximum(1.0 - self.share.sum(axis=1), 0.0)

    def at(self, code: Places) -> Array:
        """Take the share of one class of each row, (n,); zero where the class is -1."""
        return np.asarray(np.where(self.classes == code[:, None], self.share, 0.0).sum(axis=1))

    def other_than(self, code: Places) -> Array:
        """P(the class is another one), (n,): added up where all are kept, exact near zero, too."""
        if not self.is_whole:
            return np.clip(1.0 - self.at(code), 0.0, 1.0)
        return np.clip((self.share * (self.classes != code[:, None])).sum(axis=1), 0.0, 1.0)

    @property
    def entropy(self) -> Array:
        """``-sum_z P(z) log P(z)``, (n,): what an answer is expected to tell, in nats.

        Examples
        --------
        >>> Posterior.of(np.array([[1.0, 0.0], [0.5, 0.5]])).entropy.round(3).tolist()
        [0.0, 0.693]
        """
        log = np.log(np.clip(self.share, 1e-300, 1.0))
        heat = -(self.share * log).sum(axis=1) - self.rest * np.log(np.maximum(self.rest, 1e-300))
        return np.clip(heat, 0.0, None)

    def knowing(self, rows: Places, code: Places) -> Posterior:
        """Take some classes for known: their rows are of no other.

        Examples
        --------
        >>> two = Posterior(np.array([[0.5, 0.25]]), np.array([[7, 2]]), 9)
        >>> two.knowing(np.array([0]), np.array([4])).at(np.array([4])).tolist()
        [1.0]
        """
        if not len(rows):
            return self
        share, classes = self.share.copy(), self.classes
        kept = classes[rows] == code[:, None]
        if not kept.any(axis=1).all():
            classes = classes.copy()
            lost = np.flatnonzero(~kept.any(axis=1))
            classes[rows[lost], -1] = code[lost]
        share[rows] = classes[rows] == code[:, None]
        return replace(self, share=share, classes=classes)

    def moved(self, home: Places, wrong: Array) -> Posterior:
        """Leave to the class ``home`` what ``wrong`` does not take; the others share it as before.

        Rows whose class is -1 stay as they are.
        """
        rows = np.flatnonzero(home >= 0)
        own = self.classes[rows] == home[rows, None]
        rest = np.where(own, 0.0, self.share[rows])
        total = rest.sum(axis=1, keepdims=True)
        even = np.where(own, 0.0, 1.0 / max(rest.shape[1] - 1, 1))
        part = np.divide(rest, total, out=even, where=total > 0)
        out = np.array(self.share, np.float64)
        out[rows] = np.where(own, (1.0 - wrong[rows])[:, None], part * wrong[rows, None])
        return replace(self, share=out)

    def by_label(self, given: Places, labels: int) -> tuple[Places, Places, Array]:
        """Add the shares up by given label and class: the pairs that occur, and rows of each.

        The rows off the diagonal are the expected number of wrong labels.

        Examples
        --------
        >>> rows = Posterior.of(np.array([[1.0, 0.0], [0.25, 0.75]]))
        >>> rows.by_label(np.array([0, 0]), 2)[2].tolist()
        [1.25, 0.75]
        """
        known, (n, M) = np.flatnonzero(given >= 0), self.share.shape
        ones = (np.ones(len(known)), (given[known], known))
        ends = np.arange(0, n * M + 1, M)
        every = sparse.csr_array(
            (self.share.ravel(), self.classes.ravel(), ends), shape=(n, self.n_classes)
        )
        rows = sparse.csr_array(sparse.csr_array(ones, shape=(labels, n)) @ every)
        rows.sort_indices()
        return np.repeat(np.arange(labels), np.diff(rows.indptr)), rows.indices, rows.data


@dataclass(frozen=True, eq=False)
class NoiseMatrix:
    """P(given | true) with its interval: all cells in order, or those of the pairs that occur."""

    # (P,): the cells, by label, then by class
    given: Places
    true: Places
    # (P,): P(given | true) and the ends of its interval
    value: Array
    low: Array
    high: Array
    shape: tuple[int, int]  # how many labels and classes there are
    rest: Array | None = None  # (K,): P of each label that is not listed for a class

    @classmethod
    def of(cls, value: Array, low: Array, high: Array) -> NoiseMatrix:
        """Take all cells, (L, K)."""
        L, K = value.shape
        given, true = np.divmod(np.arange(L * K), max(K, 1))
        return cls(given, true, value.ravel(), low.ravel(), high.ravel(), (L, K))

    @property
    def is_whole(self) -> bool:
        """Whether every cell is kept."""
        return len(self.value) == self.shape[0] * self.shape[1]

    @property
    def is_positive(self) -> bool:
        """Whether any label may be given to any class."""
        return self.is_whole and bool((self.value > 0).all())

    def array(self, part: str = "value") -> Array:
        """Lay the cells out, (L, K): "value", "low" or "high".

        Examples
        --------
        >>> NoiseMatrix.of(np.eye(2), np.zeros((2, 2)), np.ones((2, 2))).array().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        out = np.zeros(self.shape)
        if self.rest is not None and part != "low":
            out += self.rest
        out[self.given, self.true] = getattr(self, part)
        return out

    def reverse(self, prior: Array) -> Array:
        """Turn the matrix round, (P,): ``P(true | given) = P(y | z) P(z) / P(y)``."""
        joint = self.value * prior[self.true]
        total = np.bincount(self.given, joint, minlength=self.shape[0])[self.given]
        return np.where(total > 0, joint / np.where(total > 0, total, 1.0), prior[self.true])

    def find(self, given: Places, true: Places) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Say where some cells are listed, and which of them are."""
        K = self.shape[1]
        key, asked = self._key, given * K + true
        place = np.searchsorted(key, asked).clip(max=len(key) - 1)
        return place, key[place] == asked

    def at(self, given: Places, true: Places) -> Array:
        """P(given | true) of some cells, in the shape in which they are asked for."""
        place, listed = self.find(given, true)
        other = 0.0 if self.rest is None else self.rest[true]
        return np.where(listed, self.value[place], other)

    @cached_property
    def _key(self) -> NDArray[np.int64]:
        return self.given.astype(np.int64) * self.shape[1] + self.true
