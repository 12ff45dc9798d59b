"""How far the numbers could be off: the solver's own intervals, else a Bayesian bootstrap.

The bootstrap weighs every row by an exponential random number, refits by a few passes of EM from
where the fit ended, and does so 20 times; the spread of what comes out is the standard error. Of a
large table it takes 5,000 rows, and scales the spread to all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.audit.judge import labels_taken_as_true
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.engines.local import fold
from misnomer.estimate import Estimate, normal_quantile
from misnomer.smoothing import resolve
from misnomer.solvers.em import climb
from misnomer.solvers.task import Task
from misnomer.table import Batch

Array = NDArray[np.float64]

CONFIDENCE = 0.90
_DRAWS, _PASSES, _ROWS = 20, 8, 5_000


@dataclass(frozen=True, eq=False)
class Intervals:
    """The error rate with its interval, and the ends of the matrix's and the prior's."""

    rate: Estimate
    matrix_low: Array
    matrix_high: Array
    prior_low: Array
    prior_high: Array


def intervals(classifier: NoisyLabelEstimator, batch: Batch, rate: float) -> Intervals:
    """Take the intervals that the solver found (``details["intervals"]``), or draw them."""
    model = classifier.model_
    found = classifier.fit_.details.get("intervals")
    if labels_taken_as_true(classifier):  # nothing was compared: any rate is possible
        ends: list[tuple[Any, Any]] = [(0.0, 1.0), *_anything(model.channel.matrix, model.prior)]
    elif found is None:
        center: list[Any] = [rate, model.channel.matrix, classifier.class_prior_]
        reach = [normal_quantile(CONFIDENCE) * spread for spread in _bootstrap(classifier, batch)]
        ends = [(c - r, c + r) for c, r in zip(center, reach, strict=True)]
    else:
        ends = [_ends(found[name]) for name in ("error_rate", "noise_matrix", "class_prior")]
    confidence = getattr(found and found["error_rate"], "confidence", CONFIDENCE)
    (low, high), matrix, prior = ends
    low, high = min(max(float(low), 0.0), rate), max(min(float(high), 1.0), rate)
    return Intervals(
        Estimate(rate, low, high, confidence),
        *_clipped(model.channel.matrix, *matrix),
        *_clipped(classifier.class_prior_, *prior),
    )


def _anything(*shares: Array) -> list[tuple[Array, Array]]:
    return [(np.zeros_like(one), np.ones_like(one)) for one in shares]


def _ends(found: Any) -> tuple[Any, Any]:
    if isinstance(found, Estimate):
        return found.low, found.high
    low, high = found
    return np.asarray(low, np.float64), np.asarray(high, np.float64)


def _clipped(value: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Keep the ends within [0, 1], the value between them."""
    return np.minimum(np.clip(low, 0, 1), value), np.maximum(np.clip(high, 0, 1), value)


def _bootstrap(classifier: NoisyLabelEstimator, batch: Batch) -> list[Any]:
    """Draw standard errors of the error rate, the matrix and the prior."""
    model = classifier.model_
    virtual = classifier.fit_.details.get("virtual")
    L = len(classifier.labels_)
    labeled = float((batch.given != L).sum())
    if virtual is None or not model.channel.free.any():
        rate = model.doubt(batch).sum() / labeled
        none = np.sqrt(rate * (1 - rate) / labeled)
        shares = np.sqrt(model.prior * (1 - model.prior) / len(batch))
        return [none, np.zeros_like(model.channel.matrix), shares]
    rng = np.random.default_rng(0)
    some = batch
    if len(batch) > _ROWS:
        some = batch.take(np.sort(rng.choice(len(batch), _ROWS, replace=False)))
    found = [_refit(classifier, some, virtual, rng) for _ in range(_DRAWS)]
    scale = np.sqrt(len(some) / len(batch))
    return [scale * np.array(part).std(axis=0, ddof=1) for part in zip(*found, strict=True)]


def _refit(
    classifier: NoisyLabelEstimator, batch: Batch, virtual: Array, rng: np.random.Generator
) -> tuple[float, Array, Array]:
    weight = rng.exponential(size=len(batch))
    drawn = replace(batch, weight=weight)
    smoothing = resolve(classifier.smoothing)
    model = classifier.model_
    task = Task(model.schema, [drawn], fold, model.channel, smoothing, max_iter=_PASSES)
    fit = climb(task, model, virtual)
    known = batch.given != len(classifier.labels_)
    rate = float(weight @ fit.model.doubt(drawn) / weight[known].sum())
    return rate, fit.model.channel.matrix, fit.model.prior
