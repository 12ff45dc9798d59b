"""Files of many kinds -> one Arrow table.

CSV and TSV (comma, semicolon, tab or bar, whichever the header uses; UTF-8, UTF-16 and UTF-32 with
their marks, else Windows-1252), JSON lines and arrays, all of them also gzipped; Excel workbooks;
Parquet, Arrow and Feather; a folder or a pattern of files of one kind. What a cell of text means is
decided column by column.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from misnomer.rows.files.dialect import Dialect, known_of
from misnomer.rows.files.formats import Reading, text
from misnomer.rows.parts import decoded_table, with_lines
from misnomer.rows.scan import Scan, scan


def read_table(
    path: str | Path, columns: Sequence[str] | None = None, dialect: Dialect | None = None
) -> pa.Table:
    """Read a file or a folder of them into memory; "-" is a CSV on standard input.

    Parameters
    ----------
    path : str or Path
        What to read.
    columns : sequence of str, optional
        Keep only these columns, in this order.
    dialect : Dialect, optional
        What is known of the file: its encoding, separator, sheet...

    Returns
    -------
    pyarrow.Table
        Its columns in the file's order, each under its own name.
    """
    dialect, place = dialect or known_of(path), Path(path)
    if str(path) == "-":
        found = _of_bytes(sys.stdin.buffer.read(), "standard input", dialect)
    elif place.is_fifo() or place.is_char_device():  # what comes through a pipe comes once
        found = _of_bytes(place.read_bytes(), str(path), dialect)
    else:
        found = scan(path, dialect=dialect, keep=True)
    table = _at_once(found)
    _check_filled(table, str(path))
    return table if columns is None else table.select(list(columns))


def _of_bytes(data: bytes, name: str, dialect: Dialect) -> Scan:
    if not data:
        raise ValueError(f"{name}: the file is empty")
    reading = Reading([name], dialect=dialect, keep=True)
    return Scan(*text(reading, lambda _: partial(io.BytesIO, data)))


def _at_once(found: Scan) -> pa.Table:
    """Put all rows together; the rows of a single file know their lines."""
    batches = [decoded_table(batch) for part in found.parts for batch in part.batches(found.names)]
    table = pa.concat_tables(batches) if batches else found.schema.empty_table()
    lines: Any = getattr(found.parts[0], "lines", None) if len(found.parts) == 1 else None
    return with_lines(table, lines(table.num_rows) if callable(lines) else lines)


def _check_filled(table: pa.Table, where: str) -> None:
    """Refuse a table without rows or columns."""
    names = table.column_names
    if not names:
        raise ValueError(f"{where}: the file holds no column")
    if not table.num_rows:
        few = ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
        raise ValueError(f"{where}: the file has a header ({few}) but no rows")
