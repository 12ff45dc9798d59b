"""Parts that are text: separated cells and JSON lines, gzipped or not, by batches."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from misnomer.rows.columns.plain import MISSING
from misnomer.rows.files.cell_types import TYPES, Guess, cast_cells, guess, without_words
from misnomer.rows.files.delimited import Delimited, delimited
from misnomer.rows.files.dialect import Dialect, in_utf8
from misnomer.rows.files.escapes import is_ours, restored_cells
from misnomer.rows.files.paths import opened
from misnomer.rows.files.unpacked import LONGEST
from misnomer.rows.files.utf8_lines import Utf8Lines
from misnomer.rows.parts import FAULTS, complaint, conform, validated

_BLOCK = 1 << 20  # bytes of text that are parsed at once; more take memory, and no less time
_NULL_LINE = re.compile(rb"(?:^|[\r\n])\s*null")


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

    def told(self, name: str) -> list[str]:
        """Say what was left out."""
        odd, coded = (f"{n:,} line{'s' * (n != 1)}" for n in (self.odd, self.coded[0]))
        why = f"{name}: {odd} with too many or too few cells"
        text = f"{name}: {coded} not in UTF-8 (--encoding cp1252 reads most old files)"
        return [why] * (self.odd > 0) + [text] * (self.coded[0] > 0)


def open_text(path: str) -> BinaryIO:
    """Open a file near or far; what is gzipped is unpacked on the way."""
    source = io.BufferedReader(_Raw(opened(path)), 1 << 16)
    if source.peek(2)[:2] == b"\x1f\x8b":
        return gzip.open(source, "rb")  # type: ignore[return-value]
    return source


def open_cells(path: str) -> Any:
    """Open a file for Arrow's parser: plainly where it is here and not packed, which is faster."""
    if "://" not in path:
        source = opened(path)
        if source.read(2) != b"\x1f\x8b":
            source.seek(0)
            return source
        source.close()
    return open_text(path)


