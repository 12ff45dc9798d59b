"""How far the numbers could be off, and whether this data can tell.

The solver's own intervals and verdict, else a Bayesian bootstrap and a plain look at a few numbers.
The bootstrap weighs every row by an exponential random number, refits by a few passes of EM from
where the fit ended, and does so 20 times; the spread of what comes out is the standard error. Of a
large table it takes 5,000 rows, and scales the spread to all of them.

What the rate rests on is looked at, too: columns that give the label away, or follow it closely.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from misnomer.classifiers import NoisyLabelEstimator
from misnomer.engines import fold
from misnomer.estimate import Estimate, normal_quantile
from misnomer.kernels.blocks import Block, Codes, Flags, Reals
from misnomer.posterior import NoiseMatrix
from misnomer.rows.frames import is_frame
from misnomer.smoothing import resolve
from misnomer.solvers.em import climb
from misnomer.solvers.task import Task
from misnomer.table import Batch, Schema
from misnomer.verdict import Verdict

if TYPE_CHECKING:
    from misnomer.audit.inputs import Inputs
    from misnomer.audit.result import Audit


Array = NDArray[np.float64]

CONFIDENCE = 0.90
ROWS = 5_000  # of which the intervals are drawn
_BOOTSTRAP_DRAWS, _REFIT_PASSES = 20, 8


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
        ends: list[tuple[Any, Any]] = [
            (0.0, 1.0),
            *_whole_ranges(model.channel.matrix, model.prior),
        ]
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


def _whole_ranges(*shares: Array) -> list[tuple[Array, Array]]:
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
    found = [_refit(classifier, batch, virtual, rng) for _ in range(_BOOTSTRAP_DRAWS)]
    scale = np.sqrt(len(batch) / rows)
    return [scale * np.array(part).std(axis=0, ddof=1) for part in zip(*found, strict=True)]


def _refit(
    classifier: NoisyLabelEstimator, batch: Batch, virtual: Array, rng: np.random.Generator
) -> tuple[float, Array, Array]:
    weight = rng.exponential(size=len(batch))
    drawn = replace(batch, weight=weight)
    smoothing = resolve(classifier.smoothing)
    model = classifier.model_
    task = Task(model.schema, [drawn], fold, model.channel, smoothing, max_iter=_REFIT_PASSES)
    fit = climb(task, model, virtual)
    known = batch.given != len(classifier.labels_)
    rate = float(weight @ fit.model.doubt(drawn) / weight[known].sum())
    return rate, fit.model.channel.matrix, fit.model.prior


_MIN_CLASS_ROWS = 10  # rows of a class
_MAX_HALF_INTERVAL = 0.10  # half the interval of the error rate
_MIN_SHARE_OF_BEST = 0.75  # mean probability of the best class from the columns alone


def verdict_of(
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
    rows = verdict.tests.get("rows_of_the_smallest_class", _MIN_CLASS_ROWS)
    if rows >= _MIN_CLASS_ROWS or "smallest_class" not in verdict.tests:
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
    if tests["certainty_of_the_columns"] < _MIN_SHARE_OF_BEST:
        doubtful.append(
            "The columns say little about the class "
            f"(mean certainty {tests['certainty_of_the_columns']:.0%}), "
            "so many errors cannot be seen."
        )
    if tests["half_interval"] > _MAX_HALF_INTERVAL:
        doubtful.append("The interval of the error rate is wide.")
    if not tests["converged"]:
        doubtful.append("The fit had not settled when it was stopped.")
    untested = (
        "This solver did not test whether the columns speak independently of each other; "
        "where they repeat each other, the number of errors is overstated."
    )
    return Verdict("cannot tell" if lost else "assumed", (*lost, *doubtful, untested), tests)


_PURE_SHARE = 0.995  # of each value's rows have one label, and of each label's rows one value
_FOLLOWING_SHARE, _SHARE_ABOVE_CHANCE = 0.85, 0.6  # shares from which a column is said to follow
_MIN_ROWS = 20
_FIRST_ROWS = 20_000  # rows that are looked at first


def leaks(schema: Schema, batch: Batch, label: str, n_labels: int) -> list[str]:
    """Name the columns that match the label one to one, or almost.

    Real evidence is never that clean beside labels that are in doubt: such a column was made from
    the label, so that a wrong label cannot be told from a right one by it.
    """
    if int((batch.given < n_labels).sum()) < _MIN_ROWS:
        return []
    some = batch.take(slice(None, None, -(-len(batch) // _FIRST_ROWS)))
    found = []
    for place, group in enumerate(schema.groups):
        for j, member in enumerate(group.members):
            if all(_tells(one, place, j, n_labels) for one in (some, batch)):
                found.append(schema.columns[member].name)
    return [
        f"column {name!r} gives the label {label!r} away almost one to one: if it was made from "
        "the label, ignore it, for it hides the errors"
        for name in found
    ]


def followers(schema: Schema, batch: Batch, n_labels: int) -> list[tuple[str, float]]:
    """Name the columns that follow the label closely, and in which share of the rows, most first.

    A value stands for its most usual label, and the share counts more than chance: three fifths of
    the way from always guessing the most frequent label to never being wrong. Perhaps such a column
    is good evidence; perhaps it was made from the label, and then it hides every error.
    """
    known = batch.given < n_labels
    if int(known.sum()) < _MIN_ROWS:
        return []
    some = batch.take(slice(None, None, -(-len(batch) // _FIRST_ROWS)))
    known = some.given < n_labels
    usual = float(np.bincount(some.given[known], minlength=n_labels).max() / known.sum())
    found = []
    for place, group in enumerate(schema.groups):
        for j, member in enumerate(group.members):
            values = _values(some.blocks[place], j, 2 * n_labels)
            if values is not None:
                share = _agreement(values[known], some.given[known], n_labels)
                if share >= _FOLLOWING_SHARE and share - usual >= _SHARE_ABOVE_CHANCE * (
                    1.0 - usual
                ):
                    found.append((schema.columns[member].name, share))
    return sorted(found, key=lambda one: -one[1])


def _tells(batch: Batch, place: int, j: int, n_labels: int) -> bool:
    known = batch.given < n_labels
    values = _values(batch.blocks[place], j, 2 * n_labels)
    if values is None or not known.any():
        return False
    return _one_to_one(values[known], batch.given[known], n_labels)


def _values(block: Block, j: int, most: int) -> NDArray[np.intp] | None:
    """Number the values of a column that has few of them."""
    if isinstance(block, Codes):
        return block.codes[:, j].astype(np.intp) if block.sizes[j] <= most else None
    if isinstance(block, Flags):
        return ((block.bits[:, j // 8] >> (j % 8)) & 1).astype(np.intp)
    if not isinstance(block, Reals):
        return None
    values = block.values[:, j]
    if len(np.unique(values[:1000])) > most:
        return None
    distinct, place = np.unique(values, return_inverse=True)
    return place if len(distinct) <= most else None


def _one_to_one(values: NDArray[np.intp], given: NDArray[np.int32], n_labels: int) -> bool:
    return _agreement(values, given, n_labels) >= _PURE_SHARE


def _agreement(values: NDArray[np.intp], given: NDArray[np.int32], n_labels: int) -> float:
    """The share of rows in which value and label are each other's most usual partner."""
    pairs, count = np.unique(values * n_labels + given, return_counts=True)
    value, label = np.divmod(pairs, n_labels)
    by_value, by_label = np.zeros(int(values.max()) + 1, int), np.zeros(n_labels, int)
    np.maximum.at(by_value, value, count)
    np.maximum.at(by_label, label, count)
    return float(min(by_value.sum(), by_label.sum()) / max(len(values), 1))


