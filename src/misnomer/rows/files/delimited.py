"""Text separated by commas, semicolons, tabs or bars -> a table, or which line is at fault."""

from __future__ import annotations

import csv
import io
import warnings
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from misnomer.rows.files.cell_types import typed, without_words
from misnomer.rows.files.dialect import Dialect, Open, in_utf8, looked_at
from misnomer.rows.files.escapes import is_ours, restored, restored_cells
from misnomer.rows.files.lines import cell_lines, with_lines
from misnomer.rows.files.unpacked import lines_of, read_whole

_HEAD = 1 << 16
_WIDEST = 1 << 30  # bytes of a block: no row is longer
_BLOCK = 1 << 24

OLD_WINDOWS = "cp1252"  # what most files are that are not UTF-8


class NotUTF8Error(ValueError):
    """Text that is not UTF-8, though nothing else was said of it."""


@dataclass(frozen=True, eq=False)
class Delimited:
    """A file of separated cells that can be opened again and again, as UTF-8.

    Attributes
    ----------
    opened : callable
        Opens it anew.
    name : str
        For messages.
    dialect : Dialect
        Complete: the separator and the lines before the header are known.
    """

    opened: Open
    name: str
    dialect: Dialect

    @property
    def separator(self) -> str:
        """What stands between two cells."""
        return self.dialect.separator or ","

    def rows(self) -> Iterator[list[str]]:
        """Read cell by cell, slowly; lines before the header are passed over."""
        csv.field_size_limit(_WIDEST)
        with self.opened() as stream:
            lines = self._text(stream)
            yield from csv.reader(lines, delimiter=self.separator)

    def _text(self, stream: BinaryIO) -> Iterator[str]:
        lines = islice(lines_of(stream, self.name), self.dialect.skip, None)
        return (line.decode("utf-8") for line in lines)

    def header(self) -> list[str]:
        """Read the names of the columns; a nameless column is called by its place."""
        try:
            cells = next(self.rows(), [])
        except (UnicodeDecodeError, csv.Error):
            raise ValueError(self.fault() or f"{self.name}: the header cannot be read") from None
        if not self.dialect.header:
            return [f"column {place}" for place in range(1, len(cells) + 1)]
        cells = [cells[0].removeprefix("\ufeff"), *cells[1:]] if cells else []
        names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, start=1)]
        twice = next((one for i, one in enumerate(names) if one in names[:i]), None)
        if twice is not None:
            raise ValueError(
                f"{self.name}: column {twice!r} occurs twice: give each column its own name"
            )
        return names

    def fault(self) -> str | None:
        """Say which line is at fault, if any: read again, slowly, up to there."""
        csv.field_size_limit(_WIDEST)
        skip, name = self.dialect.skip, self.name
        with self.opened() as stream:
            lines = csv.reader(self._text(stream), delimiter=self.separator, strict=False)
            width, before = 0, 0
            try:
                for cells in lines:
                    width = width or len(cells)
                    if cells and len(cells) != width:
                        first = "header" if self.dialect.header else "first line"
                        return (
                            f"{name}: line {skip + before + 1} has {_cells(len(cells))}, but the "
                            f"{first} has {width}: check for a separator or a quotation mark too "
                            "many"
                        )
                    before = lines.line_num
            except UnicodeDecodeError:
                raise NotUTF8Error(
                    f"{name}: line {skip + lines.line_num + 1} is not UTF-8 text: say which "
                    "encoding it has (--encoding cp1252 for most old files)"
                ) from None
            except csv.Error as error:
                return f"{name}: line {skip + lines.line_num + 1} cannot be read ({error})"
        return None

    def only_header(self) -> bool:
        """Tell a file that holds nothing after its header."""
        lines = (cells for cells in self.rows() if cells)
        try:
            return len(list(islice(lines, 2))) < 1 + self.dialect.header
        except (UnicodeDecodeError, csv.Error):
            return False

    def read_options(self, names: list[str], block: int) -> arrow_csv.ReadOptions:
        """Tell Arrow what the columns are called, and where they begin."""
        return arrow_csv.ReadOptions(
            column_names=names,
            skip_rows=self.dialect.skip,
            skip_rows_after_names=int(self.dialect.header),
            block_size=block,
        )


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"


