"""Do groups of rows differ in how their labels go wrong? A test with a null of its own making."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.answers import Answers
from misnomer.solvers.annotators.fit import SourcesFit

Array = NDArray[np.float64]
Ints = NDArray[np.integer]
_STEPS = 200  # of EM at most, for each of the two explanations
_ENOUGH = 0.01  # nats: a smaller gain ends the search
_COUNT = 0.5  # virtual rows per cell: neither explanation may call a cell impossible
_ROWS = 20_000  # more are not needed to see a difference that matters


@dataclass(frozen=True)
class GroupTest:
    """Whether one channel explains all groups.

    Attributes
    ----------
    statistic : float
        Twice the log likelihood that a channel per group gains over one for all.
    p_value : float
        How often data without any difference gain as much.
    draws : int
        How many such data were drawn.
    """

    statistic: float
    p_value: float
    draws: int

    def __str__(self) -> str:
        """Say it in a sentence."""
        verdict = "differ" if self.p_value <= 0.05 else "are not shown to differ"
        return f"The groups' errors {verdict} (p = {self.p_value:.3f}, {self.draws} draws)."


def groups_differ(
    answers: Answers, fit: SourcesFit, *, draws: int = 99, seed: int = 0
) -> GroupTest:
    """Compare one channel per group with one for all, by a parametric bootstrap.

    The columns' posterior of each row is held fixed; rows without one are left out.
    """
    one = np.flatnonzero(answers.asked[answers.row] == 1)
    row, group, label = answers.row[one], answers.annotator[one], answers.label[one]
    scores = np.zeros((len(row), len(fit.prior))) if fit.scores is None else fit.scores[row]
    known = np.isfinite(scores[:, 0])
    scores, group, label = scores[known], group[known], label[known]
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    size = (answers.n_annotators, answers.n_labels)
    return compared(likely, group, label, size, draws=draws, seed=seed)


def compared(
    likely: Array, group: Ints, label: Ints, size: tuple[int, int], *, draws: int, seed: int
) -> GroupTest:
    """Compare one channel per group with one for all, given what the columns say of each row.

    Each group keeps class shares of its own in both explanations, so that groups with other classes
    are not taken for groups with other errors. The null: labels drawn anew from the explanation
    with one channel.

    Parameters
    ----------
    likely : (n, K) array
        P(x | true), each row up to a factor.
    group, label : (n,) arrays of int
        Of G groups and L labels, ``size``.
    draws, seed : int
        How many labels are drawn anew, and how.
    """
    rng = np.random.default_rng(seed)
    if len(label) > _ROWS:
        some = np.sort(rng.choice(len(label), _ROWS, replace=False))
        likely, group, label = likely[some], group[some], label[some]
    G, L = size
    gain, shares, pooled = _gain(likely, group, label, G, L, None)
    steps = (shares[group] * likely) @ pooled[0].T
    steps = (steps / steps.sum(axis=1, keepdims=True)).cumsum(axis=1)
    above = 0
    for _ in range(draws):
        drawn = (rng.random((len(label), 1)) > steps).sum(axis=1).clip(max=L - 1)
        above += _gain(likely, group, drawn, G, L, (shares, pooled))[0] >= gain
    return GroupTest(gain, (1 + above) / (1 + draws), draws)


def _gain(
    likely: Array, group: Ints, label: Ints, G: int, L: int, start: tuple[Array, Array] | None
) -> tuple[float, Array, Array]:
    """Fit both explanations; return twice the gain, and class shares and channel of the null."""
    one = np.zeros_like(group)
    if start is None:
        K = likely.shape[1]
        start = np.full((G, K), 1.0 / K), 0.7 * np.eye(L, K)[None] + 0.3 / L
    low, shares, pooled = _explain(likely, group, one * L + label, L, start)
    each = (shares, np.tile(pooled, (G, 1, 1)))
    high = _explain(likely, group, group * L + label, L, each)[0]
    return 2.0 * (high - low), shares, pooled


def _explain(
    likely: Array, group: Ints, code: Ints, L: int, start: tuple[Array, Array]
) -> tuple[float, Array, Array]:
    """Find class shares per group (G, K) and channels per source (S, L, K) by EM."""
    shares, channels = start
    S, _, K = channels.shape
    by_group, by_code = _indicator(group, len(shares)), _indicator(code, S * L)
    height = -np.inf
    for _ in range(_STEPS):
        joint = shares[group] * likely * channels.reshape(-1, K)[code]
        total = joint.sum(axis=1, keepdims=True)
        before, height = height, float(np.log(total).sum())
        if height - before < _ENOUGH:
            break
        post = joint / total
        counts = (by_code @ post).reshape(S, L, K) + _COUNT / S
        channels = counts / counts.sum(axis=1, keepdims=True)
        mass = by_group @ post + _COUNT
        shares = mass / mass.sum(axis=1, keepdims=True)
    return height, shares, channels


def _indicator(code: Ints, size: int) -> sparse.csc_array:
    """Ones at (code, row), (size, n): a product with it adds the rows of each code."""
    n = len(code)
    return sparse.csc_array((np.ones(n), code, np.arange(n + 1)), shape=(size, n))
