"""The refit while the reviewer goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


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
