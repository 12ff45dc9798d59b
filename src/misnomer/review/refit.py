"""What reviewers have decided, as beliefs about rows, and the fit that learns from it."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer import channel as channels
from misnomer.audit.crowds.consensus import joint_of
from misnomer.channel import auto
from misnomer.classifiers.annotator_table import table_of
from misnomer.classifiers.choose import solve
from misnomer.engines import fold
from misnomer.head.crowd import columns_of
from misnomer.head.solve import GroupRates, held
from misnomer.kernels.reference import softmax
from misnomer.posterior import Posterior
from misnomer.smoothing import resolve
from misnomer.solvers.annotators import evidence, is_tied
from misnomer.solvers.annotators.draws import learn_sources
from misnomer.solvers.annotators.fit import SourcesFit, SourcesTask
from misnomer.solvers.task import Details, Fit, Task
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


Array = NDArray[np.float64]

#: How often a careful person decides wrongly, unless it is said otherwise.
REVIEWER_ERROR = 0.05

_MIN_SHARE = 1e-3  # a smaller share of a row is not worth a copy of it
_MODEL_DECISIONS = 60.0  # decisions that the model's own certainty is worth


def beliefs(posterior: Array, decided: NDArray[np.intp], error: float) -> Array:
    """Compute ``P(z | row, decision)``, (m, K): the posterior times the reviewer's channel.

    Parameters
    ----------
    posterior : (m, K) array
        What the rows say themselves.
    decided : (m,) array of int
        The classes that were decided on.
    error : float
        The share of decisions that are wrong; 0 makes every decision the truth.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.5], [0.97, 0.03]])
    >>> beliefs(rows, np.array([1, 1]), 0.05).round(2).tolist()
    [[0.05, 0.95], [0.56, 0.44]]
    """
    m, K = posterior.shape
    reviewer = np.full((m, K), error / max(K - 1, 1))
    reviewer[np.arange(m), decided] = 1.0 - error
    share = np.maximum(mix_with_ignorance(posterior, decided, error), 1e-12) * reviewer
    share[share < _MIN_SHARE * share.sum(axis=1, keepdims=True)] = 0.0
    posterior_now: Array = share / share.sum(axis=1, keepdims=True)
    return posterior_now


def mix_with_ignorance(posterior: Array, decided: NDArray[np.intp], error: float) -> Array:
    """Mix the posterior with ignorance: ``(1 - off) P(z) + off / K``, (m, K).

    ``off`` is the share of rows on which the model is plainly wrong: of the decisions that
    contradict it, those beyond what its own doubts and the reviewer's errors let one expect.

    Examples
    --------
    >>> sure = np.tile([1.0, 0.0], (60, 1))
    >>> mix_with_ignorance(sure, np.zeros(60, int), 0.05)[0].tolist()
    [1.0, 0.0]
    >>> mix_with_ignorance(sure, np.ones(60, int), 0.05)[0].round(2).tolist()
    [0.76, 0.24]
    """
    m, K = posterior.shape
    against = float((posterior.argmax(axis=1) != decided).sum())
    expected = error * m + float((1.0 - posterior.max(axis=1)).sum())
    off = max(against - expected, 0.0) / (m + _MODEL_DECISIONS)
    mixed: Array = (1.0 - off) * posterior + off / K
    return mixed


def errors_believed(shown: Array, called_wrong: NDArray[np.bool_], error: float) -> float:
    """Count the errors among decided rows, each by how far the decision about it is believed.

    Parameters
    ----------
    shown : (m,) array
        P(the given label is wrong), as the reviewer saw it.
    called_wrong : (m,) array of bool
        Whether the reviewer called it wrong.
    error : float
        The share of decisions that are wrong.

    Examples
    --------
    >>> shown = np.array([0.9, 0.9, 0.9])
    >>> round(errors_believed(shown, np.array([True, True, False]), 0.05), 2)
    2.3
    """
    pair = np.column_stack([1.0 - shown, shown])
    return float(beliefs(pair, called_wrong.astype(np.intp), error)[:, 1].sum())


@dataclass(frozen=True, eq=False)
class Copies:
    """Decided rows as trusted ones: a copy of each for every class that it may be."""

    row: NDArray[np.intp]  # (c,): which row is copied
    true: NDArray[np.int32]  # (c,): the class that the copy is trusted to be
    weight: Array  # (c,): how far that is believed


def copies_of(rows: NDArray[np.intp], share: Array) -> Copies:
    """Turn beliefs about rows into weighted copies of them."""
    at, true = np.nonzero(share)
    return Copies(rows[at], true.astype(np.int32), share[at, true])


def decided_copies(shares: Posterior, decided: Mapping[int, int], error: float) -> Copies:
    """Weigh decisions against what all rows say."""
    rows = np.fromiter(decided, np.intp, len(decided))
    true = np.fromiter(decided.values(), np.intp, len(decided))
    return copies_of(rows, beliefs(shares.take(rows).array, true, error))


def with_copies(batch: Batch, copies: Copies, n_labels: int) -> Batch:
    """Add trusted copies of rows behind the rows themselves."""
    more = batch.take(np.concatenate([np.arange(len(batch)), copies.row]))
    codes = np.concatenate([batch.given, n_labels + 1 + copies.true]).astype(np.int32)
    own = np.ones(len(batch)) if batch.weight is None else batch.weight
    factor = np.ones(len(copies.row)) if batch.weight is None else batch.weight[copies.row]
    weight = np.concatenate([own, factor * copies.weight])
    said = np.concatenate([batch.labels(n_labels)[0], np.full(len(copies.row), -1)])
    return replace(more, given=codes, weight=weight, said=said.astype(np.int32))


def refit_audit(
    audit: Audit, decided: Mapping[int, int], *, error: float = REVIEWER_ERROR
) -> Audit:
    """Fit the model anew with what was decided about some rows.

    Parameters
    ----------
    audit : Audit
        The audit as it was made.
    decided : mapping of int to int
        The place in ``classes`` of the class that was decided on, by row.
    error : float
        The assumed share of wrong decisions.

    Returns
    -------
    Audit
        The same audit with the new model and its posterior; each row is judged by its *given*
        label, also where its true class was decided on by now.

    Notes
    -----
    A decided row is learned from twice: as it was given, and as trusted copies, which weigh as much
    as the decision is believed. Suspects are chosen
    because of their labels; were those labels forgotten, the channel would be learned from what is
    left, look too clean, and the errors that remain would be underestimated.
    """
    copies = decided_copies(audit.shares, decided, error)
    if audit.sources is not None:
        return refit_sources(audit, copies)
    n, batch = len(audit.batch), with_copies(audit.batch, copies, len(audit.labels))
    fit = solve_task(solver_of(audit), task_of(audit, batch))
    own = fit.details.posterior  # out of fold, where the solver has it
    shares = Posterior.of(fit.model.posterior(audit.batch) if own is None else own)
    return replace(
        audit, classifier=with_fit(audit.classifier, fit), shares=shares.take(slice(None, n))
    )


def task_of(audit: Audit, batch: Batch) -> Task:
    """Put the same question as the audit did, about these rows."""
    fitted, channel = audit.classifier, audit.classifier.model_.channel
    if named_solver(audit) == "head":
        channel = auto(channel.n_classes)  # it begins from none
    return Task(
        fitted.model_.schema,
        [batch],
        fold,
        channel,
        resolve(fitted.smoothing),
        max_iter=fitted.max_iter,
        tol=fitted.tol,
        n_init=1,
        sparse=named_solver(audit) == "sparse",
    )


def solve_task(solver: Any, task: Task) -> Fit:
    """Fit, and keep of the solver's details what a ranking needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = solve(solver, task)
    return replace(fit, details=ranked_by(fit.details))


