"""A channel per annotator: what it makes of a row's answers, and how few answers teach it.

Nobody can learn the K x K cells of an annotator from a handful of answers. So every annotator has
a *character* first, a few numbers that a handful of answers does tell:

    character[y, z] = knows [y = z] + slips pattern[y, z] + guesses habit[y]

``knows + slips + guesses = 1``; the pattern (which class is taken for which) is the crowd's, the
habit (what is said without looking) the annotator's own. The cells are then

    channel[y, z] = (count[y, z] + strength character[y, z]) / (the same, summed over y)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.answers import Answers
from misnomer.channel import Channel
from misnomer.kernels.reference import softmax

Array = NDArray[np.float64]

#: Virtual answers per true class that hold an annotator to its character while the search climbs;
#: the draws that follow (`draws`) choose the number by its likelihood.
STRENGTH = 20.0
FIRST = np.array([0.7, 0.2, 0.1])  # knows, slips, guesses: one virtual answer per annotator
_SHARES = 2.0  # virtual answers about an annotator's shares, at the crowd's
_HABITS = 1.0  # virtual answers about an annotator's habit, at the crowd's
_PATTERN = 0.1  # virtual answers in every cell of the crowd's pattern
_ANSWERS_AT_ONCE = 1 << 17  # answers whose left-out posteriors are worked out at a time
_MIN_CELL = 1e-10  # what was never said is nearly impossible, not quite: no row may have no class


@dataclass(frozen=True, eq=False)
class Characters:
    """What kind each annotator is."""

    # (A, 3): how often the annotator knows, slips as the crowd slips, or guesses by habit
    shares: Array
    habit: Array  # (A, L): what the annotator says when guessing
    # (L, K): which label the crowd gives to a class when it is wrong; the diagonal is zero
    pattern: Array

    def centers(self) -> Array:
        """Write the characters as channels, (A, L, K)."""
        knows, slips, guesses = (self.shares[:, j, None, None] for j in range(3))
        same = np.eye(*self.pattern.shape)
        return knows * same + slips * self.pattern + guesses * self.habit[:, :, None]


def first_characters(counts: Array) -> Characters:
    """Begin with everybody alike: knowing seven times of ten, with the crowd's habits."""
    said = counts.sum(axis=(0, 2)) + _PATTERN
    habit = np.tile(said / said.sum(), (len(counts), 1))
    shares = np.tile(FIRST, (len(counts), 1))
    return Characters(shares, habit, crowd_pattern(counts))


def crowd_pattern(counts: Array) -> Array:
    """Share out the crowd's errors of each class over the labels, (L, K).

    Examples
    --------
    >>> counts = np.array([[[8.0, 0.0, 0.0], [2.0, 9.0, 0.0], [0.0, 0.0, 9.0]]])
    >>> crowd_pattern(counts)[:, 0].round(2).tolist()
    [0.0, 0.95, 0.05]
    """
    wrong = counts.sum(axis=0) + _PATTERN
    np.fill_diagonal(wrong, 0.0)
    return wrong / np.maximum(wrong.sum(axis=0), _MIN_CELL)


def characters(counts: Array, before: Characters) -> Characters:
    """Take one EM step toward the characters that explain the expected counts, (A, L, K)."""
    centers = before.centers()
    ratio = counts / np.maximum(centers, _MIN_CELL)
    knows, slips, guesses = before.shares.T
    by_label = ratio.sum(axis=2) * before.habit  # (A, L)
    part = np.stack(
        [
            knows * np.einsum("akk->a", ratio),
            slips * np.einsum("alk,lk->a", ratio, before.pattern),
            guesses * by_label.sum(axis=1),
        ],
        axis=1,
    )
    mean = part.sum(axis=0) + len(part) * FIRST
    mean /= mean.sum()
    shares = part + _SHARES * mean
    said = counts.sum(axis=(0, 2)) + _PATTERN
    habit = guesses[:, None] * by_label + _HABITS * said / said.sum()
    return Characters(
        shares / shares.sum(axis=1, keepdims=True),
        habit / habit.sum(axis=1, keepdims=True),
        crowd_pattern(counts),
    )


@dataclass(frozen=True, eq=False)
class ChannelRule:
    """How everybody's channel follows from expected counts: the one place that knows tied cells."""

    tied: bool = False  # whether each annotator has one rate of being right, its errors alike
    knowledge: Channel | None = None  # what is known beforehand of everybody's errors

    def channels(self, counts: Array, centers: Array | None, strength: float) -> Array:
        """Estimate the channels, (A, L, K), ``strength`` virtual answers at the centers included.

        Of tied channels the virtual answers are at the crowd's rate.
        """
        if self.tied:
            return obeying(one_coin(counts, strength), self.knowledge)
        return shrunk(counts, centers, strength, self.knowledge)


def is_tied(channels: Array) -> bool:
    """Tell whether every annotator has one rate of being right, all errors alike.

    Examples
    --------
    >>> is_tied(np.array([[[0.8, 0.2], [0.2, 0.8]]])), is_tied(np.array([[[0.8, 0.1], [0.2, 0.9]]]))
    (True, False)
    """
    K = channels.shape[1]
    right = np.einsum("akk->ak", channels)
    wrong = (1.0 - right) / max(K - 1, 1)
    alike = np.where(np.eye(K, dtype=bool), right[:, None, :], wrong[:, None, :])
    return bool(np.allclose(right, right[:, :1]) and np.allclose(channels, alike))


