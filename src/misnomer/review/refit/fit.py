"""Decided rows become trusted rows, and the model is fitted again: of labels, answers or groups."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer import channel as channels
from misnomer.audit.crowds.numbers import joint_of
from misnomer.channel import auto
from misnomer.classifiers.annotators.table import table_of
from misnomer.classifiers.choose import solve
from misnomer.engines.local import fold
from misnomer.head.crowd import columns_of
from misnomer.head.solve import held
from misnomer.kernels.reference import softmax
from misnomer.review.refit.beliefs import REVIEWER_ERROR, Copies, decided_copies, with_copies
from misnomer.smoothing import resolve
from misnomer.solvers.annotators.fit import SourcesFit, SourcesTask, learn_sources
from misnomer.solvers.annotators.passes import evidence
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]


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
    copies = decided_copies(audit.posterior, decided, error)
    if audit.sources is not None:
        return refit_sources(audit, copies)
    n, batch = len(audit.batch), with_copies(audit.batch, copies, len(audit.labels))
    fit = solved(solver_of(audit), task_of(audit, batch))
    own = fit.details.get("posterior")  # out of fold, where the solver has it
    posterior = fit.model.posterior(audit.batch) if own is None else np.array(own[:n], np.float64)
    return replace(audit, classifier=kept(audit.classifier, fit), posterior=posterior)


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
    )


def solved(solver: Any, task: Task) -> Fit:
    """Fit, and keep of what the solver found what a ranking needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = solve(solver, task)
    wanted = ("posterior", "class_shares")
    return replace(fit, details={name: fit.details[name] for name in wanted if name in fit.details})


def named_solver(audit: Audit) -> str:
    """Name the solver of the audit."""
    return str(audit.fitted.solver)


def solver_of(audit: Audit) -> Any:
    """Fit as the audit did; where its solver cannot be named, as the default does."""
    named = named_solver(audit)
    known = ("counts", "conditional", "em", "moments", "variational")
    return named if named in known else audit.classifier._solver()


def kept(classifier: Any, fit: Fit) -> Any:
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
    return replace(
        audit, classifier=kept(audit.classifier, refitted), posterior=share, sources=sources
    )


def refit_groups(audit: Audit, copies: Copies) -> Audit:
    """Let the default learn with trusted copies of the decided rows, then the groups again."""
    assert audit.sources is not None
    n, answers = len(audit.batch), audit.sources.answers
    group = np.full(n, -1, np.int32)
    group[answers.row] = answers.annotator
    batch = with_copies(replace(audit.batch, group=group), copies, len(audit.labels))
    solver = audit.classifier._solver(answers.n_annotators)
    fit = solver(task_of(audit, batch))
    varied, own = fit.details["groups"], np.array(fit.details["posterior"][:n], np.float64)
    details = {name: fit.details[name] for name in ("posterior", "class_shares")}
    classifier = kept(audit.classifier, replace(fit, details=details))
    sources = replace(audit.sources, channels=varied.strata.channels[: answers.n_annotators])
    return replace(audit, classifier=classifier, posterior=own, sources=sources)


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
        shape="one" if _one_rate(audit.sources.channels) else "free",
        smoothing=smoothing,
        columns=columns,
    )


def _one_rate(matrices: Array) -> bool:
    """Tell whether every annotator has one rate of being right, all errors alike."""
    K = matrices.shape[1]
    right = np.einsum("akk->ak", matrices)
    wrong = (1.0 - right) / max(K - 1, 1)
    alike = np.where(np.eye(K, dtype=bool), right[:, None, :], wrong[:, None, :])
    return bool(np.allclose(right, right[:, :1]) and np.allclose(matrices, alike))


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
