"""Where a search begins: from the labels, from other error rates, from random rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer.channel import Channel
from misnomer.model import Model, weights_of
from misnomer.solvers.counts import from_counts
from misnomer.solvers.task import Task, tally
from misnomer.stats import Stats

Array = NDArray[np.float64]

_DIAGONALS = (0.6, 0.95, 0.7, 0.9)  # tried after the channel's own


def starts(task: Task) -> list[tuple[Model, Array]]:
    """List ``n_init`` starting models with their virtual examples.

    The first takes the labels through the channel as it stands; the next ones the same with
    another diagonal; all further ones random rows as the centers of the classes.
    """
    found = []
    if task.channel.n_labels and task.by_label.rows > 0:
        channels = [task.channel, *_variants(task.channel)][: task.n_init]
        for channel in channels:
            found.append(from_counts(task.schema, task.by_label, channel, task.smoothing))
    rng = np.random.default_rng(task.seed)
    while len(found) < task.n_init:
        found.append(random_start(task, rng))
    return found


def _variants(channel: Channel) -> list[Channel]:
    """Move the free cells toward other diagonals."""
    L, K = channel.matrix.shape
    if K != L or not channel.free.any():
        return []
    out = []
    for diagonal in _DIAGONALS:
        off = (1.0 - diagonal) / max(K - 1, 1)
        mass = np.eye(K) * (diagonal - off) + off
        out.append(replace(channel, counts=np.zeros((L, K))).refit(mass))
    return [replace(one, counts=channel.counts) for one in out]


def random_start(task: Task, rng: np.random.Generator) -> tuple[Model, Array]:
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
