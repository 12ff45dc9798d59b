"""Labels taken as true, and counted once: plain naive Bayes, and Cestnik's three rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from misnomer.channel import Channel
from misnomer.families.family import log
from misnomer.model import Model, weights_of
from misnomer.smoothing import Smoothing
from misnomer.solvers.task import Details, Fit, Task
from misnomer.stats import Stats
from misnomer.table import Schema

Array = NDArray[np.float64]


def counts(task: Task) -> Fit:
    """Count the statistics by given label and turn them into weights: one pass."""
    model, virtual = from_counts(task.schema, task.by_label, task.channel, task.smoothing)
    objective = model.log_prior(virtual, task.smoothing.classes)
    return Fit(model, objective, (objective,), details=Details(virtual=virtual))


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


def m_estimate_probability(
    successes: ArrayLike, trials: ArrayLike, prior: ArrayLike = 0.5, m: float = 2.0
) -> tuple[Array, Array]:
    """Estimate a probability from n successes in N trials, and say how sure that is.

    A Beta(m p, m (1 - p)) prior gives a Beta posterior with

        mean = (n + m p) / (N + m)        variance = mean (1 - mean) / (N + m + 1)

    Parameters
    ----------
    successes, trials : array_like
        n and N.
    prior : array_like
        p, the probability expected beforehand; 1/2 with m = 2 is Laplace's law of succession.
    m : float
        How many trials that expectation is worth.

    Returns
    -------
    mean, variance : arrays
        Of the posterior distribution of the probability.

    Examples
    --------
    >>> mean, variance = m_estimate_probability(3, 4)
    >>> mean.round(4).item(), variance.round(4).item()
    (0.6667, 0.0317)
    """
    if not m > 0:
        raise ValueError(f"m must be positive, not {m}: without virtual trials there is no prior")
    n, N, p = (np.asarray(value, np.float64) for value in (successes, trials, prior))
    if np.any((n < 0) | (n > N)) or np.any((p < 0) | (p > 1)):
        raise ValueError("successes must lie between 0 and trials, and the prior between 0 and 1")
    mean = (n + m * p) / (N + m)
    return mean, mean * (1 - mean) / (N + m + 1)


def bayes(task: Task, rule: str, m: float = 2.0) -> Fit:
    """Score each class by ``log P(C) + sum_i log h(i)``, ``h(i) = P(C | V_i) / P(C)``.

    Parameters
    ----------
    task : Task
        Rows with categories only.
    rule : {"frequency", "laplace", "m"}
        Bayes1: ``n(CV) / n(V)``, and h = 1 where n(V) = 0. Bayes2: ``(n(CV) + 1) / (n(V) + 2)``.
        Bayes3: ``(n(CV) + m P(C)) / (n(V) + m)``.
    m : float
        The m of Bayes3.
    """
    _check(task)
    both, mass = task.by_label.sums, task.by_label.mass  # n(CV) (K, S) and n(C) (K,)
    value = both.sum(axis=0)  # n(V)
    prior = mass / mass.sum()
    if rule != "frequency":
        prior = (mass + 1.0) / (mass.sum() + len(mass))
    weights = log(factor(both, value, prior[:, None], rule, m))
    model = Model(prior, task.channel, weights, task.schema)
    return Fit(model, 0.0, (0.0,))


def factor(both: Array, value: Array, prior: Array, rule: str, m: float) -> Array:
    """Compute ``h = P(C | V) / P(C)`` from the counts n(CV) and n(V).

    Examples
    --------
    >>> factor(np.array([0.0]), np.array([0.0]), np.array([0.25]), "laplace", 2.0).tolist()
    [2.0]
    """
    if rule == "frequency":
        known = (value > 0) & (prior > 0)
        share = both / np.where(value > 0, value, 1.0)
        return np.where(known, share / np.where(prior > 0, prior, 1.0), 1.0)
    if rule == "laplace":
        return (both + 1.0) / (value + 2.0) / prior
    return (both + m * prior) / (value + m) / prior


def _check(task: Task) -> None:
    for column in task.schema.columns:
        if column.kind not in ("categorical", "ignored"):
            raise ValueError(
                f"column {column.name!r} is {column.kind}, but this formula is for categories: "
                "cut numbers into bins first"
            )
