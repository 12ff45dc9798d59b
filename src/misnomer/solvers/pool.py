"""The pool: what to do with labels of unknown quality and columns of unknown dependence.

Naive Bayes and its conditional twin are scored out of fold, tempered and mixed, and seen through a
channel; several such explanations of the given labels compete, and the answer is their average by
posterior weight. It is again one model with one weight per class and statistic.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from misnomer.kernels.reference import softmax
from misnomer.model import Model
from misnomer.smoothing import Smoothing
from misnomer.solvers.counts import counts
from misnomer.solvers.difficulty import Assume
from misnomer.solvers.difficulty_pool import look
from misnomer.solvers.em import em
from misnomer.solvers.pool_average import Average, average
from misnomer.solvers.pool_candidates import Field, Search
from misnomer.solvers.pool_collapsed import USUAL
from misnomer.solvers.pool_findings import Findings
from misnomer.solvers.pool_intervals import LIKELY, intervals
from misnomer.solvers.pool_judge import Judge, Listed, Tallied, dealt
from misnomer.solvers.pool_large import refit_all
from misnomer.solvers.pool_rows import joined, spelled
from misnomer.solvers.pool_sample import is_large, sample
from misnomer.solvers.pool_verdict import Along, Case, along_the_rate, verdict
from misnomer.solvers.strata_all import numbered_groups, of_groups
from misnomer.solvers.strata_columns import Members
from misnomer.solvers.strata_fit import Varied
from misnomer.solvers.strata_many import narrowed, of_many
from misnomer.solvers.strata_pool import applied, settle
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Schema, numbered
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

_FEWEST = 20  # labeled rows


@dataclass(frozen=True)
class Pool:
    """A solver: ``Pool()(task)``; every part can be left out.

    Attributes
    ----------
    twin : bool
        Let the conditional twin compete.
    refit : bool
        Let counts compete that are shared out by an earlier answer.
    variational : bool
        Let the joint model compete; it is believed where its columns are independent.
    penalties : tuple of float
        Of the twin, falling; empty chooses them by the table.
    difficulty : bool or "auto"
        Whether errors strike rows that are hard to tell: yes, no, or as the rows say.
    columns : bool or "auto"
        Whether errors may be more frequent where a column has certain values: yes (the column that
        tells them best), no, or where that is clear out of fold.
    groups : (N,) array of int or Members, optional
        The group of each row, by its number, where groups may err in their own way; -1 for none.
        `Members` where the rows bring that along (``Batch.group``).
    """

    twin: bool = True
    refit: bool = True
    variational: bool = True
    penalties: tuple[float, ...] = ()
    difficulty: Assume = "auto"
    columns: Assume = "auto"
    groups: NDArray[np.intp] | Members | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is neither yes, no nor "auto"."""
        for name in ("difficulty", "columns"):
            if getattr(self, name) not in (True, False, "auto"):
                said = getattr(self, name)
                raise ValueError(f'{name} must be True, False or "auto", not {said!r}')

    def __call__(self, task: Task) -> Fit:
        """Find the model."""
        with threadpool_limits(1, user_api="blas"):  # small products: threads only wait
            return self._found(task)

    def _found(self, task: Task) -> Fit:
        if isinstance(task.batches, list):
            task = replace(task, batches=list(numbered(task.batches)))
        task, members = numbered_groups(task, self.groups)
        cause = unfit(task)
        if cause is not None:
            return cause
        smoothing, history = held(task.smoothing), _History(task)
        compete = Search(self.twin, self.refit, self.variational, self.penalties, history)
        if is_large(task):
            return self._of_many(task, compete, smoothing, members, history)
        rows = spelled(task, joined(list(task.batches)), smoothing)
        found = compete(rows)
        answer = average(found)
        looked = look(found, answer, self.difficulty)

        def again(schema: Schema, batch: Batch) -> Field:
            return compete(spelled(replace(task, schema=schema), batch, smoothing))

        known = settle(found, answer, looked, columns=self.columns, groups=members, again=again)
        case, varied = Case(known.found, known.answer, known.looked.fit), known.varied
        answer, found = applied(known), known.found
        judge = Listed(found.rows.given_back(answer.posterior, task.extent[0]))
        return fit_of(task, found, answer, case, judge, history.values, varied)

    def _of_many(
        self, task: Task, compete: Search, smoothing: Smoothing, members: Members | None,
        note: _History,
    ) -> Fit:  # fmt: skip
        """Let explanations compete on a sample, and fit the best to all rows."""
        task = replace(task, batches=dealt(task.batches))
        small, place, back = sample(task)
        rows = spelled(small, small.batches[0], smoothing, place=place)
        found = replace(compete, many=True)(rows)
        answer = average(found)
        looked = look(found, answer, self.difficulty)

        def again(schema: Schema, batch: Batch) -> Field:
            thin = spelled(replace(small, schema=schema), batch, smoothing)
            return replace(compete, many=True)(thin)

        known = settle(found, answer, looked, columns=self.columns, groups=members, again=again)
        case, looked = Case(known.found, known.answer, known.looked.fit), known.looked
        thin, back = narrowed(task, rows.schema, back, known.apart)
        found, answer, judge = refit_all(
            thin, known.found, looked.fit, back, smoothing, refit=self.refit
        )
        note(found.best.objective)
        varied = known.varied
        if members is not None:
            varied = of_groups(task, varied, members, judge, found, answer)
        by, answer = of_many(task, varied, known.apart, judge, answer)
        return fit_of(task, found, answer, case, by, note.values, varied)


