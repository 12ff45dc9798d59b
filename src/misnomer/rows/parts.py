"""Pieces of files that can be read on their own, by batches, here or on another machine."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.rows.files.paths import opened

ROWS = 1 << 16  # rows of a batch
_LINES = b"misnomer.lines"  # in the description of a table: the first line, or every one

#: What pyarrow and the system say when a file cannot be read.
FAULTS = (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError)
DAMAGED_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)


class Part(Protocol):
    """Some rows of a table that can be read again and again."""

    @property
    def name(self) -> str:
        """The file, for messages."""

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield its rows in order, only these columns, of settled types.

        What cannot be read raises a ValueError, or is told to ``bad`` and left out.
        """


@dataclass(frozen=True, eq=False)
class PartView:
    """A part that is read through: its rows, changed on the way."""

    part: Part

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.part.name


def conform(batch: Any, schema: pa.Schema, columns: Sequence[str]) -> pa.RecordBatch:
    """Give every column its settled type; one that is not there is missing throughout.

    A dictionary of values of that type is left one: whoever reads it looks at each value once.
    """
    names, arrays = batch.schema.names, []
    for name in columns:
        kind = schema.field(name).type
        if name not in names:
            arrays.append(pa.nulls(batch.num_rows, kind))
            continue
        array = batch.column(names.index(name))
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if pa.types.is_dictionary(array.type) and array.type.value_type != kind:
            array = array.dictionary_decode()
        same = array.type == kind or pa.types.is_dictionary(array.type)
        arrays.append(array if same else array.cast(kind))
    return pa.record_batch(arrays, names=list(columns))


