"""The head as a solver: from rows, wherever they are, to a model and all that an audit asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from misnomer.channel import Channel
from misnomer.families.family import log
from misnomer.head import large
from misnomer.head.answer import Answer, Totals, average, totals
from misnomer.head.explain import BROUGHT, Search
from misnomer.head.model import HeadModel
from misnomer.head.objective import BELIEFS, Beliefs
from misnomer.head.profile import Scan, intervals, scan
from misnomer.head.rates import Labeled, Strata, choose_strata, labeled_rows, strata_of_groups
from misnomer.head.words import notes, verdict
from misnomer.kernels import softmax
from misnomer.kernels.threads import threads, using
from misnomer.learners.brought import Brought
from misnomer.learners.learner import Learner, Linear
from misnomer.learners.naive_bayes import USUAL
from misnomer.learners.rows import Rows, joined, rows_of
from misnomer.model import Model
from misnomer.smoothing import Smoothing
from misnomer.solvers.counts import counts
from misnomer.solvers.em import em
from misnomer.solvers.task import Details, Fit, Task
from misnomer.table import Batch, numbered
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

FEWEST_LABELS = 20  # below, all labels are taken as true
BROUGHT_TEMPER = 1.0  # probabilities mean what they say, as far as nothing shows otherwise


@dataclass(frozen=True)
class Head:
    """A solver: ``Head()(task)``.

    Attributes
    ----------
    through : sequence of Learner
        Who is fitted through the channel, beside naive Bayes.
    once : sequence of Learner
        Who is fitted once, to the labels as they are.
    groups : int
        How many groups the rows name (`Batch.group`); 0 for none.
    beliefs : Beliefs
        What is believed beforehand.
    """

    through: tuple[Learner, ...] = ()
    once: tuple[Learner, ...] = ()
    groups: int = 0
    beliefs: Beliefs = BELIEFS

    def __call__(self, task: Task) -> Fit:
        """Find the model."""
        with threadpool_limits(1, user_api="blas"):  # small products: threads only wait
            return self._found(task)

    def _found(self, task: Task) -> Fit:
        if isinstance(task.batches, list):
            task = replace(task, batches=list(numbered(task.batches)))
        plain = without_head(task)
        if plain is not None:
            return plain
        history = History(task)
        search = self._search(task, history)
        if large.is_large(task):
            return self._of_many(task, search, history)
        rows = self._rows(task, joined(list(task.batches)))
        answer = average(search(rows), leans=not search.ground.of_labels)
        strata = self._strata(rows, answer)
        judge: Any = large.Stored(judged(answer, strata))
        return self._fit(task, answer, strata, judge, history)

    def _search(self, task: Task, history: History) -> Search:
        """Ask who is to be asked, and listen to the probabilities that rows bring.

        Without columns they are the ground, and as far apart as they say.
        """
        limits = (task.max_iter, task.tol, history)
        if not brings(task):
            return Search(self.through, self.once, self.beliefs, *limits)
        if task.schema.statistics:
            return Search(self.through, (*self.once, Brought()), self.beliefs, *limits)
        beliefs = replace(self.beliefs, temper=BROUGHT_TEMPER, certain=np.inf)
        return Search((), (), beliefs, *limits, BROUGHT)

    def _rows(self, task: Task, batch: Batch) -> Rows:
        smoothing, labels = held(task.smoothing), task.channel.n_labels
        return rows_of(task.schema, batch, task.channel.n_classes, smoothing, task.seed, labels)

    def _strata(self, rows: Rows, answer: Answer) -> Strata | None:
        """Look where errors strike: in the groups that were named, else wherever it shows."""
        labeled, at = labeled_rows(rows, softmax(answer.logits)[0], answer.channel)
        if not len(at):
            return None
        if self.groups:
            group = np.full(len(rows), -1) if rows.batch.group is None else rows.batch.group
            return strata_of_groups(labeled, group[at].astype(np.intp), self.groups)
        return choose_strata(rows.schema, rows.batch, labeled, answer.logits[at], at)

    def _of_many(self, task: Task, search: Search, history: History) -> Fit:
        """Explain a sample, then count all rows by what it says."""
        small = large.sample(task)
        rows = self._rows(small.task, small.task.batches[0])
        answer = average(search(rows), leans=not search.ground.of_labels)
        spread, strata, judge = large.spread_out(
            task, small, answer, search, partial(self._strata, rows), held(task.smoothing)
        )
        return self._fit(task, spread, strata, judge, history)

    def _fit(
        self, task: Task, answer: Answer, strata: Strata | None, judge: Any, history: History
    ) -> Fit:
        told, posterior, groups = judge, None, None
        if isinstance(task.batches, list):
            posterior = np.concatenate([judge.posterior(one) for one in task.batches])
            told = large.Stored(posterior)
        added = task.fold(large.Tallied(told, task.channel.n_labels), task.batches)
        found = Totals(added.arrays[0])
        model = model_of(task, answer, found, strata)
        asked = Asked(answer, found, strata)
        if self.groups and strata is not None:
            groups = GroupRates(strata, asked.labeled, asked.places, answer.rows.batch)
        details = Details(
            class_shares=found.shares,
            noise_matrix=found.matrix,
            posterior=posterior,
            judge=judge,
            opinion=asked,
            groups=groups,
            solver="head",
            notes=notes(answer, strata, task.extent[0]),
        )
        values = history.values or [-answer.best.cost]
        return Fit(model, values[-1], tuple(values), answer.converged(), details)


@dataclass(frozen=True, eq=False)
class GroupRates:
    """What was found of groups: their channels, and the rows that say so."""

    strata: Strata
    rows: Labeled
    places: NDArray[np.intp]
    batch: Batch

    @property
    def group(self) -> NDArray[np.intp]:
        """The group of each of those rows, by number; the last for none."""
        found = self.batch.group
        own = np.full(len(self.places), -1) if found is None else found[self.places]
        return np.where(own >= 0, own, self.strata.none).astype(np.intp)

    @property
    def own_shares(self) -> bool:
        """Whether each group has class shares of its own."""
        return bool((self.strata.ratio != 1.0).any())


@dataclass(frozen=True, eq=False)
class Given:
    """Intervals and verdict, worked out."""

    intervals: dict[str, Any]
    verdict: Verdict


class Asked:
    """Works verdict and intervals out, once, when somebody asks.

    Copied or stored, they are worked out: the rows behind them stay out.
    """

    def __init__(self, answer: Answer, found: Totals, strata: Strata | None) -> None:
        self.answer, self.found, self.strata = answer, found, strata
        self.threads = threads()  # of the fit: who asks later knows of none

    def __reduce__(self) -> tuple[Any, ...]:
        return Given, (self.intervals, self.verdict)

    @cached_property
    def _labeled(self) -> tuple[Labeled, NDArray[np.intp]]:
        answer = self.answer
        return labeled_rows(answer.rows, softmax(answer.logits)[0], answer.channel)

    @property
    def labeled(self) -> Labeled:
        """The labeled rows on which explanations competed."""
        return self._labeled[0]

    @property
    def places(self) -> NDArray[np.intp]:
        """Their positions."""
        return self._labeled[1]

    @cached_property
    def scan(self) -> Scan:
        """What every error rate has going for it."""
        with threadpool_limits(1, user_api="blas"), using(threads=self.threads):
            return scan(self.answer)

    @cached_property
    def intervals(self) -> dict[str, Any]:
        """Of the rate, the matrix and the class shares."""
        scanned = self.scan
        if self.strata is not None and self.strata.judges:
            plain = totals(self.answer.rows, self.answer.posterior())
            scanned = scanned.moved(plain.rate, self.found.rate)
        return intervals(scanned, self.found, float(self.found.joint.sum()))

    @cached_property
    def verdict(self) -> Verdict:
        """How far the numbers can be believed."""
        rate = self.intervals["error_rate"]
        return verdict(self.answer, self.found, self.scan, self.strata, rate)


class History:
    """The best objective after each explanation, told to whoever asked for progress."""

    def __init__(self, task: Task) -> None:
        self.values: list[float] = []
        self.task = task

    def __call__(self, objective: float) -> None:
        """Remember an objective."""
        last = self.values[-1] if self.values else -np.inf
        self.values.append(max(last, objective))
        if self.task.progress is not None:
            self.task.progress(len(self.values), self.values[-1])


def held(smoothing: Smoothing) -> Smoothing:
    """Take the user's virtual examples where they are fixed and not none, else Laplace's.

    Shared-out counts would let an automatic m run away.
    """
    if smoothing.m is None or (smoothing.m == 0 and smoothing.cells == 0):
        return USUAL
    return smoothing if smoothing.classes else replace(smoothing, classes=1.0)


def without_head(task: Task) -> Fit | None:
    """Answer by a simpler solver where there is nothing to compare, and say so."""
    channel = task.channel
    L, K = channel.matrix.shape
    if L != K or not channel.free.all() or channel.tied != "cells":
        note = "The channel is partly known: the head gives way to EM, which respects it."
        return _noted(em(task), note)
    rows = task.labeled
    blind = not task.schema.statistics and not brings(task)
    if rows < FEWEST_LABELS or blind:
        note = f"{rows:.0f} labeled rows are too few to doubt any: all labels are taken as true."
        if blind:
            note = "No column says anything: all labels are taken as true."
        known = replace(channel, matrix=np.eye(K), free=np.zeros((K, K), bool))
        return _noted(counts(replace(task, channel=known)), note)
    return None


def brings(task: Task) -> bool:
    """Tell whether the rows bring probabilities with them."""
    batches = task.batches
    return isinstance(batches, list) and bool(batches) and batches[0].brought is not None


def _noted(fit: Fit, note: str) -> Fit:
    return replace(fit, details=replace(fit.details, notes=(note,)))


def judged(answer: Answer, strata: Strata | None) -> Array:
    """Compute P(true class | x, what is said) of the rows, (n, K), by strata where they judge."""
    rows = answer.rows
    return large.judge_rows(
        answer.logits, rows.batch, rows.label, rows.known, answer.channel, strata
    )


def model_of(task: Task, answer: Answer, found: Totals, strata: Strata | None) -> Model:
    """Put the model together: the head is the intercept and the weights, the channel judges."""
    channel: Channel = replace(task.channel, matrix=answer.channel)
    prior = np.maximum(found.shares, 1e-12)
    prior = prior / prior.sum()
    linear: Linear = answer.linear
    bias = linear.bias - log(prior)
    judging = strata if strata is not None and strata.judges else None
    if not answer.others and (judging is None or judging.by_group):
        return Model(prior, channel, linear.weights, task.schema, bias)
    if judging is not None and judging.by_group:
        judging = None  # other rows have other groups
    return HeadModel(
        prior, channel, linear.weights, task.schema, bias, others=answer.others, strata=judging
    )