def delimited(opened: Open, name: str, dialect: Dialect) -> Delimited:
    """Look at the first bytes of a file; refuse what is no text."""
    with opened() as stream:
        head = stream.read(_HEAD)
    if not head.strip():
        raise ValueError(f"{name}: the file is empty")
    dialect = replace(dialect, encoding=dialect.encoding or _marked(head))
    if b"\x00" in head and not (dialect.encoding or "").startswith("utf-"):
        wide = head.count(0) > len(head) // 3
        hint = " (if it is UTF-16, say --encoding utf-16-le, or -be)" if wide else ""
        raise ValueError(f"{name}: this is a binary file, not a table of text{hint}")
    try:
        with in_utf8(opened, dialect)() as stream:
            head = stream.read(_HEAD)
    except UnicodeDecodeError:
        raise ValueError(f"{name}: this is no {dialect.encoding} text: say which it is") from None
    dialect = replace(dialect, old_mac=b"\r" in head.rstrip() and b"\n" not in head)
    if dialect.old_mac:
        head = head.replace(b"\r", b"\n")
    return Delimited(in_utf8(opened, dialect), name, looked_at(dialect, head, name))


def _marked(head: bytes) -> str | None:
    """Read the mark at the begin of a file that says how its letters are coded."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def read_delimited(opened: Open, name: str, dialect: Dialect | None = None) -> pa.Table:
    """Read delimited text; what is not UTF-8 is taken for Windows-1252, and that is said."""
    dialect = dialect or Dialect()
    try:
        try:
            return _read(opened, name, dialect)
        except NotUTF8Error:
            table = _read(opened, name, in_old_windows(dialect))
            say_old_windows(name)
            return table
    except (EOFError, zlib.error):
        raise ValueError(f"{name}: the gzip file is damaged or cut short") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: this is no {error.encoding} text: say which it is") from None


def in_old_windows(dialect: Dialect) -> Dialect:
    """Take a file that is not UTF-8 for one that old Windows wrote, if nothing else is said."""
    return replace(dialect, encoding=OLD_WINDOWS)


def say_old_windows(name: str) -> None:
    """Say that an encoding was guessed."""
    warnings.warn(
        f"{name}: this is not UTF-8 and was read as Windows-1252: check a word with an accent, "
        "and say the encoding if it is another",
        stacklevel=2,
    )


def _read(opened: Open, name: str, dialect: Dialect) -> pa.Table:
    file = delimited(opened, name, dialect)
    table = _strings(file, file.header())
    if is_ours(table.column_names):
        cells = [restored_cells(column.combine_chunks()) for column in table.columns]
        table = pa.table(cells, names=[restored(name) for name in table.column_names])
    comma = file.separator == ";"  # where a semicolon separates, a comma marks decimals
    cells = [without_words(column, dialect.missing) for column in table.columns]
    columns = [typed(column, decimal_comma=comma) for column in cells]
    return with_lines(pa.table(columns, names=table.column_names), _lines(file, table.num_rows))


def _lines(file: Delimited, rows: int) -> Iterable[int] | None:
    header = int(file.dialect.header)
    lines = cell_lines(file.opened, file.separator, file.dialect.skip, header + rows)
    return None if lines is None else islice(lines, header, None)


def _strings(file: Delimited, names: list[str]) -> pa.Table:
    """Read every cell as text; nothing between two separators is null."""
    with file.opened() as stream:
        try:
            return arrow_csv.read_csv(
                _native(stream, file.name),
                file.read_options(names, _BLOCK),
                arrow_csv.ParseOptions(delimiter=file.separator, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=["", *file.dialect.missing],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            fault = file.fault()
            if fault is None and file.only_header():
                return pa.table({one: pa.array([], pa.string()) for one in names})
            said = fault or f"{file.name}: this is not a table of separated cells"
            raise ValueError(said) from None


def _native(stream: BinaryIO, name: str) -> pa.NativeFile:
    """Give Arrow a file without Python in it: its threads may outlive the interpreter.

    One that still holds a Python object when the interpreter ends brings the process down.
    """
    if isinstance(stream, io.BufferedReader) and isinstance(getattr(stream, "name", None), str):
        return pa.OSFile(stream.name, "rb")
    return pa.BufferReader(read_whole(stream, name))
