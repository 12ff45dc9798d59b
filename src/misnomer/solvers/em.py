"""Expectation maximization for any channel: where it starts, how it climbs, and who starts it.

Anderson acceleration looks ahead and cannot do harm: a step that overshoots is taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import Channel, flips, free
from misnomer.families import Gaussian
from misnomer.model import Model, weights_of
from misnomer.solvers.counts import from_counts
from misnomer.solvers.flip_rates import moments
from misnomer.solvers.moments import align_classes
from misnomer.solvers.task import Details, Fit, Task, tally
from misnomer.stats import Stats
from misnomer.table import Group, Schema

Array = NDArray[np.float64]
Start = tuple[Model, Array]


ANDERSON_DEPTH = 5  # passes that an extrapolation looks back on
TRIAL_PASSES = 8  # of each start; those better than all before them go on to the end


def em(task: Task) -> Fit:
    """Run EM from several starts and keep the best end: with more starts it is never worse."""
    candidates = starts(task)
    if len(candidates) > 1:
        candidates = _records(task, candidates)
    return best_of(climb(task, *one) for one in candidates)


def best_of(runs: Iterable[Fit]) -> Fit:
    """Keep the best end of several runs, and what each of them has reached."""
    ends = list(runs)
    best = max(ends, key=lambda fit: fit.objective)
    return replace(best, objectives=np.array([fit.objective for fit in ends]))


def _records(task: Task, candidates: list[Start]) -> list[Start]:
    """Keep the starts that, after a few passes, are better than all before them.

    The first always is one, and further starts take none away.
    """
    trial = replace(task, max_iter=TRIAL_PASSES, progress=None)
    kept, best = list[Start](), -np.inf
    for one in candidates:
        reached = climb(trial, *one).objective
        if reached > best or not kept:
            kept.append(one)
            best = reached
    return kept


def climb(task: Task, start: Model, virtual: Array, *, accelerate: bool = True) -> Fit:
    """Alternate ``expect`` (one pass over the rows) and ``maximise`` until the gain is small.

    Every pass yields the objective of the model it started from. A plain step cannot lower it;
    an extrapolated one can, and is then taken back: the search goes on from the last plain step.
    """
    classes = task.smoothing.classes
    memory = _Memory()
    model, plain, best = start, start, -np.inf
    history: list[float] = []
    for _ in range(task.max_iter):
        stats = task.fold(model.expect, task.batches)
        objective = stats.loglik + model.log_prior(virtual, classes)
        history.append(objective)
        if task.progress is not None:
            task.progress(len(history), objective)
        if objective < best and model is not plain:  # the extrapolation overshot
            memory.clear()
            model = plain
            continue
        gain, best = objective - best, objective
        if gain <= task.tol * stats.rows:
            return Fit(model, objective, tuple(history), True, Details(virtual=virtual))
        plain = model.maximise(stats, virtual, classes)
        ahead = memory.extrapolate(stats) if accelerate else None
        model = plain if ahead is None else plain.maximise(ahead, virtual, classes)
    return Fit(plain, best, tuple(history), False, Details(virtual=virtual))


class _Memory:
    """Anderson acceleration of the fixed point ``sums -> sums``.

    The expected sums determine the next model, so EM is a map from sums to sums. A combination of
    sums whose weights add up to one keeps every linear law: the classes still add up to the table.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.taken: Stats | None = None  # the sums that made the current model
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []

    def extrapolate(self, out: Stats) -> Stats | None:
        """Combine the last passes so that the predicted change is least; None without memory."""
        previous, self.taken = self.taken, out
        if previous is None:
            return None
        self.inputs.append(_flat(previous))
        self.outputs.append(_flat(out))
        del self.inputs[: -ANDERSON_DEPTH - 1], self.outputs[: -ANDERSON_DEPTH - 1]
        if len(self.inputs) < 2:
            return None
        residual = np.stack(self.outputs, axis=1) - np.stack(self.inputs, axis=1)
        last = self.outputs[-1]
        residual = residual / _spread(last)[:, None]
        steps = residual[:, :-1] - residual[:, -1:]
        share = np.linalg.lstsq(steps, -residual[:, -1], rcond=1e-10)[0]
        ahead = last + np.stack([b - last for b in self.outputs[:-1]], axis=1) @ share
        self.taken = _shaped(_held(last, ahead), out)
        return self.taken


