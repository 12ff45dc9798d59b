"""An aspect model of rows and classes: every cell of a row may come from another class.

    P(class z, row i, cell w) = P(z) P(i | z) P(w | z)

Cells are the words of a text, the values of categories and flags. EM shares each cell out,
``P(z | i, w) ~ P(z, i) P(w | z)``, and adds up: P(z, i) over the cells of a row, P(w | z) over the
rows. It starts at the given labels, which a row then leaves as far as its cells speak for another
class; the shares P(z | i) that are reached weigh the rows of a naive Bayes classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.families import Gaussian
from misnomer.model import Model, weights_of
from misnomer.solvers.moments import feature_map, feature_rows
from misnomer.solvers.task import Details, Fit, Task
from misnomer.table import Schema

Array = NDArray[np.float64]

MIN_SHARE = 1e-12  # a share that rounds to nothing must not divide by zero


@dataclass(frozen=True, eq=False)
class AspectFit(Fit):
    """A naive Bayes model, and the ``shares`` P(class | row) that weighed its rows, (n, K)."""

    shares: Array = field(kw_only=True)


def aspect(task: Task, trust: float = 0.8) -> Fit:
    """Share rows out over the classes by the aspect model, then count by these shares.

    Parameters
    ----------
    task : Task
        Rows of categories, flags, counts or texts; ``max_iter`` passes are made.
    trust : float
        P(true = given) at the start.
    """
    _check(task.schema, trust)
    basis = feature_map(task.schema, task.whole.sums[0], task.whole.rows)
    rows = [one for batch in task.batches for one in feature_rows(basis, batch)]
    cells = sparse.csr_array(sparse.vstack([x for _, x, _ in rows]))
    weight = np.concatenate([each for _, _, each in rows])
    given = np.concatenate([batch.given for batch in task.batches])
    start = _start(given, task.channel, trust)
    shares = share_out(sparse.csr_array(cells * weight[:, None]), start, task.max_iter)
    return _counted(task, shares, given, weight)


def share_out(cells: sparse.csr_array, shares: Array, passes: int) -> Array:
    """Climb from the first shares P(z | row), (n, K), and return the last.

    Examples
    --------
    >>> cells = sparse.csr_array([[4.0, 0.0], [3.0, 0.0], [0.0, 5.0], [4.0, 0.0]])
    >>> first = np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]])  # the last is wrong
    >>> share_out(cells, first, 20).round(1).argmax(axis=1).tolist()
    [0, 0, 1, 0]
    """
    mass = np.asarray(cells.sum(axis=1)).ravel()[:, None]
    joint = shares * np.maximum(mass, MIN_SHARE)  # P(z, i), up to a constant
    profile = _normal(np.asarray(cells.T @ shares))  # P(w | z), (f, K)
    row = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    for _ in range(passes):
        total = np.einsum("ek,ek->e", joint[row], profile[cells.indices])
        ratio = cells.copy()
        ratio.data = cells.data / np.maximum(total, MIN_SHARE)
        joint, profile = (
            joint * np.asarray(ratio @ profile),
            _normal(profile * np.asarray(ratio.T @ joint)),
        )
    return joint / np.maximum(joint.sum(axis=1, keepdims=True), MIN_SHARE)


def _normal(profile: Array) -> Array:
    profile = profile + 1.0 / max(len(profile), 1)  # one virtual cell for each class
    return profile / profile.sum(axis=0)


def _start(given: NDArray[np.int32], channel: Channel, trust: float) -> Array:
    """Trust each label so far; a missing one says nothing, (n, K)."""
    K = channel.n_classes
    table = np.full((channel.n_labels + 1 + K, K), (1 - trust) / max(K - 1, 1))
    table[np.arange(K), np.arange(K)] = trust
    table[channel.n_labels] = 1.0 / K
    table[channel.n_labels + 1 :] = np.eye(K)  # trusted rows
    return table[given]


def _counted(task: Task, shares: Array, given: NDArray[np.int32], weight: Array) -> Fit:
    mass = shares * weight[:, None]
    ends = np.cumsum([len(batch) for batch in task.batches])
    pairs = zip(task.batches, np.split(mass, ends[:-1]), strict=True)
    sums = np.sum([kernels.accumulate(batch.blocks, part) for batch, part in pairs], axis=0)
    seen = given < task.channel.n_labels
    joint = np.zeros((task.channel.n_labels, shares.shape[1]))
    np.add.at(joint, given[seen], mass[seen])
    matrix = (joint + MIN_SHARE) / (joint + MIN_SHARE).sum(axis=0)
    prior = mass.sum(axis=0) + task.smoothing.classes
    virtual = task.smoothing.virtual(task.schema, task.whole, prior[None, :] / prior.sum())
    channel = replace(task.channel, matrix=matrix)
    model = Model(prior / prior.sum(), channel, weights_of(task.schema, sums, virtual), task.schema)
    objective = task.fold(model.expect, task.batches).loglik
    details = Details(virtual=virtual)
    history = (objective,) * task.max_iter
    return AspectFit(model, objective, history, details=details, shares=shares)


def _check(schema: Schema, trust: float) -> None:
    if not 0.0 < trust < 1.0:
        raise ValueError(f"trust must lie between 0 and 1, not {trust}: a share of 0 stays 0")
    for group in schema.groups:
        if isinstance(group.family, Gaussian):
            name = schema.columns[group.members[0]].name
            raise ValueError(
                f"column {name!r} holds reals, which have no cells to share out; cut them into bins"
            )
