"""Learn from several annotators: the channel differs by source, a row's answers multiply.

    log P(z, y | x) = log P(z | x) + sum over answers log channel_a[y, z]

P(z | x) comes from whoever learns from the columns; without any it is the class shares.

Without columns and without virtual answers this is the EM algorithm of Dawid and Skene.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from misnomer import channel
from misnomer.answers import Answers
from misnomer.kernels.reference import softmax
from misnomer.model import Model
from misnomer.smoothing import Smoothing, automatic
from misnomer.solvers.annotators import (
    STRENGTH,
    ChannelRule,
    Characters,
    characters,
    confusions,
    evidence,
    first_characters,
    left_out,
)
from misnomer.table import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Word:
    """The columns' word."""

    # (n, K): ``log P(true class | columns) / P(true class)`` of every row, learned without the row
    scores: Array
    model: Model  # classifies rows by their columns; its channel says nothing


class Columns(Protocol):
    """The columns of the rows, wherever the rows are."""

    def learned(self, likelihood: Array, truth: NDArray[np.int32] | None) -> Word:
        """Learn the classes from the columns.

        Parameters
        ----------
        likelihood : (n, K) array
            P(what was said of the row | true class), each row up to a factor.
        truth : (n,) array of int, optional
            The true class where it is known, -1 elsewhere.
        """
        ...


class Passes(Protocol):
    """Who goes over batches with arrays beside them, whose rows are those of the batches."""

    def each(
        self, step: Callable[..., Any], batches: Sequence[Batch], *beside: NDArray[Any]
    ) -> Iterator[Any]:
        """Yield ``step(batch, *the batch's rows of the arrays)``, in the batches' order."""
        ...


_FIRST_ANSWER_SHARE = 0.8  # how far the first guess holds to a row's only answer
_MAX_ROUNDS = 5  # in which the columns learn anew
_MIN_MEAN_CHANGE = 0.02  # mean change of a row's posterior under which they need not
_MIN_STANDARD_ERRORS = 2.0  # standard errors that the columns must gain in predicting the answers


@dataclass(frozen=True)
class SourcesTask:
    """Answers to learn from, with or without columns."""

    answers: Answers  # who said what
    # (n,): the true class of the rows where it is known, -1 elsewhere
    truth: NDArray[np.int32] | None = None
    shape: str = "free"  # a cell per label and class for each annotator, or "one" rate
    # virtual answers per true class that hold an annotator to its character; 0 for none, None for
    # as many as the answers make likely
    strength: float | None = None
    smoothing: Smoothing = field(default_factory=automatic)  # virtual examples of the columns
    # when to stop (mean change of a row's posterior), and the seed of folds and draws
    max_iter: int = 300
    tol: float = 1e-5
    seed: int = 0
    weight: Array | None = None  # (n,): how much each row counts
    knowledge: channel.Channel | None = None  # what is known beforehand of everybody's errors
    columns: Columns | None = None  # whoever learns from the columns

    @property
    def held(self) -> float:
        """How many virtual answers hold an annotator while the search climbs."""
        return STRENGTH if self.strength is None else self.strength

    @property
    def rule(self) -> ChannelRule:
        """How everybody's channel follows from expected counts."""
        return ChannelRule(self.shape == "one", self.knowledge)

    def weighed(self, share: Array) -> Array:
        """Let each row count by its weight, (n, K)."""
        return share if self.weight is None else share * self.weight[:, None]


@dataclass(frozen=True, eq=False)
class SourcesFit:
    """Where the search ended."""

    share: Array  # (n, K): P(true class | columns, answers) of every row
    total: Array  # (n, K): the log joint behind it
    prior: Array  # (K,): P(true class)
    channels: Array  # (A, L, K): P(label | true class) of each annotator
    loglik: float  # sum over rows of log P(columns, answers), columns up to a constant
    # how long it took, and whether it ended by itself
    passes: int
    converged: bool
    trust: float = 0.0  # 1 where the columns have a say in the consensus, 0 where not
    # classifies new rows by their columns, whether or not the consensus uses them
    model: Model | None = None
    characters: Characters | None = None
    scores: Array | None = None  # (n, K): the columns' evidence as it entered the log joint
    centers: Array | None = None  # (A, L, K): the annotators' characters, written as channels
    strength: float = 0.0  # the virtual answers per class that held everybody to them
    rule: ChannelRule = field(default_factory=ChannelRule)  # how the channels were estimated


def searched(task: SourcesTask) -> SourcesFit:
    """Learn from the answers alone, then with the columns; keep the columns if they help.

    They help if they predict the answers better, each from the rest of its row, by two standard
    errors. Where no row has two answers, the columns are all there is.
    """
    share = first_shares(
        task.answers, task.answers.n_labels, _FIRST_ANSWER_SHARE if task.held else 1.0
    )
    overlap = bool((task.answers.asked > 1).any())
    alone = climb(task, share, max_iter=task.max_iter if overlap else 1)
    if task.columns is None:
        return alone
    joined = climb_with(task, task.columns, alone)
    if overlap and not predicts_better(task, joined, alone):
        assert joined.model is not None
        return replace(alone, model=_model(task, alone, joined.model))
    return joined