class _Raw(io.RawIOBase):
    """An Arrow file as Python's own kind, which iterates over lines and closes what it wraps."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()


@dataclass(frozen=True, eq=False)
class TextPart:
    """One file of separated cells; without ``kinds`` every cell is text.

    Columns that are ``clean`` have no white space around their cells: Arrow may read them itself.
    Where ``types`` are said, it reads the cells as those, and nothing else is done to them; a
    ``block`` is how many bytes are parsed at once.
    """

    name: str
    dialect: Dialect
    header: tuple[str, ...]
    kinds: dict[str, str] | None = None
    clean: frozenset[str] = frozenset()
    types: dict[str, pa.DataType] = field(default_factory=dict)
    block: int = 0

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows; lines with too many or too few cells can be left out."""
        left_out = _LeftOut() if bad is not None else None
        try:
            for batch in self._strings(list(columns), left_out):
                kinds = self.kinds
                if kinds is not None:
                    cells = [
                        cast_cells(batch.column(c), kinds[c], self.dialect.missing) for c in columns
                    ]
                    batch = pa.record_batch(cells, names=list(columns))
                elif self.dialect.missing:
                    cells = [without_words(c, self.dialect.missing) for c in batch.columns]
                    batch = pa.record_batch(cells, names=list(columns))
                if is_ours(self.header):
                    cells = list(map(restored_cells, batch.columns))
                    batch = pa.record_batch(cells, names=list(columns))
                yield batch
        except FAULTS as error:
            if bad is None:
                raise ValueError(self._fault(error)) from None
            bad.append(complaint(self.name, error, "the rest of the file"))
        if left_out is not None and bad is not None:
            bad += left_out.told(self.name)

    def _fault(self, error: BaseException) -> str:
        if isinstance(error, EOFError) or "ompressed" in str(error):
            return f"{self.name}: the gzip file is damaged or cut short"
        return self.file.fault() or complaint(self.name, error)

    @property
    def file(self) -> Delimited:
        """The file, in UTF-8."""
        return Delimited(
            in_utf8(lambda: open_text(self.name), self.dialect), self.name, self.dialect
        )

    def _opened(self, left_out: _LeftOut | None) -> Any:
        """Open the file for Arrow, without the lines that are not UTF-8 if those are left out."""
        if self.dialect.encoding is not None or self.dialect.old_mac:
            return self.file.opened()
        if left_out is None:
            return open_cells(self.name)
        return io.BufferedReader(Utf8Lines(open_text(self.name), left_out.coded), _BLOCK)

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
        file = self.file
        gaps = ["", *self.dialect.missing, *(MISSING if self._settles else ())]
        with self._opened(left_out) as stream:
            try:
                reader = arrow_csv.open_csv(
                    stream,
                    file.read_options(list(self.header), block),
                    arrow_csv.ParseOptions(
                        delimiter=file.separator,
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
                if file.only_header():
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

    def guesses(self, bad: list[str] | None = None) -> list[Guess]:
        """Look at every cell once: what each column can be."""
        found = [Guess() for _ in self.header]
        for batch in self.batches(self.header, bad):
            found = [
                before + guess(column, before)
                for before, column in zip(found, batch.columns, strict=True)
            ]
        return found


def _behind(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Pass over some rows."""
    for batch in batches:
        if batch.num_rows > rows:
            yield batch.slice(rows)
        rows = max(0, rows - batch.num_rows)


def text_part(path: str, dialect: Dialect) -> TextPart:
    """Read the header of a file of separated cells."""
    try:
        file = delimited(lambda: open_text(path), path, dialect)
        return TextPart(path, file.dialect, tuple(file.header()))
    except (EOFError, gzip.BadGzipFile):
        raise ValueError(f"{path}: the gzip file is damaged or cut short") from None


def parsed_lines(block: bytes) -> pa.Table:
    """Parse JSON lines; what Arrow lets through is checked before anybody follows it.

    A block that begins with null brings Arrow 26 down, and it cuts blocks where it likes.
    """
    from pyarrow import json

    if _NULL_LINE.search(block):
        raise pa.ArrowInvalid("a line holds null, and no JSON object")
    return validated(json.read_json(io.BytesIO(block)))


def sound_lines(block: bytes) -> tuple[bytes, int]:
    r"""Keep the lines that are JSON objects, and count the others.

    Examples
    --------
    >>> sound_lines(b'{"a": 1}\n{"a": \n{"a": 2}\n')
    (b'{"a": 1}\n{"a": 2}\n', 1)
    """
    kept, odd = [], 0
    for line in block.splitlines(keepends=True):
        try:
            sound = isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            sound = not line.strip()
        kept += [line] if sound else []
        odd += not sound
    return b"".join(kept), odd


def odd_line(stream: BinaryIO) -> str:
    """Say which line is the first that is no JSON object; nothing where all are."""
    for number, line in enumerate(stream, start=1):
        if line.strip() and not sound_lines(line)[0]:
            return f"line {number} is no JSON object: mend it, or leave it out (--skip-bad)"
    return ""


@dataclass(frozen=True, eq=False)
class LinesPart:
    """One file of JSON lines; without a schema the types are those of each block."""

    name: str
    schema: pa.Schema | None = None

    def tables(self, bad: list[str] | None = None) -> Iterator[pa.Table]:
        """Parse block after block; lines that are no JSON objects can be left out."""
        try:
            for block in self._blocks():
                try:
                    yield parsed_lines(block)
                except FAULTS:
                    if bad is None:
                        raise
                    sound, odd = sound_lines(block)
                    bad.append(f"{self.name}: {odd:,} {'line' if odd == 1 else 'lines'} of no JSON")
                    if sound:
                        yield parsed_lines(sound)
        except FAULTS as error:
            if bad is None:
                raise ValueError(self._fault(error)) from None
            bad.append(complaint(self.name, error, "the rest of the file"))

    def _fault(self, error: BaseException) -> str:
        try:
            with open_text(self.name) as stream:
                odd = odd_line(stream)
        except FAULTS:
            odd = ""
        return f"{self.name}: {odd}" if odd else complaint(self.name, error)

    def _blocks(self) -> Iterator[bytes]:
        """Read blocks of bytes, each up to the end of a line."""
        rest = b""
        with open_text(self.name) as stream:
            while block := stream.read(_BLOCK):
                if len(rest) > LONGEST:
                    raise OSError(f"a line is longer than {LONGEST >> 20} MB")
                whole, cut, rest = (rest + block).rpartition(b"\n")
                if cut and whole.strip():
                    yield whole + cut
            if rest.strip():
                yield rest

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        assert self.schema is not None
        for table in self.tables(bad):
            yield conform(table, self.schema, columns)
