"""The columns of rows that several people have answered: the same learners, the same head.

What was said of a row is a likelihood of its true class, the product over its answers of
P(answer | true class). Learners and head learn through it as they learn through the channel of a
label; there is no channel left to find. Of many rows a sample learns, and scores the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from misnomer import channel
from misnomer.families.family import log
from misnomer.head.answer import Answer, average
from misnomer.head.explain import Search
from misnomer.head.large import MOST_ROWS, SAMPLE_ROWS, drawn, taken
from misnomer.head.model import HeadModel
from misnomer.kernels import softmax
from misnomer.learners.kernel import Kernel
from misnomer.learners.learner import Learner
from misnomer.learners.logistic import Logistic
from misnomer.learners.naive_bayes import USUAL
from misnomer.learners.rows import Rows, rows_of
from misnomer.learners.trees import Trees
from misnomer.model import Model
from misnomer.smoothing import Smoothing
from misnomer.solvers.annotators.fit import Passes, Word
from misnomer.table import Batch, Schema, numbered

Array = NDArray[np.float64]

LEAST_SHARE = 1e-12


class _Here:
    """Goes over batches that are at hand."""

    def each(self, step: Any, batches: Sequence[Batch], *beside: NDArray[Any]) -> Iterator[Any]:
        """Take the step with every batch."""
        return (step(batch) for batch in batches)


@dataclass(frozen=True, eq=False)
class LearnedColumns:
    """Columns that learners look at and a head listens to.

    Attributes
    ----------
    schema : Schema
        The columns.
    batches : sequence of Batch
        The rows, in the order in which answers number them.
    n_rows, classes : int
        How many rows and true classes there are.
    weight : (n,) array, optional
        How much each row counts.
    smoothing : Smoothing
        The virtual examples of naive Bayes.
    seed : int
        Deals the folds.
    passes : Passes
        Who goes over the batches.
    through, once : sequences of Learner
        Who learns through the answers, beside naive Bayes, and who from shared-out rows.
    """

    schema: Schema
    batches: Sequence[Batch]
    n_rows: int
    classes: int
    weight: Array | None = None
    smoothing: Smoothing = USUAL
    seed: int = 0
    passes: Passes = field(default_factory=_Here)
    through: tuple[Learner, ...] = (Logistic(), Kernel())
    once: tuple[Learner, ...] = (Trees(),)
    memory: dict[Any, Array] = field(default_factory=dict)

    def learned(self, likelihood: Array, truth: NDArray[np.int32] | None) -> Word:
        """Learn the classes from the columns, and score every row without itself."""
        with threadpool_limits(1, user_api="blas"):
            rows = self._said(likelihood, truth)
            answer = average(Search(self.through, self.once, memory=self.memory)(rows))
        share = softmax(answer.logits)[0]
        mean = np.maximum(rows.weight @ share / rows.weight.sum(), LEAST_SHARE)
        model = model_behind(answer, mean / mean.sum(), self.schema)
        logits = answer.logits
        if len(self._places) < self.n_rows:
            logits = np.concatenate(list(self.passes.each(partial(_logits, model), self.batches)))
            logits[self._places] = answer.logits
        return Word(np.log(np.maximum(softmax(logits)[0], LEAST_SHARE) / mean), model)

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """Positions of the rows that learn: all, or a sample of many."""
        size = SAMPLE_ROWS if self.n_rows > MOST_ROWS else self.n_rows
        return drawn(self.n_rows, size, 0)

    @cached_property
    def _rows(self) -> Rows:
        batch = taken(self.batches, self._places)
        blank = np.full(len(batch), self.classes, np.int32)
        weight = None if self.weight is None else self.weight[self._places]
        batch = replace(batch.judged_by(blank), weight=weight, start=0)
        return rows_of(self.schema, batch, self.classes, self.smoothing, self.seed, self.classes)

    def _said(self, likelihood: Array, truth: NDArray[np.int32] | None) -> Rows:
        rows, at = self._rows, self._places
        known = rows.known if truth is None else truth[at].astype(np.intp)
        found = replace(rows, known=known, evidence=likelihood[at])
        for name in ("statistics", "worth"):  # they are of the columns alone
            found.__dict__[name] = getattr(rows, name)
        return found


def columns_of(
    schema: Schema,
    batch: Batch,
    classes: int,
    weight: Array | None = None,
    smoothing: Smoothing = USUAL,
    seed: int = 0,
) -> LearnedColumns:
    """Take the columns of a table in memory."""
    batches = list(numbered([batch]))
    return LearnedColumns(schema, batches, len(batch), classes, weight, smoothing, seed)


def model_behind(answer: Answer, shares: Array, schema: Schema) -> Model:
    """Put a model of rows without labels together."""
    linear, none = answer.linear, channel.free(len(shares))
    bias = linear.bias - log(shares)
    if not answer.others:
        return Model(shares, none, linear.weights, schema, bias)
    return HeadModel(shares, none, linear.weights, schema, bias, others=answer.others)


def _logits(model: Model, batch: Batch) -> Array:
    blank = np.full(len(batch), model.channel.n_labels, np.int32)
    return model.log_joint(batch.judged_by(blank))