def _spread(sums: Array) -> Array:
    """Tell in what unit a change of a sum is small: as of a count, ``sqrt(sum)``.

    Without it the most frequent values alone would say where to go. A small sum is no reason to
    look closer than a thousandth of the mean one.

    Examples
    --------
    >>> _spread(np.array([4.0, -9.0, 0.0])).round(3).tolist()
    [2.0, 3.0, 0.066]
    """
    size = np.abs(sums)
    least = max(1e-3 * float(size.mean()), np.finfo(np.float64).tiny)
    return np.sqrt(np.maximum(size, least))


def _held(last: Array, ahead: Array) -> Array:
    """Keep what is positive positive: no sum may fall under a tenth of its last value.

    What has underflowed to zero stays there: a hair below it, a mass would have no logarithm.
    """
    held = np.maximum(ahead, 0.1 * last)
    return np.where(last > 0, held, np.where(last == 0, 0.0, ahead))


def _flat(stats: Stats) -> Array:
    return np.concatenate([stats.joint.ravel(), stats.sums.ravel()])


def _shaped(flat: Array, like: Stats) -> Stats:
    cut = like.joint.size
    joint, sums = flat[:cut].reshape(like.joint.shape), flat[cut:].reshape(like.sums.shape)
    return replace(like, joint=joint, sums=sums)


START_DIAGONALS = (0.6, 0.95, 0.7, 0.9)  # tried after the channel's own


def starts(task: Task) -> list[Start]:
    """List ``n_init`` starting models with their virtual examples.

    The first takes the labels through the channel as it stands; the next ones the same with
    another diagonal; all further ones random rows as the centers of the classes.
    """
    candidates: list[Start] = []
    if task.channel.n_labels and task.by_label.rows > 0:
        channels = [task.channel, *at_diagonals(task.channel, START_DIAGONALS)][: task.n_init]
        for channel in channels:
            candidates.append(from_counts(task.schema, task.by_label, channel, task.smoothing))
    return with_random(task, candidates)


def with_random(task: Task, candidates: list[Start]) -> list[Start]:
    """Add random starts until there are ``n_init``."""
    rng = np.random.default_rng(task.seed)
    more = range(len(candidates), task.n_init)
    return [*candidates, *(random_start(task, rng) for _ in more)]


def at_diagonals(channel: Channel, diagonals: Sequence[float]) -> list[Channel]:
    """Move the free cells toward other diagonals; none where there is no way to."""
    L, K = channel.matrix.shape
    if L != K or K < 2 or not channel.free.any():
        return []
    bare = replace(channel, counts=np.zeros((L, K)))
    off = [(1.0 - diagonal) / (K - 1) for diagonal in diagonals]
    moved = [bare.refit(np.eye(K) * (1.0 - K * share) + share) for share in off]
    return [replace(one, counts=channel.counts) for one in moved]


def random_start(task: Task, rng: np.random.Generator) -> Start:
    """Center each class on a random row, with the spread of the whole table."""
    K = task.channel.n_classes
    whole = task.whole
    virtual = task.smoothing.virtual(task.schema, whole, np.full((1, K), 1.0 / K))
    first = task.batches[0]
    chosen = np.sort(rng.choice(len(first), size=K, replace=len(first) < K))
    rows = tally(replace(first.take(chosen), weight=None), np.arange(K), K)
    average = Stats(whole.joint / whole.rows, whole.sums / whole.rows)
    weights = weights_of(task.schema, rows.sums + average.sums, virtual)
    return Model(np.full(K, 1.0 / K), task.channel, weights, task.schema), virtual


MIN_FLIP_RATE = 0.01  # a flip rate of exactly 0 or 1 would never change


def bounded(task: Task) -> Task:
    """Give real columns one virtual example at the pooled variance, if they have none.

    Without it the likelihood has no maximum: a class may shrink to a single row.
    """
    shrink = max(task.smoothing.shrink, 1.0)
    return replace(task, smoothing=replace(task.smoothing, shrink=shrink))


