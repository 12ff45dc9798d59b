"""WideModel: the true class of new rows, where classes and words are too many for dense weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Block, Codes, Reals
from misnomer.kernels.reference import softmax
from misnomer.rows import read_like
from misnomer.solvers.sparse.naive_bayes import SparseFit
from misnomer.solvers.sparse.rows import Places, Tokens, tokens
from misnomer.solvers.sparse.scores import Own, candidates
from misnomer.solvers.sparse.weights import Background, Sums, weights_of
from misnomer.table import Schema

Array = NDArray[np.float64]

PARTS = 10  # that a real column is cut into


@dataclass(frozen=True, eq=False)
class WideModel:
    """Naive Bayes of many classes, as sums that are kept where something was counted.

    Attributes
    ----------
    schema : Schema
        The columns.
    classes_ : (K,) array
        The names of the true classes.
    cuts : (d, 9) array
        Between which values the tenths of each real column lie; infinity where there are fewer.
    sums, behind : Sums, Background
        The counts by class, and the virtual examples.
    prior : (K,) array
        P(class).
    scale : float
        What one nat of evidence is worth: under one where words repeat each other.
    """

    schema: Schema
    classes_: NDArray[Any]
    cuts: Array
    sums: Sums
    behind: Background
    prior: Array
    scale: float

    def best(self, X: Any) -> tuple[Places, Array]:
        """Find the most probable class of each row, and its probability."""
        rows = tokens_of(read_like(X, self.schema), self.cuts)
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


def cuts_of(blocks: Sequence[Block]) -> Array:
    """Find the tenths of every real column, (d, 9).

    Examples
    --------
    >>> cuts_of([Reals(np.arange(11.0)[:, None], np.zeros(1))]).tolist()
    [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
    """
    columns = [column for block in blocks if isinstance(block, Reals) for column in block.values.T]
    out = np.full((len(columns), PARTS - 1), np.inf)
    for own, values in zip(out, columns, strict=True):
        seen = values[~np.isnan(values)]
        if len(seen):
            found = np.unique(np.quantile(seen, np.arange(1, PARTS) / PARTS))
            own[: len(found)] = found
    return out


def tokens_of(blocks: Sequence[Block], cuts: Array) -> Tokens:
    """List what occurs in the rows of some blocks, real numbers by the tenth they lie in."""
    first, ready = 0, []
    for block in blocks:
        if isinstance(block, Reals):
            d = block.values.shape[1]
            ready.append(_tenths(block, cuts[first : first + d]))
            first += d
        else:
            ready.append(block)
    return tokens(ready)


def _tenths(block: Reals, cuts: Array) -> Block:
    """Number the tenth of its column that each value lies in; ten means "nothing observed".

    Examples
    --------
    >>> cuts = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]])
    >>> _tenths(Reals(np.array([[0.5], [9.0], [np.nan]]), np.zeros(1)), cuts).codes.ravel().tolist()
    [0, 9, 10]
    """
    codes = np.full(block.values.shape, PARTS, np.uint8)
    for j, values in enumerate(block.values.T):
        seen = ~np.isnan(values)
        codes[seen, j] = np.searchsorted(cuts[j], values[seen], side="right")
    return Codes(codes, (PARTS,) * block.values.shape[1])
