"""Which solver finds the model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from misnomer.solvers.conditional import conditional
from misnomer.solvers.counts import counts
from misnomer.solvers.em import em
from misnomer.solvers.moments import moments
from misnomer.solvers.task import Fit, Task
from misnomer.solvers.variational import variational

_SOLVERS: dict[str, Callable[[Task], Fit]] = {
    "conditional": conditional,
    "counts": counts,
    "em": em,
    "moments": moments,
    "variational": variational,
}


def solve(solver: str | Callable[[Task], Fit], task: Task) -> Fit:
    """Find the model by the solver of that name; "auto" counts where labels are taken as true.

    A solver with settings of its own is given as what it is: ``Conditional(penalty=10)``.
    """
    if callable(solver):
        return solver(task)
    if solver == "auto":
        solver = "counts" if _takes_labels_as_true(task) else "em"
    if solver not in _SOLVERS:
        known = ", ".join(f'"{name}"' for name in ("auto", *_SOLVERS))
        raise ValueError(f"solver must be {known}, not {solver!r}")
    return _SOLVERS[solver](task)


def _takes_labels_as_true(task: Task) -> bool:
    channel = task.channel
    if channel.free.any() or not np.array_equal(channel.matrix, np.eye(*channel.matrix.shape)):
        return False
    return channel.n_labels > 0 and all(
        bool((batch.given != channel.n_labels).all()) for batch in task.batches
    )