def climb(
    task: SourcesTask,
    share: Array,
    *,
    scores: Array | None = None,
    max_iter: int,
    kinds: Characters | None = None,
) -> SourcesFit:
    """Alternate channels from shares and shares from channels until the shares stay."""
    fit, converged, passes = None, False, 0
    for passes in range(1, max_iter + 1):  # noqa: B007
        fit = step(task, share, scores, kinds)
        change = float(abs(fit.share - share).sum(axis=1).mean())
        share, kinds = fit.share, fit.characters
        if change <= task.tol:
            converged = True
            break
    assert fit is not None
    return replace(fit, passes=passes, converged=converged)


def step(
    task: SourcesTask, share: Array, scores: Array | None, kinds: Characters | None
) -> SourcesFit:
    """Take one step of EM: prior and channels from the shares, then the shares from those."""
    counts = confusions(task.answers, task.weighed(share))
    centers = None
    if task.held and not task.rule.tied:
        kinds = characters(counts, first_characters(counts) if kinds is None else kinds)
        centers = kinds.centers()
    channels = task.rule.channels(counts, centers, task.held)
    virtual = task.smoothing.classes if task.held else 0.0
    mass = task.weighed(share).sum(axis=0) + virtual
    prior = mass / mass.sum()
    total = evidence(task.answers, channels) + np.log(np.maximum(prior, 1e-10))
    if scores is not None:
        total = total + scores
    total = known(total, task.truth)
    share, height = softmax(total)
    return SourcesFit(
        share, total, prior, channels, float(height.sum()), 1, False, characters=kinds,
        strength=task.held, rule=task.rule,
    )  # fmt: skip


def climb_with(task: SourcesTask, columns: Columns, start: SourcesFit) -> SourcesFit:
    """Alternate what the columns say and what the annotators are like.

    The columns learn through the answers, and the answers' channels are found once more with what
    the columns say; with few answers a row this takes some rounds.
    """
    fit, passes, converged = start, start.passes, False
    for _ in range(_MAX_ROUNDS):
        before = fit.share
        height = evidence(task.answers, fit.channels)
        likelihood = np.exp(height - height.max(axis=1, keepdims=True))
        word = columns.learned(likelihood, task.truth)
        fit = climb(
            task, fit.share, scores=word.scores, max_iter=task.max_iter, kinds=fit.characters
        )
        passes += fit.passes
        if float(abs(fit.share - before).sum(axis=1).mean()) <= _MIN_MEAN_CHANGE:
            converged = fit.converged
            break
    model = _model(task, fit, word.model)
    return replace(
        fit, passes=passes, converged=converged, trust=1.0, model=model, scores=word.scores
    )


def _model(task: SourcesTask, fit: SourcesFit, model: Model) -> Model:
    """Let the classifier of new rows have the class shares, and the channel of all answers."""
    counts = confusions(task.answers, task.weighed(fit.share)).sum(axis=0)
    pooled = channel.free(len(fit.prior)).refit(counts + 1e-10)
    return replace(model, channel=pooled).with_shares(fit.prior)


def predicts_better(task: SourcesTask, new: SourcesFit, old: SourcesFit) -> bool:
    """Tell whether one fit predicts the answers better than another, row by row, by two errors."""
    answers = task.answers
    gains = np.log(np.maximum(left_out(answers, new.total, new.channels)[1], 1e-12)) - np.log(
        np.maximum(left_out(answers, old.total, old.channels)[1], 1e-12)
    )
    if task.weight is not None:
        gains = gains * task.weight[answers.row]
    by_row = np.bincount(answers.row, gains, minlength=answers.n_rows)[answers.asked > 0]
    error = by_row.std() * np.sqrt(len(by_row))
    return bool(by_row.sum() > _MIN_STANDARD_ERRORS * error)


def first_shares(answers: Answers, n_classes: int, hold: float) -> Array:
    """Begin with the shares of the votes, (n, K); a row without any is open.

    A row with a single answer holds to it by ``hold`` only: votes of one would leave no doubt,
    and EM cannot leave a channel without doubt.
    """
    votes = answers.votes()
    total = votes.sum(axis=1, keepdims=True)
    open_row = np.full(n_classes, 1.0 / n_classes)
    share = np.where(total > 0, votes / np.maximum(total, 1.0), open_row)
    return np.where(total == 1, hold * share + (1.0 - hold) * open_row, share)


def known(total: Array, truth: NDArray[np.int32] | None) -> Array:
    """Leave the rows whose true class is known no other class."""
    if truth is None or not (truth >= 0).any():
        return total
    sure = np.flatnonzero(truth >= 0)
    out = total.copy()
    out[sure] = -1e3
    out[sure, truth[sure]] = total[sure, truth[sure]].clip(min=-500.0)
    return out
