"""Naive Bayes behind a channel for thousands of labels and a million words: a sparse solver.

Of the channel only the pairs that occur are kept, the rest have one common rate. A class errs at
a rate, and its errors go somewhere: with J[y, k] rows of true class k that carry label y, E_k of
them wrong and T_k in all,

    r_k = (E_k + c rate) / (T_k + c),    P(y | k) = r_k (J[y, k] + a / (K - 1)) / (E_k + a)

and ``P(k | k) = 1 - r_k``. The c virtual rows of a class err at the rate of all classes, a virtual
errors go anywhere; c and a are what explains left-out labels best. A row is judged by what the
*other* rows say of its pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.reference import softmax
from misnomer.posterior import Posterior
from misnomer.solvers.sparse.rows import (
    Background,
    Candidates,
    Own,
    Places,
    Sums,
    Tokens,
    background,
    candidates,
    sums_by_class,
    weights_of,
)

Array = NDArray[np.float64]

GRID = (2.0, 10.0, 50.0, 250.0)  # virtual rows of a class, and virtual errors
_MAX_PASSES, _MIN_CHANGE = 100, 1e-6
_CHOICE_PASSES = (2, 3, 5, 8, 13, 21, 34, 55, 89)  # passes that look for better virtual rows
SCALES = (0.1, 1.0)  # to begin with: words that repeat each other, and that do not
_START_ERROR_RATE = 0.1  # error rate, before anything is known


@dataclass(frozen=True)
class Virtual:
    """Virtual rows of each class (c), virtual errors of each class (a)."""

    rows: float = GRID[0]
    errors: float = GRID[0]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which pairs (given, true) the candidates of the rows make; where each entry lies."""

    # (P,): the pairs, sorted by label, then class
    given: Places
    true: Places
    # (n, M): the pair of each row and candidate; -1 where the row has no label to explain
    place: Places
    labels: int  # how many labels and classes there are

    @property
    def right(self) -> NDArray[np.bool_]:
        """Tell the pairs of a class with its own label, (P,)."""
        return np.asarray(self.given == self.true)

    def mass(self, share: Array) -> Array:
        """Add the shares of all rows by pair: J, (P,)."""
        seen = self.place >= 0
        found = np.bincount(self.place[seen], share[seen], minlength=len(self.given))
        return found.astype(np.float64)


