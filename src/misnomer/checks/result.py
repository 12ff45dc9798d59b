"""Checks: what checked rows say of a table, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.checks.design import Sample
from misnomer.checks.estimate import (
    CONFIDENCE,
    assisted_share,
    domain_share,
    rows_needed,
    running_share,
    sheet_share,
)
from misnomer.checks.sheet import Answers, Table
from misnomer.estimate import Estimate

#: Seconds that a person needs for a row, roughly: for saying how long checks will take.
SECONDS_PER_ROW = 15


@dataclass(frozen=True, eq=False)
class Checks:
    """Rows that a person has checked, and what they say whatever the noise.

    Attributes
    ----------
    answers : Answers
        The rows, their true classes, and the design by which they were drawn.
    table : Table
        The labels they are about.
    columns : mapping of str to sequence
        The sheet as it was read, to be written down again.
    assisted : float, optional
        The estimate that the model's doubts assist, `assisted_share`; the interval does not know
        of it.

    Notes
    -----
    ``kind`` is "sheet" where one sheet was drawn and all of it was answered: its interval holds if
    the number of rows was fixed beforehand. Else it is "running": that interval holds whenever the
    answering stops, and is wider for it. Rows that were not drawn by chance count for neither.
    """

    answers: Answers
    table: Table
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    assisted: float | None = None

    @cached_property
    def sample(self) -> Sample | None:
        """The turns that count: up to the first one without an answer; None where there is none."""
        drawn = self.answers.sample
        if drawn is None:
            return None
        begun = drawn.take(drawn.draw <= int(drawn.draw[drawn.answered].max(initial=0)))
        counted = begun if begun.as_drawn else begun.first()
        return counted if len(counted.row) and counted.known.any() else None

    @property
    def kind(self) -> str:
        """Which interval it is: "sheet", "running", or "none" where no drawn row was answered."""
        if self.sample is None:
            return "none"
        drawn: Any = self.answers.sample
        first = int((drawn.draw == drawn.draw[0]).sum())
        whole = self.sample.as_drawn and len(self.sample.row) == first
        return "sheet" if whole else "running"

    @cached_property
    def error_rate(self) -> Estimate:
        """The share of wrong labels among all labeled rows."""
        rate = self._share(None)
        if self.assisted is None:
            return rate
        return replace(rate, value=float(np.clip(self.assisted, rate.low, rate.high)))

    def assisted_by(self, doubt: NDArray[np.float64]) -> Checks:
        """Let the doubts of all rows, (N,), each without its answer, assist the estimate."""
        if self.sample is None:
            return self
        return replace(self, assisted=assisted_share(doubt, self.sample))

    @cached_property
    def running_rate(self) -> Estimate:
        """The same, with the interval that holds whenever the answering stops."""
        sample = self._needed()
        return running_share(sample, sample.wrong)

    def _share(self, event: Any) -> Estimate:
        sample = self._needed()
        found = sample.wrong if event is None else event
        share = sheet_share if self.kind == "sheet" else running_share
        return share(sample, found)

    def _needed(self) -> Sample:
        if self.sample is None:
            raise ValueError("no row that was drawn by chance is answered: there is no estimate")
        return self.sample

    @property
    def why_nothing(self) -> str:
        """Say why no answer counts, where none does."""
        drawn = self.answers.sample
        if drawn is not None and drawn.answered.any() and not drawn.known.any():
            return (
                f"nobody could say the class of any of the {drawn.answered.sum():,} answered rows: "
                "they tell nothing yet"
            )
        return "no answer counts yet: answer the rows from the top, in the order they were drawn"

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were drawn, answered, count for the rate, are wrong, or nobody can say."""
        drawn, sample = self.answers.sample, self.sample
        return {
            "drawn": 0 if drawn is None else len(drawn.row),
            "answered": 0 if drawn is None else int(drawn.answered.sum()),
            "counted": 0 if sample is None else len(sample.row),
            "wrong": 0 if sample is None else int(np.nansum(sample.wrong)),
            "cannot_say": 0 if sample is None else int((~sample.known).sum()),
            "known": len(self.answers.known),
        }

    @cached_property
    def by_label(self) -> dict[Any, Estimate | None]:
        """The share of wrong labels among the rows of each given label; None without an answer."""
        sample = self._needed()
        codes = self.table.given[sample.row]
        return {
            name: domain_share(sample, codes == y, sample.wrong)
            for y, name in enumerate(self.table.labels)
        }

    @cached_property
    def by_class(self) -> dict[Any, Estimate | None]:
        """The share of rows of each true class that bear another label."""
        sample = self._needed()
        return {
            name: domain_share(sample, sample.true == k, sample.wrong)
            for k, name in enumerate(self.answers.classes)
        }

    def by_group(self, groups: NDArray[Any]) -> dict[Any, Estimate | None]:
        """The share of wrong labels in each group; ``groups`` names that of every row, (N,)."""
        sample = self._needed()
        mine = np.asarray(groups)[sample.row]
        names = list(dict.fromkeys(np.asarray(groups).tolist()))
        return {name: domain_share(sample, mine == name, sample.wrong) for name in names}

    @cached_property
    def noise_matrix(self) -> tuple[NDArray[np.float64], ...]:
        """P(given | true), and the low and high ends of its intervals: three (L, K) arrays.

        NaN in the columns of classes that no checked row belongs to.
        """
        sample = self._needed()
        codes = self.table.given[sample.row]
        out = np.full((3, len(self.table.labels), len(self.answers.classes)), np.nan)
        for k in range(out.shape[2]):
            inside = sample.true == k
            if not inside.any():
                continue
            for y in range(out.shape[1]):
                one = domain_share(sample, inside, (codes == y).astype(np.float64))
                if one is not None:
                    out[:, y, k] = one.value, one.low, one.high
        return tuple(out)

    def accuracy(self, predicted: Any) -> Estimate:
        """The accuracy on true classes of predictions for all rows, (N,) of class names.

        Predictions must not have seen the answers.
        """
        sample = self._needed()
        place = {name: k for k, name in enumerate(self.answers.classes)}
        mine = np.asarray(predicted)[sample.row].tolist()
        codes = np.array([place.get(name, -9) for name in mine], np.int64)
        right = (codes == sample.true).astype(np.float64)
        return self._share(np.where(sample.known, right, np.nan))

    def rows_needed(self, within: float = 0.05, confidence: float = CONFIDENCE) -> int:
        """Count the rows, those answered included, that bring the interval to ± so much.

        Where it holds whenever the answering stops, it is taken to stay as much wider than a
        sheet's as it is now.
        """
        sample = self._needed()
        if self.kind == "running" and within < 1:
            sheet = sheet_share(sample.take(sample.known), sample.wrong[sample.known], confidence)
            running = self.running_of_known
            wider = (running.high - running.low) / max(sheet.high - sheet.low, 1e-9)
            within = within / max(wider, 1.0)
        return rows_needed(sample, sample.wrong, within, confidence)

    @cached_property
    def running_of_known(self) -> Estimate:
        """The running interval if nobody had said "cannot say"."""
        sample = self._needed()
        clear = sample.take(sample.known)
        return running_share(clear, clear.wrong)

    @property
    def cost_of_unsure(self) -> Estimate | None:
        """The interval if nobody had said "cannot say": those rows left out; None without any."""
        sample = self._needed()
        if sample.known.all():
            return None
        if self.kind == "running":
            return self.running_of_known
        clear = sample.take(sample.known)
        return sheet_share(clear, clear.wrong)
