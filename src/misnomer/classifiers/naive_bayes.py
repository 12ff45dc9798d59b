"""NoisyLabelNB: naive Bayes that knows its labels may be wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from misnomer import kernels
from misnomer.channel import Channel
from misnomer.classifiers import NoisyLabelEstimator, inputs, labels
from misnomer.classifiers.choose import feature_log_prob, importances, solve, takes_as_true
from misnomer.engines import fold
from misnomer.model import Model
from misnomer.rows import grown, read, read_like
from misnomer.smoothing import Smoothing, resolve
from misnomer.solvers.counts import from_counts
from misnomer.solvers.task import Fit, Task, tally
from misnomer.stats import Stats
from misnomer.table import Batch, Schema, merge

Array = NDArray[np.float64]


class NoisyLabelNB(NoisyLabelEstimator):
    """Naive Bayes that knows its labels may be wrong.

    Learns a classifier of the *true* class together with the channel P(given label | true class).
    Columns may be categories, flags, counts, reals or texts, freely mixed; cells and labels may be
    missing.

    Parameters
    ----------
    channel : {"auto", "identity", "uniform", "flips", "free"}, Channel or (L, K) array
        What may have happened to the labels. "identity" takes them as true; a matrix is taken as
        known; "auto" lets the solver choose.
    smoothing : {"auto", "none", "laplace"}, float, (d,) array or Smoothing
        The virtual examples; a number adds that many in every cell, or one for each column.
    families : "auto", str or mapping
        The family of every column, or of each by name: "categorical", "bernoulli", "gaussian",
        "count", "text", "ignored".
    solver : {"auto", "head", "counts", "em", "variational", "conditional", "moments"} or callable
        How to find the model. "auto" asks the head where nothing is said of the channel
        (``channel="auto"``): naive Bayes, of the labels and of rows shared out, scored out of fold,
        tempered, and seen through a channel. It counts where labels are taken as true, and climbs
        by EM behind any other channel.
    max_iter, tol : int, float
        EM stops after so many passes, or when a pass gains less than ``tol`` nats per row; the
        head's searches after so many steps, or when a step gains less than that per nat.
    n_init : int
        How many starts to try.
    random_state : int, RandomState or None
        The seed of folds and random starts. None draws one from NumPy's global generator, where
        something is random: not where labels are counted, nor in closed forms, nor for one start
        from the labels.
    n_jobs : int or None
        Threads of a pass; -1 uses all cores. The result does not depend on it.
    progress : callable, optional
        Called as ``progress(pass, objective)`` after each pass.
    class_prior, fit_prior : (K,) array or None, bool
        Class shares to predict with, instead of those that were learned; all alike where
        ``fit_prior`` is False. What is learned of columns and errors does not depend on them.
    min_categories : int or (d,) array or None
        Whole numbers 0, 1, ... up to here are categories, whether they occur or not.

    Attributes
    ----------
    classes_, labels_ : arrays
        The true classes (K) and the given labels (L).
    class_prior_ : (K,) array
        P(true class): the share of each among the training rows.
    class_count_ : (K,) array
        Rows of each true class, as far as they can be told apart (after ``fit`` in memory).
    feature_log_prob_ : array or list of arrays
        log P(value | class) of flags and counts, (K, d), or of the categories of each column.
    feature_importances_ : (d,) array
        How much each column tells about the class: mutual information, in nats.
    noise_matrix_ : (L, K) array
        P(given | true): rows given, columns true, columns sum to one.
    model_ : Model
        All of it.
    n_iter_, lower_bound_, converged_, history_
        Passes (of the head: explanations tried), the objective reached, whether the last pass
        gained little, and all objectives.
    fit_ : Fit
        What else the solver found, in ``fit_.details``; the head's ``posterior`` holds
        P(true class | row, label) of the training rows, each judged without itself.

    Examples
    --------
    >>> X = [["sunny", "hot"], ["sunny", "mild"], ["rain", "cool"], ["rain", "mild"]]
    >>> clf = NoisyLabelNB(channel="identity").fit(X, ["no", "no", "yes", "yes"])
    >>> clf.predict([["rain", "hot"]]).tolist()
    ['yes']
    """

    def __init__(
        self,
        *,
        channel: str | Channel | Any = "auto",
        smoothing: str | float | Sequence[float] | Array | Smoothing = "auto",
        families: str | Mapping[Any, str] = "auto",
        solver: str | Callable[[Task], Fit] = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        progress: Callable[[int, float], None] | None = None,
        class_prior: Any = None,
        fit_prior: bool = True,
        min_categories: Any = None,
    ) -> None:
        self.channel = channel
        self.smoothing = smoothing
        self.families = families
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.class_prior = class_prior
        self.fit_prior = fit_prior
        self.min_categories = min_categories

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows: their expected sums are added to those seen before.

        With the identity channel the result is that of one fit on all rows, in any order. With
        another channel it is stepwise EM: each row is shared out once, by the model of its time.
        A column keeps the family that the first call has found, and a text the words of the first
        call, which is said: words that come later are known to hashed texts (`HashingVectorizer`).

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``.
        classes : array, optional
            All the labels there will be; required in the first call if y does not hold them all.

        Returns
        -------
        self : NoisyLabelNB
            The fitted classifier.
        """
        with kernels.using(threads=self._threads()):
            update(self, X, y, classes, sample_weight)
        return self

    def _remember(self, task: Task, fit: Fit) -> None:
        self._seen = sums_of_fit(task, fit.model)

    @property
    def class_count_(self) -> Array:
        """Rows of each true class."""
        seen = getattr(self, "_seen", None)
        if seen is None:
            raise AttributeError("class_count_ is known after a fit in memory")
        counts: Array = seen.expected.mass
        return counts

    @property
    def feature_log_prob_(self) -> Any:
        """Log P(value | class)."""
        check_is_fitted(self)
        return feature_log_prob(self.model_)

    @property
    def feature_importances_(self) -> Array:
        """Mutual information of each column with the class, in nats."""
        check_is_fitted(self)
        return importances(self.model_)