def ranked_by(details: Details) -> Details:
    """Keep what a ranking needs."""
    return Details(posterior=details.posterior, class_shares=details.class_shares)


def named_solver(audit: Audit) -> str:
    """Name the solver of the audit."""
    return str(audit.fitted.solver)


def solver_of(audit: Audit) -> Any:
    """Fit as the audit did; where its solver cannot be named, as the default does."""
    named = named_solver(audit)
    known = ("counts", "conditional", "em", "moments", "variational")
    return named if named in known else audit.classifier._solver()


def with_fit(classifier: Any, fit: Fit) -> Any:
    """Make a classifier of a fit that names its classes like another one."""
    from sklearn.base import clone

    fresh = clone(classifier)
    fresh._keep(fit, classifier._naming)
    return fresh


def refit_sources(audit: Audit, copies: Copies) -> Audit:
    """Learn everybody's channel anew with what was decided about some rows.

    A row whose decision is believed, all evidence weighed, is taken as known, and everybody is
    measured against it; one that speaks against all evidence stays open. The answers about a
    decided row stay, so nothing is forgotten; the row itself is judged by what the others said of
    it.
    """
    assert audit.sources is not None
    if audit.sources.groups is not None and audit.fitted.solver == "head":
        return refit_groups(audit, copies)
    decided = {
        int(row): int(true)
        for row, true, weight in zip(copies.row, copies.true, copies.weight, strict=True)
        if weight > 0.5
    }
    fit = learn_sources(sources_task_of(audit, decided))
    share = fit.share.copy()
    rows = np.fromiter(decided, np.intp, len(decided))
    share[rows] = said_by_others(audit, fit, rows)
    K = len(audit.classes)
    matrix = channels.free(K).refit(joint_of(audit.given, share) + 1e-10)
    old = audit.classifier.model_
    model = replace(old if fit.model is None else fit.model, channel=matrix)
    refitted = Fit(model, fit.loglik, (fit.loglik,), fit.converged)
    table = audit.sources.annotators
    sources = replace(
        audit.sources,
        channels=fit.channels,
        columns_help=fit.trust > 0,
        annotators=None if table is None else table_of(audit.sources.answers, fit),
    )
    classifier = with_fit(audit.classifier, refitted)
    return replace(audit, classifier=classifier, shares=Posterior.of(share), sources=sources)


