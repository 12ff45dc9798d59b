"""Annotators, or groups, side by side: what each is worth, and what limits the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from misnomer.answers import Answers
from misnomer.solvers.annotators.fit import SourcesFit
from misnomer.solvers.annotators.worth import (
    GroupTest,
    accuracies,
    accuracy_intervals,
    bits,
    typical_confusions,
)

Array = NDArray[np.float64]

#: With one answer a row, so many errors and classes that overlap look alike. Measured: with half of
#: the answers wrong the consensus is wrong up to twice as often as it says.
CONFIDENCE = 0.90
TOO_MANY = 0.3
BEYOND = (
    "No row has two answers and about a third of them or more look wrong: so many errors cannot be "
    "told from classes that the columns confuse, so neither the rate nor the rows are to be "
    "believed; ask a second annotator about some rows."
)


@dataclass(frozen=True, eq=False)
class RankedTable:
    """One entry for each of those who gave labels, in the order of their rank."""

    name: NDArray[Any]  # (A,): who

    def __len__(self) -> int:
        return len(self.name)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name: what any frame can be made of."""
        every = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: values for name, values in every.items() if isinstance(values, np.ndarray)}

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        return pa.table(self.columns()).to_pandas()

    def _shown(self, head: str, line: Callable[[int], str]) -> list[str]:
        """Write the first ten, and the number of the others."""
        lines = [head, *(line(j) for j in range(min(len(self), 10)))]
        return [*lines, f"... and {len(self) - 10} more"] if len(self) > 10 else lines


@dataclass(frozen=True, eq=False)
class AnnotatorTable(RankedTable):
    """One entry per annotator, the most informative first.

    Attributes
    ----------
    name : (A,) array
        Who.
    answers : (A,) array of int
        How many answers.
    accuracy, low, high : (A,) arrays
        P(an answer is right), with its interval (90 %).
    bits : (A,) array
        What one answer tells about the true class.
    confusion : (A,) array of str
        The most frequent error, in words.
    """

    answers: NDArray[np.int64]
    accuracy: Array
    low: Array
    high: Array
    bits: Array
    confusion: NDArray[Any]

    def __str__(self) -> str:
        """Show the ten best and the number of the others."""

        def line(j: int) -> str:
            interval = f"{self.accuracy[j]:.3f} ({self.low[j]:.3f}-{self.high[j]:.3f})"
            return (
                f"{str(self.name[j])[:12]:>12} {self.answers[j]:>7} {interval:>21} "
                f"{self.bits[j]:>5.2f}  {self.confusion[j]}"
            )

        head = f"{'name':>12} {'answers':>7} {'accuracy':>21} {'bits':>5}  typical confusion"
        return "\n".join(self._shown(head, line))


@dataclass(frozen=True, eq=False)
class GroupTable(RankedTable):
    """One entry per group of rows, the one with the highest error rate first.

    The groups' ``rows * error_rate`` add up to the audit's error count.

    Attributes
    ----------
    name : (G,) array
        Which group.
    rows : (G,) array of int
        Its labeled rows.
    error_rate, low, high : (G,) arrays
        The share of wrong labels among them, with its interval (90 %).
    test : GroupTest
        Whether the groups differ at all in how their labels go wrong.
    """

    rows: NDArray[np.int64]
    error_rate: Array
    low: Array
    high: Array
    test: GroupTest

    def __str__(self) -> str:
        """Show the ten worst, the number of the others, and the test."""

        def line(j: int) -> str:
            interval = f"{self.error_rate[j]:.3f} ({self.low[j]:.3f}-{self.high[j]:.3f})"
            return f"{str(self.name[j])[:12]:>12} {self.rows[j]:>7} {interval:>21}"

        head = f"{'name':>12} {'rows':>7} {'error rate':>21}"
        return "\n".join([*self._shown(head, line), str(self.test)])


def ranked_groups(
    names: NDArray[Any], rows: NDArray[np.int64], rate: Array, low: Array, high: Array,
    test: GroupTest,
) -> GroupTable:  # fmt: skip
    """Rank groups by the share of wrong labels among their rows."""
    order = np.argsort(-rate, kind="stable")
    return GroupTable(names[order], rows[order], rate[order], low[order], high[order], test)


def table_of(answers: Answers, fit: SourcesFit) -> AnnotatorTable:
    """Rank the annotators by what one answer of theirs tells."""
    low, high = accuracy_intervals(answers, fit, CONFIDENCE)
    information = bits(fit.prior, fit.channels)
    pair, how_often = typical_confusions(fit.prior, fit.channels)
    names = answers.labels
    confusion = np.array(
        [
            f"says {names[given]!s} for {names[true]!s} ({often:.0%})"
            for (given, true), often in zip(pair, how_often, strict=True)
        ],
        dtype=object,
    )
    order = np.lexsort((-answers.given, -information))
    columns = (
        answers.annotators, answers.given, accuracies(fit.prior, fit.channels), low, high,
        information, confusion,
    )  # fmt: skip
    return AnnotatorTable(*(np.asarray(column)[order] for column in columns))


def notes(answers: Answers, fit: SourcesFit) -> tuple[str, ...]:
    """Say in words what limits the answer: rows without labels, annotators without overlap."""
    out = []
    empty = int((answers.asked == 0).sum())
    if empty:
        how = "the columns alone" if fit.trust else "the class shares alone"
        rows = "1 row has" if empty == 1 else f"{empty} rows have"
        out.append(f"{rows} no answer: the class is guessed from {how}.")
    lonely = alone(answers)
    if len(lonely) and len(lonely) == answers.n_annotators:
        out.append(
            "No row has two answers: the annotators are compared through the columns only, so "
            "their error rates rest on the columns telling the classes apart."
        )
        if share_of_wrong_answers(answers, fit) >= TOO_MANY:
            out.append(BEYOND)
    elif len(lonely):
        some = ", ".join(str(answers.annotators[a]) for a in lonely[:5])
        who = "annotator" if len(lonely) == 1 else "annotators"
        out.append(
            f"{len(lonely)} {who} ({some}) never met anybody on a row: their answers count "
            "with the crowd's usual errors, not their own."
        )
    parts = islands(answers)
    if parts > 1 and len(lonely) < answers.n_annotators:
        out.append(
            f"The annotators fall into {parts} circles without a common row: errors are compared "
            "within a circle, and between circles only through the class shares and the columns."
        )
    return tuple(out)


def share_of_wrong_answers(answers: Answers, fit: SourcesFit) -> float:
    """Estimate which share of all answers is wrong."""
    right = fit.share[answers.row, answers.label]
    return float(1.0 - right.mean()) if len(answers) else 0.0


def alone(answers: Answers) -> NDArray[np.intp]:
    """List the annotators all of whose rows nobody else answered."""
    met = answers.asked[answers.row] > 1
    shared = np.bincount(answers.annotator, met, minlength=answers.n_annotators)
    return np.flatnonzero((shared == 0) & (answers.given > 0))


def islands(answers: Answers) -> int:
    """Count the circles of annotators linked by common rows, not counting those alone."""
    n, A = answers.n_rows, answers.n_annotators
    link = sparse.csr_array(
        (np.ones(len(answers)), (answers.row, n + answers.annotator)), shape=(n + A, n + A)
    )
    _, part = connected_components(link, directed=False)
    met = np.setdiff1d(np.flatnonzero(answers.given > 0), alone(answers))
    return len(np.unique(part[n + met]))
