"""Answers in the user's own kind of frame: pandas, polars or pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]

BACKENDS = ("pandas", "polars", "pyarrow")
_A_ROW = re.compile(r"( in |, but )row (\d+)\b")  # in the sentences of whoever reads the cells


@dataclass(frozen=True, eq=False)
class Shape:
    """What the input was, so that the output can be alike."""

    backend: str  # of the frames that are handed out: pandas, polars or pyarrow
    index: Any = None  # the input's index, where it has one
    # the input's columns, in its order; None where they have no names (a sparse matrix)
    source: Any = None
    id: str | None = None  # the column that names the rows
    # (n,): the line of the file on which each row stands, from 1; None where no file says
    lines: NDArray[np.int64] | None = None

    @property
    def noun(self) -> str:
        """What the names of rows count: lines of a file, else rows."""
        by_line = self._id_column() is None and self.index is None and self.lines is not None
        return "line" if by_line else "row"

    def name(self, position: int) -> Any:
        """Name a row as the user finds it: by its id, its index, its line, else its position."""
        named = self._id_column()
        if named is not None:
            return named[position].as_py()
        if self.index is not None:
            return self.index[position]
        return position if self.lines is None else int(self.lines[position])

    def found_by_name(self, sentence: str) -> str:
        """Name the row of a complaint as the user finds it.

        Examples
        --------
        >>> Shape("pyarrow", lines=np.array([2, 3])).found_by_name("it holds infinity in row 1")
        'it holds infinity in line 3'
        """
        return _A_ROW.sub(lambda one: f"{one[1]}{self.noun} {self.name(int(one[2]))}", sentence)

    def _id_column(self) -> Any:
        known = self.id is not None and self.id in self.table().column_names
        return self.table().column(self.id) if known else None

    def table(self) -> pa.Table:
        """Return the input's own columns."""
        return pa.table({}) if self.source is None else self.source

    def position(self, row: Any, n: int) -> int:
        """Find a row by its index label (pandas) or its position."""
        place = row
        if self.index is not None:
            try:
                place = self.index.get_loc(row)
            except (KeyError, TypeError):
                raise ValueError(f"the input's index has no row {row!r}") from None
            if not isinstance(place, int | np.integer):
                raise ValueError(f"the input's index has {row!r} more than once: reset it first")
        elif isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise ValueError(f"a row is named by its position, 0 to {n - 1}, not by {row!r}")
        if not -n <= place < n:
            raise ValueError(f"there is no row {row}: the input has {n} rows, 0 to {n - 1}")
        return int(place) % n

    def rows(self, audit: Audit, order: NDArray[np.intp] | None = None) -> Any:
        """Put the answers about rows side by side; ``order`` chooses some, and says which."""
        every = row_columns(audit)
        if order is None:
            return self.frame(every, self.index)
        some = every.take(pa.array(order))
        some = some.add_column(0, "row", pa.array(order.astype(np.int64)))
        return self.frame(some, None if self.index is None else self.index[order])

    def read_rows(self, tables: Iterator[pa.Table]) -> Any:
        """Put the answers about rows that are read again one under another."""
        own = [table.select(ROW_COLUMNS) for table in tables]
        return self.frame(pa.concat_tables(own), None)

    def matrix(self, matrix: Array, labels: tuple[Any, ...], classes: tuple[Any, ...]) -> Any:
        """Lay a (given, true) matrix out: an index of given labels (pandas), or a first column."""
        if self.backend == "pandas":
            import pandas as pd  # type: ignore[import-untyped]

            rows, columns = pd.Index(labels, name="given"), pd.Index(classes, name="true")
            return pd.DataFrame(matrix, index=rows, columns=columns)
        named = {str(name): matrix[:, k] for k, name in enumerate(classes)}
        return self.frame(pa.table({"given": pa.array(labels), **named}), None)

    def prior(self, audit: Audit) -> Any:
        """List the classes with their shares among given labels and among true classes."""
        columns = {
            "class": pa.array(audit.classes),
            "given_share": audit.given_share,
            "true_share": audit.prior,
            "true_share_low": audit.prior_low,
            "true_share_high": audit.prior_high,
        }
        return self.frame(pa.table(columns), None)

    def frame(self, table: pa.Table, index: Any) -> Any:
        """Hand a table out as the kind of frame that came in."""
        if self.backend == "pyarrow":
            return table
        if self.backend == "polars":
            import polars as pl

            return pl.from_arrow(table)
        return _pandas(table, index)


