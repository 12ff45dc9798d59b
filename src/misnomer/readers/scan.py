"""Files that may be larger than memory -> Arrow record batches, as often as they are asked for."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from misnomer.readers.ahead import ahead
from misnomer.readers.lines import LinesPart, TextPart, open_text, text_part
from misnomer.readers.parts import (
    FAULTS,
    ROWS,
    ArrowPart,
    ParquetPart,
    Part,
    TablePart,
    arrow_batches,
    complaint,
)
from misnomer.readers.paths import files_of, opened, partition_keys, size_of
from misnomer.readers.settle import TYPES, Guess

_PIECE = 1 << 27  # bytes of a Parquet file, unpacked, that make a part of their own

Mapped = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class Scan:
    """A table that can be read again and again, some rows at a time.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns in the file's order, and their settled types.
    parts : tuple of Part
        Pieces that can be read on their own, in the table's order.
    bytes : int
        What lies on disk.
    left_out : tuple of str
        Files that could not be opened at all.
    """

    schema: pa.Schema
    parts: tuple[Part, ...]
    bytes: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns, in the file's order."""
        return list(self.schema.names)

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the file's order, the next ones read ahead."""
        yield from ahead(
            batch for part in self.parts for batch in part.batches(columns, bad) if batch.num_rows
        )


def scan_table(table: pa.Table, rows: int = ROWS) -> Scan:
    """Serve a table in memory by the batch."""
    return Scan(table.schema, (TablePart(table, rows=rows),), table.nbytes)


def scan(
    path: str | Path, *, rows: int = ROWS, skip_bad: bool = False, mapped: Mapped = map
) -> Scan:
    """Find the parts of a file, a folder, a pattern or an address, and settle their types.

    Parameters
    ----------
    path : str or Path
        CSV, TSV, JSON lines (also gzipped), Parquet, Arrow, Feather: all files of one kind.
    rows : int
        Rows of a batch, at most.
    skip_bad : bool
        Leave out files that cannot be opened.
    mapped : callable
        Who looks at the files: ``map``, or a cluster.
    """
    files, base = files_of(path)
    bad: list[str] = []
    kinds: dict[str, str] = {}
    for file in files:
        try:
            kinds[file] = _kind(file)
        except ValueError as error:
            if not skip_bad:
                raise
            bad.append(str(error))
    if not kinds:
        raise ValueError(f"{path}: no file of it can be read")
    several = sorted(set(kinds.values()))
    if len(several) > 1:
        raise ValueError(f"{path}: files of several kinds ({', '.join(several)}): name one kind")
    build = {"parquet": _parquet, "arrow": _arrow, "json": _json, "text": _text}[several[0]]
    found = build(list(kinds), base, rows, bad if skip_bad else None, mapped)
    return replace(found, bytes=sum(map(size_of, kinds)), left_out=tuple(bad))


