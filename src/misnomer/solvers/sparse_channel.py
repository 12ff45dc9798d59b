"""The channel between many labels: only the pairs that occur, the rest by one common rate.

``P(given y | true k) = (J[y, k] + c base[y, k]) / (J[., k] + c)`` where J is how many rows of true
class k carry label y, c are virtual rows, and ``base`` is the channel of one error rate for all,
spread evenly. A row is judged by what the *other* rows say of its pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.reference import softmax
from misnomer.solvers.sparse_rows import Places
from misnomer.solvers.sparse_scores import Candidates

Array = NDArray[np.float64]

VIRTUAL = 5.0  # rows of each true class that err at the common rate
_PASSES, _SETTLED = 100, 1e-6
_START = 0.1  # error rate, before anything is known


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which pairs (given, true) the candidates of the rows make; where each entry lies.

    Attributes
    ----------
    given, true : (P,) arrays
        The pairs, sorted by label, then class.
    place : (n, M) array
        The pair of each row and candidate; -1 where the row has no label to explain.
    labels : int
        How many labels and classes there are.
    """

    given: Places
    true: Places
    place: Places
    labels: int

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
    """What the rows say of themselves and of the channel.

    Attributes
    ----------
    share : (n, M) array
        P(true class | row, given label) of each candidate.
    alone : (n, M) array
        P(true class | row), the label forgotten.
    mass : (P,) array
        J of every pair.
    rate : float
        The common error rate.
    scale : float
        What one nat of evidence is worth: under one where words repeat each other.
    loglik : float
        Of the given labels, per labeled row.
    passes, settled
        How many passes it took, and whether the last changed little.
    """

    share: Array
    alone: Array
    mass: Array
    rate: float
    scale: float
    loglik: float
    passes: int
    settled: bool


def chances(pairs: Pairs, mass: Array, rate: float) -> Array:
    """Compute P(given | true) of every pair that occurs, (P,)."""
    base = np.where(pairs.right, 1.0 - rate, rate / max(pairs.labels - 1, 1))
    total = np.bincount(pairs.true, mass, minlength=pairs.labels)
    return np.asarray((mass + VIRTUAL * base) / (total[pairs.true] + VIRTUAL))


def left_out(pairs: Pairs, mass: Array, rate: float, share: Array) -> Array:
    """Compute P(own label | true) of each row's candidates from the other rows, (n, M).

    ``(J - r + c base) / (J[., k] - r + c)`` with r the row's own share; 1 where it has no label.
    """
    seen = pairs.place >= 0
    place = np.where(seen, pairs.place, 0)
    base = np.where(pairs.right, 1.0 - rate, rate / max(pairs.labels - 1, 1))
    total = np.bincount(pairs.true, mass, minlength=pairs.labels)[pairs.true]
    top = np.maximum(mass[place] - share, 0.0) + VIRTUAL * base[place]
    bottom = np.maximum(total[place] - share, 0.0) + VIRTUAL
    return np.where(seen, top / bottom, 1.0)


def judge(
    found: Candidates,
    pairs: Pairs,
    log_prior: Array,
    known: Places,
    *,
    scale: float = 0.1,
    rate: float = _START,
) -> Judged:
    """Explain the given labels by the rows: scale, channel and shares in turn, until they settle.

    ``P(k | row) ~ exp(scale * evidence_k) prior_k`` over the row's candidates; behind a label it is
    multiplied by the channel. ``known`` is the class of trusted rows, else -1; they and unlabeled
    rows have no pair, and explain no label.
    """
    prior = log_prior[found.classes]
    labeled, sure = np.asarray((pairs.place >= 0).any(axis=1)), known >= 0
    mass, share = np.zeros(len(pairs.given)), np.zeros(found.evidence.shape)
    settled, step, loglik, alone = False, 0, 0.0, share
    for step in range(1, _PASSES + 1):
        alone = softmax(scale * found.evidence + prior)[0]
        joint = alone * left_out(pairs, mass, rate, share)
        total = joint.sum(axis=1)
        share = joint / total[:, None]
        share[sure] = found.classes[sure] == known[sure, None]
        mass = pairs.mass(share)
        last, loglik = loglik, float(np.log(total[labeled]).mean()) if labeled.any() else 0.0
        before, rate = (scale, rate), _rate(pairs, mass)
        scale = next_scale(found.evidence, alone, share, labeled, scale)
        if step > 2 and _close(before, (scale, rate)) and abs(loglik - last) < _SETTLED:
            settled = True
            break
    return Judged(share, alone, mass, rate, scale, loglik, step, settled)


def _rate(pairs: Pairs, mass: Array) -> float:
    """Estimate the common error rate, one virtual error among ten virtual rows."""
    return float((mass[~pairs.right].sum() + 1.0) / (mass.sum() + 10.0))


def _close(one: tuple[float, float], two: tuple[float, float]) -> bool:
    return abs(one[0] / two[0] - 1.0) < 1e-4 and abs(one[1] - two[1]) < 1e-5


def next_scale(
    evidence: Array, alone: Array, share: Array, labeled: NDArray[np.bool_], scale: float
) -> float:
    """Take one step of Newton toward the scale that explains the shares, at most a factor of two.

    The slope of ``sum share log alone`` is ``E_share[e] - E_alone[e]``, its curve is
    ``-Var_alone[e]``.
    """
    e, q = evidence[labeled], alone[labeled]
    mean = (q * e).sum(axis=1)
    slope = float(((share[labeled] * e).sum(axis=1) - mean).sum())
    curve = float((q * (e - mean[:, None]) ** 2).sum())
    if curve <= 0:
        return scale
    return float(np.clip(scale + slope / curve, scale / 2, min(scale * 2, 1.0)))


def channel_of(pairs: Pairs, found: Judged) -> sparse.csr_array:
    """Lay the channel of the pairs that occur out as a sparse matrix, (L, K)."""
    value = chances(pairs, found.mass, found.rate)
    shape = (pairs.labels, pairs.labels)
    return sparse.csr_array((value, (pairs.given, pairs.true)), shape=shape)
