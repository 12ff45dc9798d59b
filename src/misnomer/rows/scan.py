"""Files that may be larger than memory -> Arrow record batches, as often as they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import pyarrow as pa

from misnomer.rows.files.dialect import Dialect, known_of
from misnomer.rows.files.formats import Mapped, Reading, kind_of
from misnomer.rows.files.paths import files_of, size_of
from misnomer.rows.parts import ROWS, Part, TablePart

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


def scan_table(table: pa.Table, rows: int = ROWS) -> Scan:
    """Serve a table in memory by the batch."""
    return Scan(table.schema, (TablePart(table, rows=rows),), table.nbytes)


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
