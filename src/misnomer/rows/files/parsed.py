"""A text file parsed once: what was read is kept in Arrow's form, smaller than the text.

What the columns are is known only when all of a file has been seen, but its first block is a good
guess. So the file is read by that guess, words as dictionaries, and what was read is kept in memory
or in a temporary file; later passes read that. Where the guess was wrong, the file is parsed again.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.files.cells import HEAD, TYPES, Guess, cast_cells, guess, may_have_thousands
from misnomer.rows.files.delimited import (
    NotTextError,
    NotUTF8Error,
    TextPart,
    in_old_windows,
    say_old_windows,
    text_part,
)
from misnomer.rows.files.dialect import Dialect, by_name
from misnomer.rows.files.paths import Open, open_text, size_of
from misnomer.rows.parts import ROWS, Found, Part, PartView, Reading

_WORDS = pa.dictionary(pa.int32(), pa.string())
_FIRST = 1 << 18  # bytes of the first block
_BATCH = 1 << 23  # bytes of a batch, about


@dataclass(frozen=True, eq=False)
class ParsedPart(PartView):
    """The cells of one file of text, as they were read."""

    part: TextPart
    store: list[pa.RecordBatch] | SpillFile
    types: dict[str, pa.DataType]
    kinds: dict[str, str]

    def lines(self, rows: int) -> Iterable[int] | None:
        """Find the line of each row."""
        return self.part.lines(rows)

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order."""
        for batch in self.store:
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
            self.kinds[name] == "float"
            for name, kind in self.types.items()
            if pa.types.is_floating(kind)
        )


class SpillFile:
    """Record batches in a temporary file, which is gone with whoever holds it."""

    def __init__(self, schema: pa.Schema) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="misnomer-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self.file.close)
        self._room = _free_disk() // 2
        self._stream = pa.ipc.new_stream(pa.PythonFile(self.file, mode="w"), schema)

    def append(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if self.file.tell() > self._room:
            raise OSError("what a file unpacks to has no room on the disk")
        self._stream.write_batch(batch)

    def close(self) -> None:
        """Say that nothing more is to come."""
        self._stream.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.ipc.open_stream(pa.PythonFile(_At(self), mode="r")) as stream:
            yield from stream


def _free_disk() -> int:
    return shutil.disk_usage(tempfile.gettempdir()).free


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


def parsed(part: TextPart, *, keep: bool = False) -> tuple[list[Guess], ParsedPart] | None:
    """Read a file by a guess, and look at every cell; None where the guess was wrong.

    What was read is kept in memory, or on disk: nothing of a file that it has no room for.
    """
    try:
        if not keep and _free_disk() < 2 * size_of(part.name):
            return None
        first = next(replace(part, block=_FIRST).batches(part.header), None)
        if first is None:
            return None
        chosen = [_type(values, part.dialect.separator) for values in first.columns]
        types = dict(zip(part.header, chosen, strict=True))
        schema = pa.schema(list(types.items()))
        store: list[pa.RecordBatch] | SpillFile = [] if keep else SpillFile(schema)
        found = _guesses(replace(part, types=types), store)
    except (ValueError, OSError):
        return None  # read as text, it is said what is wrong, if anything is
    return found, ParsedPart(part, store, types, {})


def _type(values: pa.Array, separator: str | None) -> pa.DataType:
    """Choose what to read a column as, by its first cells; as reals, its points are forgotten."""
    guessed = guess(values)
    if guessed.kind() == "float" and (separator != ";" or "decimal" in guessed.points):
        return pa.float64()
    few = len(pc.unique(values)) <= len(values) / 2
    return _WORDS if few else pa.string()


def _guesses(
    part: TextPart,
    store: list[pa.RecordBatch] | SpillFile | None = None,
    bad: list[str] | None = None,
) -> list[Guess]:
    """Look at every cell once: what each column can be; store the rows as they are read."""
    found = [Guess() for _ in part.header]
    batches = part.batches(part.header, bad)
    for batch in batches if store is None else _larger(batches):
        if store is not None:
            store.append(batch)
        found = [
            before + _guess(column, before)
            for before, column in zip(found, batch.columns, strict=True)
        ]
    if isinstance(store, SpillFile):
        store.close()
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
        seen, points = len(values) - values.null_count, frozenset(["decimal"])
        return Guess(possible=frozenset(["float"]), numbers=seen, points=points)
    if pa.types.is_dictionary(values.type):
        first = len(before.head) < HEAD  # the first cells are looked at one by one
        values = values.dictionary_decode() if first else values.dictionary
    return guess(values, before)


_Understood = tuple[TextPart, list[Guess], ParsedPart | None]


def text_parts(reading: Reading, opened_as: Callable[[str], Open] | None = None) -> Found:
    """Find the types of separated cells: every cell is looked at."""
    dialect = by_name(reading.dialect, reading.files[0])
    leave = reading.bad is not None
    near = reading.mapped is map and not leave  # what is kept here cannot be read elsewhere
    near = near and not dialect.missing

    def understood(file: str, dialect: Dialect) -> _Understood:
        opened = partial(open_text, file) if opened_as is None else opened_as(file)
        part = text_part(opened, file, dialect, keep=reading.keep)
        once = parsed(part, keep=reading.keep) if near else None
        return (part, *once) if once else (part, _guesses(part, bad=[] if leave else None), None)

    def look(file: str) -> _Understood:
        try:
            return understood(file, dialect)
        except NotUTF8Error:
            if dialect.encoding is not None:
                raise
        try:
            found = understood(file, in_old_windows(dialect))
        except NotTextError:
            raise ValueError(
                f"{file}: this is neither UTF-8 nor Windows-1252: say its encoding (--encoding)"
            ) from None
        say_old_windows(file, partial(open_text, file) if opened_as is None else opened_as(file))
        return found

    found = [seen for _, seen in reading.each(look)]
    first = found[0][0]
    _check_same_columns([part for part, _, _ in found])
    totals = {name: _total(name, found) for name in first.header}
    kinds = _kinds(totals, first.dialect.separator)
    clean = {name for name, total in totals.items() if total.clean and not dialect.missing}
    schema = pa.schema([pa.field(name, TYPES[kinds[name]]) for name in first.header])
    return schema, tuple(
        _part_of(replace(part, kinds=kinds, clean=frozenset(clean)), parsed_part)
        for part, _, parsed_part in found
    )


def _check_same_columns(parts: Sequence[TextPart]) -> None:
    for part in parts[1:]:
        odd = sorted(set(part.header) ^ set(parts[0].header))
        if odd:
            raise ValueError(f"{part.name}: column {odd[0]!r} is not in all of the files")


def _kinds(totals: Mapping[str, Guess], separator: str | None) -> dict[str, str]:
    """Say what each column is; where a semicolon separates, a comma marks decimals."""
    said = {
        "decimal_comma": separator == ";",
        "thousands": may_have_thousands(totals.values(), separator),
    }
    return {name: total.kind(**said) for name, total in totals.items()}


def _total(name: str, found: list[_Understood]) -> Guess:
    """Add up what a column can be, over all files."""
    each = (guesses[part.header.index(name)] for part, guesses, _ in found)
    return sum(each, Guess())


def _part_of(part: TextPart, parsed_part: ParsedPart | None) -> Part:
    """Take what was read of a file before, where it is what the columns turned out to be."""
    if parsed_part is None:
        return part
    parsed_part = replace(parsed_part, kinds=part.kinds or {})
    return parsed_part if parsed_part.holds else part
