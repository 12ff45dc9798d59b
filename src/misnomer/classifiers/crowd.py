"""CrowdNB: learn from the answers of several annotators, or of groups that err in their own way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from misnomer import channel, engines
from misnomer.answers import Answers, absent, from_groups, from_table
from misnomer.classifiers import inputs, labels
from misnomer.classifiers.annotator_table import notes, table_of
from misnomer.engines import fold
from misnomer.head.crowd import LearnedColumns
from misnomer.head.rates import HELD_ROWS, judged
from misnomer.head.solve import GroupRates, Head, held
from misnomer.knowledge import Knowledge, channel_of
from misnomer.posterior import Posterior
from misnomer.rows import read, read_like
from misnomer.smoothing import Smoothing, resolve
from misnomer.solvers.annotators import worth
from misnomer.solvers.annotators.draws import learn_sources
from misnomer.solvers.annotators.fit import Passes, SourcesFit, SourcesTask
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Schema, numbered

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class CrowdNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that learns from several labels a row, each annotator with errors of its own.

    Finds the true class of every row together with P(label | true class) of every annotator.
    Annotators with few answers are held to what is typical of the crowd. The learners of
    `NoisyLabelClassifier` (naive Bayes, logistic regression, trees) learn from the columns through
    the answers, and the columns join in if they help to predict the answers; without columns and
    with ``strength=0`` this is the method of Dawid and Skene.

    Parameters
    ----------
    annotator : {"free", "one"}
        What is learned of each annotator: all confusions, or one rate of being right.
    strength : "auto" or float
        Virtual answers per class that hold an annotator to its character; 0 for none, "auto" for
        as many as the answers make likely.
    knowledge : Knowledge or mapping, optional
        What is known of the errors beforehand, of everybody alike: rates, never, most...
    smoothing, families
        Of the columns, as in ``NoisyLabelNB``.
    max_iter, tol : int, float
        Stop after so many passes, or when posteriors change less than ``tol`` on average.
    random_state : int
        The seed of the test in `groups_differ`. The consensus does not depend on it: its draws and
        the folds of its rows are always the same ones.

    Attributes
    ----------
    classes_ : array (K,)
        The classes.
    consensus_, consensus_error_, consensus_proba_ : arrays (n,), (n,), (n, K)
        The most probable true class of each row, P(it is wrong), and P(true class).
    annotators_ : AnnotatorTable
        Name, answers, accuracy with interval, bits per answer and typical confusion of each.
    channels_ : array (A, K, K)
        P(label | true class) of each annotator: given, true.
    class_prior_ : array (K,)
        P(true class).
    trust_ : float
        1 where the columns have a say in the consensus, 0 where they do not help.
    model_ : Model or None
        Classifies rows by their columns.
    notes_ : tuple of str
        What limits these answers, in words.

    Examples
    --------
    >>> Y = [["a", "a", "b"], ["b", "b", "b"], ["a", "a", None], ["b", "b", "a"]]
    >>> CrowdNB().fit(None, Y).consensus_.tolist()
    ['a', 'b', 'a', 'b']
    """

    annotator: str = "free"
    strength: str | float = "auto"
    knowledge: Knowledge | Mapping[str, Any] | None = None
    smoothing: str | float | Smoothing = "auto"
    families: str | Mapping[Any, str] = "auto"
    max_iter: int = 300
    tol: float = 1e-5
    random_state: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        answers: Answers | None = None,
        noise_groups: Any = None,
        truth: Any = None,
    ) -> Self:
        """Learn from rows and what was said about them.

        Parameters
        ----------
        X : array, sparse matrix, data frame or None, (n, d)
            The rows' columns; None to use the answers alone.
        y : (n, A) table, or (n,) labels
            A column per annotator; a missing cell was not asked. One label a row is a single
            annotator, or with ``noise_groups`` one per group.
        sample_weight : array (n,), optional
            How much each row counts while learning; a row of weight zero is only judged.
        answers : Answers, optional
            The same as a sparse list, in place of y.
        noise_groups : array (n,), optional
            The group of each row; each group errs in its own way. The default model
            (``NoisyLabelNB``) then learns from the columns, and the groups' channels on top of it.
        truth : array (n,), optional
            The true class of the rows where it is known, missing elsewhere.

        Returns
        -------
        self : CrowdNB
            The fitted classifier.
        """
        schema, rows = self._rows(X)
        said = _answers(y, answers, noise_groups)
        self._check(said)
        if rows and len(rows[0]) != said.n_rows:
            raise ValueError(f"X has {len(rows[0])} rows but the answers are of {said.n_rows}")
        weight = inputs.checked_weights(sample_weight, np.empty((said.n_rows, 1)))
        task = self._task(said, schema, rows, _truth(truth, said), weight=weight)
        fit = None
        if noise_groups is not None and self._is_default and said.n_annotators > 1:
            fit = learn_groups(task, schema, rows[0]) if task.columns is not None else None
        self._keep(said, learn_sources(task) if fit is None else fit)
        return self

    def _rows(self, X: Any) -> tuple[Schema, list[Batch]]:
        """Read the rows in memory: a batch of all of them; none where there are no columns."""
        if X is None:
            return Schema(()), []
        X = inputs.checked_table(self, X, reset=True)
        schema, blocks = read(X, self.families)
        return schema, list(numbered([Batch(blocks, np.zeros(X.shape[0], np.int32))]))

    def _task(
        self, said: Answers, schema: Schema, batches: Sequence[Batch],
        truth: NDArray[np.int32] | None, *, passes: Passes = engines, weight: Array | None = None,
    ) -> SourcesTask:  # fmt: skip
        """Put the question: the head's learners look at the columns, wherever the rows are."""
        columns, smoothing = None, resolve(self.smoothing)
        if schema.statistics:
            columns = LearnedColumns(
                schema, batches, said.n_rows, said.n_labels, weight, held(smoothing), passes=passes
            )
        return SourcesTask(
            said,
            truth=truth,
            shape=self.annotator,
            strength=None if isinstance(self.strength, str) else float(self.strength),
            smoothing=smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
            weight=weight,
            knowledge=None
            if self.knowledge is None
            else channel_of(self.knowledge, said.labels.tolist()),
            columns=columns,
        )

    @property
    def _is_default(self) -> bool:
        """Whether nothing is said that the default model does not know: groups learn on top."""
        return self.annotator == "free" and self.strength == "auto" and self.knowledge is None

    def _check(self, said: Answers) -> None:
        if self.annotator not in ("free", "one"):
            raise ValueError(f'annotator must be "free" or "one", not {self.annotator!r}')
        inputs.check_search(self.max_iter, self.tol)
        held = self.strength
        if held != "auto" if isinstance(held, str) else not held >= 0:
            raise ValueError(f'strength is "auto" or a number of virtual answers, not {held!r}')
        if said.n_labels < 2:
            what = "no answer at all" if not len(said) else f"one class only ({said.labels[0]!s})"
            raise ValueError(f"the answers hold {what}: a classifier needs at least two classes")

    def _keep(self, said: Answers, fit: SourcesFit) -> None:
        self.answers_, self.fit_, self.classes_ = said, fit, said.labels
        self.model_, self.trust_, self.channels_ = fit.model, fit.trust, fit.channels
        self.class_prior_, self.consensus_proba_ = fit.prior, fit.share
        self.consensus_ = self.classes_[fit.share.argmax(axis=1)]
        self.consensus_error_ = 1.0 - fit.share.max(axis=1)
        self.annotators_ = table_of(said, fit)
        self.notes_ = notes(said, fit)
        self.n_iter_, self.converged_ = fit.passes, fit.converged
        if not fit.converged:
            warnings.warn(
                f"the search has not converged after {fit.passes} passes: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict_proba(self, X: Any) -> Array:
        """Compute P(true class | columns) of new rows, (n, K)."""
        check_is_fitted(self)
        if self.model_ is None:
            raise ValueError("fitted without columns: only consensus_ is known, not new rows")
        X = inputs.checked_table(self, X, reset=False)
        blocks = read_like(X, self.model_.schema)
        return self.model_.posterior(Batch(blocks, np.full(X.shape[0], len(self.classes_), "i4")))

    def predict(self, X: Any) -> NDArray[Any]:
        """Name the most probable true class of new rows."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def ask_next(self, n: int = 10, *, each: int | None = None) -> list[worth.Question]:
        """List the n questions (row, annotator) whose answer should tell most, in bits.

        With ``each``, nobody gets more than so many of them.
        """
        check_is_fitted(self)
        return worth.ask_next(self.answers_, self.fit_, n, each=each)

    def colluding(self, *, level: float = 0.05) -> list[worth.Pair]:
        """List the pairs of annotators who agree more than their channels explain."""
        check_is_fitted(self)
        return worth.colluding(self.answers_, self.fit_, level=level)

    def groups_differ(self, *, draws: int = 99) -> worth.GroupTest:
        """Test whether the groups (or annotators without overlap) differ in their errors at all."""
        check_is_fitted(self)
        if (self.answers_.asked > 1).any():
            raise ValueError("rows have several answers: compare the annotators in annotators_")
        return worth.groups_differ(self.answers_, self.fit_, draws=draws, seed=self.random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _answers(y: Any, answers: Answers | None, noise_groups: Any) -> Answers:
    """Take the answers in whichever form they came; one label a row is one annotator's."""
    if answers is not None:
        if y is not None:
            raise ValueError("give the labels as y or as answers, not both")
        return answers
    if y is None:
        raise ValueError(
            "CrowdNB requires y to be passed, but the target y is None: "
            "give a table of labels, or answers="
        )
    if noise_groups is not None:
        return from_groups(y, noise_groups)
    if hasattr(y, "columns") or np.asarray(y, dtype=object).ndim != 1:
        return from_table(y)
    y = labels.column(y)
    labels.distinct(y, labels.missing(y))  # refuses numbers that are no classes
    return from_groups(y, np.zeros(len(y), np.int64))


def _truth(truth: Any, said: Answers) -> NDArray[np.int32] | None:
    """Number the known true classes; -1 where there is none."""
    if truth is None:
        return None
    known = np.asarray(truth, dtype=object)
    if known.shape != (said.n_rows,):
        raise ValueError(f"truth must have one entry per row ({said.n_rows}), not {known.shape}")
    places = {name: place for place, name in enumerate(said.labels.tolist())}
    gaps = absent(known)
    strange = [i for i in np.flatnonzero(~gaps) if known[i] not in places]
    if strange:
        raise ValueError(
            f"row {strange[0]} is said to be {known[strange[0]]!s} in truth, "
            f"which is not one of the classes {', '.join(map(str, said.labels[:8]))}"
        )
    return np.array([-1 if gap else places[name] for name, gap in zip(known, gaps, strict=True)],
                    np.int32)  # fmt: skip


def learn_groups(task: SourcesTask, schema: Schema, batch: Batch) -> SourcesFit | None:
    """Learn from one label a row, each group with errors of its own; None where nothing can be.

    A row of weight zero is judged by what the others have taught.
    """
    answers, L = task.answers, task.answers.n_labels
    group, said = answers.by_row(answers.annotator), answers.by_row(answers.label)
    given = answers.by_row(answers.label, L)
    if task.truth is not None:
        given = np.where(task.truth >= 0, L + 1 + task.truth, given).astype(np.int32)
    kept = np.ones(len(group), bool) if task.weight is None else task.weight > 0
    weight = None if task.weight is None else task.weight[kept]
    rows = replace(batch.judged_by(given), group=group, said=said)
    some = replace(rows.take(np.flatnonzero(kept)), weight=weight)
    asked = Task(schema, [some], fold, channel.auto(L), task.smoothing, seed=task.seed)
    found = Head(groups=answers.n_annotators)(asked)
    rates, posterior, prior = (
        found.details.groups, found.details.posterior, found.details.class_shares,
    )  # fmt: skip
    if not isinstance(rates, GroupRates) or posterior is None or prior is None:
        return None
    share = np.empty((len(group), answers.n_labels))
    share[kept] = Posterior.of(posterior).array
    if not kept.all():
        share[~kept] = _judge_weightless(found, rates, rows.take(np.flatnonzero(~kept)))
    return _group_fit(found, rates, prior, share, np.flatnonzero(kept), answers)


def _judge_weightless(found: Fit, rates: GroupRates, batch: Batch) -> Array:
    """Judge rows that took no part, by their columns and the channel of their group, (n, K)."""
    L = found.model.channel.n_labels
    share = found.model.posterior(batch.judged_by(np.full(len(batch), L, np.int32)))
    label, known = batch.labels(L)
    stratum = rates.strata.of(batch, share)
    seen = np.where((label >= 0)[:, None], rates.strata.channels[stratum, label], 1.0)
    sure = known >= 0
    seen[sure] = np.eye(L)[known[sure]]
    return judged(share * rates.strata.ratio[stratum], seen)


def _group_fit(
    found: Fit, rates: GroupRates, prior: Array, share: Array, kept: NDArray[np.intp],
    answers: Answers,
) -> SourcesFit:  # fmt: skip
    rows = rates.rows
    usual = np.maximum(rows.weight @ rows.share / rows.weight.sum(), 1e-9)
    scores = np.full_like(share, np.nan)  # of many rows only some are scored out of fold
    if len(rates.batch) == len(kept):
        scores[kept[rates.places]] = np.log(np.maximum(rows.share, 1e-300) / usual)
    channels = rates.strata.channels[: answers.n_annotators]
    return SourcesFit(
        share,
        np.log(np.maximum(share, 1e-300)),
        prior,
        channels,
        found.objective,
        found.passes,
        True,
        trust=1.0,
        model=found.model,
        scores=scores,
        centers=channels,
        strength=HELD_ROWS,
    )


def fit_crowd(
    crowd: CrowdNB, answers: Answers, schema: Schema, batches: Sequence[Batch],
    truth: NDArray[np.int32] | None = None, passes: Passes = engines,
) -> None:  # fmt: skip
    """Learn from answers and from compact rows, wherever those are.

    Parameters
    ----------
    crowd : CrowdNB
        An unfitted classifier, with its options.
    answers : Answers
        Who said what.
    schema, batches
        The columns and the rows, in the order in which the answers number them.
    truth : array (n,) of int, optional
        The true class of the rows where it is known, -1 elsewhere.
    passes : Passes
        Who goes over the batches.
    """
    crowd._check(answers)
    crowd._keep(answers, learn_sources(crowd._task(answers, schema, batches, truth, passes=passes)))
