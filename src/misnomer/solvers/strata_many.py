"""Many rows judged by strata: what is found on a sample is applied to all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_average import Average
from misnomer.solvers.pool_judge import Judge
from misnomer.solvers.pool_rows import labels
from misnomer.solvers.strata_columns import Variable
from misnomer.solvers.strata_fit import Varied
from misnomer.solvers.strata_narrow import Cut, Narrowed, NarrowFold
from misnomer.solvers.strata_without import own_statistics, put_back, without
from misnomer.solvers.task import Task
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ByStratum:
    """Judges many rows: what the other folds say of a row, through the channel of its stratum.

    Attributes
    ----------
    judge : Judge
        Scores the rows, by all columns or all but one.
    varied : Varied
        The channels.
    schema, apart : Schema and Variable, or None
        All columns, and the one that the judge does not see.
    """

    judge: Judge
    varied: Varied
    schema: Schema | None = None
    apart: Variable | None = None

    def share(self, batch: Batch) -> Array:
        """Compute P(true | x) of each row, (n, K)."""
        if self.apart is not None and self.schema is not None:
            batch = without(self.schema, batch, self.apart)[1]
        return softmax(self.judge.scores(batch))[0]

    def posterior(self, batch: Batch) -> Array:
        """Compute P(true | x, y) of each row, (n, K)."""
        cell = self.varied.cells(batch)
        label, trusted = labels(batch, len(self.judge.channel))
        known = self.varied.ratio is None
        before = self.judge.posterior(batch) if known else np.zeros((0, 0))
        share = before if known else self.share(batch)
        return self.varied.judged(cell, share, before, label, trusted)


def narrowed(
    task: Task, schema: Schema, back: NDArray[np.intp], apart: Variable | None
) -> tuple[Task, NDArray[np.intp]]:
    """Leave a column out of all rows; also where the statistics of a sample are then.

    ``schema`` is that of the sample, ``back`` the place of its statistics among all.
    """
    if apart is None:
        return task, back
    own = own_statistics(task.schema, apart)
    left = np.setdiff1d(np.arange(task.schema.statistics), own)
    rest = np.setdiff1d(np.arange(schema.statistics), own_statistics(schema, apart))
    cut = Cut(task.schema, apart)
    back = np.searchsorted(left, back[rest])
    if isinstance(task.batches, list):
        return replace(task, schema=cut.left, batches=[cut(one) for one in task.batches]), back
    rows, fold = Narrowed(task.batches, cut), NarrowFold(task.fold, cut)
    return replace(task, schema=cut.left, batches=rows, fold=fold), back


def of_many(
    task: Task, varied: Varied, apart: Variable | None, judge: Judge, answer: Average
) -> tuple[Any, Average]:
    """Judge all rows by stratum."""
    if not varied.found:
        return judge, answer
    channels = replace(varied, margins=(), groups=None, evidence={})  # no more than a judge needs
    by = ByStratum(judge, channels, task.schema, apart)
    if apart is not None:
        assert varied.ratio is not None
        weights = put_back(task.schema, apart, answer.weights, varied.ratio)
        answer = replace(answer, weights=weights)
    return by, replace(answer, fitted=varied.mean, reported=varied.mean)
