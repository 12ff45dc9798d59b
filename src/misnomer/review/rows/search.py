"""Which rows hold a value, or some words, in any of their columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.review.ledger import ReviewError
from misnomer.review.rows.large import LargeRows

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

_MOST_VALUES = 200  # of a column that are offered


def columns(audit: Audit | LargeRows) -> list[str]:
    """Name the input's columns."""
    if isinstance(audit, LargeRows):
        return list(audit.names.values())
    return list(audit.data.column_names)


def matching(
    audit: Audit | LargeRows, column: str | None, value: str | None, words: str | None
) -> NDArray[np.bool_]:
    """Tell which rows hold a value in a column, and some words anywhere, (n,).

    Each word is found in some cell, whatever its case; words in quotation marks stand together. A
    value is compared as text, and an empty one finds the empty cells.
    """
    if column is not None and column not in columns(audit):
        raise ReviewError(f"there is no column {column!r}")
    if not isinstance(audit, LargeRows):
        return _found(audit.data, column, value, words)
    wanted = list(audit.names) if words else [o for o, n in audit.names.items() if n == column]
    parts = [_found(audit.named(table), column, value, words) for _, table in audit.parts(wanted)]
    return np.concatenate(parts) if parts else np.zeros(0, bool)


def _found(
    table: pa.Table, column: str | None, value: str | None, words: str | None
) -> NDArray[np.bool_]:
    kept = np.ones(len(table), bool)
    if column is not None:
        kept &= _equal(table.column(table.column_names.index(column)), value or "")
    if words:
        texts = [as_text(cells) for cells in table.columns]
        for word in _words(words):
            kept &= np.logical_or.reduce([_holds(cells, word) for cells in texts])
    return kept


def _words(said: str) -> list[str]:
    """List the words of a search; what stands in quotation marks is one.

    Examples
    --------
    >>> _words('late "my order" 5"')
    ['late', 'my order', '5"']
    """
    return [together or word for together, word in re.findall(r'"([^"]+)"|(\S+)', said)]


def _equal(cells: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    texts = as_text(cells)
    same = pc.equal(pc.fill_null(texts, ""), value)
    return np.asarray(same.to_numpy(), bool)


def _holds(texts: pa.ChunkedArray, word: str) -> NDArray[np.bool_]:
    matches = pc.match_substring(texts, word, ignore_case=True)
    return np.asarray(pc.fill_null(matches, False).to_numpy(), bool)


def as_text(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write cells as the page does: one that Arrow cannot write is written by Python."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        return cells
    texts = [None if cell is None else str(cell) for cell in cells.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def values(audit: Audit | LargeRows, column: str) -> list[str]:
    """List the values of a column, the most frequent first; none where nearly all differ."""
    if column not in columns(audit):
        raise ReviewError(f"there is no column {column!r}")
    data: Any = audit.sample.data if isinstance(audit, LargeRows) else audit.data
    cells = pc.fill_null(as_text(data.column(data.column_names.index(column))), "")
    counts = pc.value_counts(cells).to_pylist()
    if len(counts) > max(_MOST_VALUES, len(data) // 2):
        return []
    counts.sort(key=lambda one: (-one["counts"], one["values"]))
    return [one["values"] for one in counts[:_MOST_VALUES] if len(one["values"]) <= 200]
