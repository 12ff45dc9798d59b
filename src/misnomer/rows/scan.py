"""Files that may be larger than memory -> Arrow record batches, as often as they are asked for."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from misnomer.rows.files.dialect import Dialect, known_of
from misnomer.rows.files.excel import read_workbook
from misnomer.rows.files.formats import Mapped, arrow, json_lines, parquet, text, whole
from misnomer.rows.files.paths import files_of, size_of
from misnomer.rows.files.tables import is_workbook, read_array
from misnomer.rows.files.text import open_text
from misnomer.rows.parts import ROWS, Part, TablePart, complaint
from misnomer.rows.prefetch import prefetch


@dataclass(frozen=True, eq=False)
class Scan:
    """A table that can be read again and again, some rows at a time.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns in the file's order, and their settled types.
    parts : tuple of Part
        Pieces that can be read on their own, in the table's order.
    bytes : int
        What lies on disk.
    left_out : tuple of str
        Files that could not be opened at all.
    """

    schema: pa.Schema
    parts: tuple[Part, ...]
    bytes: int = 0
    left_out: tuple[str, ...] = ()

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
    """
    files, base = files_of(path)
    bad: list[str] = []
    kinds: dict[str, str] = {}
    for file in files:
        try:
            kinds[file] = _kind(file)
        except ValueError as error:
            if not skip_bad:
                raise
            bad.append(str(error))
    if not kinds:
        raise ValueError(f"{path}: no file of it can be read")
    several = sorted(set(kinds.values()))
    if len(several) > 1:
        raise ValueError(f"{path}: files of several kinds ({', '.join(several)}): name one kind")
    dialect = dialect or known_of(path)
    build: Any = {
        "parquet": parquet,
        "arrow": arrow,
        "json": json_lines,
        "text": partial(text, dialect=dialect),
        "workbook": partial(whole, read=partial(read_workbook, dialect=dialect)),
        "array": partial(whole, read=read_array),
    }[several[0]]
    schema, parts = build(list(kinds), base, rows, bad if skip_bad else None, mapped)
    return Scan(schema, parts, sum(map(size_of, kinds)), tuple(bad))


def _kind(path: str) -> str:
    """Tell what a file is by its first bytes, else by its name."""
    try:
        with open_text(path) as stream:
            head = stream.read(64)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r}") from None
    except (EOFError, zlib.error, OSError) as error:
        raise ValueError(complaint(path, error)) from None
    name = path.lower().removesuffix(".gz")
    if not head:
        raise ValueError(f"{path}: the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if name.endswith((".parquet", ".arrow", ".feather", ".ipc")):
        raise ValueError(f"{path}: this is no {name.rsplit('.', 1)[1]} file, or it is damaged")
    if is_workbook(head, Path(name).suffix, path):
        return "workbook"
    if name.endswith((".jsonl", ".ndjson", ".json")) or head.lstrip().startswith(b"{"):
        return "array" if head.lstrip().startswith(b"[") else "json"
    return "text"
