"""Rows that nearly equal another one, and rows that are unlike all others, for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.reports.wording import row_name, shown

_MOST = 10


@dataclass(frozen=True)
class Neighbors:
    """What comparing all pairs of rows told, in words.

    Attributes
    ----------
    near : int
        Rows that nearly equal another one; those that equal it are told elsewhere.
    apart : tuple of (row, label, other row, other label)
        Some of them that are labeled unlike the row they nearly equal.
    apart_in_all : int
        How many those are.
    outliers : int
        Rows that are unlike all others.
    alone : tuple of (row, label)
        Some of them, the most doubtful first.
    """

    near: int
    apart: tuple[tuple[str, str, str, str], ...]
    apart_in_all: int
    outliers: int
    alone: tuple[tuple[str, str], ...]


def neighbors(audit: Any, equal: NDArray[np.int64] | None = None) -> Neighbors | None:
    """Put it into words; None where rows were not compared. ``equal`` numbers equal rows."""
    found = audit.unusual
    if found is None:
        return None
    twin = found.near_duplicate
    here = np.flatnonzero(twin >= 0)
    if equal is not None:  # those that are equal are in another section
        here = here[(equal[here] < 0) | (equal[here] != equal[twin[here]])]
    given, other = audit.given[here], audit.given[twin[here]]
    apart = here[(given >= 0) & (other >= 0) & (given != other)]
    pairs = np.unique(np.sort(np.stack([apart, twin[apart]], axis=1), axis=1), axis=0)
    doubt = np.nan_to_num(audit.error_probability)
    alone = np.flatnonzero(found.outlier)
    alone = alone[np.argsort(-doubt[alone], kind="stable")]
    return Neighbors(
        len(here),
        tuple((*_told(audit, one), *_told(audit, two)) for one, two in pairs[:_MOST].tolist()),
        len(pairs),
        len(alone),
        tuple(_told(audit, int(row)) for row in alone[:_MOST]),
    )


def _told(audit: Any, row: int) -> tuple[str, str]:
    return row_name(audit, row), shown(audit.given_label(row), 40)
