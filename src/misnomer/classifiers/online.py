"""Learning from rows that come in parts: the sums of each part are added to those before."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from misnomer.classifiers import inputs, labels
from misnomer.classifiers.choose import solve, takes_as_true
from misnomer.engines.local import fold
from misnomer.model import Model
from misnomer.rows import grown, read, read_like
from misnomer.smoothing import resolve
from misnomer.solvers.counts import from_counts
from misnomer.solvers.task import Fit, Task, tally
from misnomer.stats import Stats
from misnomer.table import Batch, Schema, merge

MAX_KEPT_SUMS = 1_000_000  # of sums that a fitted classifier keeps, to go on from


@dataclass(frozen=True, eq=False)
class SumsSoFar:
    """What the rows so far have left behind."""

    schema: Schema
    by_label: Stats  # sums by given label
    expected: Stats  # sums by true class


def sums_of_fit(task: Task, model: Model) -> SumsSoFar | None:
    """Keep the sums of a fit, so that more rows can follow; None where they are too large.

    A model of another kind, such as a network with hidden layers, is not made of sums.
    """
    large = type(model) is not Model or model.weights.size > MAX_KEPT_SUMS
    if large or not model.channel.n_labels:
        return None
    by_label = task.by_label
    if takes_as_true(model.channel) and by_label.rows == task.labeled == _rows(task):
        expected = Stats(_sure(by_label.mass), by_label.sums)
    else:
        expected = fold(lambda batch: shared(model, batch), task.batches)
    return SumsSoFar(task.schema, by_label, expected)


def _rows(task: Task) -> float:
    return float(sum(_weights(batch).sum() for batch in task.batches))


def _sure(mass: Any) -> Any:
    """Lay out the weight of rows whose class is their label, by evidence code, (2L + 1, L)."""
    L = len(mass)
    return np.concatenate([np.diag(mass), np.zeros((L + 1, L))])


def update(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Share some more rows out over the classes and refit from all the sums."""
    seen: SumsSoFar | None = _sums_so_far(estimator)
    X = inputs.checked_table(estimator, X, reset=seen is None)
    weight = inputs.checked_weights(sample_weight, X)
    y = estimator._labels(y, X.shape[0])
    naming = estimator._naming if seen else _named(estimator, y, classes, X.shape[0])
    _check_classes(naming, classes if seen else None, y)
    codes = naming.codes(y)
    weight, X, codes, *_ = inputs.drop_weightless(weight, X, codes, None)
    if seen is None:
        fresh, blocks = read(
            X, estimator.families, min_categories=estimator._setting("min_categories")
        )
        _say_texts(fresh)
    else:
        more = grown(X, seen.schema, may_be_signed=estimator.families == "auto")
        fresh, seen = _merge_schema(seen, more)
        blocks = read_like(X, fresh)
    smoothing = resolve(estimator.smoothing)
    batch = Batch(blocks, codes, weight)
    task = Task(fresh, [batch], fold, naming.channel, smoothing, max_iter=estimator.max_iter)
    if seen is None:
        model = solve(estimator.solver, task, by_sums=True).model
        seen = SumsSoFar(fresh, _empty(task.by_label), _empty(model.expect(batch)))
    else:
        model = replace(estimator.model_, schema=fresh)
        start, _ = from_counts(fresh, seen.by_label + task.by_label, naming.channel, smoothing)
        same = start.weights.shape == model.weights.shape
        model = model if same else replace(start, channel=model.channel)
    by_label = seen.by_label + task.by_label
    expected = seen.expected + shared(model, batch)
    reverse = model.channel.reverse(model.prior)
    virtual = smoothing.virtual(fresh, by_label, reverse)
    model = replace(model, bias=None).maximise(expected, virtual, smoothing.classes)
    estimator._seen = SumsSoFar(fresh, by_label, expected)
    objective = expected.loglik + model.log_prior(virtual, smoothing.classes)
    estimator._keep(Fit(model, objective, (objective,)), naming)


def shared(model: Model, batch: Batch) -> Stats:
    """Share rows out over the classes; a label that is taken as true leaves nothing to share.

    The posterior of such a row is one at its class, however improbable its columns are there, so
    its statistics are tallied by label.
    """
    channel = model.channel
    if not takes_as_true(channel):
        return model.expect(batch)
    L = channel.n_labels
    bare = batch.given == L
    code = np.where(batch.given > L, batch.given - L - 1, batch.given)
    by_class = tally(batch, np.where(bare, -1, code), L)
    joint = np.zeros((2 * L + 1, L))
    np.add.at(joint, (batch.given[~bare], code[~bare]), _weights(batch)[~bare])
    sure = Stats(joint, by_class.sums)
    return sure + model.expect(batch.take(bare)) if bare.any() else sure


def _weights(batch: Batch) -> Any:
    return np.ones(len(batch)) if batch.weight is None else batch.weight


def _sums_so_far(estimator: Any) -> SumsSoFar | None:
    seen: SumsSoFar | None = getattr(estimator, "_seen", None)
    if seen is None and hasattr(estimator, "model_"):
        raise ValueError(
            "this model keeps no sums to go on from (it is large, or was read from a file): start "
            "with partial_fit"
        )
    return seen


def _check_classes(naming: inputs.Naming, classes: Any, y: Any) -> None:
    """Refuse other classes than those of the first call, and labels that are none of them."""
    if classes is not None and sorted(np.asarray(classes).tolist()) != naming.labels.tolist():
        raise ValueError(
            f"`classes={np.asarray(classes).tolist()}` is not the same as on last call to "
            f"partial_fit, was: {naming.labels.tolist()}"
        )
    column = labels.column(y)
    given = np.unique(column[~labels.missing(column)].astype(naming.labels.dtype))
    odd = np.setdiff1d(given, naming.labels)
    if len(odd):
        raise ValueError(
            f"The target label(s) {odd.tolist()} in y do not exist in the initial classes "
            f"{naming.labels.tolist()}"
        )


def _say_texts(schema: Schema) -> None:
    """Say that a vocabulary does not grow."""
    texts = [repr(column.name) for column in schema.columns if column.kind == "text"]
    if texts:
        warnings.warn(
            f"column {', '.join(texts)}: the words are those of the first call to partial_fit, and "
            "words that come later say nothing; hash the texts (HashingVectorizer), or call fit "
            "with all rows",
            stacklevel=5,
        )


def _empty(stats: Stats) -> Stats:
    return Stats(np.zeros_like(stats.joint), np.zeros_like(stats.sums))


def _named(estimator: Any, y: Any, classes: Any, n: int) -> inputs.Naming:
    known = y if classes is None else np.asarray(classes)
    return inputs.named(known, estimator.channel, max(n, len(known)))


def _merge_schema(seen: SumsSoFar, fresh: Schema) -> tuple[Schema, SumsSoFar]:
    """Let the schema grow by the categories that are new, and the sums with it."""
    schema, place = merge(seen.schema, fresh)
    if schema == seen.schema:
        return schema, seen

    def widened(stats: Stats) -> Stats:
        sums = np.zeros((len(stats.sums), schema.statistics))
        sums[:, place] = stats.sums
        return replace(stats, sums=sums)

    return schema, SumsSoFar(schema, widened(seen.by_label), widened(seen.expected))
