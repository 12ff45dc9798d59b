"""How far the numbers could be off, and whether this data can tell.

The solver's own intervals and verdict, else a Bayesian bootstrap and a plain look at a few numbers.
The bootstrap weighs every row by an exponential random number, refits by a few passes of EM from
where the fit ended, and does so 20 times; the spread of what comes out is the standard error. Of a
large table it takes 5,000 rows, and scales the spread to all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.engines.local import fold
from misnomer.estimate import Estimate, normal_quantile
from misnomer.posterior import NoiseMatrix
from misnomer.smoothing import resolve
from misnomer.solvers.em import climb
from misnomer.solvers.task import Task
from misnomer.table import Batch
from misnomer.verdict import Verdict

Array = NDArray[np.float64]

CONFIDENCE = 0.90
ROWS = 5_000  # of which the intervals are drawn
_DRAWS, _PASSES = 20, 8


@dataclass(frozen=True)
class Fitted:
    """What was fitted, to what, and how it went.

    Attributes
    ----------
    families : mapping of str to str
        The family of each column.
    solver : str
        Who found the model.
    iterations : int
        Passes over the rows.
    seconds : float
        Wall-clock time of the fit.
    converged : bool
        Whether the last pass gained little.
    rows, labeled, trusted : int
        How many rows there were, how many had a label, how many of those were known to be right.
    notes : tuple of str
        Why it was done so, in sentences.
    """

    families: dict[str, str]
    solver: str
    iterations: int
    seconds: float
    converged: bool
    rows: int
    labeled: int
    trusted: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Intervals:
    """The error rate and the matrix with their intervals, and the ends of the prior's."""

    rate: Estimate
    noise: NoiseMatrix
    prior_low: Array
    prior_high: Array


def intervals(
    classifier: NoisyLabelEstimator, batch: Batch, rate: float, labeled: int, rows: int
) -> Intervals:
    """Take the solver's own intervals, or draw them.

    ``batch`` holds all ``rows``, or those of them that would be drawn.
    """
    model = classifier.model_
    found = classifier.fit_.details.intervals
    if labels_taken_as_true(classifier):  # nothing was compared: any rate is possible
        ends: list[tuple[Any, Any]] = [(0.0, 1.0), *_anything(model.channel.matrix, model.prior)]
    elif found is None:
        center: list[Any] = [rate, model.channel.matrix, classifier.class_prior_]
        errors = _bootstrap(classifier, batch, rate, labeled, rows)
        reach = [normal_quantile(CONFIDENCE) * error for error in errors]
        ends = [(c - r, c + r) for c, r in zip(center, reach, strict=True)]
    else:
        ends = [_ends(found[name]) for name in ("error_rate", "noise_matrix", "class_prior")]
    confidence = getattr(found and found["error_rate"], "confidence", CONFIDENCE)
    (low, high), matrix, prior = ends
    low, high = min(max(float(low), 0.0), rate), max(min(float(high), 1.0), rate)
    return Intervals(
        Estimate(rate, low, high, confidence),
        _noise(classifier, matrix),
        *_clipped(classifier.class_prior_, *prior),
    )


def _noise(classifier: NoisyLabelEstimator, ends: Any) -> NoiseMatrix:
    """Take the matrix with its interval from the solver, or put its ends beside it."""
    if isinstance(ends, NoiseMatrix):
        return ends
    low, high = _clipped(classifier.model_.channel.matrix, *ends)
    return NoiseMatrix.of(classifier.noise_matrix_, low, high)


def _anything(*shares: Array) -> list[tuple[Array, Array]]:
    return [(np.zeros_like(one), np.ones_like(one)) for one in shares]


def _ends(found: Any) -> Any:
    if isinstance(found, NoiseMatrix):
        return found
    if isinstance(found, Estimate):
        return found.low, found.high
    low, high = found
    return np.asarray(low, np.float64), np.asarray(high, np.float64)


