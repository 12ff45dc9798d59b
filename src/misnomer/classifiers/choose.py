"""Which solver finds the model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from misnomer.channel import Channel, auto
from misnomer.head.solve import Head
from misnomer.solvers.conditional.fit import conditional
from misnomer.solvers.counts import counts
from misnomer.solvers.em import em
from misnomer.solvers.moments.flip_rates import moments
from misnomer.solvers.task import Fit, Task
from misnomer.solvers.variational.fit import variational

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
    A solver with settings of its own is given as what it is: ``Conditional(penalty=10)``.
    """
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
    """Warn whoever called fit that its search was cut short."""
    warnings.warn(
        f"{_name(solver)} has not converged after {passes} passes: raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=4,
    )


def _name(solver: Any) -> str:
    """Name what searched; "auto" searches by EM wherever it may stop too early."""
    named = "em" if solver == "auto" else solver
    if isinstance(named, str):
        return f'The solver "{named}"'
    named = getattr(named, "func", named)  # a function with settings: a partial
    return f"The solver {getattr(named, '__name__', type(named).__name__)}"
