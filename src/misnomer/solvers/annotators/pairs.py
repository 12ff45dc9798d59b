"""Pairs of annotators who agree more often than their channels explain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from misnomer.answers import Answers
from misnomer.kernels.reference import softmax
from misnomer.solvers.annotators.fit import SourcesFit

Array = NDArray[np.float64]
_CHUNK = 1 << 14
_FEWEST = 10  # rows that a pair must share to be judged


@dataclass(frozen=True)
class Pair:
    """Two annotators, their shared rows, and how often they agree there.

    Attributes
    ----------
    first, second : object
        The annotators' names.
    shared, agreed : int
        Rows that both answered, and rows where they said the same.
    expected : float
        Agreements that the model expects, from what the others say about those rows.
    surprise : float
        Standard errors beyond that.
    """

    first: object
    second: object
    shared: int
    agreed: int
    expected: float
    surprise: float


def colluding(answers: Answers, fit: SourcesFit, *, level: float = 0.05) -> list[Pair]:
    """List the pairs that agree more than expected, the most surprising first.

    Their agreement is expected from the rows' posterior without either of them,
    ``sum_z rest[z] sum_y channel_a[y, z] channel_b[y, z]``. ``level`` is the chance of naming
    any pair where nobody colludes (shared out over all pairs that share enough rows).
    """
    first, second = shared_rows(answers)
    if not len(first):
        return []
    agreed = (answers.label[first] == answers.label[second]).astype(np.float64)
    expected = _expected(answers, fit, first, second)
    key = answers.annotator[first].astype(np.int64) * answers.n_annotators
    pairs, place = np.unique(key + answers.annotator[second], return_inverse=True)
    shared = np.bincount(place)
    seen, mean = np.bincount(place, agreed), np.bincount(place, expected)
    spread = np.bincount(place, expected * (1.0 - expected))
    # A channel is known from its answers only: the pair's own rows helped to estimate it.
    surprise = (seen - mean - 0.5) / np.sqrt(spread + 1e-9)
    judged = shared >= _FEWEST
    limit = norm.isf(level / max(1, int(judged.sum())))
    found = np.flatnonzero(judged & (surprise > limit))
    names = answers.annotators
    return [
        Pair(
            names[pairs[j] // len(names)], names[pairs[j] % len(names)],
            int(shared[j]), int(seen[j]), float(mean[j]), float(surprise[j]),
        )
        for j in found[np.argsort(-surprise[found])]
    ]  # fmt: skip


def shared_rows(answers: Answers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """List all pairs of answers about the same row, the smaller annotator first."""
    firsts, seconds = [], []
    for lag in range(1, int(answers.asked.max(initial=0))):
        at = np.flatnonzero(answers.row[lag:] == answers.row[:-lag])
        firsts.append(at)
        seconds.append(at + lag)
    if not firsts:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    return np.concatenate(firsts), np.concatenate(seconds)


def _expected(
    answers: Answers, fit: SourcesFit, first: NDArray[np.intp], second: NDArray[np.intp]
) -> Array:
    """Compute P(both say the same) for each pair of answers, from the row without them."""
    out = np.empty(len(first))
    for at in range(0, len(first), _CHUNK):
        j, k = first[at : at + _CHUNK], second[at : at + _CHUNK]
        one, two = fit.channels[answers.annotator[j]], fit.channels[answers.annotator[k]]
        place = np.arange(len(j))
        own = np.log(one[place, answers.label[j]]) + np.log(two[place, answers.label[k]])
        rest = softmax(fit.total[answers.row[j]] - own)[0]
        out[at : at + _CHUNK] = np.einsum("jz,jyz,jyz->j", rest, one, two)
    return out.clip(0.0, 1.0)