MAX_ROWS_REFITTED = 20_000  # beyond, another fit is left to the user
MAX_COLUMNS = 2  # of which the rate without is told


def with_sensitivity(audit: Audit, inputs: Inputs) -> Audit:
    """Name columns that nearly copy the label, and fit once more without each of the first two."""
    schema, labels = audit.classifier.model_.schema, len(audit.labels)
    close = followers(schema, audit.batch, labels)
    if not close:
        return audit
    rates = {}
    if is_frame(inputs.features) and len(inputs.y) <= MAX_ROWS_REFITTED:
        for name, _ in close[:MAX_COLUMNS]:
            rate = rate_without(inputs, audit.classifier, [name])
            if rate is not None:
                rates[f"the column {name!r}"] = rate
    tests = {**audit.verdict.tests, "near_copies": [[name, round(s, 3)] for name, s in close]}
    if rates:
        tests["rate_without"] = rates
    return replace(audit, verdict=replace(audit.verdict, tests=tests))


def rate_without(inputs: Inputs, classifier: Any, columns: list[str]) -> float | None:
    """The share of wrong labels when some columns are left out; None where none would be left."""
    from misnomer.audit.learn import fit_and_judge

    frame = nw.from_native(inputs.features, eager_only=True)
    kept = [name for name in frame.columns if str(name) not in columns]
    if not kept or len(kept) == len(frame.columns):
        return None
    less = replace(inputs, features=frame.select(kept).to_native(), checked=None)
    fresh = clone(classifier)
    families = fresh.get_params().get("families")
    if isinstance(families, dict):
        fresh.set_params(families={k: v for k, v in families.items() if str(k) not in columns})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit_and_judge(less, fresh, perf_counter(), sensitive=False)
    return float(np.round(found.error_rate.value, 6))
