"""What a linear classifier should see of a row: its own statistics, centered and scaled.

phi(x) = C t(x) - (what the observed columns hold on average), so that a missing cell is exactly an
average one (zero), every column weighs alike in the penalty, and the weights of phi fold back into
weights of t(x): the result is again one linear form over the model's statistics.

    categorical   1[x = v] - share[v]
    bernoulli     sqrt(2) (x - share)                   what a categorical of two values gets
    gaussian      z, (z^2 - 1) / sqrt(2)                z = (x - mean) / sd
    count         (x - mean) / sd                       one column of counts
    text          idf[v] (x[v] - mean[v]) / length      length = root mean square over the rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.families import Bernoulli, Categorical, Gaussian
from misnomer.kernels.blocks import Words
from misnomer.solvers.moments import diagonals, standardized
from misnomer.solvers.task import tally
from misnomer.stats import Stats
from misnomer.table import Batch, Fold, Group, Schema

Array = NDArray[np.float64]
MIN_VARIANCE_SHARE = 1e-12  # a variance below this share of the mean square is rounding


@dataclass(frozen=True, eq=False)
class Features:
    """The map from statistics t(x) to features phi(x), for weights and for gradients.

    There are as many features as statistics; those that would repeat another stay zero.
    """

    change: sparse.csr_array  # (S, S): ``C``, one row per feature
    # (S,): what is taken off each indicator of an observed categorical column; 0 elsewhere
    share: Array
    owner: sparse.csr_array  # (S, d): which categorical column each indicator belongs to
    shift: Array  # (S,): what is taken off the counts, which are always observed; 0 elsewhere

    def fold(self, coefficients: Array, intercept: Array) -> tuple[Array, Array]:
        """Turn weights of phi into weights of t: ``phi . V + b = t . W + a`` for every row.

        Parameters
        ----------
        coefficients : (H, S) array
            V.
        intercept : (H,) array
            b.

        Returns
        -------
        weights, intercept : (H, S) array and (H,) array
            W and a.
        """
        centered = (self.owner @ (self.owner.T @ (coefficients * self.share).T)).T
        weights = (self.change.T @ coefficients.T).T - centered
        return np.ascontiguousarray(weights), intercept - coefficients @ self.shift

    def pull(self, sums: Array, mass: Array) -> Array:
        """Turn ``sum_i r_i t(x_i)`` and ``sum_i r_i`` into ``sum_i r_i phi(x_i)``, (H, S)."""
        observed = (self.owner @ (self.owner.T @ sums.T)).T * self.share
        moved: Array = (self.change @ sums.T).T - observed - mass[:, None] * self.shift
        return moved


def measure(schema: Schema, batches: Sequence[Batch], fold: Fold[Any]) -> Features:
    """Learn the centers and the scales of all columns in one pass."""
    seen: Stats = fold(_Look(schema), batches)
    rows = max(seen.rows, 1e-300)
    S = schema.statistics
    parts = [_part(schema, group, seen.sums[:, group.span], rows) for group in schema.groups]
    if not parts:
        return Features(sparse.csr_array((S, S)), np.zeros(S), _owner(schema), np.zeros(S))
    change, share, shift = zip(*parts, strict=True)
    return Features(
        sparse.csr_array(sparse.block_diag(change)),
        np.concatenate(share),
        _owner(schema),
        np.concatenate(shift),
    )


@dataclass(frozen=True)
class _Look:
    """Sum t(x) over a batch, and for counts also 1[x > 0] and x^2: (3, S)."""

    schema: Schema

    def __call__(self, batch: Batch) -> Stats:
        first = tally(batch, np.zeros(len(batch), np.int32), 1)
        sums = np.concatenate([first.sums, np.zeros((2, self.schema.statistics))])
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        for group, block in zip(self.schema.groups, batch.blocks, strict=True):
            if isinstance(block, Words):
                sums[1, group.span] = weight @ (block.matrix > 0)
                sums[2, group.span] = weight @ block.matrix.power(2)
        return Stats(first.joint, sums)


_Part = tuple[sparse.sparray, Array, Array]  # change, share, shift of one group


def _part(schema: Schema, group: Group, sums: Array, rows: float) -> _Part:
    family, none = group.family, np.zeros(sums.shape[1])
    if isinstance(family, Categorical):
        return sparse.eye_array(sums.shape[1]), family.shares(sums[:1])[0], none
    if isinstance(family, Bernoulli):
        return _flags(family.shares(sums[:1])[0]), none, none
    if isinstance(family, Gaussian):
        mass, mean, squares = family.spread(sums[:1])
        return _powers(mean[0], squares[0] / np.maximum(mass[0], 1e-300)), none, none
    scale = _counts(schema, group, sums / rows, rows)
    return sparse.diags_array(scale), none, scale * sums[0] / rows


def _flags(share: Array) -> sparse.sparray:
    """Write ``sqrt(2) (x - share)`` in terms of ``[observed, x]``; the first half stays unused."""
    zero, root = np.zeros_like(share), np.full_like(share, np.sqrt(2.0))
    return diagonals([[zero, zero], [-root * share, root]])


def _powers(mean: Array, variance: Array) -> sparse.sparray:
    """Standardize reals; the first third stays unused, and so does a column without spread."""
    flat = variance <= MIN_VARIANCE_SHARE * mean**2
    rate = np.where(flat, 0.0, 1.0 / np.sqrt(np.where(flat, 1.0, variance)))
    return diagonals([[np.zeros_like(mean)] * 3, *standardized(mean, rate)])


def _counts(schema: Schema, group: Group, average: Array, rows: float) -> Array:
    """Scale counts: a column of its own by its sd, the words of a text by idf and length."""
    mean, present, square = average
    widths = [schema.columns[i].width for i in group.members]
    alone = np.repeat(np.array(widths) == 1, widths) & (group.kind == "count")
    variance = square - mean**2
    spread = variance > MIN_VARIANCE_SHARE * square
    sd = np.sqrt(np.where(spread, variance, 1.0))
    idf = np.log((1.0 + rows) / (1.0 + rows * present)) + 1.0
    length = np.sqrt(max(float(np.sum((idf**2 * square)[~alone])), 1e-300))
    scale: Array = np.where(alone, spread / sd, idf / length)
    return scale


def _owner(schema: Schema) -> sparse.csr_array:
    """Say which categorical column each statistic belongs to, (S, d)."""
    rows, columns = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    for group in schema.groups:
        if group.kind == "categorical":
            rows.append(np.arange(group.span.start, group.span.stop))
            columns.append(np.array(group.members)[group.family.owner])
    row, column = np.concatenate(rows), np.concatenate(columns)
    shape = (schema.statistics, max(len(schema.columns), 1))
    return sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
