"""Workbooks (.xlsx) <-> Arrow tables, through openpyxl: ``pip install 'misnomer[excel]'``."""

from __future__ import annotations

import re
import warnings
import zipfile
from datetime import date, time, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from misnomer.rows.files.cells import typed
from misnomer.rows.files.dialect import Dialect, say_titles
from misnomer.rows.frames import from_objects, header_names
from misnomer.rows.parts import with_lines

MOST_ROWS = 1_048_575  # of a sheet, beside its header
_MAX_UNPACKED_BYTES = 4 * 10**9  # that a workbook may unpack to
_BLOCK_BYTES, _MAX_TAG_BYTES = 1 << 20, 200  # bytes of a sheet that are looked through at once
_MERGED = re.compile(
    rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})"[^>]*>'
)
_ERRORS = {"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"}


def read_workbook(path: str | Path, dialect: Dialect | None = None) -> pa.Table:
    """Read a sheet: the one that was asked for, else the first that holds more than a line.

    Its first line that holds something has the names of the columns, titles of a single cell aside;
    lines and columns without any cell are left out.
    """
    dialect = dialect or Dialect()
    book = _opened(path)
    try:
        name, cells = _sheet(book, str(path), dialect.sheet)
        merged = _merged(book[name])
    finally:
        book.close()
    gaps = {"", *_ERRORS, *dialect.missing}
    cells = [[None if _is_gap(cell, gaps) else cell for cell in line] for line in cells]
    where = f"{path}, sheet {name!r}"
    lines = [i for i, line in enumerate(cells, start=1) if any(cell is not None for cell in line)]
    lines = lines[_titles([cells[i - 1] for i in lines], where) if dialect.header else 0 :]
    _fill_down(cells, lines[int(dialect.header) :], merged, where)
    cells = [cells[i - 1] for i in lines]
    if not cells:
        raise ValueError(f"{where}: the sheet is empty")
    columns = list(zip_longest(*cells))
    columns = [column for column in columns if any(cell is not None for cell in column)]
    names = header_names([column[0] for column in columns], where, header=dialect.header)
    first = int(dialect.header)
    if len(cells) == first:
        raise ValueError(f"{where}: the sheet has a header but no rows")
    parts = [_column(one, column[first:]) for one, column in zip(names, columns, strict=True)]
    return with_lines(pa.table(parts, names=names), lines[first:])


def _titles(lines: list[list[Any]], where: str) -> int:
    """Count the lines above the header that hold a title: one cell, where the table has more."""
    filled = [sum(cell is not None for cell in line) for line in lines]
    count = next((i for i, cells in enumerate(filled) if cells > 1), 0)
    if count:
        firsts = (next(str(cell) for cell in line if cell is not None) for line in lines[:count])
        say_titles(where, list(firsts))
    return count


def _merged(sheet: Any) -> list[tuple[int, int, int]]:
    """Find cells that are merged over several lines: column and first and last line, from 1.

    Whoever reads a sheet line by line is told of them last, and openpyxl does not pass it on.
    """
    from openpyxl.utils import column_index_from_string  # type: ignore[import-untyped]

    found, rest = list[tuple[int, int, int]](), b""
    with sheet._get_source() as source:
        while block := source.read(_BLOCK_BYTES):
            for column, first, last in _MERGED.findall(rest + block):
                found.append((column_index_from_string(column.decode()), int(first), int(last)))
            rest = (rest + block)[-_MAX_TAG_BYTES:].rpartition(b">")[2]
    return [one for one in found if one[1] < one[2]]


def _fill_down(
    cells: list[list[Any]], rows: list[int], merged: list[tuple[int, int, int]], where: str
) -> None:
    """Give the value of a merged cell to all of its rows, in place, and say so."""
    filled, known = 0, set(rows)
    for column, first, last in merged:
        if first not in known or column > len(cells[first - 1]):
            continue
        for line in range(first + 1, min(last, rows[-1]) + 1):
            if line in known and column <= len(cells[line - 1]):
                cells[line - 1][column - 1] = cells[first - 1][column - 1]
                filled += 1
    if filled:
        are = "1 cell has" if filled == 1 else f"{filled:,} cells have"
        warnings.warn(f"{where}: {are} the value of the one merged with it above", stacklevel=2)


