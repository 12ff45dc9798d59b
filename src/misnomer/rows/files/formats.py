"""The files of a scan, by kind: their parts, and the types of their columns settled for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from misnomer.rows.files.cell_types import TYPES, Guess
from misnomer.rows.files.delimited import NotUTF8Error, in_old_windows, say_old_windows
from misnomer.rows.files.dialect import Dialect, by_name
from misnomer.rows.files.parsed import ParsedPart, parsed
from misnomer.rows.files.paths import opened, partition_keys
from misnomer.rows.files.text import LinesPart, TextPart, text_part
from misnomer.rows.parts import FAULTS, ArrowPart, ParquetPart, Part, TablePart, complaint

_PIECE = 1 << 25  # bytes of a Parquet file, unpacked, that make a part of their own
_PARTS = 2_000  # of a table so large that they would be more, parts are larger

_BATCH = 1 << 22  # bytes of a batch, about: wide tables are read fewer rows at a time

Mapped = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Found = tuple[pa.Schema, tuple[Part, ...]]


def _each(files: list[str], bad: list[str] | None, look: Any, mapped: Mapped) -> list[Any]:
    """Look at every file; one that cannot be read raises, or is left out."""
    far = mapped is not map

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


def unified(found: list[tuple[str, pa.Schema]]) -> pa.Schema:
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


def parquet(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Found:
    """Find the row groups of Parquet files, and the columns of their folders."""
    found = _each(files, bad, _footer, mapped)
    schema = unified([(file, seen) for file, (seen, _) in found])
    keys = {file: partition_keys(file, base) for file, _ in found}
    for name in dict.fromkeys(name for one in keys.values() for name in one):
        if name not in schema.names:
            schema = schema.append(pa.field(name, _key_type([keys[f].get(name) for f in keys])))
    most = max(_PIECE, sum(sum(sizes) for _, (_, sizes) in found) // _PARTS)
    parts = [
        ParquetPart(file, groups, schema, keys[file], _fair(rows, schema))
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


def _footer(file: str) -> tuple[pa.Schema, list[int]]:
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


def arrow(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Found:
    """Find the schema of Arrow files."""

    def look(file: str) -> pa.Schema:
        with opened(file) as source:
            head = source.read(6)
            source.seek(0)
            reader = pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream
            schema = reader(source).schema
            schema.names  # noqa: B018 - a name that is no text is noticed here
            return schema

    found = _each(files, bad, look, mapped)
    schema = unified(found)
    return schema, tuple(ArrowPart(file, schema, _fair(rows, schema)) for file, _ in found)


def whole(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped, read: Any
) -> Found:
    """Read files that cannot be read by parts, such as workbooks, at once."""
    found = _each(files, bad, read, mapped)
    schema = unified([(file, table.schema) for file, table in found])
    return schema, tuple(
        TablePart(table.select(schema.names).cast(schema), file, rows) for file, table in found
    )


def json_lines(
    files: list[str], base: str | None, rows: int, bad: list[str] | None, mapped: Mapped
) -> Found:
    """Find the types of JSON lines: every block is looked at."""
    leave = bad is not None

    def look(file: str) -> pa.Schema:
        tables = list(LinesPart(file).tables([] if leave else None))
        if not tables:
            raise ValueError(f"{file}: no line of it can be read as a JSON object")
        return unified([(file, table.schema) for table in tables])

    found = _each(files, bad, look, mapped)
    schema = unified(found)
    return schema, tuple(LinesPart(file, schema) for file, _ in found)


def text(
    files: list[str],
    base: str | None,
    rows: int,
    bad: list[str] | None,
    mapped: Mapped,
    dialect: Dialect,
) -> Found:
    """Find the types of separated cells: every cell is looked at."""
    dialect = by_name(dialect, files[0])
    leave = bad is not None
    near = mapped is map and not leave  # what is kept here cannot be read elsewhere
    near = near and not dialect.missing

    def understood(file: str, dialect: Dialect) -> tuple[TextPart, list[Guess], ParsedPart | None]:
        part = text_part(file, dialect)
        once = parsed(part) if near else None
        return (part, *once) if once else (part, part.guesses([] if leave else None), None)

    def look(file: str) -> tuple[TextPart, list[Guess], ParsedPart | None]:
        try:
            return understood(file, dialect)
        except NotUTF8Error:
            if dialect.encoding is not None:
                raise
        say_old_windows(file)
        return understood(file, in_old_windows(dialect))

    found = [seen for _, seen in _each(files, bad, look, mapped)]
    first = found[0][0]
    for part, _, _ in found[1:]:
        if set(part.header) != set(first.header):
            odd = sorted(set(part.header) ^ set(first.header))[0]
            raise ValueError(f"{part.name}: column {odd!r} is not in all of the files")
    kinds, clean = {}, set()
    for name in first.header:
        total = Guess()
        for part, guesses, _ in found:
            total = total + guesses[part.header.index(name)]
        kinds[name] = total.kind(decimal_comma=first.dialect.separator == ";")
        if total.clean and not dialect.missing:
            clean.add(name)
    schema = pa.schema([pa.field(name, TYPES[kinds[name]]) for name in first.header])
    return schema, tuple(
        _part_of(replace(part, kinds=kinds, clean=frozenset(clean)), parsed_part)
        for part, _, parsed_part in found
    )


def _part_of(part: TextPart, parsed_part: ParsedPart | None) -> Part:
    """Take what was read of a file before, where it is what the columns turned out to be."""
    if parsed_part is None:
        return part
    parsed_part = replace(parsed_part, kinds=part.kinds or {})
    return parsed_part if parsed_part.holds else part
