"""Who fits anew in the background, and how each kind of audit is fitted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from misnomer.review.ranking import Ranking, rank_rows
from misnomer.review.refit.fit import refit_audit
from misnomer.review.refit.large import LargeRefit
from misnomer.review.rows.large import LargeRows

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Refit = Callable[[Mapping[int, int], int], tuple[Any, Ranking]]


def first_ranking(audit: Audit | LargeRows) -> Ranking:
    """Rank the rows as the audit has them."""
    return audit.ranking() if isinstance(audit, LargeRows) else rank_rows(audit)


def refit_of(audit: Audit | LargeRows, error: float) -> Refit:
    """Choose how to fit with decisions: ``refit(decided, version)`` judges and ranks."""
    if isinstance(audit, LargeRows):
        return LargeRefit(audit, error=error)

    def refit(decided: Mapping[int, int], version: int) -> tuple[Audit, Ranking]:
        judged = refit_audit(audit, decided, error=error)
        return judged, rank_rows(judged, version)

    return refit


class Refitter:
    """One thread that fits whenever it is asked to, the latest wish only.

    Parameters
    ----------
    work : callable
        Does the work; called without arguments.

    Attributes
    ----------
    trouble : str or None
        What went wrong with the last fit.
    took : float or None
        How many seconds the last fit took.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._wanted = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._stopped = False
        self.trouble: str | None = None
        self.took: float | None = None
        self._began: float | None = None
        self._thread = threading.Thread(target=self._run, name="refit", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Tell whether a fit is under way."""
        return not self._idle.is_set()

    @property
    def seconds(self) -> float | None:
        """How long the fit that is under way has taken so far."""
        began = self._began
        return None if began is None else time.monotonic() - began

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
            self._began = began = time.monotonic()
            try:
                self._work()
                self.trouble, self.took = None, time.monotonic() - began
            except Exception as error:  # the review goes on with the model it has
                self.trouble = f"the model could not be fitted anew: {error}"
            self._began = None
            if not self._wanted.is_set():
                self._idle.set()
