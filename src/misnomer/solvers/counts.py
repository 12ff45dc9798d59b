"""Plain naive Bayes: count once, take every label as true; and where other solvers start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import Channel
from misnomer.model import Model, weights_of
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Fit, Task
from misnomer.stats import Stats
from misnomer.table import Schema

Array = NDArray[np.float64]


def counts(task: Task) -> Fit:
    """Count the statistics by given label and turn them into weights: one pass."""
    model, virtual = from_counts(task.schema, task.by_label, task.channel, task.smoothing)
    objective = model.log_prior(virtual, task.smoothing.classes)
    return Fit(model, objective, (objective,), details={"virtual": virtual})


def from_counts(
    schema: Schema, by_label: Stats, channel: Channel, smoothing: Smoothing
) -> tuple[Model, Array]:
    """Build the model that takes P(true | given) from the channel, and its virtual examples.

    With the identity channel this is plain naive Bayes. Otherwise the sums of each label are
    shared out over the classes by ``channel.reverse``: a start for the other solvers.
    """
    reverse = channel.reverse(class_prior(by_label.mass, channel))
    shared = Stats(by_label.mass[:, None] * reverse, reverse.T @ by_label.sums)
    virtual = smoothing.virtual(schema, by_label, reverse)
    mass = shared.mass + smoothing.classes
    model = Model(mass / mass.sum(), channel, weights_of(schema, shared.sums, virtual), schema)
    return model, virtual


def class_prior(mass: Array, channel: Channel) -> Array:
    """Find the P(true) that the channel would turn into the given labels' shares.

    By maximum likelihood: it stays in the simplex, unlike an inverse.

    Examples
    --------
    >>> from misnomer.channel import flips
    >>> class_prior(np.array([65.0, 35.0]), flips([0.2, 0.3])).round(6).tolist()
    [0.7, 0.3]
    """
    given = mass / mass.sum()
    prior = np.full(channel.n_classes, 1.0 / channel.n_classes)
    for _ in range(500):
        last, prior = prior, given @ channel.reverse(prior)
        if abs(prior - last).max() < 1e-12:
            break
    return prior / prior.sum()