pool = Pool()


class _History:
    """The best objective after each candidate, told to whoever asked for progress."""

    def __init__(self, task: Task) -> None:
        self.values: list[float] = []
        self.task = task

    def __call__(self, objective: float) -> None:
        last = self.values[-1] if self.values else -np.inf
        self.values.append(max(last, -objective))
        if self.task.progress is not None:
            self.task.progress(len(self.values), self.values[-1])


def held(smoothing: Smoothing) -> Smoothing:
    """Take the user's virtual examples where they are fixed and not none, else Laplace's.

    Shared-out counts would let an automatic m run away; the joint model chooses by itself.
    """
    if smoothing.m is None or (smoothing.m == 0 and smoothing.cells == 0):
        return USUAL
    return smoothing if smoothing.classes else replace(smoothing, classes=1.0)


def unfit(task: Task) -> Fit | None:
    """Answer by a simpler solver where there is nothing to pool, and say so."""
    channel = task.channel
    L, K = channel.matrix.shape
    if L != K or not channel.free.all() or channel.tied != "cells":
        note = "The channel is partly known: the pool gives way to EM, which respects it."
        return _noted(em(task), note)
    rows = task.labeled
    if rows < _FEWEST or not task.schema.statistics:
        note = f"{rows:.0f} labeled rows are too few to doubt any: all labels are taken as true."
        if not task.schema.statistics:
            note = "No column says anything: all labels are taken as true."
        known = replace(channel, matrix=np.eye(K), free=np.zeros((K, K), bool))
        return _noted(counts(replace(task, channel=known)), note)
    return None


def _noted(fit: Fit, note: str) -> Fit:
    return replace(fit, details={**fit.details, "notes": (note,)})


def fit_of(
    task: Task,
    found: Field,
    answer: Average,
    case: Case,
    judge: Judge | Listed,
    history: list[float],
    varied: Varied,
) -> Fit:
    """Put the model together, with all that an audit asks for; ``judge`` has P(true | x, y).

    Of rows in memory it is worked out at once; others are judged where and when they are read.
    """
    channel = replace(task.channel, matrix=answer.reported)
    prior = softmax(answer.bias[None, :])[0][0]
    model = Model(prior, channel, answer.weights, task.schema)
    known: dict[str, Any] = {}
    if isinstance(task.batches, list):
        judge = Listed(np.concatenate([judge.posterior(batch) for batch in task.batches]))
        known["posterior"] = judge.values
    mass, (wrong, labeled) = task.fold(Tallied(judge, task.channel.n_labels), task.batches).arrays
    known |= {
        "judge": judge,
        "class_shares": mass / mass.sum(),
        "solver": "pool",
        "notes": notes(case.found, answer, task.extent[0]),
        "candidates": tuple((one.name, weight, -one.objective) for weight, one in answer.parts),
    }
    asked = _Asked(found, case, float(wrong / labeled), varied)
    if varied.groups is not None:
        known["groups"] = varied
    later = {"intervals": asked.intervals, "verdict": asked.verdict}
    return Fit(model, history[-1], tuple(history), True, Findings(known, later))


class _Asked:
    """Works the verdict and the intervals out, once."""

    def __init__(self, found: Field, case: Case, rate: float, varied: Varied) -> None:
        self.found, self.case, self.rate, self.varied = found, case, rate, varied

    @cached_property
    def along(self) -> Along:
        return along_the_rate(self.case)

    @cached_property
    def ends(self) -> dict[str, Any]:
        found = self.found
        near = intervals(found.rows, found.best, independent=found.believed)
        ends = near.found(self.rate, self.along[1].within(LIKELY))
        if self.case.difficulty.judges:
            n = self.found.rows.total
            ends["error_rate"] = ends["error_rate"].reaching(self.rate * (1.0 - self.rate) / n)
        return ends

    def intervals(self) -> dict[str, Any]:
        return self.ends

    def verdict(self) -> Verdict:
        return self.varied.told(verdict(self.case, self.along, self.ends["error_rate"]))


def notes(found: Field, answer: Average, n: int) -> tuple[str, ...]:
    """Say what the answer is made of."""
    names = sorted({one.name for _, one in answer.parts})
    out = [
        f"{len(found.candidates)} explanations competed; the answer averages {', '.join(names)}."
    ]
    if n > len(found.rows):
        out.append(f"They competed on {len(found.rows):,} rows; the best was fitted to all {n:,}.")
    if found.believed and answer.mix < 0.5:
        out.append("The columns look independent given the class: their joint model is believed.")
    if answer.mix > 0.5:
        out.append(
            f"{answer.mix:.0%} of the scores come from conditional weights: the columns repeat "
            "each other, and plain naive Bayes would count them twice."
        )
    return tuple(out)
