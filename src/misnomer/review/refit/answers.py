"""The refit where several annotators, or groups, gave the labels: what was decided is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer import channel as channels
from misnomer.audit.several_numbers import joint_of
from misnomer.classifiers.annotators.table import table_of
from misnomer.head.crowd import columns_of
from misnomer.head.solve import held
from misnomer.kernels.reference import softmax
from misnomer.review.refit.beliefs import Copies, with_copies
from misnomer.smoothing import resolve
from misnomer.solvers.annotators.fit import SourcesFit, SourcesTask, learn_sources
from misnomer.solvers.annotators.passes import evidence
from misnomer.solvers.task import Fit

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]


def relearned_sources(audit: Audit, copies: Copies) -> Audit:
    """Learn everybody's channel anew with what was decided about some rows.

    A row whose decision is believed, all evidence weighed, is taken as known, and everybody is
    measured against it; one that speaks against all evidence stays open. The answers about a
    decided row stay, so nothing is forgotten; the row itself is judged by what the others said of
    it.
    """
    from misnomer.review.refit.fit import kept

    assert audit.sources is not None
    if audit.sources.groups is not None and audit.fitted.solver == "head":
        return relearned_groups(audit, copies)
    decided = {
        int(row): int(true)
        for row, true, weight in zip(copies.row, copies.true, copies.weight, strict=True)
        if weight > 0.5
    }
    fit = learn_sources(task_of(audit, decided))
    share = fit.share.copy()
    rows = np.fromiter(decided, np.intp, len(decided))
    share[rows] = said_by_others(audit, fit, rows)
    K = len(audit.classes)
    matrix = channels.free(K).refit(joint_of(audit.given, share) + 1e-10)
    old = audit.classifier.model_
    model = replace(old if fit.model is None else fit.model, channel=matrix)
    found = Fit(model, fit.loglik, (fit.loglik,), fit.converged)
    table = audit.sources.annotators
    sources = replace(
        audit.sources,
        channels=fit.channels,
        columns_help=fit.trust > 0,
        annotators=None if table is None else table_of(audit.sources.answers, fit),
    )
    return replace(
        audit, classifier=kept(audit.classifier, found), posterior=share, sources=sources
    )


def relearned_groups(audit: Audit, copies: Copies) -> Audit:
    """Let the default learn with trusted copies of the decided rows, then the groups again."""
    from misnomer.review.refit import fit as refit

    assert audit.sources is not None
    n, answers = len(audit.batch), audit.sources.answers
    group = np.full(n, -1, np.int32)
    group[answers.row] = answers.annotator
    batch = with_copies(replace(audit.batch, group=group), copies, len(audit.labels))
    solver = audit.classifier._solver(answers.n_annotators)
    fit = solver(refit.task_of(audit, batch))
    varied, own = fit.details["groups"], np.array(fit.details["posterior"][:n], np.float64)
    details = {name: fit.details[name] for name in ("posterior", "class_shares")}
    classifier = refit.kept(audit.classifier, replace(fit, details=details))
    sources = replace(audit.sources, channels=varied.strata.channels[: answers.n_annotators])
    return replace(audit, classifier=classifier, posterior=own, sources=sources)


def task_of(audit: Audit, decided: Mapping[int, int]) -> SourcesTask:
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


def _one_rate(found: Array) -> bool:
    """Tell whether every annotator has one rate of being right, all errors alike."""
    K = found.shape[1]
    right = np.einsum("akk->ak", found)
    wrong = (1.0 - right) / max(K - 1, 1)
    alike = np.where(np.eye(K, dtype=bool), right[:, None, :], wrong[:, None, :])
    return bool(np.allclose(right, right[:, :1]) and np.allclose(found, alike))


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