def em_from_moments(task: Task, estimator: str = "least-squares") -> Fit:
    """Run EM once, from the closed form."""
    task = bounded(task)
    start = moments(task, estimator)
    matrix = np.clip(start.model.channel.matrix, MIN_FLIP_RATE, 1 - MIN_FLIP_RATE)
    model = replace(start.model, channel=replace(start.model.channel, matrix=matrix))
    fit = best_of([climb(task, model, start.virtual)])
    return replace(fit, model=align_classes(fit.model), projection=start.projection)


def em_from_random(task: Task) -> Fit:
    """Run EM to its end from ``n_init`` random models with random flip rates; keep the best."""
    task = bounded(task)
    rng = np.random.default_rng(task.seed)
    fits = []
    for _ in range(task.n_init):
        model, virtual = random_start(task, rng)
        rates = rng.uniform(MIN_FLIP_RATE, 0.5, size=task.channel.n_classes).tolist()
        channel = replace(task.channel, matrix=flips(rates).matrix)
        fits.append(climb(task, replace(model, channel=channel), virtual))
    best = best_of(fits)
    return replace(best, model=align_classes(best.model))


def em_from_diagonal(task: Task, diagonal: float = 0.8) -> Fit:
    """Run EM with a full channel that starts with ``diagonal``, and keep its diagonal largest."""
    if not 0.0 < diagonal < 1.0:
        raise ValueError(
            f"the diagonal of the first channel must lie between 0 and 1, not {diagonal}: "
            "EM never leaves the identity"
        )
    counts = task.channel.counts
    fit = em(replace(bounded(task), channel=free(task.channel.n_classes, diagonal, counts=counts)))
    return replace(fit, model=align_classes(fit.model))


@dataclass(frozen=True, eq=False)
class KnownVariance(Model):
    """A model whose classes share one variance and, unless ``shares``, one prior."""

    variance: float = 1.0
    shares: bool = False

    def maximise(self, stats: Stats, virtual: Array, classes: float = 0.0) -> KnownVariance:
        """Move each mean to the average of the rows it is responsible for."""
        mass = stats.mass
        weights = self.schema.each(lambda group: _weights(group, stats.sums, self.variance))
        prior = mass / mass.sum() if self.shares else np.full(len(mass), 1.0 / len(mass))
        return replace(self, prior=prior, weights=weights)

    def log_prior(self, virtual: Array, classes: float = 0.0) -> float:
        """Nothing: there are no virtual examples."""
        return 0.0


def mixture(task: Task, variance: float = 1.0, shares: bool = False) -> Fit:
    """Run plain EM from ``n_init`` random starts; as the variance goes to 0 this is k-means."""
    if not variance > 0 or not np.isfinite(variance):
        raise ValueError(f"the variance must be positive, not {variance}")
    _check(task.schema)
    rng = np.random.default_rng(task.seed)
    fits = []
    for _ in range(task.n_init):
        seed, virtual = random_start(task, rng)
        means = _first_means(task, rng)
        start = KnownVariance(
            seed.prior, task.channel, seed.weights, task.schema, variance=variance, shares=shares
        ).maximise(Stats(np.eye(len(seed.prior)), means), virtual)
        fits.append(climb(task, start, virtual, accelerate=False))
    return best_of(fits)


def _first_means(task: Task, rng: np.random.Generator) -> Array:
    """Take different rows as the first means."""
    K, first = task.channel.n_classes, task.batches[0]
    if len(first) < K:
        raise ValueError(f"{K} clusters need {K} rows at least, X has n_samples={len(first)}")
    chosen = rng.choice(len(first), size=K, replace=False)
    return tally(replace(first.take(chosen), weight=None), np.arange(K), K).sums


def _weights(group: Group, sums: Array, variance: float) -> Array:
    """Compute ``t(x) . w = -(x - mean)^2 / 2v - log(2 pi v) / 2`` with the known variance v."""
    assert isinstance(group.family, Gaussian)
    _, mean, _ = group.family.spread(sums[:, group.span])
    seen = -0.5 * (np.log(2 * np.pi * variance) + mean**2 / variance)
    return np.concatenate([seen, mean / variance, np.full_like(mean, -0.5 / variance)], axis=1)


def _check(schema: Schema) -> None:
    for column in schema.columns:
        if column.kind not in ("gaussian", "ignored"):
            raise ValueError(
                f"column {column.name!r} is {column.kind}, but a mixture of normal distributions "
                "needs numbers; use NoisyLabelNB(channel=unlabeled(K)) for other columns"
            )
