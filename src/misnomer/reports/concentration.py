"""Where in the table the wrong labels are: the values that have more than their share of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.estimate import normal_quantile
from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.reports.wording import shown
from misnomer.table import Column, Group

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]
Naming = Callable[[int], tuple[str, str]]

_QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
# Enough rows to see what matters; more would only make the page wait.
_MOST_ROWS, _MOST_REALS = 200_000, 500


@dataclass(frozen=True)
class Spot:
    """A value of a column, and the wrong labels among its rows."""

    # which rows these are
    column: str
    value: str
    rows: float  # how many labeled rows
    errors: float  # how many of them are expected to be wrong
    rate: float  # errors / rows
    lift: float  # the rate over that of all rows
    surprise: float  # by how many standard errors the number of errors exceeds its share


def by_label(audit: Audit) -> list[Spot]:
    """Compare the given labels, the one with most wrong rows first."""
    known = audit.given >= 0
    given, wrong = audit.given[known], audit.error_probability[known]
    rows = np.bincount(given, minlength=len(audit.labels)).astype(float)
    errors = np.bincount(given, weights=wrong, minlength=len(audit.labels)).astype(float)
    excess = surprise(rows, errors, len(given), float(wrong.sum()))
    return [
        _spot((audit.label, shown(audit.labels[y])), rows[y], errors[y], wrong.mean(), excess[y])
        for y in np.argsort(-errors, kind="stable")
        if rows[y] > 0
    ]


def by_value(audit: Audit, most: int = 15) -> list[Spot]:
    """List the column values whose excess of errors chance would hardly produce, worst first.

    The bar is that of a 5% test shared among all values (Bonferroni).
    """
    known = np.flatnonzero(audit.given >= 0)
    known = known[:: -(-len(known) // _MOST_ROWS)]
    wrong = audit.error_probability[known]
    pieces = list(_totals(audit, known, wrong))
    tried = sum(int((rows > 0).sum()) for _, rows, _ in pieces)
    if not tried or not 0 < wrong.mean() < 1:
        return []
    bar = normal_quantile(1 - 2 * 0.05 / max(tried, 1)) if tried > 1 else normal_quantile(0.9)
    spots = []
    for naming, rows, errors in pieces:
        excess = surprise(rows, errors, len(known), float(wrong.sum()))
        for i in np.argsort(-excess, kind="stable")[:most]:
            if excess[i] > bar and rows[i] >= 5:
                spots.append(_spot(naming(int(i)), rows[i], errors[i], wrong.mean(), excess[i]))
    return sorted(spots, key=lambda spot: -spot.surprise)[:most]


def surprise(rows: Array, errors: Array, n: int, total: float) -> Array:
    """Measure an excess of errors in standard errors, with r = total / n.

        (errors - rows r) / sqrt(rows r (1 - r) (1 - rows / n))

    Examples
    --------
    >>> surprise(np.array([10.0, 90.0]), np.array([5.0, 5.0]), 100, 10.0).round(2).tolist()
    [4.44, -4.44]
    """
    rate = total / n
    spread = np.sqrt(np.clip(rows * rate * (1 - rate) * (1 - rows / n), 0, None))
    return np.where(spread > 0, (errors - rows * rate) / np.where(spread > 0, spread, 1.0), 0.0)


def _spot(name: tuple[str, str], rows: Any, errors: Any, overall: Any, excess: Any) -> Spot:
    rate = float(errors / rows)
    lift = rate / float(overall) if overall > 0 else 0.0
    return Spot(*name, float(rows), float(errors), rate, lift, float(excess))


def _totals(
    audit: Audit, known: NDArray[np.intp], wrong: Array
) -> Iterator[tuple[Naming, Array, Array]]:
    """Count the rows and the errors of every value, one group of columns after the other."""
    schema, batch = audit.classifier.model_.schema, audit.batch
    share = np.column_stack([np.ones(len(known)), wrong])
    for group, whole in zip(schema.groups, batch.blocks, strict=True):
        columns = [schema.columns[i] for i in group.members]
        yield _totals_of(group, whole.take(known), columns, share)


def _totals_of(
    group: Group, block: Block, columns: list[Column], share: Array
) -> tuple[Naming, Array, Array]:
    """Count the rows and the errors of every value of one group."""
    if isinstance(block, Reals):
        return _quarters(block, columns, share)
    if isinstance(block, Words):
        block = Words(block.matrix.sign())  # a word counts once per row
    rows, errors = kernels.accumulate([block], share)
    if isinstance(block, Flags):
        rows, errors = (np.concatenate([s[: block.columns] - s[block.columns :],
                                        s[block.columns :]]) for s in (rows, errors))  # fmt: skip
    return _naming(block, group, columns), rows, errors


def _naming(block: Block, group: Group, columns: list[Column]) -> Naming:
    """Say which column and value a count is of."""
    owner = group.family.owner

    def name(i: int) -> tuple[str, str]:
        if isinstance(block, Codes):
            column = columns[owner[i]]
            first = int(np.searchsorted(owner, owner[i]))
            return column.name, shown(column.categories[i - first])
        if isinstance(block, Flags):
            on, j = divmod(i, block.columns)
            return columns[j].name, shown(
                columns[j].categories[on] if columns[j].categories else on
            )
        edges = np.cumsum([column.width for column in columns])
        place = int(np.searchsorted(edges, i, side="right"))
        before = int(edges[place] - columns[place].width)
        column = columns[place]
        return column.name, f"has {shown(column.label(i - before))}"

    return name


def _quarters(block: Reals, columns: list[Column], share: Array) -> tuple[Naming, Array, Array]:
    """Cut each real column at its quartiles; the first columns only, where there are very many."""
    values = block.values[:, :_MOST_REALS].astype(float)
    rows, errors = np.zeros((2, values.shape[1], 4))
    cuts = np.full((values.shape[1], 3), np.nan)
    for j, column in enumerate(values.T):
        seen = ~np.isnan(column)
        if not seen.any():
            continue
        cuts[j] = np.quantile(column[seen], (0.25, 0.5, 0.75))
        quarter = np.searchsorted(cuts[j], column[seen], side="left")
        rows[j] = np.bincount(quarter, minlength=4)
        errors[j] = np.bincount(quarter, weights=share[seen, 1], minlength=4)

    def name(i: int) -> tuple[str, str]:
        j, quarter = divmod(i, 4)
        low, high = ["", *map(shown, cuts[j].tolist())][quarter], shown(cuts[j][min(quarter, 2)])
        between = (f"up to {high}", f"{low} to {high}", f"{low} to {high}", f"over {low}")[quarter]
        return columns[j].name, f"{_QUARTERS[quarter]}: {between}"

    return name, rows.ravel(), errors.ravel()
