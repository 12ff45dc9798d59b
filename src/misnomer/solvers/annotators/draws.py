"""Learn from several annotators: judge rows by many plausible channels (Gibbs sampling).

Channels known from eighteen answers are known badly, and a row judged by a best guess of them is
judged too surely. So the classes are drawn from the channels and the channels from the classes, in
turn; a row's posterior is the mean over the draws. How far annotators are held together (virtual
answers at an annotator's character, at the crowd's shares, at the crowd's habits) is drawn too, by
its likelihood: nothing is tuned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from misnomer.answers import Answers
from misnomer.kernels.reference import softmax
from misnomer.solvers.annotators import FIRST, Characters, evidence, obeying
from misnomer.solvers.annotators.fit import SourcesFit, SourcesTask, known, searched

Array = NDArray[np.float64]

#: Virtual answers to choose from: per class at the character, at the crowd's shares and habits.
STRENGTHS = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0)
_SHARES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_HABITS = (0.5, 1.0, 2.0, 4.0, 8.0)
_PATTERN = 1.0  # virtual slips in every cell of the crowd's pattern
_JUDGES = 500  # annotators by whom the virtual answers are chosen: more tell no more
_SWEEPS, _FIRST_SWEEPS, _MIN_SWEEPS = 500, 50, 40
_MAX_ANSWERS_DRAWN = 2e7  # answers drawn in all, before the number of sweeps is cut down
_MIN_SHARE = 1e-12


def learn_sources(task: SourcesTask) -> SourcesFit:
    """Learn, then judge every row by the mean over many plausible channels."""
    fit = searched(task)
    return fit if fit.characters is None else averaged(task, fit)


def averaged(task: SourcesTask, fit: SourcesFit) -> SourcesFit:
    """Draw from where a search ended, and average.

    Classes are put in the order of their votes first, so that their names do not matter.
    """
    order = np.argsort(-task.answers.votes().sum(axis=0), kind="stable")
    back = np.argsort(order)
    mean = _mean(*_renumbered(task, fit, order, back), np.random.default_rng(task.seed))
    prior, share = mean.prior[back], mean.share[:, back]
    return replace(
        fit,
        share=share,
        total=np.log(np.maximum(share, 1e-300)),
        prior=prior,
        channels=mean.channels[:, back][:, :, back],
        centers=None if mean.centers is None else mean.centers[:, back][:, :, back],
        strength=mean.strength,
        model=None if fit.model is None else fit.model.with_shares(prior),
    )


def _renumbered(
    task: SourcesTask, fit: SourcesFit, order: NDArray[np.intp], back: NDArray[np.intp]
) -> tuple[SourcesTask, SourcesFit]:
    """Number the classes anew: ``order[new] = old``, ``back[old] = new``."""
    answers, truth, rule, kinds = task.answers, task.truth, task.knowledge, fit.characters
    assert kinds is not None
    cells = np.ix_(order, order)
    label = back[answers.label].astype(np.int32)
    if truth is not None:
        truth = np.where(truth >= 0, back[truth], -1).astype(np.int32)
    if rule is not None:
        most = {"most": getattr(rule, "most")[order]} if hasattr(rule, "most") else {}  # noqa: B009
        counts = np.broadcast_to(rule.counts, rule.matrix.shape)[cells]
        rule = replace(
            rule, matrix=rule.matrix[cells], free=rule.free[cells], counts=counts, **most
        )
    answers = replace(answers, label=label, labels=answers.labels[order])
    first = replace(
        fit,
        share=fit.share[:, order],
        scores=None if fit.scores is None else fit.scores[:, order],
        characters=Characters(kinds.shares, kinds.habit[:, order], kinds.pattern[cells]),
    )
    return replace(task, answers=answers, truth=truth, knowledge=rule), first


def _mean(task: SourcesTask, state: SourcesFit, rng: np.random.Generator) -> SourcesFit:
    """Leave the first draws out, then add up the others."""
    answers = task.answers
    sweeps = int(
        np.clip(_MAX_ANSWERS_DRAWN / max(len(answers), 1), _MIN_SWEEPS, _SWEEPS + _FIRST_SWEEPS)
    )
    first = max(_FIRST_SWEEPS * sweeps // (_SWEEPS + _FIRST_SWEEPS), 10)
    some = min(answers.n_annotators, _JUDGES)
    judges = np.sort(rng.permutation(answers.n_annotators)[:some])
    total: list[Any] = []
    for turn in range(sweeps):
        state = _sweep(task, state, judges, rng)
        if turn < first:
            continue
        parts = [state.share, state.prior, state.channels, state.centers, np.log(state.strength)]
        total = parts if not total else [a + b for a, b in zip(total, parts, strict=True)]
    share, prior, channels, centers, strength = (part / (sweeps - first) for part in total)
    return replace(
        state, share=share, prior=prior, channels=channels, centers=centers,
        strength=float(np.exp(strength)),
    )  # fmt: skip


def _sweep(
    task: SourcesTask, state: SourcesFit, judges: NDArray[np.intp], rng: np.random.Generator
) -> SourcesFit:
    """Draw classes, characters, channels and prior, each given the rest; then judge the rows."""
    answers, K, before = task.answers, state.share.shape[1], state.characters
    assert before is not None
    z = drawn_rows(state.share, rng)
    weight = np.ones(len(z)) if task.weight is None else task.weight
    place = answers.code * K + z[answers.row]
    size = (answers.n_annotators, answers.n_labels, K)
    counts = _added(place, weight[answers.row], minlength=int(np.prod(size))).reshape(size)
    kinds = drawn_characters(answers, z, weight, counts, before, judges, rng)
    centers, strength = kinds.centers(), task.strength
    if strength is None:
        strength = _chosen(STRENGTHS, counts[judges], centers[judges], 1, rng)
    mass = counts + strength * centers
    if task.knowledge is not None:
        mass = mass + task.knowledge.counts
    channels = obeying(_dirichlet(mass, 1, rng), task.knowledge)
    prior = _dirichlet(_added(z, weight, minlength=K) + 1.0, 0, rng)
    total = evidence(answers, channels) + np.log(prior)
    if state.scores is not None:
        total = total + state.scores
    return replace(
        state,
        share=softmax(known(total, task.truth))[0],
        characters=kinds,
        prior=prior,
        channels=task.rule.channels(counts, centers, strength),
        centers=centers,
        strength=strength,
    )


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
    pattern /= np.maximum(pattern.sum(axis=0), _MIN_SHARE)
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
    out = np.maximum(rng.standard_gamma(np.maximum(mass, 1e-3)), _MIN_SHARE)
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