def pairs_of(found: Candidates, label: Places, labels: int) -> Pairs:
    """List the pairs that occur."""
    key = np.where(label[:, None] >= 0, label[:, None] * labels + found.classes, -1)
    known, place = np.unique(key, return_inverse=True)
    place = place.reshape(key.shape)
    if len(known) and known[0] < 0:
        known, place = known[1:], place - 1
    return Pairs(known // labels, known % labels, place, labels)


@dataclass(frozen=True, eq=False)
class Judged:
    """What the rows say of themselves and of the channel."""

    share: Array  # (n, M): P(true class | row, given label) of each candidate
    alone: Array  # (n, M): P(true class | row), the label forgotten
    mass: Array  # (P,): J of every pair
    # the common error rate, and how closely classes keep to it
    rate: float
    virtual: Virtual
    scale: float  # what one nat of evidence is worth: under one where words repeat each other
    history: tuple[float, ...]  # of each pass: the log likelihood per labeled row
    converged: bool  # whether the last pass changed little

    @property
    def loglik(self) -> float:
        """Log likelihood of the given labels, per labeled row."""
        return self.history[-1]

    @property
    def passes(self) -> int:
        """How many passes it took."""
        return len(self.history)


def chances(pairs: Pairs, mass: Array, rate: float, virtual: Virtual) -> Array:
    """Compute P(given | true) of every pair that occurs, (P,)."""
    wrong, total = _sizes(pairs, mass)
    found = Counts(pairs.right, mass, wrong[pairs.true], total[pairs.true], pairs.labels)
    return found.chance(rate, virtual)


def unseen(pairs: Pairs, mass: Array, rate: float, virtual: Virtual) -> tuple[Array, Array]:
    """Compute P(right label | true) of every class, and that of any label never given to it."""
    wrong, total = _sizes(pairs, mass)
    none = np.zeros(pairs.labels)
    every = Counts(none.astype(bool), none, wrong, total, pairs.labels)
    return 1.0 - every.errs(rate, virtual.rows), every.chance(rate, virtual)


@dataclass(frozen=True, eq=False)
class Counts:
    """J, E and T of some pairs, as other rows count them; ``right`` where a label is its class."""

    right: NDArray[np.bool_]
    mass: Array
    wrong: Array
    total: Array
    labels: int

    def errs(self, rate: float, rows: float) -> Array:
        """Compute r, the chance of an error."""
        return np.asarray((self.wrong + rows * rate) / (self.total + rows))

    def goes(self, errors: float) -> Array:
        """Compute the chance that an error goes where it went."""
        return np.asarray((self.mass + errors / max(self.labels - 1, 1)) / (self.wrong + errors))

    def chance(self, rate: float, virtual: Virtual) -> Array:
        """Compute P(given | true)."""
        own = self.errs(rate, virtual.rows)
        return np.asarray(np.where(self.right, 1.0 - own, own * self.goes(virtual.errors)))

    def held(self, rate: float, share: Array) -> Virtual:
        """Choose the virtual rows and errors that explain the labels best, weighed by shares."""
        off = share * ~self.right
        on, away = share * self.right, off.ravel() > 1e-6

        def right(rows: float) -> float:
            own = self.errs(rate, rows)
            return float(np.sum(on * np.log1p(-own)) + np.sum(off * np.log(own)))

        def where(errors: float) -> float:
            return float(off.ravel()[away] @ np.log(self.goes(errors).ravel()[away]))

        return Virtual(max(GRID, key=right), max(GRID, key=where))


def left_out(pairs: Pairs, mass: Array, share: Array) -> Counts:
    """Count the pairs of each row's candidates in the other rows, (n, M).

    The row's own share is taken off J, E and T.
    """
    place = np.maximum(pairs.place, 0)
    wrong, total = (size[pairs.true[place]] for size in _sizes(pairs, mass))
    right = pairs.right[place]
    rest = np.maximum(mass[place] - share, 0.0)
    wrong = np.maximum(np.where(right, wrong, wrong - share), 0.0)
    return Counts(right, rest, wrong, np.maximum(total - share, 0.0), pairs.labels)


def _sizes(pairs: Pairs, mass: Array) -> tuple[Array, Array]:
    """Add up the wrong labels of each true class, and all its labels: E and T, (K,)."""
    every: Array = np.bincount(pairs.true, mass, minlength=pairs.labels).astype(np.float64)
    right = np.bincount(pairs.true, mass * pairs.right, minlength=pairs.labels)
    return np.maximum(every - right, 0.0), every


def judge(
    found: Candidates,
    pairs: Pairs,
    log_prior: Array,
    known: Places,
    *,
    scales: Sequence[float] = SCALES,
) -> Judged:
    """Explain the given labels by the rows: scale, channel and shares in turn, until they settle.

    ``P(k | row) ~ exp(scale * evidence_k) prior_k`` over the row's candidates and, as one, all
    other classes; behind a label it is multiplied by the channel. ``known`` is the class of trusted
    rows, else -1; they and unlabeled rows have no pair, and explain no label. Errors and classes
    that are hard to tell explain the same labels: of several scales to begin with, the end that
    explains them best is taken.
    """
    ends = [_explain(found, pairs, log_prior, known, scale) for scale in scales]
    return max(ends, key=lambda end: end.loglik)


def _explain(
    found: Candidates, pairs: Pairs, log_prior: Array, known: Places, scale: float
) -> Judged:
    prior, rate, virtual = log_prior[found.classes], _START_ERROR_RATE, Virtual()
    labeled, sure = np.asarray((pairs.place >= 0).any(axis=1)), known >= 0
    mass, share = np.zeros(len(pairs.given)), np.zeros(found.evidence.shape)
    converged, history, alone = False, [0.0], share
    for step in range(1, _MAX_PASSES + 1):
        far, slope, curve = found.others(scale)
        every = softmax(np.column_stack([scale * found.evidence + prior, far]))[0]
        counts = left_out(pairs, mass, share)
        seen = counts.chance(rate, virtual)
        seen[~labeled] = 1.0
        chance = np.where(labeled, rate / max(pairs.labels - 1, 1), 1.0)
        alone, joint = every[:, :-1], every * np.column_stack([seen, chance])
        total = joint.sum(axis=1)
        after = joint / total[:, None]
        after[sure, -1] = 0.0
        share = after[:, :-1]
        share[sure] = found.classes[sure] == known[sure, None]
        if step in _CHOICE_PASSES:
            virtual = counts.held(rate, share * labeled[:, None])
        mass = pairs.mass(share)
        history.append(float(np.log(total[labeled]).mean()) if labeled.any() else 0.0)
        before, rate = (scale, rate), _rate(pairs, mass, float(after[labeled, -1].sum()))
        terms = np.column_stack([found.evidence, slope])
        scale = next_scale(terms, every, after, labeled, scale, curve)
        if (
            step > 2
            and _close(before, (scale, rate))
            and abs(history[-1] - history[-2]) < _MIN_CHANGE
        ):
            converged = True
            break
    return Judged(share, alone, mass, rate, virtual, scale, tuple(history[1:]), converged)


def _rate(pairs: Pairs, mass: Array, far: float) -> float:
    """Estimate the common error rate, one virtual error among ten virtual rows.

    ``far`` is the weight of labels whose true class is none of the candidates.
    """
    return float((mass[~pairs.right].sum() + far + 1.0) / (mass.sum() + far + 10.0))


def _close(one: tuple[float, float], two: tuple[float, float]) -> bool:
    return abs(one[0] / two[0] - 1.0) < 1e-4 and abs(one[1] - two[1]) < 1e-5


def next_scale(
    evidence: Array,
    alone: Array,
    share: Array,
    labeled: NDArray[np.bool_],
    scale: float,
    bent: Array,
) -> float:
    """Take one step of Newton toward the scale that explains the shares, at most a factor of two.

    The slope of ``sum share log alone`` is ``E_share[e] - E_alone[e]``, its curve is
    ``-Var_alone[e]``. The last candidate stands for all others: its e is a slope, which is
    ``bent`` in turn.
    """
    e, q = evidence[labeled], alone[labeled]
    mean = (q * e).sum(axis=1)
    slope = float(((share[labeled] * e).sum(axis=1) - mean).sum())
    curve = float((q * (e - mean[:, None]) ** 2).sum())
    curve += float(((q[:, -1] - share[labeled, -1]) * bent[labeled]).sum())
    if curve <= 0:
        return scale
    return float(np.clip(scale + slope / curve, scale / 2, min(scale * 2, 1.0)))


ROUNDS = 2  # counts: by the labels, then by the labels that are likely right


@dataclass(frozen=True, eq=False)
class SparseFit:
    """What was found."""

    found: Candidates  # the best classes of each row
    judged: Judged  # their shares, and what they say of the labels
    pairs: Pairs  # the pairs (given, true) that occur
    # the counts by class, and the virtual examples
    sums: Sums
    behind: Background
    prior: Array  # (K,): P(class) in the scores: the shares of the given labels

    @property
    def shares(self) -> Posterior:
        """P(true class | row, given label), of the best classes of each row."""
        return Posterior.of_best(self.judged.share, self.found.classes, len(self.prior))

    @property
    def class_shares(self) -> Array:
        """The share of each true class among the rows, (K,)."""
        K = self.pairs.labels
        mass = np.bincount(self.found.classes.ravel(), self.judged.share.ravel(), minlength=K)
        return np.asarray(mass / mass.sum())


def fit_sparse(
    rows: Tokens,
    label: Places,
    classes: int,
    *,
    trusted: NDArray[np.bool_] | None = None,
    base: Array | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> SparseFit:
    """Find out which labels are wrong.

    Parameters
    ----------
    rows : Tokens
        What occurs in each row.
    label : (n,) array
        The given labels, 0..K-1; -1 where there is none.
    classes : int
        How many labels, and true classes, there are (K).
    trusted : (n,) array of bool, optional
        Rows whose label is known to be right.
    base : (n,) array, optional
        The weight of each row.
    progress : callable, optional
        Called as ``progress(round, log likelihood per label)``.
    """
    label = np.asarray(label, np.intp)
    sure = np.zeros(len(label), bool) if trusted is None else trusted & (label >= 0)
    doubtful, known = np.where(sure, -1, label), np.where(sure, label, -1)
    size = np.bincount(label[label >= 0], minlength=classes) + 1.0
    prior = size / size.sum()
    base = np.ones(len(label)) if base is None else base
    weight = base
    scales: tuple[float, ...] = SCALES
    sums = sums_by_class(rows, label, weight, classes)
    behind = background(sums, rows)  # by the hard labels: on shares an automatic m runs away
    for turn in range(1, ROUNDS + 1):
        if turn > 1:
            sums = sums_by_class(rows, label, weight, classes)
        found = candidates(rows, weights_of(sums, behind), Own(sums, behind), label, weight, prior)
        pairs = pairs_of(found, doubtful, classes)
        judged = judge(found, pairs, np.log(prior), known, scales=scales)
        right = Posterior(judged.share, found.classes, classes).at(label)
        scales, weight = (judged.scale,), base * right
        if progress is not None:
            progress(turn, judged.loglik)
    return SparseFit(found, judged, pairs, sums, behind, prior)