def shrunk(
    counts: Array, centers: Array | None, strength: float, rule: Channel | None = None
) -> Array:
    """Turn expected counts into channels, ``strength`` virtual answers at the centers included.

    Without virtual answers this is the M-step of Dawid and Skene.

    Examples
    --------
    >>> counts = np.array([[[3.0, 0.0], [1.0, 4.0]]])
    >>> shrunk(counts, None, 0.0).round(6).tolist()
    [[[0.75, 0.0], [0.25, 1.0]]]
    >>> shrunk(counts, np.full((1, 2, 2), 0.5), 4.0).round(6).tolist()
    [[[0.625, 0.25], [0.375, 0.75]]]
    """
    mass = counts if centers is None or not strength else counts + strength * centers
    if rule is not None:
        mass = mass + rule.counts
    mass = np.maximum(mass, _MIN_CELL)
    return obeying(mass / mass.sum(axis=1, keepdims=True), rule)


def obeying(channels: Array, rule: Channel | None) -> Array:
    """Hold everybody's channel to what is known beforehand, (A, L, K); what is open keeps its odds.

    Examples
    --------
    >>> from misnomer.knowledge import Knowledge
    >>> rule = Knowledge(rates={"a": 0.2}, most={"b": 0.1}).channel(["a", "b"])
    >>> obeying(np.array([[[0.9, 0.4], [0.1, 0.6]]]), rule).round(6).tolist()
    [[[0.8, 0.1], [0.2, 0.9]]]
    """
    if rule is None:
        return channels
    plain = replace(rule, counts=np.zeros_like(rule.matrix))
    held = np.stack([plain.refit(one).matrix for one in channels])
    held = np.maximum(held, _MIN_CELL)
    return np.asarray(held / held.sum(axis=1, keepdims=True))


def one_coin(counts: Array, strength: float) -> Array:
    """Give each annotator one rate of being right, its errors spread evenly (tied channels).

    ``rate = (right + strength crowd) / (answers + strength)``, crowd the rate of all annotators.

    Examples
    --------
    >>> one_coin(np.array([[[3.0, 1.0], [1.0, 5.0]]]), 0.0).round(6).tolist()
    [[[0.8, 0.2], [0.2, 0.8]]]
    """
    K = counts.shape[2]
    right, all_said = np.einsum("akk->a", counts), counts.sum(axis=(1, 2))
    crowd = right.sum() / max(all_said.sum(), _MIN_CELL)
    rate = (right + strength * crowd) / np.maximum(all_said + strength, _MIN_CELL)
    rate = np.where(all_said + strength > 0, rate, crowd).clip(_MIN_CELL, 1.0 - _MIN_CELL)
    wrong = ((1.0 - rate) / max(K - 1, 1))[:, None, None]
    return wrong + (rate[:, None, None] - wrong) * np.eye(K)


def evidence(answers: Answers, channels: Array) -> Array:
    """Add up ``log channel_a[y, z]`` over the answers of each row, (n, K).

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> said = from_table([["x", "x"], ["y", None]])
    >>> both = np.array([[[0.8, 0.2], [0.2, 0.8]]] * 2)
    >>> np.exp(evidence(said, both)).round(2).tolist()
    [[0.64, 0.04], [0.2, 0.8]]
    """
    return answers.matrix @ np.log(channels).reshape(-1, channels.shape[2])


def confusions(answers: Answers, share: Array) -> Array:
    """Count each annotator's answers by label and (expected) true class, (A, L, K)."""
    flat = answers.matrix.T @ share
    return flat.reshape(answers.n_annotators, answers.n_labels, share.shape[1])


def left_out(answers: Answers, total: Array, channels: Array) -> tuple[Array, Array]:
    """Predict every answer from the rest of its row.

    Answer j by annotator a about row i: ``rest[j] = softmax(total[i] - log channel_a[y_j])`` is
    the posterior without it, ``right[j] = rest[j, y_j]`` and
    ``chance[j] = sum_z rest[j, z] channel_a[y_j, z]``.

    Parameters
    ----------
    answers : Answers
        N of them.
    total : (n, K) array
        The log joint of each row, all its answers included.
    channels : (A, L, K) array
        P(label | true) of each annotator.

    Returns
    -------
    right, chance : (N,) arrays
        P(the answer is right) and P(the answer), both without it.
    """
    table = channels.reshape(-1, channels.shape[2])
    right, chance = np.empty(len(answers)), np.empty(len(answers))
    for at in range(0, len(answers), _ANSWERS_AT_ONCE):
        piece = slice(at, at + _ANSWERS_AT_ONCE)
        own = table[answers.code[piece]]
        rest = softmax(total[answers.row[piece]] - np.log(own))[0]
        right[piece] = rest[np.arange(len(rest)), answers.label[piece]]
        chance[piece] = np.einsum("jk,jk->j", rest, own)
    return right, chance
