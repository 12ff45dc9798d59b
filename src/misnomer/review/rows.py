"""The rows of an audit, as a review and an export see them: one interface, in memory or on disk."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.evidence import Explanation
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import Ranking, rank_rows
from misnomer.review.refit import refit_audit

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


Array = NDArray[np.float64]

_MAX_VALUES = 200  # of a column that are offered


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows, one after the other, and what the model thinks of them."""

    table: pa.Table  # the input's own columns
    start: int  # the place of the first row among all
    # labels; None where there is none
    given: list[Any]
    suggested: list[Any]
    wrong: NDArray[Any]  # P(the given label is wrong); negative without a label
    flagged: NDArray[np.bool_]  # where another class is more probable than the given label


class Rows:
    """What a review and an export need of an audit's rows: here, all of them are in memory.

    Attributes
    ----------
    audit : Audit
        What is not of single rows: the labels, the classes, the verdict, the model.
    given, suggested : (n,) array of int
        Places in the audit's ``labels`` (-1: none) and ``classes``.
    learning : str or None
        What a reviewer should know about how a fit learns from decisions.
    in_memory : bool
        Whether the audit holds all of them.
    """

    learning: str | None = None
    in_memory = True
    given: Any
    suggested: Any

    def __init__(self, audit: Audit) -> None:
        self.audit, self.given, self.suggested = audit, audit.given, audit.suggested

    @property
    def columns(self) -> list[str]:
        """The names of the input's columns."""
        return list(self.audit.data.column_names)

    def row(self, at: int) -> pa.Table:
        """Read the input's columns of one row."""
        return self.audit.data.slice(at, 1)

    def input_parts(self, names: list[str]) -> Iterator[tuple[int, pa.Table]]:
        """Go through at least these columns, with the place of each part's first row."""
        yield 0, self.audit.data

    def judged_parts(self) -> Iterator[Part]:
        """Go through all rows with what the model thinks of them."""
        audit = self.audit
        given = [self.given_label(at) for at in range(len(self))]
        suggested = [audit.classes[place] for place in self.suggested]
        wrong = np.nan_to_num(audit.error_probability, nan=-1.0)
        yield Part(audit.data, 0, given, suggested, wrong, audit.is_label_issue)

    def ranking(self, version: int = 0) -> Ranking:
        """Rank the rows as the audit has them."""
        return rank_rows(self.audit, version)

    def shares(self, at: int) -> Array:
        """Return P(true class) of one row, (K,)."""
        return self.audit.shares.take([at]).array[0]

    def explain_at(self, at: int) -> Explanation:
        """Say why the label of a row looks wrong or right."""
        return self.audit.explain_at(at)

    def fingerprint(self) -> str:
        """Digest the rows and their given labels: the same ones audited anew have the same."""
        audit = self.audit
        total = hashlib.sha256(repr((audit.label, audit.labels, len(audit.given))).encode())
        total.update(audit.given.tobytes())
        total.update(repr(audit.data.column_names).encode())
        for column in audit.data.columns:
            _digest(column, total)
        return total.hexdigest()

    def refit(self, error: float) -> Refit:
        """Choose how to fit with decisions, of which so many are probably wrong."""

        def refitted(decided: Mapping[int, int], version: int) -> tuple[Rows, Ranking]:
            rows = Rows(refit_audit(self.audit, decided, error=error))
            return rows, rows.ranking(version)

        return refitted

    def __len__(self) -> int:
        return len(self.given)

    def given_label(self, at: int) -> Any:
        """Return the given label of a row; None where there is none."""
        return self.audit.labels[self.given[at]] if self.given[at] >= 0 else None

    def suggested_class(self, at: int) -> Any:
        """Return the class that is suggested for a row."""
        return self.audit.classes[self.suggested[at]]

    def find_id(self, text: str) -> int | None:
        """Find a row by the value of its id column."""
        name = self.audit.shape.id
        if name is None or name not in self.columns:
            return None
        for start, table in self.input_parts([name]):
            at = pc.index(_column(table, name).cast(pa.string()), text).as_py()
            if at >= 0:
                return start + int(at)
        return None

    def matching(
        self, column: str | None, value: str | None, words: str | None
    ) -> NDArray[np.bool_]:
        """Tell which rows hold a value in a column, and some words anywhere, (n,).

        Each word is in some cell, whatever its case; words in quotation marks stand together. A
        value is compared as text, and an empty one means the empty cells.
        """
        self._check(column)
        wanted = self.columns if words or column is None else [column]
        parts = [_holding(part, column, value, words) for _, part in self.input_parts(wanted)]
        return np.concatenate(parts) if parts else np.zeros(0, bool)

    def values(self, column: str) -> list[str]:
        """List the values of a column, the most frequent first; none where nearly all differ."""
        self._check(column)
        data = self._some(column)
        counts = pc.value_counts(pc.fill_null(as_text(_column(data, column)), "")).to_pylist()
        if len(counts) > max(_MAX_VALUES, len(data) // 2):
            return []
        counts.sort(key=lambda one: (-one["counts"], one["values"]))
        return [one["values"] for one in counts[:_MAX_VALUES] if len(one["values"]) <= 200]

    def _some(self, column: str) -> pa.Table:
        """Return enough rows to know the values of a column by."""
        return next(table for _, table in self.input_parts([column]))

    def _check(self, column: str | None) -> None:
        if column is not None and column not in self.columns:
            raise ReviewError(f"there is no column {column!r}")


#: Fits with what was decided (a class by row), and ranks the rows anew under a version number.
Refit = Callable[[Mapping[int, int], int], tuple[Rows, Ranking]]


def rows_of(audit: Audit | Rows) -> Rows:
    """Take the rows of an audit."""
    return audit if isinstance(audit, Rows) else Rows(audit)


def fingerprint(audit: Audit | Rows) -> str:
    """Digest the rows and their given labels: the same rows audited anew have the same one."""
    return rows_of(audit).fingerprint()


def _digest(column: pa.ChunkedArray, total: hashlib._Hash) -> None:
    """Add which cells are filled, and what the filled ones hold: the bytes under gaps are noise."""
    total.update(np.packbits(column.is_null().to_numpy()).tobytes())
    filled = column.drop_null()
    if pa.types.is_boolean(filled.type):
        filled = filled.cast(pa.int8())
    table = pa.table({"cells": filled}).combine_chunks()
    sink = pa.PythonFile(_Digest(total), mode="w")
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=1 << 16)


class _Digest:
    """A file that only remembers the digest of what was written to it."""

    closed = False

    def __init__(self, total: hashlib._Hash) -> None:
        self.total = total

    def write(self, data: bytes) -> int:
        self.total.update(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Take a column by its name, the first of several."""
    return table.column(table.column_names.index(name))


def _holding(
    table: pa.Table, column: str | None, value: str | None, words: str | None
) -> NDArray[np.bool_]:
    kept = np.ones(len(table), bool)
    if column is not None:
        same = pc.equal(pc.fill_null(as_text(_column(table, column)), ""), value or "")
        kept &= np.asarray(same.to_numpy(), bool)
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
