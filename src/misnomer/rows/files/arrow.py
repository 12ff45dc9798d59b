"""Parquet, Arrow and Feather: their parts, and the types of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from misnomer.rows.files.paths import opened, partition_keys
from misnomer.rows.parts import (
    FAULTS,
    ROWS,
    Found,
    Reading,
    complaint,
    conform,
    rest_left_out,
    unified,
    validated,
)

_PIECE = 1 << 25  # bytes of a Parquet file, unpacked, that make a part of their own
_PARTS = 2_000  # of a table so large that they would be more, parts are larger
_BATCH = 1 << 22  # bytes of a batch, about: wide tables are read fewer rows at a time


def parquet_parts(reading: Reading) -> Found:
    """Find the row groups of Parquet files, and the columns of their folders."""
    found = reading.each(footer)
    schema = unified([(file, seen) for file, (seen, _) in found])
    keys = {file: partition_keys(file, reading.base) for file, _ in found}
    for name in dict.fromkeys(name for one in keys.values() for name in one):
        if name not in schema.names:
            schema = schema.append(pa.field(name, _key_type([keys[f].get(name) for f in keys])))
    most = max(_PIECE, sum(sum(sizes) for _, (_, sizes) in found) // _PARTS)
    parts = [
        ParquetPart(file, groups, schema, keys[file], _fair(reading.rows, schema))
        for file, (_, sizes) in found
        for groups in _pieces(sizes, most)
    ]
    return schema, tuple(parts)


def _fair(rows: int, schema: pa.Schema) -> int:
    """Choose how many rows make a batch: eight bytes to a number, two to a word in a dictionary.

    The words themselves take more, but most are read as dictionaries.
    """
    words = sum(pa.types.is_string(one.type) for one in schema)
    return min(rows, max(_BATCH // max(8 * (len(schema) - words) + 2 * words, 1), 1_000))


def footer(file: str) -> tuple[pa.Schema, list[int]]:
    """Read the columns of a Parquet file, and the bytes of each row group, unpacked."""
    import pyarrow.parquet as pq

    with opened(file) as source:
        parquet = pq.ParquetFile(source)
        about = parquet.metadata
        sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
        parquet.schema_arrow.names  # noqa: B018 - a name that is no text is noticed here
        return parquet.schema_arrow, sizes


def _pieces(sizes: list[int], most: int) -> Iterator[tuple[int, ...]]:
    """Join neighboring row groups up to the size of a part."""
    piece: list[int] = []
    for group, size in enumerate(sizes):
        if piece and sum(sizes[i] for i in piece) + size > most:
            yield tuple(piece)
            piece = []
        piece.append(group)
    if piece:
        yield tuple(piece)


def _key_type(values: list[str | None]) -> pa.DataType:
    """A folder's name is a whole number where all of them are."""
    whole = all(v is None or v.lstrip("-").isdigit() for v in values)
    return pa.int32() if whole else pa.string()


def arrow_parts(reading: Reading) -> Found:
    """Find the schema of Arrow files."""
    found = reading.each(arrow_schema)
    schema = unified(found)
    return schema, tuple(ArrowPart(file, schema, _fair(reading.rows, schema)) for file, _ in found)


def arrow_schema(file: str) -> pa.Schema:
    """Read the columns of an Arrow file, whichever of the two formats it has."""
    with opened(file) as source:
        head = source.read(6)
        source.seek(0)
        reader = pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream
        schema = reader(source).schema
        schema.names  # noqa: B018 - a name that is no text is noticed here
        return schema


def _buffer(columns: int) -> int:
    """Bytes to read at once of each of so many columns: 8 MB in all, if that is not too little."""
    return int(min(max((8 << 20) // max(columns, 1), 1 << 16), 1 << 20))


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
