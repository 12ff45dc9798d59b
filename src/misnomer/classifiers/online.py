"""Learning from rows that come in parts: the sums of each part are added to those before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from misnomer.classifiers import inputs
from misnomer.classifiers.choose import solve
from misnomer.engines.local import fold
from misnomer.readers import read, read_like
from misnomer.smoothing import resolve
from misnomer.solvers.counts import from_counts
from misnomer.solvers.task import Fit, Task
from misnomer.stats import Stats
from misnomer.table import Batch, Schema, merge


@dataclass(frozen=True, eq=False)
class Seen:
    """What the rows so far have left behind."""

    schema: Schema
    by_label: Stats  # sums by given label
    expected: Stats  # sums by true class


def learn_some(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Share some more rows out over the classes and refit from all the sums."""
    seen: Seen | None = getattr(estimator, "_seen", None)
    X = inputs.checked_table(estimator, X, reset=seen is None)
    weight = inputs.checked_weights(sample_weight, X)
    y = estimator._labels(y, X.shape[0])
    naming = estimator._naming if seen else _named(estimator, y, classes, X.shape[0])
    codes = naming.codes(y)
    weight, X, codes, _ = inputs.kept_rows(weight, X, codes, None)
    fresh, blocks = read(X, estimator.families)
    smoothing = resolve(estimator.smoothing)
    if seen is not None:
        fresh, seen = _together(seen, fresh)
        blocks = read_like(X, fresh)
    batch = Batch(blocks, codes, weight)
    task = Task(fresh, [batch], fold, naming.channel, smoothing, max_iter=estimator.max_iter)
    if seen is None:
        model = solve(estimator.solver, task, by_sums=True).model
        seen = Seen(fresh, _empty(task.by_label), _empty(model.expect(batch)))
    else:
        model = replace(estimator.model_, schema=fresh)
        start, _ = from_counts(fresh, seen.by_label + task.by_label, naming.channel, smoothing)
        same = start.weights.shape == model.weights.shape
        model = model if same else replace(start, channel=model.channel)
    by_label = seen.by_label + task.by_label
    expected = seen.expected + model.expect(batch)
    reverse = model.channel.reverse(model.prior)
    virtual = smoothing.virtual(fresh, by_label, reverse)
    model = model.maximise(expected, virtual, smoothing.classes)
    estimator._seen = Seen(fresh, by_label, expected)
    objective = expected.loglik + model.log_prior(virtual, smoothing.classes)
    estimator._keep(Fit(model, objective, (objective,)), naming)


def _empty(stats: Stats) -> Stats:
    return Stats(np.zeros_like(stats.joint), np.zeros_like(stats.sums))


def _named(estimator: Any, y: Any, classes: Any, n: int) -> inputs.Naming:
    known = y if classes is None else np.asarray(classes)
    return inputs.named(known, estimator.channel, max(n, len(known)))


def _together(seen: Seen, fresh: Schema) -> tuple[Schema, Seen]:
    """Let the schema grow by the categories that are new, and the sums with it."""
    schema, place = merge(seen.schema, fresh)
    if schema == seen.schema:
        return schema, seen

    def moved(stats: Stats) -> Stats:
        sums = np.zeros((len(stats.sums), schema.statistics))
        sums[:, place] = stats.sums
        return replace(stats, sums=sums)

    return schema, Seen(schema, moved(seen.by_label), moved(seen.expected))
