"""Decided rows become trusted rows, and the model is fitted again, in the background."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.channel import auto
from misnomer.classifiers.choose import solve
from misnomer.engines.local import fold
from misnomer.review.refit_sources import relearned_sources
from misnomer.smoothing import resolve
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


def relearned(audit: Audit, decided: Mapping[int, int]) -> Audit:
    """Fit the model anew with some rows' true classes known.

    Parameters
    ----------
    audit : Audit
        The audit as it was made.
    decided : mapping of int to int
        The place in ``classes`` of the true class, by row.

    Returns
    -------
    Audit
        The same audit with the new model and its posterior; each row is judged by its *given*
        label, also where its true class is known by now.

    Notes
    -----
    A decided row is learned from twice: as it was given, and as a trusted copy. Suspects are chosen
    because of their labels; were those labels forgotten, the channel would be learned from what is
    left, look too clean, and the errors that remain would be underestimated.
    """
    if audit.sources is not None:
        return relearned_sources(audit, decided)
    n, batch = len(audit.batch), with_copies(audit.batch, decided, len(audit.labels))
    fit = solved(solver_of(audit), task_of(audit, batch))
    own = fit.details.get("posterior")  # out of fold, where the solver has it
    posterior = fit.model.posterior(audit.batch) if own is None else np.array(own[:n], np.float64)
    return replace(audit, classifier=kept(audit.classifier, fit), posterior=posterior)


def task_of(audit: Audit, batch: Batch) -> Task:
    """Put the same question as the audit did, about these rows."""
    fitted, found = audit.classifier, audit.classifier.model_.channel
    return Task(
        fitted.model_.schema,
        [batch],
        fold,
        auto(found.n_classes) if solver_of(audit) == "pool" else found,  # it begins from none
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


def with_copies(batch: Batch, decided: Mapping[int, int], n_labels: int) -> Batch:
    """Add a trusted copy of every decided row behind the rows themselves."""
    rows = np.fromiter(decided, np.intp, len(decided))
    true = np.fromiter(decided.values(), np.int32, len(decided))
    more = batch.take(np.concatenate([np.arange(len(batch)), rows]))
    return more.judged_by(np.concatenate([batch.given, n_labels + 1 + true]).astype(np.int32))


def solver_of(audit: Audit) -> Any:
    """Fit as the audit did; where its solver cannot be named, as the default does."""
    named = audit.fitted.solver
    known = ("counts", "conditional", "em", "moments", "pool", "variational")
    return named if named in known else audit.classifier.solver


def kept(classifier: Any, fit: Fit) -> Any:
    """Make a classifier of a fit that names its classes like another one."""
    from sklearn.base import clone

    fresh = clone(classifier)
    fresh._keep(fit, classifier._naming)
    return fresh
