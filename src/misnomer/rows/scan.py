"""Files of many kinds -> Arrow record batches, as often as they are asked for, or one table.

CSV and TSV (comma, semicolon, tab or bar, whichever the header uses; UTF-8, UTF-16 and UTF-32 with
their marks, else Windows-1252), JSON lines and arrays, all of them also gzipped; Excel workbooks;
Parquet, Arrow and Feather; a folder or a pattern of files of one kind. What a cell of text means is
decided column by column.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa

from misnomer.rows.files.dialect import Dialect, known_of
from misnomer.rows.files.formats import Mapped, Reading, kind_of, text
from misnomer.rows.files.paths import files_of, size_of
from misnomer.rows.parts import ROWS, Part, decoded_table, with_lines

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Scan:
    """A table that can be read again and again, some rows at a time."""

    schema: pa.Schema  # the columns in the file's order, and their settled types
    parts: tuple[Part, ...]  # pieces that can be read on their own, in the table's order
    bytes: int = 0  # what lies on disk
    left_out: tuple[str, ...] = ()  # files that could not be opened at all

    @property
    def names(self) -> list[str]:
        """The columns, in the file's order."""
        return list(self.schema.names)

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the file's order, the next ones read ahead."""
        yield from prefetch(
            batch for part in self.parts for batch in part.batches(columns, bad) if batch.num_rows
        )


def scan(
    path: str | Path,
    *,
    rows: int = ROWS,
    skip_bad: bool = False,
    mapped: Mapped = map,
    dialect: Dialect | None = None,
    keep: bool = False,
) -> Scan:
    """Find the parts of a file, a folder, a pattern or an address, and settle their types.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, JSON lines (also gzipped), Parquet, Arrow, Feather: all files of one kind.
        Workbooks and JSON arrays are read at once.
    rows : int
        Rows of a batch, at most.
    skip_bad : bool
        Leave out files that cannot be opened.
    mapped : callable
        Who looks at the files: ``map``, or a cluster.
    dialect : Dialect, optional
        What is known of the files: their encoding, separator, sheet...
    keep : bool
        Whether all rows are to be in memory at once.
    """
    files, base = files_of(path)
    bad: list[str] = []
    kinds = _kinds(files, bad if skip_bad else None)
    if not kinds:
        raise ValueError(f"{path}: no file of it can be read")
    several = sorted(set(kinds.values()))
    if len(several) > 1:
        raise ValueError(f"{path}: files of several kinds ({', '.join(several)}): name one kind")
    dialect = dialect or known_of(path)
    told = bad if skip_bad else None
    reading = Reading(list(kinds), base, rows, told, mapped, dialect, keep)
    schema, parts = reading.parts(several[0])
    return Scan(schema, parts, sum(map(size_of, kinds)), tuple(bad))


def _kinds(files: Sequence[str], bad: list[str] | None) -> dict[str, str]:
    """Tell what each file is; one that cannot be opened raises, or is left out."""
    kinds = {}
    for file in files:
        try:
            kinds[file] = kind_of(file)
        except ValueError as error:
            if bad is None:
                raise
            bad.append(str(error))
    return kinds


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """Read one item ahead in a thread; yield the same items in the same order.

    An error is raised where it would have been; whoever stops early waits for that one item.

    Examples
    --------
    >>> list(prefetch(range(5)))
    [0, 1, 2, 3, 4]
    """
    waiting, end = iter(items), object()
    with ThreadPoolExecutor(1, "misnomer-prefetch") as pool:
        ahead = pool.submit(next, waiting, end)
        while (item := ahead.result()) is not end:
            ahead = pool.submit(next, waiting, end)
            yield cast(Item, item)


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
