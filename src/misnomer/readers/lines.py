"""Parts that are text: separated cells and JSON lines, gzipped or not, by batches."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from misnomer.readers import delimited
from misnomer.readers.parts import FAULTS, complaint, conform
from misnomer.readers.paths import opened
from misnomer.readers.settle import TYPES, Guess, guess, settled

_BLOCK = 1 << 22  # bytes of text that are parsed at once


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
    separator: str
    header: tuple[str, ...]
    kinds: dict[str, str] | None = None
    clean: frozenset[str] = frozenset()
    types: dict[str, pa.DataType] = field(default_factory=dict)
    block: int = 0

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows; lines with too many or too few cells can be left out."""
        odd = 0

        def skip(row: Any) -> str:
            nonlocal odd
            odd += 1
            return "skip"

        try:
            for batch in self._strings(list(columns), skip if bad is not None else None):
                kinds = self.kinds
                if kinds is not None:
                    cells = [settled(batch.column(c), kinds[c]) for c in columns]
                    batch = pa.record_batch(cells, names=list(columns))
                yield batch
        except FAULTS as error:
            if bad is None:
                raise ValueError(self._fault(error)) from None
            bad.append(complaint(self.name, error, "the rest of the file"))
        if odd and bad is not None:
            lines = "line" if odd == 1 else "lines"
            bad.append(f"{self.name}: {odd:,} {lines} with too many or too few cells")

    def _fault(self, error: BaseException) -> str:
        if isinstance(error, EOFError) or "ompressed" in str(error):
            return f"{self.name}: the gzip file is damaged or cut short"
        found = delimited._complaint(lambda: open_text(self.name), self.name, self.separator)
        return found or complaint(self.name, error)

    def _strings(self, columns: list[str], skip: Any) -> Iterator[pa.RecordBatch]:
        with open_cells(self.name) as stream:
            try:
                reader = arrow_csv.open_csv(
                    stream,
                    arrow_csv.ReadOptions(
                        column_names=list(self.header),
                        skip_rows_after_names=1,
                        block_size=min(self.block or _BLOCK, _BLOCK),
                    ),
                    arrow_csv.ParseOptions(
                        delimiter=self.separator,
                        newlines_in_values=True,
                        invalid_row_handler=skip,
                    ),
                    arrow_csv.ConvertOptions(
                        include_columns=columns,
                        column_types={name: self._type(name) for name in columns},
                        null_values=["", *(delimited.MISSING if self._settles else ())],
                        strings_can_be_null=not self._settles,
                        quoted_strings_can_be_null=True,
                    ),
                )
            except pa.ArrowInvalid:
                if delimited._only_header(lambda: open_text(self.name), self.separator):
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


def text_part(path: str, separator: str | None) -> TextPart:
    """Read the header of a file of separated cells."""
    try:
        with open_text(path) as stream:
            head = stream.read(1 << 16)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError(f"{path}: a file of this size must be UTF-8, not UTF-16: recode it")
        delimited._utf8(lambda: open_text(path), head, path)
        separator = separator or delimited._separator(head)
        header = delimited._header(lambda: open_text(path), path, separator)
    except (EOFError, gzip.BadGzipFile):
        raise ValueError(f"{path}: the gzip file is damaged or cut short") from None
    return TextPart(path, separator, tuple(header))


@dataclass(frozen=True, eq=False)
class LinesPart:
    """One file of JSON lines; without a schema the types are those of each block."""

    name: str
    schema: pa.Schema | None = None

    def tables(self, bad: list[str] | None = None) -> Iterator[pa.Table]:
        """Parse block after block, each up to the end of a line."""
        from pyarrow import json

        rest = b""
        try:
            with open_text(self.name) as stream:
                while block := stream.read(_BLOCK):
                    whole, cut, rest = (rest + block).rpartition(b"\n")
                    if cut and whole.strip():
                        yield json.read_json(io.BytesIO(whole + cut))
                if rest.strip():
                    yield json.read_json(io.BytesIO(rest))
        except FAULTS as error:
            if bad is None:
                raise ValueError(complaint(self.name, error)) from None
            bad.append(complaint(self.name, error, "the rest of the file"))

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        assert self.schema is not None
        for table in self.tables(bad):
            yield conform(table, self.schema, columns)
