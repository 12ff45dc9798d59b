"""Which solver finds the model, and what its parameters mean in the table's own terms."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from misnomer import kernels
from misnomer.channel import Channel, auto
from misnomer.families import Gaussian
from misnomer.head.solve import Head
from misnomer.model import Model, weights_of
from misnomer.solvers import sparse
from misnomer.solvers.conditional import conditional
from misnomer.solvers.counts import counts
from misnomer.solvers.em import em
from misnomer.solvers.flip_rates import moments
from misnomer.solvers.task import Fit, Task
from misnomer.solvers.variational import variational
from misnomer.stats import Stats
from misnomer.table import Group, Schema

_SOLVERS: dict[str, Callable[[Task], Fit]] = {
    "conditional": conditional,
    "counts": counts,
    "em": em,
    "head": Head(),
    "moments": moments,
    "variational": variational,
}


def solve(solver: str | Callable[[Task], Fit], task: Task, *, by_sums: bool = False) -> Fit:
    """Find the model by the solver of that name.

    "auto" counts where labels are taken as true, asks the head where nothing was said of the
    channel, and climbs by EM where something was, or where the answer must follow from sums
    (``by_sums``).
    A solver with settings of its own is given as what it is: ``Conditional(penalty=10)``. Where
    labels are many, what occurs is all that is kept, whoever was asked.
    """
    if task.sparse:
        return sparse.solve(task)
    if callable(solver):
        return solver(task)
    if solver == "auto":
        solver = _chosen(task, by_sums)
    if solver not in _SOLVERS:
        known = ", ".join(f'"{name}"' for name in ("auto", *_SOLVERS))
        raise ValueError(f"solver must be {known}, not {solver!r}")
    return _SOLVERS[solver](task)


def _chosen(task: Task, by_sums: bool) -> str:
    if takes_as_true(task.channel) and _unlabeled(task) == 0:
        return "counts"
    return "head" if is_default_channel(task.channel) and not by_sums else "em"


def _unlabeled(task: Task) -> float:
    bare = task.channel.n_labels
    return float(task.fold(lambda batch: float((batch.given == bare).sum()), task.batches))


def is_default_channel(channel: Channel) -> bool:
    """Tell the channel that the name "auto" stands for: any matrix, most weight on its diagonal."""
    if channel.n_labels < 2 or channel.n_labels != channel.n_classes:
        return False
    usual = auto(channel.n_labels)
    same = np.array_equal(channel.matrix, usual.matrix) and channel.free.all()
    return bool(same and np.array_equal(channel.counts, usual.counts) and channel.tied == "cells")


def takes_as_true(channel: Channel) -> bool:
    """Tell the identity channel: what is given is true."""
    square = channel.n_labels == channel.n_classes and channel.n_labels > 0
    return bool(
        square and not channel.free.any() and (channel.matrix == np.eye(channel.n_labels)).all()
    )


def warn_of_search(solver: Any, passes: int) -> None:
    """Warn whoever called fit that its search was cut short; who chose no solver hears of none."""
    words = f"{_name(solver)} has not converged after {passes} passes: raise max_iter or tol"
    if solver == "auto":
        words = (
            f"The search for the best fit was stopped after {passes} passes, before it had "
            "settled: the numbers may still move a little"
        )
    warnings.warn(words, ConvergenceWarning, stacklevel=4)


def _name(solver: Any) -> str:
    """Name what searched."""
    if isinstance(solver, str):
        return f'The solver "{solver}"'
    named = getattr(solver, "func", solver)  # a function with settings: a partial
    return f"The solver {getattr(named, '__name__', type(named).__name__)}"


Array = NDArray[np.float64]


def checked_class_prior(class_prior: Any, fit_prior: bool, K: int) -> Array | None:
    """Check the class shares that the user wants to predict with; None learns them.

    Examples
    --------
    >>> (
    ...     checked_class_prior(None, False, 2).tolist(),
    ...     checked_class_prior([0.3, 0.7], True, 2).tolist(),
    ... )
    ([0.5, 0.5], [0.3, 0.7])
    """
    if class_prior is None:
        return None if fit_prior else np.full(K, 1.0 / K)
    prior = np.asarray(class_prior, np.float64)
    if prior.shape != (K,):
        raise ValueError(f"Number of priors must match number of classes: {prior.size}, not {K}")
    if not np.isclose(prior.sum(), 1.0):
        raise ValueError(f"The sum of the priors should be 1, not {prior.sum()}")
    if (prior < 0).any():
        raise ValueError(f"Priors must be non-negative, and one is {prior.min()}")
    return prior


def with_prior(model: Model, prior: Array | None) -> Model:
    """Predict with other class shares: what the columns say stays what it is."""
    return model if prior is None else replace(model, prior=prior)


def feature_log_prob(model: Model) -> Any:
    """Give log P(value | class): an array of flags or counts, or a list by column of categories."""
    kinds = [group.kind for group in model.schema.groups]
    if len(kinds) == 1 and kinds[0] in ("count", "text"):
        return model.weights
    if kinds == ["bernoulli"]:
        d = len(model.schema.groups[0].members)
        return model.weights[:, :d] + model.weights[:, d:]
    if kinds and {*kinds} == {"categorical"}:
        return [model.weights[:, span] for span in _spans(model.schema)]
    raise AttributeError(
        "feature_log_prob_ is of flags, counts or categories alone; of mixed columns see model_"
    )


def _spans(schema: Schema) -> list[slice]:
    """Find where the categories of each column stand, in the order of the columns."""
    spans: dict[int, slice] = {}
    for group in schema.groups:
        start = group.span.start
        for i in group.members:
            stop = start + len(schema.columns[i].categories)
            spans[i] = slice(start, stop)
            start = stop
    return [spans[i] for i in sorted(spans)]


def importances(model: Model) -> Array:
    """Compute how much each column tells about the class: its mutual information, in nats.

    Under the model, and of a real column by its share of variance between classes,
    ``log(1 + between / within) / 2``. A column of texts has the sum over its words.
    """
    return _importances(model.schema, model.prior, model.weights)


def importances_of_rows(task: Task, posterior: Array) -> Array:
    """Compute `importances` where a model has no weights of each column by itself.

    The rows in memory are shared out over the classes by ``posterior``, (n, K), and counted.
    """
    (batch,) = task.batches
    share = posterior if batch.weight is None else posterior * batch.weight[:, None]
    mass = share.sum(axis=0)
    expected = Stats(np.diag(mass), kernels.accumulate(batch.blocks, share))
    virtual = task.smoothing.virtual(task.schema, expected, np.eye(len(mass)))
    weights = weights_of(task.schema, expected.sums, virtual)
    return _importances(task.schema, mass / mass.sum(), weights)


def _importances(schema: Schema, prior: Array, weights: Array) -> Array:
    out = np.zeros(schema.width)
    place = np.cumsum([0, *(c.width if c.kind == "count" else 1 for c in schema.columns)])
    for group in schema.groups:
        information = _information(group, weights[:, group.span], prior)
        start = 0
        for i in group.members:
            column = schema.columns[i]
            width = column.width if group.kind in ("count", "text") else 1
            some = information[start : start + width]
            if column.kind == "count":
                out[place[i] : place[i + 1]] = some
            else:
                out[place[i]] = some.sum()
            start += width
    return out


def _information(group: Group, weights: Array, prior: Array) -> Array:
    """Tell the mutual information of each column of a group with the class."""
    family = group.family
    if isinstance(family, Gaussian):
        mean, variance = family.moments(weights)
        between = prior @ (mean - prior @ mean) ** 2
        return np.asarray(0.5 * np.log1p(between / (prior @ variance)))
    if group.kind == "bernoulli":
        d = family.columns
        on = np.exp(weights[:, :d] + weights[:, d:]).clip(0.0, 1.0)
        return _divergence(on, prior) + _divergence(1.0 - on, prior)
    cells = _divergence(np.exp(weights), prior)
    information: Array = np.bincount(family.owner, cells, minlength=family.columns).astype(
        np.float64
    )
    return information


def _divergence(p: Array, prior: Array) -> Array:
    """Sum ``prior p log(p / mean p)`` over the classes, cell by cell."""
    mean = prior @ p
    ratio = np.where(p > 0, p / np.where(mean > 0, mean, 1.0), 1.0)
    return np.asarray(prior @ (p * np.log(ratio)))