_MIN_CONFUSION_ROWS = 0.05  # expected rows that make a confusion worth a line


def confusions(audit: Audit) -> pa.Table:
    """List the pairs of different given and true class, by how many rows they have."""
    given, true, rows = audit.shares.by_label(audit.given, len(audit.labels))
    wrong = np.flatnonzero((audit.class_of_label[given] != true) & (rows >= _MIN_CONFUSION_ROWS))
    order = wrong[np.argsort(-rows[wrong], kind="stable")]
    given, true = given[order], true[order]
    noise, (at, known) = audit.noise, audit.noise.find(given, true)
    value = noise.at(given, true)
    return pa.table(
        {
            "true": pa.array(audit.classes).take(pa.array(true)),
            "given": pa.array(audit.labels).take(pa.array(given)),
            "rows": rows[order],
            "given_of_true": value,
            "low": np.where(known, noise.low[at], 0.0),
            "high": np.where(known, noise.high[at], value),
            "true_of_given": np.where(known, noise.reverse(audit.prior)[at], 0.0),
        }
    )


#: What is known of each row, whatever its source.
ROW_COLUMNS = [
    "given_label", "suggested_label", "error_probability", "label_quality", "is_label_issue",
]  # fmt: skip


def row_columns(audit: Audit) -> pa.Table:
    """List what is known about each row, in the input's order."""
    known = answer_columns(
        audit.labels, audit.classes, audit.given, audit.suggested, audit.error_probability,
        audit.is_label_issue,
    )  # fmt: skip
    return pa.table({**known, **_unusual_columns(audit)})


def answer_columns(
    labels: Sequence[Any], classes: Sequence[Any], given: NDArray[Any], suggested: NDArray[Any],
    wrong: Array, flagged: NDArray[np.bool_],
) -> dict[str, pa.Array]:  # fmt: skip
    """Name what is known about rows, in the order of `ROW_COLUMNS`; no label, no probability."""
    blank = given < 0
    place = pa.array(np.where(blank, len(labels), given))
    columns = (
        pa.array([*labels, None]).take(place),
        pa.array(classes).take(pa.array(suggested)),
        pa.array(wrong, mask=blank),
        pa.array(1.0 - wrong, mask=blank),
        pa.array(flagged),
    )
    return dict(zip(ROW_COLUMNS, columns, strict=True))


def renamed(names: Sequence[str], ours: Sequence[str]) -> list[str]:
    """Tell input columns that are called like ours apart.

    Examples
    --------
    >>> renamed(["age", "row"], ["row", "line"])
    ['age', 'row (input)']
    """
    taken, out = {*ours}, []
    for name in names:
        while name in taken:
            name += " (input)"
        taken.add(name)
        out.append(name)
    return out


def _unusual_columns(audit: Any) -> dict[str, pa.Array]:
    """Say which rows nearly equal another one, or none at all; empty where that is not known."""
    found, n = audit.unusual, len(audit.given)
    if found is None:
        return {"near_duplicate": pa.nulls(n, pa.int64()), "is_outlier": pa.nulls(n, pa.bool_())}
    alone = found.near_duplicate < 0
    return {
        "near_duplicate": pa.array(found.near_duplicate, mask=alone),
        "is_outlier": pa.array(found.outlier),
    }


def _pandas(table: pa.Table, index: Any) -> Any:
    """Convert to pandas; whole numbers and flags with gaps stay what they are."""
    import pandas as pd

    wide = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    gaps = {
        name: wide[column.type]
        for name, column in zip(table.column_names, table.columns, strict=True)
        if column.null_count and column.type in wide
    }
    frame = pd.DataFrame(
        {
            name: pd.array(column.to_pylist(), dtype=gaps[name])
            if name in gaps
            else column.to_pandas()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    return frame if index is None else frame.set_axis(index, axis=0)


def default_backend() -> str:
    """Choose the frame for input that is none: pandas where it is installed, else pyarrow."""
    return "pandas" if find_spec("pandas") else "pyarrow"
