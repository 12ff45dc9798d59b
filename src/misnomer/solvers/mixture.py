"""A mixture of normal distributions with a known variance: EM for the means alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.families import Gaussian
from misnomer.model import Model
from misnomer.solvers.em import climb
from misnomer.solvers.starts import random_start
from misnomer.solvers.task import Fit, Task, tally
from misnomer.stats import Stats
from misnomer.table import Group, Schema

Array = NDArray[np.float64]


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
            seed.prior,
            task.channel,
            seed.weights,
            task.schema,
            variance=variance,
            shares=shares,
        )
        start = start.maximise(Stats(np.eye(len(seed.prior)), means), virtual)
        fits.append(climb(task, start, virtual, accelerate=False))
    return max(fits, key=lambda fit: fit.objective)


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
