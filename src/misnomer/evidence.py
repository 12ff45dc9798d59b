"""Why a row looks as it does, and why one label looks wrong: the terms of the model's own sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.kernels.reference import statistic
from misnomer.table import Batch, Column, Group, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The terms that add up to the log joint of one row, class by class.

    Attributes
    ----------
    names, values : tuple
        The columns (or words) that were observed, and what they hold.
    terms : (J, K) array
        What each of them adds to the log joint of each class.
    prior : (K,) array
        log P(class), and the bias where the model has one.
    label : (K,) array
        log P(given label | class): the given label's own weight (0 without a label).
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    terms: Array
    prior: Array
    label: Array

    @property
    def total(self) -> Array:
        """The log joint: exactly what the model predicts with, (K,)."""
        total: Array = self.prior + self.terms.sum(axis=0) + self.label
        return total

    def of(self, classes: NDArray[Any]) -> Evidence:
        """Keep what is said of some classes."""
        prior, label = self.prior[classes], self.label[classes]
        return replace(self, terms=self.terms[:, classes], prior=prior, label=label)

    def odds(self, this: int, against: int) -> Array:
        """Weights of evidence of the columns for one class against another, (J,)."""
        difference: Array = self.terms[:, this] - self.terms[:, against]
        return difference


def weigh(
    schema: Schema, weights: Array, batch: Batch, prior: Array, label: Array
) -> list[Evidence]:
    """Split ``prior + t(x) . weights + label`` into its terms, for every row of a batch."""
    rows = []
    for i in range(len(batch)):
        one = batch.take(slice(i, i + 1))
        parts = [
            _terms(schema, group, block, weights[:, group.span])
            for group, block in zip(schema.groups, one.blocks, strict=True)
        ]
        names = tuple(name for part in parts for name in part[0])
        values = tuple(value for part in parts for value in part[1])
        terms = np.concatenate([part[2] for part in parts] or [np.zeros((0, len(prior)))])
        rows.append(Evidence(names, values, terms, prior, label[i]))
    return rows


def _terms(
    schema: Schema, group: Group, block: Block, weights: Array
) -> tuple[list[str], list[Any], Array]:
    """List the observed columns of one group in one row, their values and their terms."""
    matrix = statistic(block)
    row = matrix[0] if isinstance(matrix, np.ndarray) else matrix.toarray()[0]
    used = np.flatnonzero(row)
    owner = group.family.owner[used]
    which, place = np.unique(owner, return_inverse=True)
    terms = np.zeros((len(which), len(weights)))
    np.add.at(terms, place, (row[used] * weights[:, used]).T)
    columns = [schema.columns[i] for i in group.members]
    return *cells_of(block, columns, which, row[which]), terms


def cells_of(
    block: Block, columns: Sequence[Column], which: NDArray[Any], times: Array
) -> tuple[list[str], list[Any]]:
    """Name the cells (or words) that a row of one block holds, and read them back.

    Counts come with how many ``times`` they occur; the words of a text count once.
    """
    if isinstance(block, Words):
        edges = np.cumsum([0] + [column.width for column in columns])
        at = np.searchsorted(edges, which, side="right") - 1
        names = [columns[c].label(int(v - edges[c])) for c, v in zip(at, which, strict=True)]
        once = [bool(columns[c].words) for c in at]
        return names, [None if o else t for o, t in zip(once, times.tolist(), strict=True)]
    cells = [_value(block, columns[j], int(j)) for j in which]
    return [columns[j].name for j in which], cells


def _value(block: Block, column: Column, j: int) -> Any:
    """Read one observed cell back as the user knows it."""
    if isinstance(block, Codes):
        return column.categories[int(block.codes[0, j])]
    if isinstance(block, Flags):
        return column.categories[(int(block.bits[0, j // 8]) >> (j % 8)) & 1]
    assert isinstance(block, Reals)
    return cell_of(column, float(block.values[0, j]))


def cell_of(column: Column, number: float) -> str | float:
    """Read a number of a column back as the user knows it: a time, a date, or itself."""
    if column.form == "clock":
        return clock_text(number)
    return date_text(number) if column.is_date else number


def amount(value: float) -> str:
    """Write a number of a cell as people do: 15,670, not 1.567e+04; a year has no comma.

    Examples
    --------
    >>> [amount(x) for x in (15670.0, 2024.0, 1452.38, 0.123456, -3.0, 1e-7, 2.5e15)]
    ['15,670', '2024', '1452', '0.1235', '-3', '1e-07', '2.5e+15']
    """
    return f"{value:,.0f}" if 9999.5 <= abs(value) < 1e15 else f"{value:.4g}"


def clock_text(days: float) -> str:
    """Write a part of a day as a clock shows it.

    Examples
    --------
    >>> clock_text(0.25), clock_text(61.5 / 86_400)
    ('6:00', '0:01:01.5')
    """
    minutes, seconds = divmod(round(days * 86_400, 3), 60)
    clock = f"{int(minutes // 60)}:{int(minutes % 60):02d}"
    return f"{clock}:{seconds:04.1f}".replace(".0", "") if seconds else clock


def date_text(days: float) -> str:
    """Write days since 1970 as the date that they are, with the time where there is one.

    Examples
    --------
    >>> date_text(19643.0), date_text(19643.5)
    ('2023-10-13', '2023-10-13 12:00:00')
    """
    moment = np.datetime64(0, "s") + np.timedelta64(round(days * 86_400), "s")
    day, _, clock = str(moment).partition("T")
    return day if clock == "00:00:00" else f"{day} {clock}"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The terms of the log-odds of one class against the given label.

    ``log_odds = prior + weights.sum() + label``: positive weights speak for ``suggested``, negative
    ones for ``given`` (for the next best class, where the suggestion is the given label).

    Attributes
    ----------
    row : int
        The position of the row in the input.
    given : label or None
        The given label; None where there is none.
    suggested, against : label
        The two classes that are compared.
    names, values : tuple
        The columns (or words) of the row and what they hold, the heaviest first.
    weights : (J,) array
        The weight of evidence of each of them, in nats.
    prior : float
        What the shares of the two classes say beforehand.
    label : float
        What the given label itself says.
    error_probability : float or None
        P(the given label is wrong), as in the audit's rows.
    """

    row: int
    given: Any
    suggested: Any
    against: Any
    names: tuple[str, ...]
    values: tuple[Any, ...]
    weights: Array
    prior: float
    label: float
    error_probability: float | None

    @property
    def log_odds(self) -> float:
        """The sum of all the terms."""
        return float(self.prior + self.weights.sum() + self.label)

    @property
    def terms(self) -> tuple[tuple[str, Any, float], ...]:
        """All of the sum as (name, value, weight), the prior and the given label included."""
        columns = zip(self.names, self.values, self.weights.tolist(), strict=True)
        own = (
            ("(without any column)", None, self.prior),
            ("(given label)", self.given, self.label),
        )
        return (*columns, *own)

    def heaviest(self, most: int = 8) -> tuple[tuple[str, Any, float], ...]:
        """List the terms with all but the heaviest columns added up: they sum to the log-odds."""
        every = self.terms
        if len(self.names) <= most + 1:
            return every
        rest = (f"({len(self.names) - most} others)", None, float(self.weights[most:].sum()))
        return (*every[:most], rest, *every[-2:])

    def __str__(self) -> str:
        """List the heaviest terms, one per line."""
        head = f"row {self.row}: {self.suggested!r} rather than {self.against!r}"
        lines = [
            f"  {_weighed(weight)}  {name}" + ("" if value is None else f" = {value}")
            for name, value, weight in self.terms
        ]
        return "\n".join([head, *lines, f"  {_weighed(self.log_odds)}  in all (log-odds)"])


