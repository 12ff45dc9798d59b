"""Rows that equal or nearly equal another one, and rows that are unlike all others.

The cheapest errors to find are equal rows labeled apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.reports.wording import row_name, row_title, shown
from misnomer.rows.neighbors import duplicates as equal_rows

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


_MOST = 20  # groups of equal rows that are listed
_NAMES = 8  # rows of a group that are named


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
    apart = np.flatnonzero(np.diff(counts.indptr) > 1)
    labeled = counts.sum(axis=1)[apart]
    least = int((labeled - counts.max(axis=1).toarray().ravel()[apart]).sum())
    order = apart[np.argsort(-labeled, kind="stable")][:_MOST]
    largest = tuple(_equal(audit, np.flatnonzero(place == one), counts[[one]]) for one in order)
    return Duplicates(equal.repeated, len(apart), int(labeled.sum()), least, largest, place)


def _label_counts(
    group: NDArray[np.int64], given: NDArray[np.int64], labels: int
) -> sparse.csr_array:
    """Count the labels of each group, (groups, L); rows of group -1 are left out."""
    at = np.flatnonzero((given >= 0) & (group >= 0))
    shape = (max(int(group.max(initial=-1)) + 1, 1), labels)
    return sparse.csr_array((np.ones(len(at), np.int64), (group[at], given[at])), shape=shape)


def _equal(audit: Audit, rows: NDArray[np.intp], counts: sparse.csr_array) -> Equal:
    order = counts.indices[np.lexsort((counts.indices, -counts.data))]
    named = tuple(row_name(audit, int(row)) for row in rows[:_NAMES])
    labels = tuple((shown(audit.labels[k], 40), int(counts[0, k])) for k in order[:6])
    return Equal(named, max(0, len(rows) - _NAMES), labels)


_NEIGHBORS = 10


@dataclass(frozen=True)
class Neighbors:
    """What comparing all pairs of rows told, in words."""

    near: int  # rows that nearly equal another one; those that equal it are told elsewhere
    # some of them that are labeled unlike the row they nearly equal
    apart: tuple[tuple[str, str, str, str], ...]
    apart_in_all: int  # how many those are
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
    apart = here[(given >= 0) & (other >= 0) & (given != other)]
    pairs = np.unique(np.sort(np.stack([apart, near[apart]], axis=1), axis=1), axis=0)
    doubt = np.nan_to_num(audit.error_probability)
    alone = np.flatnonzero(unusual.outlier)
    alone = alone[np.argsort(-doubt[alone], kind="stable")]
    return Neighbors(
        len(here),
        tuple(
            (*_named(audit, one), *_named(audit, two)) for one, two in pairs[:_NEIGHBORS].tolist()
        ),
        len(pairs),
        len(alone),
        tuple(_named(audit, int(row)) for row in alone[:_NEIGHBORS]),
    )


def _named(audit: Any, row: int) -> tuple[str, str]:
    return row_title(audit, row), shown(audit.given_label(row), 40)
