"""Text separated by commas, semicolons, tabs or bars -> record batches, or the line at fault."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from misnomer.rows.files.cells import (
    TYPES,
    cast_cells,
    is_ours,
    restored,
    restored_cells,
    without_words,
)
from misnomer.rows.files.dialect import Dialect, Utf8Lines, in_utf8, looked_at
from misnomer.rows.files.paths import LONGEST, Open, bounded_lines, in_memory, open_native
from misnomer.rows.frames import header_names
from misnomer.rows.notation import MISSING
from misnomer.rows.parts import DAMAGED_GZIP, complaint, rest_left_out

_HEAD = 1 << 16
_WIDEST = 1 << 30  # bytes of a block: no row is longer
_BLOCK = 1 << 20  # bytes of text that are parsed at once; more take memory, and no less time

OLD_WINDOWS = "cp1252"  # what most files are that are not UTF-8
_ODD_WORD = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_LONGEST_WORD = 30


class NotUTF8Error(ValueError):
    """Text that is not UTF-8, though nothing else was said of it."""


class NotTextError(ValueError):
    """Text that is not of the encoding it is said to have."""


@dataclass(eq=False)
class _LeftOut:
    """How many lines were left out: of too many or too few cells, or not UTF-8."""

    odd: int = 0
    coded: list[int] = field(default_factory=lambda: [0])

    def skip(self, row: Any) -> str:
        """Count a line that Arrow cannot take."""
        self.odd += 1
        return "skip"

    def clear(self) -> None:
        """Begin anew."""
        self.odd, self.coded[0] = 0, 0

    def sentences(self, name: str) -> list[str]:
        """Say what was left out."""
        odd, coded = (f"{n:,} line{'s' * (n != 1)}" for n in (self.odd, self.coded[0]))
        why = f"{name}: {odd} with too many or too few cells"
        text = f"{name}: {coded} not in UTF-8 (--encoding cp1252 reads most old files)"
        return [why] * (self.odd > 0) + [text] * (self.coded[0] > 0)


@dataclass(frozen=True, eq=False)
class TextPart:
    """A file of separated cells, as UTF-8, that can be opened again and again.

    Arrow parses it; without ``kinds`` every cell is text. What Arrow cannot say, such as the line
    that is at fault, is found by reading the file once more, slowly.
    """

    opened: Open  # opens it anew
    name: str  # for messages
    dialect: Dialect  # complete: the separator and the lines before the header are known
    header: tuple[str, ...] = ()
    kinds: dict[str, str] | None = None
    clean: frozenset[str] = frozenset()  # columns without white space around their cells
    # where said, Arrow reads the cells as these, and nothing else is done to them
    types: dict[str, pa.DataType] = field(default_factory=dict)
    block: int = 0  # bytes that are parsed at once, if not as usual

    @property
    def separator(self) -> str:
        """What stands between two cells."""
        return self.dialect.separator or ","

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Read cell by cell, slowly: each row that holds something, and the line it begins on."""
        csv.field_size_limit(_WIDEST)
        skip, before = self.dialect.skip, 0
        with self.opened() as stream:
            lines = islice(bounded_lines(stream, self.name), skip, None)
            reader = csv.reader((line.decode() for line in lines), delimiter=self.separator)
            try:
                for cells in reader:
                    if cells:
                        yield skip + before + 1, cells
                    before = reader.line_num
            except UnicodeDecodeError:
                raise NotUTF8Error(
                    f"{self.name}: line {skip + reader.line_num + 1} is not UTF-8 text: say which "
                    "encoding it has (--encoding cp1252 for most old files)"
                ) from None
            except csv.Error as error:
                where = f"{self.name}: line {skip + reader.line_num}"
                if "new-line" in str(error):
                    raise ValueError(
                        f"{where} has a line break of old Macs (a carriage return) in a cell: take "
                        "it out, or put the cell in quotation marks"
                    ) from None
                raise ValueError(f"{where} cannot be read ({error})") from None

    def names(self) -> list[str]:
        """Read the names of the columns."""
        _, cells = next(self.rows(), (0, list[str]()))
        cells = [cells[0].removeprefix("\ufeff"), *cells[1:]] if cells else []
        return header_names(cells, self.name, header=self.dialect.header)

    def fault(self) -> str | None:
        """Say which line is at fault, if any: read again, slowly, up to there."""
        width, first = 0, "header" if self.dialect.header else "first line"
        for line, cells in self.rows():
            width = width or len(cells)
            if len(cells) != width:
                count = f"{len(cells)} cell{'s' * (len(cells) != 1)}"
                return (
                    f"{self.name}: line {line} has {count}, but the {first} has {width}: check for "
                    "a separator or a quotation mark too many, or leave such lines out (--skip-bad)"
                )
        return None

    def only_header(self) -> bool:
        """Tell a file that holds nothing after its header."""
        try:
            return len(list(islice(self.rows(), 2))) < 1 + self.dialect.header
        except ValueError:
            return False

    def lines(self, rows: int) -> Iterable[int] | None:
        """Find the line of each row below the header; None where they cannot be told.

        As many lines as rows need no second look; else an empty line, or a cell of several lines,
        is among them, and the cells are read again.
        """
        skip, header = self.dialect.skip, int(self.dialect.header)
        with self.opened() as stream:
            if _count(stream) == skip + header + rows:
                return range(skip + header + 1, skip + header + rows + 1)
        try:
            found = [line for line, _ in self.rows()][header:]
        except ValueError:
            return None
        return found if len(found) == rows else None

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows; lines with too many or too few cells can be left out."""
        left_out = _LeftOut() if bad is not None else None
        ours = is_ours(self.header)
        with rest_left_out(bad, self.name, self._fault):
            for batch in self._strings(list(columns), left_out):
                cells = map(self._cell_values, columns, batch.columns)
                cells = map(restored_cells, cells) if ours else cells
                yield pa.record_batch(list(cells), names=list(columns))
        if left_out is not None and bad is not None:
            bad += left_out.sentences(self.name)

    def _cell_values(self, name: str, cells: pa.Array) -> pa.Array:
        """Read the cells of a column as what it is, as far as that is known."""
        if self.kinds is None:
            return without_words(cells, self.dialect.missing)
        return cast_cells(cells, self.kinds[name], self.dialect.missing)

    def _fault(self, error: BaseException) -> str:
        if "ompressed" in str(error):  # Arrow says so of a gzip file that ends too soon
            error = EOFError()
        damaged = isinstance(error, DAMAGED_GZIP)
        return (None if damaged else self.fault()) or complaint(self.name, error)

    def _opened(self, left_out: _LeftOut | None) -> Any:
        """Open the file for Arrow, without the lines that are not UTF-8 if those are left out."""
        if left_out is None or self.dialect.encoding is not None or self.dialect.old_mac:
            return open_native(self.opened)
        return io.BufferedReader(Utf8Lines(self.opened(), left_out.coded), _BLOCK)

    def _strings(self, columns: list[str], left_out: _LeftOut | None) -> Iterator[pa.RecordBatch]:
        """Parse the cells; from a row on that is longer than a block, with longer blocks."""
        done = 0
        try:
            for batch in self._parsed(columns, left_out, self.block or _BLOCK):
                done += batch.num_rows
                yield batch
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
            if left_out is not None:
                left_out.clear()
            yield from _behind(self._parsed(columns, left_out, LONGEST), done)

    def _parsed(
        self, columns: list[str], left_out: _LeftOut | None, block: int
    ) -> Iterator[pa.RecordBatch]:
        gaps = ["", *self.dialect.missing, *(MISSING if self._settles else ())]
        with self._opened(left_out) as stream:
            try:
                reader = arrow_csv.open_csv(
                    stream,
                    arrow_csv.ReadOptions(
                        column_names=list(self.header),
                        skip_rows=self.dialect.skip,
                        skip_rows_after_names=int(self.dialect.header),
                        block_size=block,
                    ),
                    arrow_csv.ParseOptions(
                        delimiter=self.separator,
                        newlines_in_values=True,
                        invalid_row_handler=None if left_out is None else left_out.skip,
                    ),
                    arrow_csv.ConvertOptions(
                        include_columns=columns,
                        column_types={name: self._type(name) for name in columns},
                        null_values=gaps,
                        strings_can_be_null=not self._settles,
                        quoted_strings_can_be_null=True,
                    ),
                )
            except pa.ArrowInvalid:
                if self.only_header():
                    return
                raise
            yield from (batch for batch in reader if batch.num_rows)

    @property
    def _settles(self) -> bool:
        """Whether numbers are told from words: then "NA" is missing among numbers only."""
        return bool(self.kinds or self.types)

    def _type(self, name: str) -> pa.DataType:
        """Tell what Arrow should read a column as; what it cannot read is settled afterward."""
        if self.types:
            return self.types[name]
        if self.kinds is None:
            return pa.string()
        kind = self.kinds[name]
        if kind == "text":
            return pa.dictionary(pa.int32(), pa.string())
        return TYPES[kind] if name in self.clean and kind in ("int", "float") else pa.string()


def _count(stream: BinaryIO) -> int:
    """Count lines; the last one may lack its end."""
    count, last = 0, b"\n"
    while block := stream.read(_BLOCK):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


def _behind(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Pass over some rows."""
    for batch in batches:
        if batch.num_rows > rows:
            yield batch.slice(rows)
        rows = max(0, rows - batch.num_rows)


