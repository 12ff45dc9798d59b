"""CSV that a spreadsheet can open without running anything in it."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def harmless(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-5.2"), harmless("- see note"), harmless("fine")
    ("'=1+1", '-5.2', "'- see note", 'fine')
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA) or _NEGATIVE.fullmatch(cell):
        return cell
    return "'" + cell


def write_csv(table: pa.Table, path: str | Path) -> None:
    """Write a table as UTF-8 CSV; a missing cell is empty."""
    with Path(path).open("w", encoding="utf-8", errors="replace", newline="") as stream:
        print_csv(table, stream)


def print_csv(table: pa.Table, stream: TextIO) -> None:
    """Write a table as CSV to a stream that is open."""
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow([harmless(name) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=10_000):
        columns = [column.to_pylist() for column in batch.columns]
        for cells in zip(*columns, strict=True):
            lines.writerow([harmless(cell) for cell in cells])
