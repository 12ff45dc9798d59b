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

from misnomer.rows.files.dialect import Dialect
from misnomer.rows.frames import named_once

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


Mapped = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Found = tuple[pa.Schema, tuple[Part, ...]]  # the types of all columns, and where the rows are


@dataclass(frozen=True, eq=False)
class Reading:
    """Which files are to be read, and how."""

    files: list[str]  # all of one kind
    base: str | None = None  # the folder that they are in, where it was named
    rows: int = ROWS  # rows of a batch, at most
    bad: list[str] | None = None  # where what cannot be read is told, if it is left out
    mapped: Mapped = map  # who looks at the files: ``map``, or a cluster
    dialect: Dialect = field(default_factory=Dialect)  # what is known of text files
    keep: bool = False  # whether all rows will be in memory: what was parsed once is kept there

    def each(self, look: Callable[[str], Any]) -> list[tuple[str, Any]]:
        """Look at every file; one that cannot be read raises, or is left out."""
        far = self.mapped is not map

        def one(file: str) -> Any:
            try:
                return look(file)
            except (*FAULTS, ValueError) as error:
                cause = error if isinstance(error, OSError) else error.__context__
                if far and getattr(cause, "errno", None) is not None:
                    raise  # a cluster tries again what the system refused
                said = isinstance(error, ValueError) and not isinstance(error, pa.ArrowException)
                return _Fault(str(error) if said else complaint(file, error))

        found = []
        for file, seen in zip(self.files, self.mapped(one, self.files), strict=True):
            if not isinstance(seen, _Fault):
                found.append((file, seen))
            elif self.bad is None:
                raise ValueError(seen.sentence)
            else:
                self.bad.append(seen.sentence)
        if not found:
            raise ValueError(self.bad[0] if self.bad else "there is no file to read")
        return found


@dataclass(frozen=True)
class _Fault:
    sentence: str


def unified(found: list[tuple[str, pa.Schema]]) -> pa.Schema:
    """Join the columns of all files; whole numbers give way to reals, nothing else changes."""
    schema = _decoded(*found[0])
    for file, other in found[1:]:
        other = _decoded(file, other)
        try:
            schema = pa.unify_schemas([schema, other], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            name = next(n for n in other.names if n in schema.names and _clash(schema, other, n))
            raise ValueError(
                f"{file}: column {name!r} holds {other.field(name).type}, but "
                f"{schema.field(name).type} in {found[0][0]}: give it one type"
            ) from None
    return schema


def _decoded(file: str, schema: pa.Schema) -> pa.Schema:
    """Take dictionaries for what they stand for, and forget what other libraries wrote."""
    fields = [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
        for one in schema
    ]
    named_once([one.name for one in fields], f"{file}: ")
    return pa.schema(fields)


def _clash(one: pa.Schema, two: pa.Schema, name: str) -> bool:
    try:
        pa.unify_schemas(
            [pa.schema([one.field(name)]), pa.schema([two.field(name)])],
            promote_options="permissive",
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return True
    return False