def text_part(opened: Open, name: str, dialect: Dialect, *, keep: bool = False) -> TextPart:
    """Read the header of a file of separated cells; ``keep`` it if it is to be read at once."""
    try:
        part = _looked_at(opened, name, dialect)
        if keep:
            part = replace(part, opened=in_memory(part.opened, name))
        names = part.names()
        return replace(part, header=tuple(map(restored, names) if is_ours(names) else names))
    except DAMAGED_GZIP as error:
        raise ValueError(complaint(name, error)) from None
    except UnicodeDecodeError as error:
        encoding = dialect.encoding or error.encoding
        raise NotTextError(
            f"{name}: this is no {encoding} text: say its encoding (--encoding)"
        ) from None


def _looked_at(opened: Open, name: str, dialect: Dialect) -> TextPart:
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
    with in_utf8(opened, dialect)() as stream:
        head = stream.read(_HEAD)
    dialect = replace(dialect, old_mac=b"\r" in head.rstrip() and b"\n" not in head)
    if dialect.old_mac:
        head = head.replace(b"\r", b"\n")
    return TextPart(in_utf8(opened, dialect), name, looked_at(dialect, head, name))


def _marked(head: bytes) -> str | None:
    """Read the mark at the begin of a file that says how its letters are coded."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def in_old_windows(dialect: Dialect) -> Dialect:
    """Take a file that is not UTF-8 for one that old Windows wrote, if nothing else is said."""
    return replace(dialect, encoding=OLD_WINDOWS)


def say_old_windows(name: str, opened: Open) -> None:
    """Say that an encoding was guessed, and show a word by which a person can tell."""
    with opened() as stream:
        found = _ODD_WORD.search(stream.read(_HEAD))
    word = found.group()[:_LONGEST_WORD].decode(OLD_WINDOWS, "replace") if found else ""
    shown = f", in which one word is {word!r}" if word else ""
    warnings.warn(
        f"{name}: this is not UTF-8 and was read as Windows-1252{shown}: say the encoding if that "
        "is wrong (--encoding)",
        stacklevel=2,
    )
