"""Where in the table to look: values with more than their share of wrong labels, rows that repeat.

The cheapest errors to find are equal rows labeled apart; rows unlike all others are named, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer import kernels
from misnomer.estimate import normal_quantile
from misnomer.kernels.blocks import Block, Codes, Flags, Reals, Words
from misnomer.reports.wording import row_name, row_title, shown
from misnomer.rows.neighbors import duplicates as equal_rows
from misnomer.table import Column, Group

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


Array = NDArray[np.float64]
Naming = Callable[[int], tuple[str, str]]

_QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
# Enough rows to see what matters; more would only make the page wait.
_MAX_ROWS, _MAX_REALS = 200_000, 500


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
    known = known[:: -(-len(known) // _MAX_ROWS)]
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
    values = block.values[:, :_MAX_REALS].astype(float)
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


_MAX_GROUPS = 20  # groups of equal rows that are listed
_MAX_NAMES = 8  # rows of a group that are named


@dataclass(frozen=True)
class Equal:
    """Equal rows that have different labels."""

    rows: tuple[str, ...]  # the first of them, as the user knows them
    more: int  # how many others there are
    # their labels, the most frequent first, and how often each was given
    labels: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Duplicates:
    """How many rows repeat an earlier one, and which equal rows are labeled apart.

    Attributes
    ----------
    repeats : int
        Rows that are equal to an earlier one in every column but the label.
    groups, rows, least : int
        Groups of equal rows with different labels, the labeled rows in them, and how many of their
        labels are wrong at least, if equal rows are of one class.
    shown : tuple of Equal
        The largest of these groups.
    group : (n,) array of int
        The number of the group of equal rows that a row is in, -1 where there is none.
    """

    repeats: int
    groups: int
    rows: int
    least: int
    shown: tuple[Equal, ...]
    group: NDArray[np.int64] = field(compare=False, repr=False)


def duplicates(audit: Audit) -> Duplicates | None:
    """Find equal rows by the columns that were learned from; None where there are no columns."""
    names = [name for name in audit.data.column_names if name in audit.fitted.families]
    names = [name for name in names if name not in (audit.label, audit.shape.id)]
    if not names:
        return None
    labels = [None if code < 0 else code for code in audit.given.tolist()]
    equal = equal_rows(audit.data.select(names), labels)
    place = equal.group
    counts = _label_counts(place, audit.given, len(audit.labels))
    conflicting = np.flatnonzero(np.diff(counts.indptr) > 1)
    labeled = counts.sum(axis=1)[conflicting]
    least = int((labeled - counts.max(axis=1).toarray().ravel()[conflicting]).sum())
    order = conflicting[np.argsort(-labeled, kind="stable")][:_MAX_GROUPS]
    largest = tuple(_equal(audit, np.flatnonzero(place == one), counts[[one]]) for one in order)
    return Duplicates(equal.repeated, len(conflicting), int(labeled.sum()), least, largest, place)


def _label_counts(
    group: NDArray[np.int64], given: NDArray[np.int64], labels: int
) -> sparse.csr_array:
    """Count the labels of each group, (groups, L); rows of group -1 are left out."""
    at = np.flatnonzero((given >= 0) & (group >= 0))
    shape = (max(int(group.max(initial=-1)) + 1, 1), labels)
    return sparse.csr_array((np.ones(len(at), np.int64), (group[at], given[at])), shape=shape)


def _equal(audit: Audit, rows: NDArray[np.intp], counts: sparse.csr_array) -> Equal:
    order = counts.indices[np.lexsort((counts.indices, -counts.data))]
    named = tuple(row_name(audit, int(row)) for row in rows[:_MAX_NAMES])
    labels = tuple((shown(audit.labels[k], 40), int(counts[0, k])) for k in order[:6])
    return Equal(named, max(0, len(rows) - _MAX_NAMES), labels)


_MAX_NEIGHBORS = 10


@dataclass(frozen=True)
class Neighbors:
    """What comparing all pairs of rows told, in words."""

    near: int  # rows that nearly equal another one; those that equal it are told elsewhere
    # some of them that are labeled unlike the row they nearly equal
    conflicting: tuple[tuple[str, str, str, str], ...]
    conflicting_in_all: int  # how many those are
    outliers: int  # rows that are unlike all others
    alone: tuple[tuple[str, str], ...]  # some of them, the most doubtful first


def neighbors(audit: Audit, equal: NDArray[np.int64] | None = None) -> Neighbors | None:
    """Put it into words; None where rows were not compared. ``equal`` numbers equal rows."""
    unusual = audit.unusual
    if unusual is None:
        return None
    near = unusual.near_duplicate
    here = np.flatnonzero(near >= 0)
    if equal is not None:  # those that are equal are in another section
        here = here[(equal[here] < 0) | (equal[here] != equal[near[here]])]
    given, other = audit.given[here], audit.given[near[here]]
    conflicting = here[(given >= 0) & (other >= 0) & (given != other)]
    pairs = np.unique(np.sort(np.stack([conflicting, near[conflicting]], axis=1), axis=1), axis=0)
    doubt = np.nan_to_num(audit.error_probability)
    alone = np.flatnonzero(unusual.outlier)
    alone = alone[np.argsort(-doubt[alone], kind="stable")]
    return Neighbors(
        len(here),
        tuple(
            (*_named(audit, one), *_named(audit, two))
            for one, two in pairs[:_MAX_NEIGHBORS].tolist()
        ),
        len(pairs),
        len(alone),
        tuple(_named(audit, int(row)) for row in alone[:_MAX_NEIGHBORS]),
    )


def _named(audit: Any, row: int) -> tuple[str, str]:
    return row_title(audit, row), shown(audit.given_label(row), 40)