def _weighed(weight: float) -> str:
    """Write a weight; what a model calls impossible has no number.

    Examples
    --------
    >>> _weighed(1.5), _weighed(-1e6)
    ('  +1.50', 'against')
    """
    if abs(weight) < BEYOND_DOUBT:
        return f"{weight:+7.2f}"
    return "certain" if weight > 0 else "against"


def explained(
    evidence: Any, row: int, given: Any, classes: tuple[Any, ...], pair: tuple[int, int], doubt: Any
) -> Explanation:
    """Turn the evidence of one row into weights for one class against another."""
    this, against = pair
    weights = evidence.odds(this, against)
    order = np.argsort(-np.abs(weights), kind="stable")
    return Explanation(
        row=row,
        given=given,
        suggested=classes[this],
        against=classes[against],
        names=tuple(evidence.names[i] for i in order),
        values=tuple(evidence.values[i] for i in order),
        weights=weights[order],
        prior=float(evidence.prior[this] - evidence.prior[against]),
        label=float(evidence.label[this] - evidence.label[against]),
        error_probability=doubt,
    )


#: What the model, fitted to all rows, owes to the row in question; it is judged without that.
WITHOUT_ITSELF = "judged without itself"

#: What trees say of a row.
BEYOND_DOUBT = 1e5  # of log-odds: no sum of columns says so much, only what is impossible does
TOGETHER = "columns together"


def without_itself(evidence: Evidence, posterior: Array, absent: str = "") -> Evidence:
    """Add the term that brings the evidence to the posterior by which the row was judged.

    The model has seen the row; the audit judges every row by the others. With that term, evidence
    adds up to the log-odds of what is shown. Where a classifier is ``absent`` that the audit
    listened to, the term is what it said. Trees that have seen a row know it by heart: what they
    say without it stands in their own term.
    """
    if not (posterior > 0).all():
        return evidence  # its class is known: nothing is weighed
    gap = np.log(posterior) - evidence.total
    gap = gap - gap.mean()
    if float(np.abs(gap).max(initial=0.0)) < 1e-9:
        return evidence
    if TOGETHER in evidence.names and not absent:
        own = np.array(evidence.names) == TOGETHER
        return replace(evidence, terms=evidence.terms + own[:, None] * gap)
    return replace(
        evidence,
        names=(*evidence.names, absent or WITHOUT_ITSELF),
        values=(*evidence.values, None),
        terms=np.concatenate([evidence.terms, gap[None, :]]),
    )
