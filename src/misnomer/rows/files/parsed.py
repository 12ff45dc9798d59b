"""A text file parsed once: what was read is kept in Arrow's form, smaller than the text.

What the columns are is known only when all of a file has been seen, but its first block is a good
guess. So the file is read by that guess, words as dictionaries, and what was read is written to a
temporary file; later passes read that. Where the guess was wrong, the file is parsed again.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.files.cell_types import HEAD, Guess, cast_cells, guess
from misnomer.rows.files.paths import size_of
from misnomer.rows.files.text import TextPart
from misnomer.rows.parts import ROWS

_WORDS = pa.dictionary(pa.int32(), pa.string())
_FIRST = 1 << 18  # bytes of the first block
_BATCH = 1 << 23  # bytes of a batch, about
_NUMBERS = ("float", "comma")  # what cells that were read as reals can turn out to be


@dataclass(frozen=True, eq=False)
class ParsedPart:
    """The cells of one file of text, as they were read."""

    name: str
    spill: SpillFile
    types: dict[str, pa.DataType]
    kinds: dict[str, str]

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        with pa.ipc.open_stream(pa.PythonFile(_At(self.spill), mode="r")) as stream:
            for batch in stream:
                cells = [self._cast(batch.column(name), name) for name in columns]
                yield pa.record_batch(cells, names=list(columns))

    def _cast(self, values: pa.Array, name: str) -> pa.Array:
        kind = self.kinds[name]
        if kind != "text" and pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return cast_cells(values, kind)

    @property
    def holds(self) -> bool:
        """Whether what was read as numbers is numbers: text cannot be told from them again."""
        return all(
            self.kinds[name] in _NUMBERS
            for name, kind in self.types.items()
            if pa.types.is_floating(kind)
        )


class SpillFile:
    """A temporary file, gone with whoever holds it."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="misnomer-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self.file.close)


class _At(io.RawIOBase):
    """A file read from its begin, with a position of its own: several readers do not disturb."""

    def __init__(self, spill: SpillFile) -> None:
        self._spill, self._place = spill, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = os.pread(self._spill.file.fileno(), size, self._place)
        self._place += len(data)
        return data


def parsed(part: TextPart) -> tuple[list[Guess], ParsedPart] | None:
    """Read a file by a guess, and look at every cell; None where the guess was wrong.

    Nothing is kept of a file that the disk for temporary files has no room for.
    """
    try:
        if shutil.disk_usage(tempfile.gettempdir()).free < 2 * size_of(part.name):
            return None
        first = next(replace(part, block=_FIRST).batches(part.header), None)
        if first is None:
            return None
        types = dict(zip(part.header, map(_type, first.columns), strict=True))
        spill = SpillFile()
        found = _written(replace(part, types=types), spill.file)
    except (ValueError, OSError):
        return None  # read as text, it is said what is wrong, if anything is
    return found, ParsedPart(part.name, spill, types, {})


def _type(values: pa.Array) -> pa.DataType:
    """Choose what to read a column as, by its first cells."""
    if guess(values).kind() == "float":
        return pa.float64()
    few = len(pc.unique(values)) <= len(values) / 2
    return _WORDS if few else pa.string()


def _written(part: TextPart, file: IO[bytes]) -> list[Guess]:
    """Write all rows as they are read; add what each column can still be."""
    found = [Guess() for _ in part.header]
    room = shutil.disk_usage(tempfile.gettempdir()).free // 2
    schema = pa.schema([pa.field(name, part.types[name]) for name in part.header])
    with pa.ipc.new_stream(pa.PythonFile(file, mode="w"), schema) as stream:
        for batch in _larger(part.batches(part.header)):
            if file.tell() > room:
                raise OSError("what a file unpacks to has no room on the disk")
            stream.write_batch(batch)
            found = [
                before + _guess(column, before)
                for before, column in zip(found, batch.columns, strict=True)
            ]
    return found


def _larger(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join small batches, their dictionaries too: later passes look at each word once a batch."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        rows, size = (sum(getattr(one, n) for one in waiting) for n in ("num_rows", "nbytes"))
        if rows >= ROWS or size >= _BATCH:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    whole = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    return pa.record_batch([column.chunk(0) for column in whole.columns], names=whole.column_names)


def _guess(values: pa.Array, before: Guess) -> Guess:
    """Look at some cells; of a dictionary at each word once."""
    if pa.types.is_floating(values.type):
        if not pc.all(pc.is_finite(values)).as_py() and values.null_count < len(values):
            raise ValueError("whether infinity is a number depends on where it stands")
        return Guess(possible=frozenset(_NUMBERS), numbers=len(values) - values.null_count)
    if pa.types.is_dictionary(values.type):
        first = len(before.head) < HEAD  # the first cells are looked at one by one
        values = values.dictionary_decode() if first else values.dictionary
    return guess(values, before)