def refit_groups(audit: Audit, copies: Copies) -> Audit:
    """Let the default learn with trusted copies of the decided rows, then the groups again."""
    assert audit.sources is not None
    n, answers = len(audit.batch), audit.sources.answers
    group = np.full(n, -1, np.int32)
    group[answers.row] = answers.annotator
    batch = with_copies(replace(audit.batch, group=group), copies, len(audit.labels))
    solver = audit.classifier._solver(answers.n_annotators)
    fit = solver(task_of(audit, batch))
    rates, posterior = fit.details.groups, fit.details.posterior
    assert isinstance(rates, GroupRates) and posterior is not None
    own = Posterior.of(posterior).take(slice(None, n))
    classifier = with_fit(audit.classifier, replace(fit, details=ranked_by(fit.details)))
    sources = replace(audit.sources, channels=rates.strata.channels[: answers.n_annotators])
    return replace(audit, classifier=classifier, shares=own, sources=sources)


def sources_task_of(audit: Audit, decided: Mapping[int, int]) -> SourcesTask:
    """Put the same question as the audit did, with what is known by now."""
    assert audit.sources is not None
    answers, schema = audit.sources.answers, audit.classifier.model_.schema
    truth = np.full(answers.n_rows, -1, np.int32)
    truth[audit.trusted] = audit.given[audit.trusted]
    truth[list(decided)] = list(decided.values())
    nothing = np.full(answers.n_rows, answers.n_labels, np.int32)
    smoothing = resolve(audit.classifier.smoothing)
    columns = None
    if schema.statistics:
        batch, K = audit.batch.judged_by(nothing), answers.n_labels
        columns = columns_of(schema, batch, K, smoothing=held(smoothing))
    return SourcesTask(
        answers,
        truth=truth,
        shape="one" if is_tied(audit.sources.channels) else "free",
        smoothing=smoothing,
        columns=columns,
    )


def said_by_others(audit: Audit, fit: SourcesFit, rows: NDArray[np.intp]) -> Array:
    """Judge some rows by their annotators and columns alone, (r, K)."""
    assert audit.sources is not None
    total = evidence(audit.sources.answers, fit.channels)[rows] + np.log(fit.prior)
    if fit.model is not None and fit.trust > 0:
        batch = audit.batch.take(rows)
        blank = batch.judged_by(np.full(len(rows), len(audit.labels), np.int32))
        total += fit.model.log_joint(blank) - np.log(fit.model.prior)
    share: Any = softmax(total)[0]
    return np.asarray(share, np.float64)


class Refitter:
    """One thread that fits whenever it is asked to, the latest wish only.

    Parameters
    ----------
    work : callable
        Does the work; called without arguments.
    expected : float
        How many seconds it will probably take.

    Attributes
    ----------
    trouble : str or None
        What went wrong with the last fit.
    expected : float
        How many seconds the next one will probably take: as many as the last one.
    """

    def __init__(self, work: Callable[[], object], expected: float) -> None:
        self._work = work
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = False
        self.trouble: str | None = None
        self.expected = float(expected)
        self._began: float | None = None
        self._thread = threading.Thread(target=self._run, name="refit", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Tell whether a fit is under way."""
        return not self._idle.is_set()

    @property
    def spent(self) -> tuple[float, float] | None:
        """Seconds that the fit under way has taken, and those it will probably take in all."""
        began = self._began
        return None if began is None else (time.monotonic() - began, self.expected)

    def ask(self) -> None:
        """Ask for a fit; wishes during a fit become one fit after it."""
        self._idle.clear()
        self._wanted.set()

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until nothing is left to do."""
        return self._idle.wait(seconds)

    def stop(self) -> None:
        """End the thread; a fit that is under way ends with the process."""
        self._stopped = True
        self._wanted.set()
        self._thread.join(timeout=1)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopped:
                return
            self._began = began = time.monotonic()
            try:
                self._work()
                self.trouble, self.expected = None, time.monotonic() - began
            except Exception as error:  # the review goes on with the model it has
                self.trouble = f"the model could not be fitted anew: {error}"
            self._began = None
            if not self._wanted.is_set():
                self._idle.set()
