"""Files of many kinds -> Arrow record batches, as often as they are asked for, or one table.

CSV and TSV (comma, semicolon, tab or bar, whichever the header uses; UTF-8, UTF-16 and UTF-32 with
their marks, else Windows-1252), JSON lines and arrays, all of them also gzipped; Excel workbooks;
Parquet, Arrow and Feather; a folder or a pattern of files of one kind. What a cell of text means is
decided column by column.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa

from misnomer.rows.files.arrow import arrow_parts, arrow_schema, footer, parquet_parts
from misnomer.rows.files.dialect import Dialect, check_dialect, known_of
from misnomer.rows.files.excel import holds_workbook, read_workbook
from misnomer.rows.files.json import line_parts, read_array
from misnomer.rows.files.parsed import text_parts
from misnomer.rows.files.paths import files_of, is_address, open_text, size_of
from misnomer.rows.parts import (
    FAULTS,
    ROWS,
    Found,
    Mapped,
    Part,
    Reading,
    TablePart,
    complaint,
    conform,
    decoded_table,
    lines_of,
    unified,
    with_lines,
)

Item = TypeVar("Item")
_BOOKS = (".xlsx", ".xlsm")
_BINARY = (".parquet", ".arrow", ".feather", ".ipc")
_PAGES = {  # how files begin that are tables to the eye only, whatever their names
    b"<!doctype": "a web page",
    b"<html": "a web page",
    b"<table": "a web page",
    b"<?xml": "XML",
    b"%pdf-": "a PDF",
}
_PROGRAMS = {
    ".dta": "a file of Stata",
    ".mdb": "a database of Access",
    ".accdb": "a database of Access",
    ".ods": "a sheet of LibreOffice",
    ".pkl": "a pickle of Python",
    ".rda": "a file of R",
    ".rdata": "a file of R",
    ".rds": "a file of R",
    ".sas7bdat": "a file of SAS",
    ".sav": "a file of SPSS",
}


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
    check_dialect(dialect, several[0], str(path))
    told = bad if skip_bad else None
    reading = Reading(list(kinds), base, rows, told, mapped, dialect, keep)
    schema, parts = _FORMS[several[0]](reading)
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


def kind_of(path: str) -> str:
    """Tell what a file is by its first bytes, else by its name."""
    try:
        with open_text(path) as stream:
            head = stream.read(64)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r}") from None
    except PermissionError:
        raise PermissionError(f"{path!r} may not be read: check its permissions") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(complaint(path, error)) from None
    if not head:
        raise ValueError(f"{path}: the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    if suffix in _BINARY:
        raise ValueError(f"{path}: this is no {suffix[1:]} file, or it is damaged")
    _refuse_foreign(head, suffix, path)
    if _is_workbook(head, suffix, path):
        return "workbook"
    begin = _begin(head)
    if suffix in (".jsonl", ".ndjson", ".json") or begin.startswith((b"{", b"[{")):
        return "array" if begin.startswith(b"[") else "json"
    return "text"


def _begin(head: bytes) -> bytes:
    """Leave out a mark of UTF-8 and blanks."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()


def _is_workbook(head: bytes, suffix: str, name: str) -> bool:
    """Tell a workbook by its bytes and its name; refuse what only looks like one."""
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        if suffix in _BOOKS:
            raise ValueError(f"{name}: this workbook asks for a password: save it without one")
        raise ValueError(f"{name}: this is an old workbook (.xls): save it as .xlsx or CSV first")
    packed = head.startswith(b"PK\x03\x04")
    if packed and suffix not in _BOOKS:
        if holds_workbook(name):
            raise ValueError(f"{name}: this is an Excel workbook: let its name end in .xlsx")
        raise ValueError(f"{name}: this is a zip file: unpack it first (a workbook ends in .xlsx)")
    if suffix in _BOOKS and not packed:
        text = ": this is text, let its name end in .csv" if b"\x00" not in head else ""
        raise ValueError(f"{name}: this is no workbook, or a damaged one{text}")
    return packed


def _refuse_foreign(head: bytes, suffix: str, name: str) -> None:
    """Name the files that other programs write for tables, and what to do with them."""
    begin = _begin(head).lower()
    what = next((what for mark, what in _PAGES.items() if begin.startswith(mark)), "")
    what = what or _PROGRAMS.get(suffix, "")
    if what:
        raise ValueError(f"{name}: this is {what}: save its table as .xlsx or CSV first")


def _whole(reading: Reading, read: Callable[[str], pa.Table]) -> Found:
    """Read files that cannot be read by parts, such as workbooks, at once."""
    found = reading.each(read)
    schema = unified([(file, table.schema) for file, table in found])
    return schema, tuple(
        TablePart(_conformed(table, schema), file, reading.rows, lines_of(table))
        for file, table in found
    )


def _conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches([conform(table, schema, schema.names)])


_FORMS: dict[str, Callable[[Reading], Found]] = {
    "parquet": parquet_parts,
    "arrow": arrow_parts,
    "json": line_parts,
    "text": text_parts,
    "workbook": lambda files: _whole(files, partial(read_workbook, dialect=files.dialect)),
    "array": lambda files: _whole(files, read_array),
}


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
    return Scan(*text_parts(reading, lambda _: partial(io.BytesIO, data)))


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


def dictionary_types(path: str) -> dict[str, pa.DataType]:
    """Tell which columns of a Parquet or Arrow file here are dictionaries; none of any other.

    Those whose words have an order are not among them: the order is not known once they are read.
    """
    try:
        file = files_of(path)[0][0]
        kind = "" if is_address(file) else kind_of(file)
        schema = footer(file)[0] if kind == "parquet" else pa.schema([])
        schema = arrow_schema(file) if kind == "arrow" else schema
    except (*FAULTS, ValueError):
        return {}
    fields = [one for one in schema if pa.types.is_dictionary(one.type) and not one.type.ordered]
    return {one.name: pa.dictionary(pa.int32(), one.type.value_type) for one in fields}
