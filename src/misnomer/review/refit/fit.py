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
from misnomer.review.refit.answers import relearned_sources
from misnomer.review.refit.beliefs import REVIEWER_ERROR, decided_copies, with_copies
from misnomer.smoothing import resolve
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


def relearned(audit: Audit, decided: Mapping[int, int], *, error: float = REVIEWER_ERROR) -> Audit:
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
        return relearned_sources(audit, copies)
    n, batch = len(audit.batch), with_copies(audit.batch, copies, len(audit.labels))
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
        auto(found.n_classes) if named_solver(audit) == "head" else found,  # it begins from none
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