def decoded_table(rows: pa.RecordBatch) -> pa.Table:
    """Make a table of some rows, its dictionaries taken for what they stand for."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in rows.columns
    ]
    return pa.table(columns, names=rows.schema.names)


def complaint(name: str, error: BaseException, what: str = "the file") -> str:
    """Say in one sentence that something cannot be read."""
    if isinstance(error, DAMAGED_GZIP):
        return f"{name}: the gzip file is damaged or cut short"
    why = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
    return f"{name}: {what} cannot be read ({why})"


@contextmanager
def rest_left_out(
    bad: list[str] | None, name: str, fault: Callable[[BaseException], str] | None = None
) -> Iterator[None]:
    """Raise one sentence about what cannot be read, or tell ``bad`` that it is left out."""
    try:
        yield
    except FAULTS as error:
        if bad is None:
            raise ValueError(complaint(name, error) if fault is None else fault(error)) from None
        bad.append(complaint(name, error, "the rest of the file"))


def _buffer(columns: int) -> int:
    """Bytes to read at once of each of so many columns: 8 MB in all, if that is not too little."""
    return int(min(max((8 << 20) // max(columns, 1), 1 << 16), 1 << 20))


@dataclass(frozen=True, eq=False)
class TablePart:
    """A table in memory."""

    table: pa.Table
    name: str = "the table"
    rows: int = ROWS
    lines: Any = None  # of each row in its file

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        yield from self.table.select(list(columns)).to_batches(max_chunksize=self.rows)


@dataclass(frozen=True, eq=False)
class ParquetPart:
    """Some row groups of a Parquet file, and the columns that its folders stand for."""

    name: str
    groups: tuple[int, ...]
    schema: pa.Schema
    keys: dict[str, str] = field(default_factory=dict)
    rows: int = ROWS

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, one row group after the other; a damaged one can be left out."""
        import pyarrow.parquet as pq

        for group in self.groups:
            count = -1
            try:
                with opened(self.name) as source:
                    file = pq.ParquetFile(
                        source,
                        buffer_size=_buffer(len(columns)),
                        read_dictionary=self._strings(columns),
                    )
                    count = file.metadata.row_group(group).num_rows
                    there = set(file.schema_arrow.names)
                    wanted = [c for c in columns if c in there]
                    # Read whole before any of it is used: a damaged group leaves nothing behind.
                    found = list(self._group(file, group, wanted)) if bad is not None else None
                    for batch in map(validated, found or self._group(file, group, wanted)):
                        yield conform(self._keyed(batch), self.schema, columns)
                pa.default_memory_pool().release_unused()  # else a group's pages stay for good
            except FAULTS as error:
                what = f"row group {group}" + (f" ({count:,} rows)" if count >= 0 else "")
                if bad is None:
                    raise ValueError(complaint(self.name, error, what)) from None
                bad.append(complaint(self.name, error, what))

    def _strings(self, columns: Sequence[str]) -> list[str]:
        """Name the columns that are stored as dictionaries, most likely."""
        kinds = {name: self.schema.field(name).type for name in columns if name not in self.keys}
        text = (pa.types.is_string, pa.types.is_large_string)
        return [name for name, kind in kinds.items() if any(test(kind) for test in text)]

    def _group(self, file: Any, group: int, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if columns:
            yield from file.iter_batches(self.rows, row_groups=[group], columns=columns)
            return
        total = file.metadata.row_group(group).num_rows  # only folders speak: count the rows
        for start in range(0, total, self.rows):
            rows = min(self.rows, total - start)
            yield pa.record_batch([pa.nulls(rows)], names=["\0"])

    def _keyed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names, arrays = list(batch.schema.names), list(batch.columns)
        for name, value in self.keys.items():
            if name in self.schema.names and name not in names:
                names.append(name)
                arrays.append(pa.repeat(pa.scalar(value), batch.num_rows))
        return pa.record_batch(arrays, names=names)


@dataclass(frozen=True, eq=False)
class ArrowPart:
    """An Arrow or Feather file: in the file format or as a stream."""

    name: str
    schema: pa.Schema
    rows: int = ROWS

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows; after a damaged batch nothing of the file can be trusted."""
        with rest_left_out(bad, self.name), opened(self.name) as source:
            for whole in arrow_batches(source):
                for start in range(0, whole.num_rows, self.rows):
                    yield conform(whole.slice(start, self.rows), self.schema, columns)


def arrow_batches(source: Any) -> Iterator[pa.RecordBatch]:
    """Read the record batches of an Arrow file, whichever of the two formats it has.

    Arrow believes the offsets of a file: each batch is validated before anybody follows them.
    """
    head = source.read(6)
    source.seek(0)
    if head == b"ARROW1":
        file = pa.ipc.open_file(source)
        found: Any = (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        found = pa.ipc.open_stream(source)
    yield from map(validated, found)


def validated(rows: Any) -> Any:
    """Check what Arrow believes of a file: offsets, codes, texts, and the names of columns."""
    rows.validate(full=True)
    rows.schema.names  # noqa: B018 - a name that is no text is noticed here
    return rows


def with_lines(table: pa.Table, lines: Iterable[int] | None) -> pa.Table:
    """Write beside a table on which line of its file each row stands; None erases it.

    Lines are counted from 1, with the header, comments and empty lines: as a person finds them.

    Examples
    --------
    >>> table = with_lines(pa.table({"x": ["a", "b"]}), [2, 4])
    >>> lines_of(table).tolist()
    [2, 4]
    """
    about = {name: said for name, said in (table.schema.metadata or {}).items() if name != _LINES}
    found = None if lines is None else np.fromiter(lines, np.int64)
    if found is not None and len(found) == table.num_rows:
        counting = bool((np.diff(found) == 1).all())
        about[_LINES] = (found[:1] if counting else found).astype("<i8").tobytes()
    return table.replace_schema_metadata(about or None)


def lines_of(table: pa.Table) -> NDArray[np.int64] | None:
    """Read the line of each row, (n,); None where no reader has said it."""
    said = (table.schema.metadata or {}).get(_LINES)
    if said is None or not table.num_rows:
        return None
    found = np.frombuffer(said, "<i8").astype(np.int64)
    if len(found) == 1:
        return found[0] + np.arange(table.num_rows, dtype=np.int64)
    return found if len(found) == table.num_rows else None
