"""Do errors strike rows that are hard to tell? Then no shift of the boundary is to be applied.

One channel for all rows implies that errors reach even the rows far from any boundary: the curve
P(given = k | score) levels off below one, and the boundary of the true classes is another than that
of the labels. Errors near the boundary leave the ends of the curve at one and only widen its slope;
then the boundary of the labels is the right one, and any shift does harm. Two findings speak for
the second reading:

- *levels*: error rates by level of a margin predict left-out labels better than one rate does. The
  margin that tells the errors best is that of the scores nearest to the true boundary;
- *bias*: the channel is needed to explain the labels, and yet its bias moves many predictions.
  Evidence for a channel comes from rows that a bias cannot move; rows near the boundary prove
  nothing, as errors that depend on difficulty explain them as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.difficulty_fit import CLEAR, DifficultyFit, Margin
from misnomer.solvers.difficulty_levels import Levels, levels_of
from misnomer.solvers.difficulty_temper import tempered
from misnomer.solvers.strata import out_of_fold_gain, paired, seen

Array = NDArray[np.float64]
Assume = bool | Literal["auto"]

LEVELS = 3
_PRICE = 1.0  # nats per rate: the choice among levels and margins is paid for, too
_NEEDED = 3.0  # standard errors by which a channel beats none
_MOVED = 0.05  # share of the predictions that a bias may change
_FEWEST = 60  # labeled rows
_EASY = 0.25  # share of wrong labels among the easiest rows that is never "nearly right"


def examine(
    label: Levels,
    share: Array,
    channel: Array,
    scores: Array,
    plain: Array,
    folds: Sequence[slice],
    *,
    weight: Array | None = None,
    trusted: NDArray[np.bool_] | None = None,
    assume: Assume = "auto",
) -> DifficultyFit:
    """Compare one channel for all rows with errors that depend on how hard a row is.

    Parameters
    ----------
    label : (n,) array of int
        The given label; -1 where there is none.
    share : (n, K) array
        P(true | x) of the pool, out of fold.
    channel : (K, K) array
        Its P(given | true).
    scores : (n, K) array
        Its scores without the bias, out of fold.
    plain : (n, K) array
        Scores of naive Bayes of the given labels, out of fold.
    folds : sequence of slice
        The rows of each fold.
    weight, trusted : (n,) arrays, optional
        What each row counts, and whether its label is known to be right.
    assume : bool or "auto"
        True: errors are known to depend on difficulty; "auto": let the rows tell.

    Returns
    -------
    DifficultyFit
        Whether they do, and what to predict with.
    """
    weight = np.ones(len(label)) if weight is None else weight
    trusted = np.zeros(len(label), bool) if trusted is None else trusted
    at = np.flatnonzero((label >= 0) & ~trusted & (weight > 0))
    fold = np.zeros(len(label), np.intp)
    for place, part in enumerate(folds):
        fold[part] = place
    case = _Case(label, share, channel, scores, plain, fold, weight, at)
    own, other = case.margin("pool"), case.margin("naive Bayes")
    z, moved = case.channel_z(), case.moved()
    best, reason = decided(own, other, z, moved)
    if assume is True:
        return case.answer(best, "assumed", z, moved)
    if assume is False or len(at) < _FEWEST:
        reason = ""
    tried = [best, own] if reason == "levels" and own.clear and best is not own else [best]
    for margin in tried if reason else ():
        found = case.answer(margin, reason, z, moved)
        if found.rates[-1] < max(case.wrong(), _EASY):
            return found
    return case.answer(best, "", z, moved)


def decided(own: Margin, other: Margin, z: float, moved: float) -> tuple[Margin, str]:
    """Pick the margin and the reason.

    Naive Bayes is preferred where its margin tells the errors about as well: its counts rest on
    the bulk of the rows, the twin's weights on the rows near the boundary.

    Examples
    --------
    >>> none = np.zeros(0, np.intp)
    >>> own, other = (
    ...     Margin("pool", 9.0, 6.0, 2.5, none),
    ...     Margin("naive Bayes", 14.0, 6.0, 2.5, none),
    ... )
    >>> decided(own, other, 0.0, 0.0)[0].name
    'naive Bayes'
    """
    best = other if other.clear and other.net > own.net - CLEAR else own
    if own.clear or other.clear:
        return best, "levels"
    if z > _NEEDED and moved > _MOVED:
        return own, "bias"
    return (other if other.net > own.net else own), ""


@dataclass(frozen=True, eq=False)
class _Case:
    """The rows, and those among them whose labels are in question."""

    label: Levels
    share: Array
    channel: Array
    scores: Array
    plain: Array
    fold: Levels
    weight: Array
    at: NDArray[np.intp]

    def margin(self, name: str) -> Margin:
        """Let the rates vary with the levels of a margin: alike for all classes, or each."""
        scores = self.plain if name == "naive Bayes" else np.log(np.maximum(self.share, 1e-300))
        level, K, at = levels_of(scores, LEVELS), scores.shape[1], self.at
        rows = seen(
            self.share[at], self.label[at], self.weight[at], self.channel, level[at], LEVELS
        )
        found = []
        for tied in (True, False) if K > 2 else (False,):
            each = out_of_fold_gain(rows, self.fold[at], tied=tied)
            price = _PRICE * LEVELS * (1 if tied else K)
            found.append(Margin(name, *paired(each, self.weight[at], price), level))
        return max(found, key=lambda one: one.net)

    def channel_z(self) -> float:
        """Compare the channel with none, in standard errors."""
        y, at = self.label[self.at], np.arange(len(self.at))
        seen_through = (self.share[self.at] @ self.channel.T)[at, y]
        scale, shift = tempered(self.scores[self.at], y, self.weight[self.at], bias=True)
        none = softmax(scale * self.scores[self.at] + shift)[0][at, y]
        each = np.log(np.maximum(seen_through, 1e-6)) - np.log(np.maximum(none, 1e-6))
        return paired(each, self.weight[self.at], 0.0)[2]

    def moved(self) -> float:
        """Share of the rows whose likely class the bias changes."""
        differs = self.share.argmax(axis=1) != self.scores.argmax(axis=1)
        return float(self.weight @ differs / max(self.weight.sum(), 1e-300))

    def wrong(self) -> float:
        """Share of wrong labels by one channel for all rows.

        Where errors strike hard rows, the easiest third has no more than that, or is nearly right.
        """
        y, weight = self.label[self.at], self.weight[self.at]
        joint = self.share[self.at] * self.channel[y]
        right = joint[np.arange(len(y)), y] / np.maximum(joint.sum(axis=1), 1e-300)
        return float(1.0 - weight @ right / max(weight.sum(), 1e-300))

    def answer(self, margin: Margin, reason: str, z: float, moved: float) -> DifficultyFit:
        """Say what to predict with, and what that means for each level."""
        scores = self.plain if margin.name == "naive Bayes" else self.scores
        y, weight = self.label[self.at], self.weight[self.at]
        scale, shift = tempered(scores[self.at], y, weight, bias=reason == "bias")
        share = softmax(scale * scores + shift)[0]
        K = share.shape[1]
        joint = np.full((LEVELS, K, K), 1e-9) + 1e-9 * np.eye(K)
        wrong, mass = np.zeros(LEVELS), np.full(LEVELS, 1e-9)
        level = margin.level[self.at]
        np.add.at(joint, (level, y), share[self.at] * weight[:, None])
        np.add.at(wrong, level, weight * (1.0 - share[self.at, y]))
        np.add.at(mass, level, weight)
        channels = joint / joint.sum(axis=1, keepdims=True)
        whole = joint.sum(axis=0)
        return DifficultyFit(
            reason,
            margin,
            scale,
            shift,
            share,
            whole / whole.sum(axis=0),
            channels,
            wrong / mass,
            z,
            moved,
        )