def _clipped(value: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Keep the ends within [0, 1], the value between them."""
    return np.minimum(np.clip(low, 0, 1), value), np.maximum(np.clip(high, 0, 1), value)


def _bootstrap(
    classifier: NoisyLabelEstimator, batch: Batch, rate: float, labeled: int, rows: int
) -> list[Any]:
    """Draw standard errors of the error rate, the matrix and the prior."""
    model = classifier.model_
    virtual = classifier.fit_.details.virtual
    if virtual is None or not model.channel.free.any():
        none = np.sqrt(rate * (1 - rate) / labeled)
        shares = np.sqrt(model.prior * (1 - model.prior) / rows)
        return [none, np.zeros_like(model.channel.matrix), shares]
    rng, size = np.random.default_rng(0), min(len(batch), ROWS)
    if size < rows:  # whoever reads rows by batches has kept the same ones
        drawn = np.sort(rng.choice(rows, size, replace=False))
        batch = batch.take(drawn) if len(batch) == rows else batch
    found = [_refit(classifier, batch, virtual, rng) for _ in range(_DRAWS)]
    scale = np.sqrt(len(batch) / rows)
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


_FEW = 10  # rows of a class
_WIDE = 0.10  # half the interval of the error rate
_SEPARATE = 0.75  # mean probability of the best class from the columns alone


def judged(
    classifier: NoisyLabelEstimator, batch: Batch, rate: Estimate, labeled: int,
    all_rows: Mapping[str, float] | None = None,
) -> Verdict:  # fmt: skip
    """Take the verdict that the solver found (``details.verdict``), or look at a few numbers.

    Where the batch is a sample, ``all_rows`` holds the tests that are of all rows.
    """
    untested = labels_taken_as_true(classifier)
    if untested:
        return Verdict("cannot tell", (untested,))
    found = classifier.fit_.details.verdict
    if found is None:
        found = _plain({**_tests(classifier, batch, rate, labeled), **(all_rows or {})})
    verdict = Verdict(found.level, tuple(found.sentences), dict(found.tests))
    return with_smallest_class(verdict, classifier.classes_)


def with_smallest_class(verdict: Verdict, classes: NDArray[Any]) -> Verdict:
    """Name the class of so few rows that little is known of it, where there is one.

    Examples
    --------
    >>> tests = {"rows_of_the_smallest_class": 3.8, "smallest_class": 1}
    >>> with_smallest_class(Verdict("assumed", (), tests), np.array(["ham", "spam"])).sentences
    ("About 4 rows are truly 'spam': what is said of that class rests on them.",)
    """
    rows = verdict.tests.get("rows_of_the_smallest_class", _FEW)
    if rows >= _FEW or "smallest_class" not in verdict.tests:
        return verdict
    name = classes.tolist()[verdict.tests["smallest_class"]]
    said = f"About {rows:.0f} rows are truly {name!r}: what is said of that class rests on them."
    if rows < 1.5:
        said = f"Hardly any row is truly {name!r}, by what the model has learned."
    return replace(verdict, sentences=(*verdict.sentences, said))


def labels_taken_as_true(classifier: NoisyLabelEstimator) -> str:
    """Say why no label could be doubted, where the channel was to be learned and was not."""
    channel = classifier.model_.channel
    asked = classifier.channel == "auto" and not channel.free.any()
    notes = classifier.fit_.details.notes if asked else ()
    return str(notes[0]) if notes else ""


def _tests(
    classifier: NoisyLabelEstimator, batch: Batch, rate: Estimate, labeled: int
) -> dict[str, Any]:
    model, L = classifier.model_, len(classifier.labels_)
    alone = model.posterior(batch.judged_by(np.full(len(batch), L, np.int32)))
    matrix = model.channel.matrix
    square = matrix.shape[0] == matrix.shape[1]
    return {
        "converged": bool(classifier.converged_),
        "labels": labeled,
        "rows_of_the_smallest_class": float(model.prior.min() * len(batch)),
        "smallest_class": int(model.prior.argmin()),
        "half_interval": (rate.high - rate.low) / 2,
        "certainty_of_the_columns": float(alone.max(axis=1).mean()),
        "diagonal_is_largest": bool(square and (matrix.argmax(axis=0) == range(len(matrix))).all()),
    }


def _plain(tests: dict[str, Any]) -> Verdict:
    """Turn the numbers into a level and sentences; without a test, no number is to be trusted."""
    lost, doubtful = [], []
    if not tests["diagonal_is_largest"]:
        lost.append("For some class another label is more usual than its own.")
    if tests["certainty_of_the_columns"] < _SEPARATE:
        doubtful.append(
            "The columns say little about the class "
            f"(mean certainty {tests['certainty_of_the_columns']:.0%}), "
            "so many errors cannot be seen."
        )
    if tests["half_interval"] > _WIDE:
        doubtful.append("The interval of the error rate is wide.")
    if not tests["converged"]:
        doubtful.append("The fit had not settled when it was stopped.")
    untested = (
        "This solver did not test whether the columns speak independently of each other; "
        "where they repeat each other, the number of errors is overstated."
    )
    return Verdict("cannot tell" if lost else "assumed", (*lost, *doubtful, untested), tests)
