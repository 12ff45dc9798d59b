"""Variational Bayes: a distribution over parameters in place of one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, digamma, gammaln

from misnomer import kernels
from misnomer.channel import Channel, tied_mass
from misnomer.families import Bernoulli, Count, Gaussian
from misnomer.families.family import log
from misnomer.model import Model, weights_of
from misnomer.solvers.counts import from_counts
from misnomer.solvers.em import Start, at_diagonals, best_of, climb, with_random
from misnomer.solvers.flip_rates import moments
from misnomer.solvers.moments import align_classes
from misnomer.solvers.task import Details, Fit, Task
from misnomer.solvers.unlabeled import third_moments
from misnomer.stats import Stats
from misnomer.table import Batch, Group

Array = NDArray[np.float64]
Owner = NDArray[np.intp]

MIN_DIRICHLET = 1e-3  # a Dirichlet prior must be positive


def prior_counts(channel: Channel) -> Array:
    """Take the channel's own counts; where it has none, two right rows and one wrong one.

    Examples
    --------
    >>> from misnomer.channel import flips
    >>> prior_counts(flips([0.2, 0.2])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    if channel.counts.any() or not channel.n_labels:
        return np.maximum(channel.counts, MIN_DIRICHLET)
    L, K = channel.matrix.shape
    off = 1.0 / max(L - 1, 1)
    return np.eye(L, K) * (2.0 - off) + off


def expected_channel(channel: Channel, joint: Array) -> Array:
    """Compute E log P(given | true), (L, K); fixed cells are known."""
    if not channel.n_labels:
        return np.zeros(channel.matrix.shape)
    known = log(channel.matrix)
    free, left = channel.free, 1.0 - np.where(channel.free, 0.0, channel.matrix).sum(axis=0)
    if channel.tied == "cells":
        total = np.where(free, joint, 0.0).sum(axis=0)
        fresh = digamma(joint) - digamma(np.where(total > 0, total, 1.0))
    else:
        right, wrong, cells = tied_mass(joint, free, channel.tied)
        right, wrong = np.maximum((right, wrong), MIN_DIRICHLET)
        total = digamma(right + wrong)
        spread = digamma(wrong) - total - np.log(np.maximum(cells, 1))
        fresh = np.where(np.eye(*joint.shape) > 0, digamma(right) - total, spread)
    return np.where(free, fresh + log(left), known)


def channel_divergence(channel: Channel, joint: Array, counts: Array) -> float:
    """Sum the divergences of the channel's free parameters from their prior."""
    if not channel.free.any():
        return 0.0
    if channel.tied == "cells":
        free = channel.free
        pairs = [(joint[free[:, k], k], counts[free[:, k], k]) for k in range(joint.shape[1])]
        return sum(divergence(a[None, :], b[None, :]) for a, b in pairs if len(a) > 1)
    after, before = (
        np.maximum(np.stack(tied_mass(x, channel.free, channel.tied)[:2], axis=1), MIN_DIRICHLET)
        for x in (joint, counts)
    )
    if channel.tied == "one":
        after, before = after[:1], before[:1]
    return divergence(after, before)


def log_mean(params: Array, owner: Owner | None = None) -> Array:
    """Compute ``E log p = psi(a) - psi(sum a)`` under Dirichlet distributions, (K, c).

    Each row is one, or as many as its cells have owners.

    Examples
    --------
    >>> log_mean(np.array([[1.0, 1.0]])).round(12).tolist()
    [[-1.0, -1.0]]
    """
    total, owner = _totals(params, owner)
    return np.asarray(digamma(params) - digamma(total)[:, owner])


def _totals(params: Array, owner: Owner | None) -> tuple[Array, Owner]:
    """Sum the cells of each distribution, (K, d), and tell whose each cell is."""
    owner = np.zeros(params.shape[1], np.intp) if owner is None else owner
    return np.stack([np.bincount(owner, row) for row in params]), owner


def divergence(after: Array, before: Array, owner: Owner | None = None) -> float:
    """Sum KL(Dirichlet(after) || Dirichlet(before)) over rows, and the owners of their cells.

    Examples
    --------
    >>> divergence(np.array([[2.0, 1.0]]), np.array([[1.0, 1.0]])).__round__(6)  # log 2 - 1/2
    0.193147
    """
    height = gammaln(_totals(after, owner)[0]) - gammaln(_totals(before, owner)[0])
    slope = (after - before) * log_mean(after, owner) - gammaln(after) + gammaln(before)
    return float(height.sum() + slope.sum())


START_DIAGONALS = (0.9, 0.7)  # of the starts' channels
VIRTUAL_CLASS_ROWS = 2.0  # virtual rows of each class, where the smoothing names none


@dataclass(frozen=True, eq=False)
class Belief:
    """A distribution over models, by the sums it has seen; answers what `climb` asks a model."""

    model: Model  # its posterior mean, and the schema
    virtual: Array  # (K, S) Dirichlet prior of the columns
    counts: Array  # (L, K) Dirichlet prior of the channel
    stats: Stats
    classes: float

    @property
    def joint(self) -> Array:
        """Dirichlet posterior of the channel, (L, K)."""
        return self.stats.joint[: self.model.channel.n_labels] + self.counts

    def expect(self, batch: Batch) -> Stats:
        """Share the rows out by ``exp(E log P(z, x, y))`` and add up."""
        channel = self.model.channel
        K = channel.n_classes
        prior = log_mean(self.stats.mass[None, :] + self.classes)
        rows = [expected_channel(channel, self.joint), np.zeros((1, K)), log(np.eye(K))]
        table = np.concatenate(rows) + prior
        weights = self.model.schema.each(self._weights)
        return Stats(*kernels.expect(batch.blocks, weights, table, batch.given, batch.weight))

    def _weights(self, group: Group) -> Array:
        sums, virtual = self.stats.sums[:, group.span], self.virtual[:, group.span]
        if isinstance(group.family, Gaussian):
            return group.family.weights(sums, virtual)
        means = log_mean(_cells(group, sums + virtual), _owner(group))
        if isinstance(group.family, Bernoulli):
            off, on = np.split(means, 2, axis=1)
            return np.concatenate([off, on - off], axis=1)
        return means

    def log_prior(self, virtual: Array, classes: float = 0.0) -> float:
        """Minus the divergence of the posterior from the prior: what the ELBO subtracts."""
        mass = self.stats.mass + self.classes
        total = divergence(mass[None, :], np.full((1, len(mass)), self.classes))
        total += channel_divergence(self.model.channel, self.joint, self.counts)
        for group in self.model.schema.groups:
            total += self._divergence(group)
        return -total

    def _divergence(self, group: Group) -> float:
        prior = self.virtual[:, group.span]
        if isinstance(group.family, Gaussian):
            return -group.family.log_prior(self.model.weights[:, group.span], prior)
        after = self.stats.sums[:, group.span] + prior
        return divergence(_cells(group, after), _cells(group, prior), _owner(group))

    def maximise(self, stats: Stats, virtual: Array, classes: float = 0.0) -> Belief:
        """Take over new sums."""
        mass = stats.mass + self.classes
        joint = stats.joint[: self.model.channel.n_labels]
        model = replace(
            self.model,
            prior=mass / mass.sum(),
            channel=replace(self.model.channel, counts=self.counts).refit(joint),
            weights=weights_of(self.model.schema, stats.sums, self.virtual),
        )
        return replace(self, model=model, stats=stats)


def variational(task: Task) -> Fit:
    """Climb the ELBO from every start; predict with posterior means.

    The best end is kept; of two classes that only their labels name, the average of all ends.
    """
    fits = [_climb(task, *start) for start in _starts(task)]
    best = best_of(fits)
    belief = cast(Belief, best.model)
    if averages(task.channel, belief.stats):
        ends = [(fit.objective, cast(Belief, fit.model)) for fit in fits]
        known = [(bound, end.stats, aligned_chance(end.joint)) for bound, end in ends]
        belief = belief.maximise(average(known), belief.virtual)
    model = replace(belief.model, channel=replace(belief.model.channel, counts=task.channel.counts))
    return replace(best, model=model, details=Details(virtual=belief.virtual))


def _climb(task: Task, start: Model, virtual: Array) -> Fit:
    virtual = _positive(task, virtual)
    classes = task.smoothing.classes or VIRTUAL_CLASS_ROWS
    seen = task.fold(start.expect, task.batches)
    empty = Belief(start, virtual, prior_counts(start.channel), seen, classes)
    belief = empty.maximise(seen, virtual)
    return climb(task, cast(Model, belief), virtual)  # a Belief answers like a Model


def _positive(task: Task, virtual: Array) -> Array:
    def floored(group: Group) -> Array:
        part = virtual[:, group.span]
        if isinstance(group.family, Gaussian):
            return part
        cells = np.maximum(_cells(group, part), MIN_DIRICHLET)
        if isinstance(group.family, Bernoulli):
            off, on = np.split(cells, 2, axis=1)
            return np.concatenate([off + on, on], axis=1)
        return cells

    return task.schema.each(floored)


def _starts(task: Task) -> list[Start]:
    """Naive Bayes seen through two error rates, what two classes allow, random rows."""
    candidates: list[Start] = []
    channel = task.channel
    if channel.n_labels and task.by_label.rows > 0:
        for one in at_diagonals(channel, START_DIAGONALS) or [channel]:
            candidates.append(from_counts(task.schema, task.by_label, one, task.smoothing))
        if channel.matrix.shape == (2, 2) and channel.free.all():
            candidates += closed_forms(task) + one_class(task)
    return with_random(task, candidates)


def _cells(group: Group, sums: Array) -> Array:
    """Write sums as counts of Dirichlet cells, (K, s): ``[seen, on]`` as ``[off, on]``."""
    if not isinstance(group.family, Bernoulli):
        return sums
    seen, on = np.split(sums, 2, axis=1)
    return np.concatenate([np.maximum(seen - on, MIN_DIRICHLET), on], axis=1)


def _owner(group: Group) -> Owner:
    """Tell which distribution each cell is part of: a column, or all words of a text, (s,)."""
    return group.family.owner * (not isinstance(group.family, Count))


RARE_CLASS_SHARE = 0.01  # share of the class without rows
MAX_STATISTICS = 400  # statistics: the products of all pairs of columns must stay cheap


def closed_forms(task: Task) -> list[Start]:
    """List the models of NB-CCCN and of NB-UNL, as far as these have an answer."""
    candidates = []
    for solve in (moments, _unlabeled):
        fit = _answer(solve, task)
        if fit is not None:
            candidates.append((fit.model, fit.virtual))
    return candidates


def one_class(task: Task) -> list[Start]:
    """List the simplest explanations: nearly every row is of class 0, or of class 1.

    Where one class has hardly any rows, nothing but these tells how the labels came about.
    """
    whole = task.whole
    virtual = task.smoothing.virtual(task.schema, whole, np.full((1, 2), 0.5))
    weights = weights_of(task.schema, np.repeat(whole.sums, 2, axis=0), virtual)
    most = np.array([1 - RARE_CLASS_SHARE, RARE_CLASS_SHARE])
    models = [Model(prior, task.channel, weights, task.schema) for prior in (most, most[::-1])]
    return [(model, virtual) for model in models]


def _answer(solve: Callable[[Task], Fit], task: Task) -> Fit | None:
    try:
        return solve(task)
    except ValueError:  # where a closed form has no answer there is no such start
        return None


def _unlabeled(task: Task) -> Fit:
    """Find the classes from the columns alone, then let the labels name them."""
    if task.schema.statistics > MAX_STATISTICS:
        raise ValueError(f"{task.schema.statistics} statistics are too many for triples of columns")
    silent = replace(task.channel, matrix=np.full((2, 2), 0.5))  # labels say nothing
    fit = third_moments(replace(task, channel=silent))
    seen = task.fold(fit.model.expect, task.batches)
    channel = replace(silent, counts=np.ones((2, 2))).refit(seen.joint[:2])
    named = align_classes(replace(fit.model, channel=channel))
    channel = replace(named.channel, counts=task.channel.counts)
    return replace(fit, model=replace(named, channel=channel))


SAME_BOUND_NATS = 0.01  # nats: ends whose bounds are nearer than this are one end
QUANTILES = (np.arange(64) + 0.5) / 64


def averages(channel: Channel, stats: Stats) -> bool:
    """Tell whether only the labels name the classes: two of them, free flip rates, none trusted."""
    free = channel.matrix.shape == (2, 2) and bool(channel.free.all()) and channel.tied != "one"
    return free and not stats.joint[3:].any()


def shares(bounds: Array) -> Array:
    """Share out one by ``exp(bound)``, each distinct end once.

    Examples
    --------
    >>> shares(np.array([-5.0, -5.0, -5.0 - np.log(3)])).round(6).tolist()
    [0.75, 0.0, 0.25]
    """
    again = np.tril(abs(bounds[:, None] - bounds) < SAME_BOUND_NATS, -1).any(axis=1)
    weight = np.where(again, 0.0, np.exp(bounds - bounds.max()))
    out: Array = weight / weight.sum()
    return out


def aligned_chance(joint: Array) -> float:
    """Compute P(flip rates add up to less than one) under the channel's Dirichlet posterior.

    That is P(given 1 | true 1) > P(given 1 | true 0), of two independent Beta variables.

    Examples
    --------
    >>> round(aligned_chance(np.array([[5.0, 5.0], [5.0, 5.0]])), 6)
    0.5
    >>> aligned_chance(np.array([[90.0, 10.0], [10.0, 90.0]])) > 0.999
    True
    """
    (right_0, wrong_1), (wrong_0, right_1) = joint
    return float(betainc(wrong_0, right_0, betaincinv(right_1, wrong_1, QUANTILES)).mean())


def average(ends: Sequence[tuple[float, Stats, float]]) -> Stats:
    """Add up the sums of all ends, each by its share and in both orders of the classes.

    Parameters
    ----------
    ends : sequence of (bound, sums, chance)
        ``chance`` is the share of an end whose flip rates add up to less than one. The rest
        calls each class by the other's name, and is read with the names exchanged.
    """
    weights = shares(np.array([bound for bound, _, _ in ends]))
    total = 0.0 * ends[0][1]
    for weight, (_, stats, chance) in zip(weights, ends, strict=True):
        total = total + (weight * chance) * stats + (weight * (1 - chance)) * mirrored(stats)
    return total


def mirrored(stats: Stats) -> Stats:
    """Exchange the names of two classes.

    Examples
    --------
    >>> mirrored(Stats(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))).sums.tolist()
    [[4.0], [3.0]]
    """
    return Stats(stats.joint[:, ::-1], stats.sums[::-1], stats.loglik)
