"""WideModel: the true class of new rows, where classes and words are too many for dense weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.reference import softmax
from misnomer.rows import read_like
from misnomer.solvers.sparse.naive_bayes import SparseFit
from misnomer.solvers.sparse.rows import (
    Background,
    Own,
    Places,
    Sums,
    candidates,
    tokens,
    weights_of,
)
from misnomer.table import Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WideModel:
    """Naive Bayes of many classes, as sums that are kept where something was counted."""

    schema: Schema  # the columns
    classes_: NDArray[Any]  # (K,): the names of the true classes
    # (d, 9): between which values the tenths of each real column lie; infinity where there are
    # fewer
    cuts: Array
    # the counts by class, and the virtual examples
    sums: Sums
    behind: Background
    prior: Array  # (K,): P(class)
    scale: float  # what one nat of evidence is worth: under one where words repeat each other

    def best(self, X: Any) -> tuple[Places, Array]:
        """Find the most probable class of each row, and its probability."""
        rows = tokens(read_like(X, self.schema), self.cuts)
        n, own = len(rows), Own(self.sums, self.behind)
        weights = weights_of(self.sums, self.behind)
        found = candidates(rows, weights, own, np.full(n, -1), np.zeros(n), self.prior)
        score = self.scale * found.evidence + np.log(self.prior)[found.classes]
        share = softmax(np.column_stack([score, found.others(self.scale)[0]]))[0][:, :-1]
        place = share.argmax(axis=1)[:, None]
        classes = np.take_along_axis(found.classes, place, axis=1)[:, 0]
        return classes.astype(np.intp), np.take_along_axis(share, place, axis=1)[:, 0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Name the most probable class of each row, (n,)."""
        return np.asarray(self.classes_[self.best(X)[0]])


def wide_model(schema: Schema, names: NDArray[Any], cuts: Array, fit: SparseFit) -> WideModel:
    """Take what a fit knows of new rows."""
    return WideModel(schema, names, cuts, fit.sums, fit.behind, fit.prior, fit.judged.scale)
