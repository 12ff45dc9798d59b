"""Starts of a search for two classes: closed forms, with labels and without, and one class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer.model import Model, weights_of
from misnomer.solvers.moments.align_classes import align_classes
from misnomer.solvers.moments.flip_rates import moments
from misnomer.solvers.moments.third_moments import third_moments
from misnomer.solvers.task import Fit, Task

Array = NDArray[np.float64]

_RARE = 0.01  # share of the class without rows
_WIDEST = 400  # statistics: the products of all pairs of columns must stay cheap


def closed_forms(task: Task) -> list[tuple[Model, Array]]:
    """List the models of NB-CCCN and of NB-UNL, as far as these have an answer."""
    found = []
    for solve in (moments, _unlabeled):
        fit = _answer(solve, task)
        if fit is not None:
            found.append((fit.model, fit.details["virtual"]))
    return found


def one_class(task: Task) -> list[tuple[Model, Array]]:
    """List the simplest explanations: nearly every row is of class 0, or of class 1.

    Where one class has hardly any rows, nothing but these tells how the labels came about.
    """
    whole = task.whole
    virtual = task.smoothing.virtual(task.schema, whole, np.full((1, 2), 0.5))
    weights = weights_of(task.schema, np.repeat(whole.sums, 2, axis=0), virtual)
    priors = np.array([[1 - _RARE, _RARE], [_RARE, 1 - _RARE]])
    return [(Model(prior, task.channel, weights, task.schema), virtual) for prior in priors]


def _answer(solve: Callable[[Task], Fit], task: Task) -> Fit | None:
    try:
        return solve(task)
    except ValueError:  # where a closed form has no answer there is no such start
        return None


def _unlabeled(task: Task) -> Fit:
    """Find the classes from the columns alone, then let the labels name them."""
    if task.schema.statistics > _WIDEST:
        raise ValueError(f"{task.schema.statistics} statistics are too many for triples of columns")
    silent = replace(task.channel, matrix=np.full((2, 2), 0.5))  # labels say nothing
    fit = third_moments(replace(task, channel=silent))
    seen = task.fold(fit.model.expect, task.batches)
    channel = replace(silent, counts=np.ones((2, 2))).refit(seen.joint[:2])
    named = align_classes(replace(fit.model, channel=channel))
    channel = replace(named.channel, counts=task.channel.counts)
    return replace(fit, model=replace(named, channel=channel))
