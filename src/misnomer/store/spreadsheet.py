"""Tables as CSV: exactly their cells, or such that a spreadsheet runs nothing in them."""

from __future__ import annotations

import csv
from datetime import date, datetime
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from misnomer.rows.files.cells import harmless


def write_csv(
    table: pa.Table, path: str | Path, *, exact: bool = False, marked: bool = False
) -> None:
    """Write a table as UTF-8 CSV (``marked``: Excel knows it then); a missing cell is empty."""
    encoding = "utf-8-sig" if marked else "utf-8"
    with Path(path).open("w", encoding=encoding, errors="replace", newline="") as stream:
        print_csv(table, stream, exact=exact)


def print_csv(table: pa.Table, stream: TextIO, *, exact: bool = False, header: bool = True) -> None:
    """Write a table as CSV to a stream that is open, with its header unless that stands there.

    ``exact`` writes the cells for programs, so that they come back as they are; else texts that a
    spreadsheet would take for formulas get an apostrophe, for people.
    """
    written = _cell if exact else harmless
    lines = csv.writer(stream, lineterminator="\n")
    if header:
        lines.writerow([written(name) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=10_000):
        columns = [column.to_pylist() for column in batch.columns]
        for cells in zip(*columns, strict=True):
            lines.writerow([written(cell) for cell in cells])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date | datetime) else value