def _kind(path: str) -> str:
    """Tell what a file is by its first bytes, else by its name."""
    try:
        with open_text(path) as stream:
            head = stream.read(64)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r}") from None
    except (EOFError, zlib.error, OSError) as error:
        raise ValueError(complaint(path, error)) from None
    name = path.lower().removesuffix(".gz")
    if not head:
        raise ValueError(f"{path}: the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    if name.endswith((".parquet", ".arrow", ".feather", ".ipc")):
        raise ValueError(f"{path}: this is no {name.rsplit('.', 1)[1]} file, or it is damaged")
    if name.endswith((".jsonl", ".ndjson", ".json")) or head.lstrip().startswith(b"{"):
        return "json"
    return "text"


def _each(files: list[str], bad: list[str] | None, look: Any, mapped: Mapped) -> list[Any]:
    """Look at every file; one that cannot be read raises, or is left out."""

    def one(file: str) -> Any:
        try:
            return look(file)
        except (*FAULTS, ValueError) as error:
            said = isinstance(error, ValueError) and not isinstance(error, pa.ArrowException)
            return _Fault(str(error) if said else complaint(file, error))

    found = []
    for file, seen in zip(files, mapped(one, files), strict=True):
        if not isinstance(seen, _Fault):
            found.append((file, seen))
        elif bad is None:
            raise ValueError(seen.sentence)
        else:
            bad.append(seen.sentence)
    if not found:
        raise ValueError(bad[0] if bad else "there is no file to read")
    return found


@dataclass(frozen=True)
class _Fault:
    sentence: str


def _unified(found: list[tuple[str, pa.Schema]]) -> pa.Schema:
    """Join the columns of all files; whole numbers give way to reals, nothing else changes."""
    schema = _decoded(found[0][1])
    for file, other in found[1:]:
        other = _decoded(other)
        try:
            schema = pa.unify_schemas([schema, other], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            name = next(n for n in other.names if n in schema.names and _clash(schema, other, n))
            raise ValueError(
                f"{file}: column {name!r} holds {other.field(name).type}, but "
                f"{schema.field(name).type} in {found[0][0]}: give it one type"
            ) from None
    return schema


def _decoded(schema: pa.Schema) -> pa.Schema:
    """Take dictionaries for what they stand for, and forget what other libraries wrote."""
    fields = [
        pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
        for f in schema
    ]
    names = [f.name for f in fields]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"column {twice!r} occurs twice: give each column its own name")
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


def _parquet(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Scan:
    found = _each(files, bad, _footer, mapped)
    schema = _unified([(file, seen) for file, (seen, _) in found])
    keys = {file: partition_keys(file, base) for file, _ in found}
    for name in dict.fromkeys(name for one in keys.values() for name in one):
        if name not in schema.names:
            schema = schema.append(pa.field(name, _key_type([keys[f].get(name) for f in keys])))
    parts = [
        ParquetPart(file, groups, schema, keys[file], rows)
        for file, (_, sizes) in found
        for groups in _pieces(sizes)
    ]
    return Scan(schema, tuple(parts))


def _footer(file: str) -> tuple[pa.Schema, list[int]]:
    import pyarrow.parquet as pq

    with opened(file) as source:
        parquet = pq.ParquetFile(source)
        about = parquet.metadata
        sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
        return parquet.schema_arrow, sizes


def _pieces(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """Join neighboring row groups up to the size of a part."""
    piece: list[int] = []
    for group, size in enumerate(sizes):
        if piece and sum(sizes[i] for i in piece) + size > _PIECE:
            yield tuple(piece)
            piece = []
        piece.append(group)
    if piece:
        yield tuple(piece)


def _key_type(values: list[str | None]) -> pa.DataType:
    """A folder's name is a whole number where all of them are."""
    whole = all(v is None or v.lstrip("-").isdigit() for v in values)
    return pa.int32() if whole else pa.string()


def _arrow(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Scan:
    def look(file: str) -> pa.Schema:
        with opened(file) as source:
            head = source.read(6)
            source.seek(0)
            reader = pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream
            return reader(source).schema

    found = _each(files, bad, look, mapped)
    schema = _unified(found)
    return Scan(schema, tuple(ArrowPart(file, schema, rows) for file, _ in found))


def _json(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Scan:
    leave = bad is not None

    def look(file: str) -> pa.Schema:
        tables = LinesPart(file).tables([] if leave else None)
        return _unified([(file, table.schema) for table in tables])

    found = _each(files, bad, look, mapped)
    schema = _unified(found)
    return Scan(schema, tuple(LinesPart(file, schema) for file, _ in found))


def _text(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Scan:
    tab = [name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) for name in files[:1]]
    leave = bad is not None

    def look(file: str) -> tuple[TextPart, list[Guess]]:
        part = text_part(file, "\t" if tab[0] else None)
        return part, part.guesses(None if not leave else [])

    found = [seen for _, seen in _each(files, bad, look, mapped)]
    first = found[0][0]
    for part, _ in found[1:]:
        if set(part.header) != set(first.header):
            odd = sorted(set(part.header) ^ set(first.header))[0]
            raise ValueError(f"{part.name}: column {odd!r} is not in all of the files")
    kinds = {}
    for name in first.header:
        total = Guess()
        for part, guesses in found:
            total = total + guesses[part.header.index(name)]
        kinds[name] = total.kind(decimal_comma=first.separator == ";")
    schema = pa.schema([pa.field(name, TYPES[kinds[name]]) for name in first.header])
    return Scan(schema, tuple(replace(part, kinds=kinds) for part, _ in found))


__all__ = ["ROWS", "Scan", "arrow_batches", "scan", "scan_table"]
