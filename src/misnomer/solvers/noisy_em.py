"""EM as the papers start it: from the closed form, from random models, from a diagonal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from misnomer.channel import flips, free
from misnomer.solvers.em import climb, em
from misnomer.solvers.moments.align_classes import align_classes, dominant
from misnomer.solvers.moments.flip_rates import moments
from misnomer.solvers.starts import random_start
from misnomer.solvers.task import Fit, Task

_NEAREST = 0.01  # a flip rate of exactly 0 or 1 would never change


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
    matrix = np.clip(start.model.channel.matrix, _NEAREST, 1 - _NEAREST)
    model = replace(start.model, channel=replace(start.model.channel, matrix=matrix))
    fit = climb(task, model, start.details["virtual"])
    details = {**start.details, **fit.details, "objectives": np.array([fit.objective])}
    return replace(fit, model=align_classes(fit.model), details=details)


def em_from_random(task: Task) -> Fit:
    """Run EM to its end from ``n_init`` random models with random flip rates; keep the best."""
    task = bounded(task)
    rng = np.random.default_rng(task.seed)
    fits = []
    for _ in range(task.n_init):
        model, virtual = random_start(task, rng)
        rates = rng.uniform(_NEAREST, 0.5, size=task.channel.n_classes).tolist()
        channel = replace(task.channel, matrix=flips(rates).matrix)
        fits.append(climb(task, replace(model, channel=channel), virtual))
    best = max(fits, key=lambda fit: fit.objective)
    details = {**best.details, "objectives": np.array([fit.objective for fit in fits])}
    return replace(best, model=align_classes(best.model), details=details)


def em_from_diagonal(task: Task, diagonal: float = 0.8) -> Fit:
    """Run EM with a full channel that starts with ``diagonal``, and keep its diagonal largest."""
    if not 0.0 < diagonal < 1.0:
        raise ValueError(
            f"the diagonal of the first channel must lie between 0 and 1, not {diagonal}: "
            "EM never leaves the identity"
        )
    counts = task.channel.counts
    fit = em(replace(bounded(task), channel=free(task.channel.n_classes, diagonal, counts=counts)))
    model = align_classes(fit.model)
    return replace(fit, model=model, details={**fit.details, "dominant": dominant(model.channel)})
