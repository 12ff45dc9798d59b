"""Judge rows by many plausible channels, not by the best guess of them (Gibbs sampling).

Channels known from eighteen answers are known badly, and a row judged by a best guess of them is
judged too surely. So the classes are drawn from the channels and the channels from the classes, in
turn; a row's posterior is the mean over the draws. How far annotators are held together (virtual
answers at an annotator's character, at the crowd's shares, at the crowd's habits) is drawn too, by
its likelihood: nothing is tuned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from misnomer.answers import Answers
from misnomer.channel import Channel
from misnomer.kernels.reference import softmax
from misnomer.solvers.annotators.channels import FIRST, Characters, obeying
from misnomer.solvers.annotators.passes import evidence, known

Array = NDArray[np.float64]

#: Virtual answers to choose from: per class at the character, at the crowd's shares and habits.
STRENGTHS = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0)
_SHARES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_HABITS = (0.5, 1.0, 2.0, 4.0, 8.0)
_PATTERN = 1.0  # virtual slips in every cell of the crowd's pattern
_JUDGES = 500  # annotators by whom the virtual answers are chosen: more tell no more
_SWEEPS, _FIRST_SWEEPS, _FEWEST = 500, 50, 40
_WORK = 2e7  # answers drawn in all, before the number of sweeps is cut down
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Draws:
    """Means over the draws."""

    share: Array  # (n, K): P(true class) of every row
    prior: Array  # (K,): P(true class)
    # (A, L, K): P(label | true class) of each annotator, and of its character
    channels: Array
    centers: Array
    strength: float  # virtual answers per class that held the annotators to their characters


@dataclass(frozen=True, eq=False)
class Question:
    """What stays the same in all draws: the answers, and what else is known of the rows."""

    answers: Answers
    scores: Array | None  # (n, K) evidence of the columns
    truth: NDArray[np.int32] | None  # (n,) known classes, -1 elsewhere
    weight: Array | None  # (n,)
    strength: float | None  # None: chosen by its likelihood
    knowledge: Channel | None = None


@dataclass(frozen=True, eq=False)
class _State:
    share: Array
    kinds: Characters
    prior: Array
    channels: Array
    strength: float


def averaged(question: Question, share: Array, kinds: Characters, seed: int) -> Draws:
    """Draw from a first guess on, and average.

    Classes are put in the order of their votes first, so that their names do not matter.
    """
    order = np.argsort(-question.answers.votes().sum(axis=0), kind="stable")
    back = np.argsort(order)
    asked = _reordered(question, order, back)
    habit, pattern = kinds.habit[:, order], kinds.pattern[np.ix_(order, order)]
    first = Characters(kinds.shares, habit, pattern)
    found = _mean(asked, share[:, order], first, np.random.default_rng(seed))
    return Draws(
        found.share[:, back], found.prior[back], found.channels[:, back][:, :, back],
        found.centers[:, back][:, :, back], found.strength,
    )  # fmt: skip


def _reordered(question: Question, order: NDArray[np.intp], back: NDArray[np.intp]) -> Question:
    """Number the classes anew: ``order[new] = old``, ``back[old] = new``."""
    answers, truth, rule = question.answers, question.truth, question.knowledge
    label = back[answers.label].astype(np.int32)
    if truth is not None:
        truth = np.where(truth >= 0, back[truth], -1).astype(np.int32)
    if rule is not None:
        cells = np.ix_(order, order)
        most = {"most": getattr(rule, "most")[order]} if hasattr(rule, "most") else {}  # noqa: B009
        counts = np.broadcast_to(rule.counts, rule.matrix.shape)[cells]
        rule = replace(
            rule, matrix=rule.matrix[cells], free=rule.free[cells], counts=counts, **most
        )
    return replace(
        question,
        answers=replace(answers, label=label, labels=answers.labels[order]),
        scores=None if question.scores is None else question.scores[:, order],
        truth=truth,
        knowledge=rule,
    )


def _mean(question: Question, share: Array, kinds: Characters, rng: np.random.Generator) -> Draws:
    """Let the first draws settle, then add up the others."""
    sweeps = int(np.clip(_WORK / max(len(question.answers), 1), _FEWEST, _SWEEPS + _FIRST_SWEEPS))
    settle = max(_FIRST_SWEEPS * sweeps // (_SWEEPS + _FIRST_SWEEPS), 10)
    some = min(question.answers.n_annotators, _JUDGES)
    judges = np.sort(rng.permutation(question.answers.n_annotators)[:some])
    total: list[Array] = []
    for turn in range(sweeps):
        state = _sweep(question, share, kinds, judges, rng)
        share, kinds = state.share, state.kinds
        if turn < settle:
            continue
        parts = [share, state.prior, state.channels, kinds.centers(), np.log(state.strength)]
        total = parts if not total else [a + b for a, b in zip(total, parts, strict=True)]
    share, prior, channels, centers, strength = (part / (sweeps - settle) for part in total)
    return Draws(share, prior, channels, centers, float(np.exp(strength)))


def _sweep(
    question: Question, share: Array, kinds: Characters, judges: NDArray[np.intp],
    rng: np.random.Generator,
) -> _State:  # fmt: skip
    """Draw classes, characters, channels and prior, each given the rest; then judge the rows."""
    answers, K = question.answers, share.shape[1]
    z = drawn_rows(share, rng)
    weight = np.ones(len(z)) if question.weight is None else question.weight
    place = answers.code * K + z[answers.row]
    size = (answers.n_annotators, answers.n_labels, K)
    counts = _added(place, weight[answers.row], minlength=int(np.prod(size))).reshape(size)
    kinds = drawn_characters(answers, z, weight, counts, kinds, judges, rng)
    centers, strength = kinds.centers(), question.strength
    if strength is None:
        strength = _chosen(STRENGTHS, counts[judges], centers[judges], 1, rng)
    mass = counts + strength * centers
    if question.knowledge is not None:
        mass = mass + question.knowledge.counts
    channels = obeying(_dirichlet(mass, 1, rng), question.knowledge)
    prior = _dirichlet(_added(z, weight, minlength=K) + 1.0, 0, rng)
    total = evidence(answers, channels) + np.log(prior)
    if question.scores is not None:
        total = total + question.scores
    share = softmax(known(total, question.truth))[0]
    mean = obeying(mass / mass.sum(axis=1, keepdims=True), question.knowledge)
    return _State(share, kinds, prior, mean, strength)


def drawn_characters(
    answers: Answers, z: NDArray[np.intp], weight: Array, counts: Array, before: Characters,
    judges: NDArray[np.intp], rng: np.random.Generator,
) -> Characters:  # fmt: skip
    """Draw for each answer whether it was a guess, then everybody's shares, habits and slips."""
    L, K, A = answers.n_labels, counts.shape[2], answers.n_annotators
    who, said, true, mass = answers.annotator, answers.label, z[answers.row], weight[answers.row]
    right = said == true
    looked = np.where(right, before.shares[who, 0], before.shares[who, 1])
    looked = looked * np.where(right, 1.0, before.pattern[said, true])
    blind = before.shares[who, 2] * before.habit[who, said]
    guessed = rng.random(len(who)) * (looked + blind) >= looked
    kind = np.where(guessed, 2, np.where(right, 0, 1))
    part = _added(who * 3 + kind, mass, minlength=3 * A).reshape(A, 3)
    mean = part.sum(axis=0) + A * FIRST
    mean = np.tile(mean / mean.sum(), (A, 1))
    shares = part + _chosen(_SHARES, part[judges], mean[judges], 1, rng) * mean
    guess = _added(answers.code, mass * guessed, minlength=A * L).reshape(A, L)
    usual = counts.sum(axis=(0, 2)) + 0.1
    usual = np.tile(usual / usual.sum(), (A, 1))
    habit = guess + _chosen(_HABITS, guess[judges], usual[judges], 1, rng) * usual
    slips = _added(said * K + true, mass * (kind == 1), minlength=L * K).reshape(L, K)
    pattern = rng.standard_gamma(slips + _PATTERN) * (1.0 - np.eye(L, K))
    pattern /= np.maximum(pattern.sum(axis=0), _LEAST)
    return Characters(_dirichlet(shares, 1, rng), _dirichlet(habit, 1, rng), pattern)


