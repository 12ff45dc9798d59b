"""What an annotator is worth, and whom to ask next about what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from misnomer.answers import Answers
from misnomer.solvers.annotators.fit import SourcesFit
from misnomer.solvers.annotators.passes import left_out

Array = NDArray[np.float64]
_PRIOR = 2.0  # virtual answers in an accuracy's interval
_CELLS = 1 << 22  # numbers held at a time while looking for the next question


def accuracies(prior: Array, channels: Array) -> Array:
    """Average ``channel_a[z, z]`` over the classes: P(an answer is right), (A,).

    Examples
    --------
    >>> accuracies(np.array([0.5, 0.5]), np.array([[[0.9, 0.3], [0.1, 0.7]]])).tolist()
    [0.8]
    """
    return np.einsum("akk,k->a", channels, prior)


def bits(prior: Array, channels: Array) -> Array:
    """Compute what one answer tells about the true class, in bits, (A,).

    ``sum_z prior[z] sum_y channel[y, z] log2(channel[y, z] / P(y))``: 0 for who does not look.

    Examples
    --------
    >>> sure, blind = np.eye(2), np.full((2, 2), 0.5)
    >>> bits(np.array([0.5, 0.5]), np.stack([sure, blind])).tolist()
    [1.0, 0.0]
    """
    said = np.einsum("alk,k->al", channels, prior)[:, :, None]
    ratio = np.where(channels > 0, channels, 1.0) / np.where(channels > 0, said, 1.0)
    told = np.einsum("alk,k->a", channels * np.log2(ratio), prior)
    return np.maximum(told, 0.0)


def accuracy_intervals(
    answers: Answers, fit: SourcesFit, confidence: float = 0.9
) -> tuple[Array, Array]:
    """Bracket each annotator's accuracy, knowing that the true classes are only known in part.

    An answer whose row is settled without it counts as one observation of the accuracy; one
    whose row is open counts for less, by the information ``(d log chance / d accuracy)^2``.
    """
    level = accuracies(fit.prior, fit.channels).clip(1e-6, 1 - 1e-6)
    right, chance = left_out(answers, fit.total, fit.channels)
    who, said = answers.annotator, answers.label
    hit = right * fit.channels[who, said, said]
    slope = hit / level[who] - (chance - hit) / (1.0 - level[who])
    told = np.bincount(who, (slope / chance) ** 2, minlength=answers.n_annotators)
    seen = np.minimum(told * level * (1.0 - level), answers.given) + _PRIOR
    tail = (1.0 - confidence) / 2
    low = beta.ppf(tail, level * seen, (1.0 - level) * seen)
    high = beta.ppf(1.0 - tail, level * seen, (1.0 - level) * seen)
    return np.minimum(low, level), np.maximum(high, level)


def typical_confusions(prior: Array, channels: Array) -> tuple[NDArray[np.intp], Array]:
    """Find each annotator's most frequent error: (given, true), (A, 2), and P(given | true)."""
    A, L, K = channels.shape
    joint = channels * prior
    joint = np.where(np.eye(L, K, dtype=bool), -1.0, joint)
    place = joint.reshape(A, -1).argmax(axis=1)
    pair = np.stack([place // K, place % K], axis=1)
    return pair, channels.reshape(A, -1)[np.arange(A), place]


def entropy(share: Array) -> Array:
    """Compute the entropy of the last axis in bits."""
    return -np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=-1)


def gains(share: Array, channels: Array) -> Array:
    """Compute what asking annotator a about row i would tell, in bits, (m, A).

    ``H(sum_z share[i, z] channel_a[:, z]) - sum_z share[i, z] H(channel_a[:, z])``.

    Examples
    --------
    >>> gains(np.array([[0.5, 0.5], [1.0, 0.0]]), np.eye(2)[None]).tolist()
    [[1.0], [0.0]]
    """
    said = np.einsum("mk,alk->mal", share, channels, optimize=True)
    noise = entropy(np.swapaxes(channels, 1, 2))  # (A, K)
    return np.maximum(entropy(said) - share @ noise.T, 0.0)


@dataclass(frozen=True)
class Question:
    """Ask ``annotator`` about ``row``: it should tell ``bits``."""

    row: int
    annotator: object
    bits: float


def ask_next(
    answers: Answers, fit: SourcesFit, n: int, *, each: int | None = None
) -> list[Question]:
    """List the n rows, and the annotator for each, whose answer should tell most.

    Looked for among the most uncertain rows (ten for each question, at least 1000): no answer
    can tell more than its row's entropy. Who has answered a row is not asked again; with
    ``each`` nobody gets more questions than that.
    """
    order = np.argsort(-entropy(fit.share), kind="stable")[: max(10 * n, 1000)]
    # At most n / each annotators can be used up, so a row needs one more candidate than that.
    depth = min(answers.n_annotators, 1 if each is None else n // max(each, 1) + 1)
    width = max(1, _CELLS // max(1, answers.n_annotators * answers.n_labels))
    parts = [
        _candidates(answers, fit, order[at : at + width], depth)
        for at in range(0, len(order), width)
    ]
    told, rows, who = (np.concatenate(part) for part in zip(*parts, strict=True))
    left = np.full(answers.n_annotators, n if each is None else each)
    used: set[int] = set()
    found: list[Question] = []
    for j in np.argsort(-told, kind="stable"):
        row, name = int(rows[j]), int(who[j])
        if len(found) == n or told[j] <= 0:
            break
        if row not in used and left[name] > 0:
            used.add(row)
            left[name] -= 1
            found.append(Question(row, answers.annotators[name], float(told[j])))
    return found


def _candidates(
    answers: Answers, fit: SourcesFit, rows: NDArray[np.intp], depth: int
) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """List the ``depth`` most telling annotators of some rows: bits, row, annotator."""
    gain = gains(fit.share[rows], fit.channels)
    starts = np.searchsorted(answers.row, np.stack([rows, rows + 1]))
    for m, (start, stop) in enumerate(starts.T):
        gain[m, answers.annotator[start:stop]] = -1.0
    who = np.argpartition(-gain, depth - 1, axis=1)[:, :depth]
    told = np.take_along_axis(gain, who, axis=1)
    return told.ravel(), np.repeat(rows, depth), who.ravel()