# Learning from rows that come in parts: the sums of each part are added to those before.

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
    rows = sum(float(_weights(batch).sum()) for batch in task.batches)
    if takes_as_true(model.channel) and by_label.rows == task.labeled == rows:
        expected = Stats(_mass_by_code(by_label.mass), by_label.sums)
    else:
        expected = fold(lambda batch: expected_stats(model, batch), task.batches)
    return SumsSoFar(task.schema, by_label, expected)


def _mass_by_code(mass: Any) -> Any:
    """Lay out the weight of rows whose class is their label, by evidence code, (2L + 1, L)."""
    L = len(mass)
    return np.concatenate([np.diag(mass), np.zeros((L + 1, L))])


def update(estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
    """Share some more rows out over the classes and refit from all the sums."""
    seen: SumsSoFar | None = _sums_so_far(estimator)
    X = inputs.checked_table(estimator, X, reset=seen is None)
    weight = inputs.checked_weights(sample_weight, X)
    y = estimator._labels(y, X.shape[0])
    naming = estimator._naming if seen else _naming_of(estimator, y, classes, X.shape[0])
    _check_classes(naming, classes if seen else None, y)
    codes = naming.codes(y)
    weight, X, codes, *_ = inputs.drop_weightless(weight, X, codes, None)
    if seen is None:
        fresh, blocks = read(
            X, estimator.families, min_categories=estimator._setting("min_categories")
        )
        _warn_of_texts(fresh)
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
    expected = seen.expected + expected_stats(model, batch)
    reverse = model.channel.reverse(model.prior)
    virtual = smoothing.virtual(fresh, by_label, reverse)
    model = replace(model, bias=None).maximise(expected, virtual, smoothing.classes)
    estimator._seen = SumsSoFar(fresh, by_label, expected)
    objective = expected.loglik + model.log_prior(virtual, smoothing.classes)
    estimator._keep(Fit(model, objective, (objective,)), naming)


def expected_stats(model: Model, batch: Batch) -> Stats:
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
    labeled = Stats(joint, by_class.sums)
    return labeled + model.expect(batch.take(bare)) if bare.any() else labeled


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


def _warn_of_texts(schema: Schema) -> None:
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


def _naming_of(estimator: Any, y: Any, classes: Any, n: int) -> inputs.Naming:
    known = y if classes is None else np.asarray(classes)
    return inputs.naming_of(known, estimator.channel, max(n, len(known)))


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
