"""A channel per annotator, from few answers: shrink each toward what is typical of its kind.

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

from misnomer.channel import Channel

Array = NDArray[np.float64]

#: Virtual answers per true class that hold an annotator to its character while the search climbs;
#: the draws that follow (``sources_draws``) choose the number by its likelihood.
STRENGTH = 20.0
FIRST = np.array([0.7, 0.2, 0.1])  # knows, slips, guesses: one virtual answer per annotator
_SHARES = 2.0  # virtual answers about an annotator's shares, at the crowd's
_HABITS = 1.0  # virtual answers about an annotator's habit, at the crowd's
_PATTERN = 0.1  # virtual answers in every cell of the crowd's pattern
_TINY = 1e-10  # what was never said is nearly impossible, not quite: no row may have no class


@dataclass(frozen=True, eq=False)
class Characters:
    """What kind each annotator is."""

    # (A, 3): how often the annotator knows, slips as the crowd slips, or guesses by habit
    shares: Array
    habit: Array  # (A, L): what the annotator says when guessing
    # (L, K): which label the crowd gives to a class when it is wrong; the diagonal is zero
    pattern: Array

    def centers(self) -> Array:
        """Spell the characters out as channels, (A, L, K)."""
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
    return wrong / np.maximum(wrong.sum(axis=0), _TINY)


def characters(counts: Array, before: Characters) -> Characters:
    """Take one EM step toward the characters that explain the expected counts, (A, L, K)."""
    centers = before.centers()
    ratio = counts / np.maximum(centers, _TINY)
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
    mass = np.maximum(mass, _TINY)
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
    held = np.maximum(held, _TINY)
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
    crowd = right.sum() / max(all_said.sum(), _TINY)
    rate = (right + strength * crowd) / np.maximum(all_said + strength, _TINY)
    rate = np.where(all_said + strength > 0, rate, crowd).clip(_TINY, 1.0 - _TINY)
    wrong = ((1.0 - rate) / max(K - 1, 1))[:, None, None]
    return wrong + (rate[:, None, None] - wrong) * np.eye(K)
