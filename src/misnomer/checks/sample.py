"""The answers with the design they were drawn by: all that an estimate needs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.checks.betting import Population

Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Drawn rows in the order of their turns.

    Attributes
    ----------
    row : (n,) array of int
        Positions in the input.
    draw : (n,) array of int
        Which draw it was: 1, then 2 where more were drawn later.
    chance, intensity, inclusion : (n,) arrays
        The chance at its turn, q, and the chance of being in the draw at all.
    stratum : (n,) array of int
        The stratum of doubts.
    population : Population
        All rows that could have been drawn.
    true : (n,) array of int
        The answer: a class; `UNSURE` for "cannot say", `OPEN` where there is none yet.
    given : (n,) array of int
        The given label, in the codes of ``true``.
    """

    row: Codes
    draw: Codes
    chance: Array
    intensity: Array
    inclusion: Array
    stratum: Codes
    population: Population
    true: Codes
    given: Codes

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Tell which rows have an answer, "cannot say" included."""
        return self.true != OPEN

    @property
    def known(self) -> NDArray[np.bool_]:
        """Tell which rows have a class for an answer."""
        return self.true >= 0

    @property
    def wrong(self) -> Array:
        """One where the given label is not the true class; NaN where that is not known."""
        return np.where(self.known, (self.true != self.given).astype(np.float64), np.nan)

    @property
    def as_drawn(self) -> bool:
        """Tell whether one sheet was drawn and all of it was answered."""
        return bool(len(self.row) and self.answered.all() and (self.draw == self.draw[0]).all())

    def first(self) -> Sample:
        """Take the turns up to the last answer before which at most one in five was passed over.

        A row that was passed over counts as "cannot say": left out, it could hide what it is.
        """
        turns = np.arange(1, len(self.row) + 1)
        passed = np.cumsum(~self.answered)
        ends = np.flatnonzero(self.answered & (passed <= MOST_PASSED * turns))
        begun = self.take(slice(0, int(ends[-1]) + 1 if len(ends) else 0))
        return replace(begun, true=np.where(begun.answered, begun.true, UNSURE))

    def take(self, which: slice | NDArray[np.bool_]) -> Sample:
        """Take some of the turns."""
        parts = {
            field.name: getattr(self, field.name)[which]
            for field in fields(self)
            if field.name != "population"
        }
        return replace(self, **parts)


UNSURE, OPEN = -1, -2
MOST_PASSED = 0.2  # the share of turns that may be passed over
