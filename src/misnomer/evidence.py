"""Why a row looks as it does: the terms of the model's own sum, column by column."""

from __future__ import annotations

from dataclasses import dataclass
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
    if isinstance(block, Words):
        edges = np.cumsum([0] + [column.width for column in columns])
        at = np.searchsorted(edges, which, side="right") - 1
        names = [columns[c].label(int(v - edges[c])) for c, v in zip(at, which, strict=True)]
        return names, row[which].tolist(), terms
    return (
        [columns[j].name for j in which],
        [_value(block, columns[j], int(j)) for j in which],
        terms,
    )


def _value(block: Block, column: Column, j: int) -> Any:
    """Read one observed cell back as the user knows it."""
    if isinstance(block, Codes):
        return column.categories[int(block.codes[0, j])]
    if isinstance(block, Flags):
        return column.categories[(int(block.bits[0, j // 8]) >> (j % 8)) & 1]
    assert isinstance(block, Reals)
    number = float(block.values[0, j])
    return date_text(number) if column.is_date else number


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