def holds_workbook(path: str | Path) -> bool:
    """Tell a workbook from other files that are zipped, whatever its name is."""
    try:
        with zipfile.ZipFile(path) as packed:
            return "xl/workbook.xml" in packed.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _opened(path: str | Path) -> Any:
    openpyxl = _openpyxl()
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        size = 0  # whoever reads it says what is wrong with it
    if size > _MAX_UNPACKED_BYTES:
        raise ValueError(f"{path}: the workbook unpacks to {size / 1e9:.0f} GB: save it as CSV")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of formats and extensions that hold no cell
            return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        why = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise ValueError(f"{path}: this is no workbook, or a damaged one ({why})") from None


def _openpyxl() -> Any:
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ImportError:
        raise ValueError(
            "workbooks need openpyxl: pip install 'misnomer[excel]', or save the sheet as CSV"
        ) from None
    return openpyxl


def _sheet(book: Any, path: str, wanted: str | None) -> tuple[str, list[list[Any]]]:
    """Find the sheet, and read its cells; which of several was read is said."""
    names = [sheet.title for sheet in book.worksheets]
    if wanted is not None:
        if wanted not in names and wanted.isdigit() and 1 <= int(wanted) <= len(names):
            wanted = names[int(wanted) - 1]
        if wanted not in names:
            known = ", ".join(map(repr, names))
            raise ValueError(f"{path}: there is no sheet {wanted!r}; there are {known}")
        return wanted, _cells(book[wanted])
    name, cells = "", list[list[Any]]()
    for other in names:
        found = _cells(book[other])
        if _lines(found) > min(_lines(cells), 1):
            name, cells = other, found
        if _lines(cells) > 1:
            break
    if not cells:
        raise ValueError(f"{path}: the workbook is empty")
    others = ", ".join(repr(other) for other in names if other != name)
    if others:
        warnings.warn(
            f"{path}: sheet {name!r} was read; say the sheet if it is {others} (--sheet)",
            stacklevel=2,
        )
    return name, cells


def _cells(sheet: Any) -> list[list[Any]]:
    return [list(line) for line in sheet.iter_rows(values_only=True)]


def _lines(cells: list[list[Any]]) -> int:
    """Count the lines that hold something."""
    return sum(any(cell is not None for cell in line) for line in cells)


def _is_gap(cell: Any, gaps: set[str]) -> bool:
    if type(cell) in (int, float):
        return f"{cell:.15g}" in gaps  # a number that means "missing", such as -99
    return cell is None or (isinstance(cell, str) and cell.strip() in gaps)


def _column(name: str, cells: tuple[Any, ...]) -> Any:
    """Read a column; what is text throughout may hold numbers, as in a CSV."""
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:  # dates among words, and the like
        values = np.array([None if cell is None else str(cell) for cell in cells], dtype=object)
    column = from_objects(name, values)
    return typed(pa.chunked_array([column])) if pa.types.is_string(column.type) else column


def _is_cell(value: Any) -> bool:
    """Tell what a sheet has cells for: no moment with a zone, and none before 1900."""
    if isinstance(value, date | time):
        return getattr(value, "tzinfo", None) is None and getattr(value, "year", 1900) >= 1900
    return isinstance(value, int | float | timedelta)


def write_workbook(table: pa.Table, path: str | Path) -> None:
    """Write a table as a sheet; texts stay texts, whatever they begin with."""
    if len(table) > MOST_ROWS:
        raise ValueError(f"a sheet holds {MOST_ROWS:,} rows, not {len(table):,}: write a .csv")
    openpyxl = _openpyxl()
    from openpyxl.cell import WriteOnlyCell  # type: ignore[import-untyped]

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("misnomer")

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value if value is None or _is_cell(value) else str(value)
        made = WriteOnlyCell(sheet, value=_without_control(value))
        made.data_type = "s"  # never a formula
        return made

    sheet.append([cell(str(name)) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=1000):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            sheet.append([cell(value) for value in row])
    book.save(path)


def _without_control(text: str) -> str:
    """Leave out what no sheet can hold: control characters, and more than 32,767 letters."""
    return "".join(letter for letter in text if letter >= " " or letter in "\t\n\r")[:32_767]