def _added(place: NDArray[np.integer], mass: Array, minlength: int) -> Array:
    """Add up the mass at each place, (minlength,)."""
    return np.asarray(np.bincount(place, mass, minlength), np.float64)


def drawn_rows(share: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a class for each row, (n,)."""
    steps = share.cumsum(axis=1)
    level = rng.random((len(share), 1)) * steps[:, -1:]
    return (level >= steps).sum(axis=1).clip(max=share.shape[1] - 1)


def _dirichlet(mass: Array, axis: int, rng: np.random.Generator) -> Array:
    """Draw shares along an axis from the Dirichlet distribution with these virtual counts."""
    out = np.maximum(rng.standard_gamma(np.maximum(mass, 1e-3)), _LEAST)
    return out / out.sum(axis=axis, keepdims=True)


def _chosen(
    sizes: tuple[float, ...], counts: Array, centers: Array, axis: int, rng: np.random.Generator
) -> float:
    """Draw the number of virtual answers by the likelihood of the counts."""
    height = np.array([log_chance(counts, size * centers, axis) for size in sizes])
    steps = np.exp(height - height.max()).cumsum()
    return sizes[min(int((rng.random() * steps[-1] >= steps).sum()), len(sizes) - 1)]


def log_chance(counts: Array, virtual: Array, axis: int) -> float:
    """Compute ``log P(counts)`` where their shares are drawn from a Dirichlet distribution.

    The sum over cells of ``log G(virtual + count) / G(virtual)``, less the same of their sums.

    Examples
    --------
    >>> round(float(np.exp(log_chance(np.array([2.0, 0.0]), np.array([1.0, 1.0]), 0))), 6)
    0.333333
    """
    virtual = np.maximum(virtual, 1e-3)
    cells = gammaln(virtual + counts) - gammaln(virtual)
    sums = gammaln(virtual.sum(axis=axis)) - gammaln((virtual + counts).sum(axis=axis))
    return float(cells.sum() + sums.sum())
