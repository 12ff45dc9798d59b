"""Decided rows become trusted rows, and the model is fitted again, in the background."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from misnomer.channel import auto
from misnomer.classifiers.choose import solve
from misnomer.engines.local import fold
from misnomer.smoothing import resolve
from misnomer.solvers.task import Task
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
    fitted, n = audit.classifier, len(audit.batch)
    solver, found = _solver(audit), fitted.model_.channel
    task = Task(
        fitted.model_.schema,
        [with_copies(audit.batch, decided, len(audit.labels))],
        fold,
        auto(found.n_classes) if solver == "pool" else found,  # the pool begins from none
        resolve(fitted.smoothing),
        max_iter=fitted.max_iter,
        tol=fitted.tol,
        n_init=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = solve(solver, task)
    own = fit.details.get("posterior")  # out of fold, where the solver has it
    posterior = fit.model.posterior(audit.batch) if own is None else np.array(own[:n], np.float64)
    return replace(audit, classifier=_with(fitted, fit), posterior=posterior)


def with_copies(batch: Batch, decided: Mapping[int, int], n_labels: int) -> Batch:
    """Add a trusted copy of every decided row behind the rows themselves."""
    rows = np.fromiter(decided, np.intp, len(decided))
    true = np.fromiter(decided.values(), np.int32, len(decided))
    more = batch.take(np.concatenate([np.arange(len(batch)), rows]))
    return more.judged_by(np.concatenate([batch.given, n_labels + 1 + true]).astype(np.int32))


def _solver(audit: Audit) -> Any:
    """Fit as the audit did; where its solver cannot be named, as the default does."""
    named = audit.fitted.solver
    known = ("counts", "conditional", "em", "moments", "pool", "variational")
    return named if named in known else audit.classifier.solver


def _with(classifier: Any, fit: Any) -> Any:
    from sklearn.base import clone

    fresh = clone(classifier)
    fresh._keep(fit, classifier._naming)
    return fresh


class Refitter:
    """One thread that fits whenever it is asked to, the latest wish only.

    Parameters
    ----------
    work : callable
        Does the work; called without arguments.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = False
        self.trouble: str | None = None
        self._thread = threading.Thread(target=self._run, name="refit", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Tell whether a fit is under way."""
        return not self._idle.is_set()

    def ask(self) -> None:
        """Ask for a fit; wishes during a fit become one fit after it."""
        self._idle.clear()
        self._wanted.set()

    def wait(self, seconds: float | None = None) -> bool:
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
            try:
                self._work()
                self.trouble = None
            except Exception as error:  # the review goes on with the model it has
                self.trouble = f"the model could not be fitted anew: {error}"
            if not self._wanted.is_set():
                self._idle.set()
