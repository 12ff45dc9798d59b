"""The files of a scan, by kind: their parts, and the types of their columns settled for all.

What a file is shows in its first bytes; its name decides only where they do not.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from misnomer.rows.files.cells import TYPES, Guess
from misnomer.rows.files.delimited import (
    NotUTF8Error,
    TextPart,
    in_old_windows,
    say_old_windows,
    text_part,
)
from misnomer.rows.files.dialect import Dialect, by_name
from misnomer.rows.files.excel import read_workbook
from misnomer.rows.files.json import LinesPart, read_array
from misnomer.rows.files.parsed import ParsedPart, parsed
from misnomer.rows.files.paths import (
    Open,
    files_of,
    is_address,
    open_text,
    opened,
    partition_keys,
)
from misnomer.rows.frames import named_once
from misnomer.rows.parts import (
    FAULTS,
    ROWS,
    ArrowPart,
    ParquetPart,
    Part,
    TablePart,
    complaint,
    conform,
    lines_of,
)

_PIECE = 1 << 25  # bytes of a Parquet file, unpacked, that make a part of their own
_PARTS = 2_000  # of a table so large that they would be more, parts are larger
_BATCH = 1 << 22  # bytes of a batch, about: wide tables are read fewer rows at a time
_BOOKS = (".xlsx", ".xlsm")
_BINARY = (".parquet", ".arrow", ".feather", ".ipc")

Mapped = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
Found = tuple[pa.Schema, tuple[Part, ...]]
_Understood = tuple[TextPart, list[Guess], ParsedPart | None]


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

    def parts(self, kind: str) -> Found:
        """Find the parts of the files, and the types of their columns."""
        build: Any = {
            "parquet": _parquet,
            "arrow": _arrow,
            "json": _json_lines,
            "text": text,
            "workbook": partial(_whole, read=partial(read_workbook, dialect=self.dialect)),
            "array": partial(_whole, read=read_array),
        }[kind]
        return build(self)

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


def kind_of(path: str) -> str:
    """Tell what a file is by its first bytes, else by its name."""
    try:
        with open_text(path) as stream:
            head = stream.read(64)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path!r}") from None
    except PermissionError:
        raise PermissionError(f"{path!r} may not be read: check its permissions") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(complaint(path, error)) from None
    if not head:
        raise ValueError(f"{path}: the file is empty")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    if suffix in _BINARY:
        raise ValueError(f"{path}: this is no {suffix[1:]} file, or it is damaged")
    if _is_workbook(head, suffix, path):
        return "workbook"
    if suffix in (".jsonl", ".ndjson", ".json") or head.lstrip().startswith(b"{"):
        return "array" if head.lstrip().startswith(b"[") else "json"
    return "text"


def _is_workbook(head: bytes, suffix: str, name: str) -> bool:
    """Tell a workbook by its bytes and its name; refuse what only looks like one."""
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError(f"{name}: this is an old workbook (.xls): save it as .xlsx or CSV first")
    packed = head.startswith(b"PK\x03\x04")
    if packed and suffix not in _BOOKS:
        raise ValueError(f"{name}: this is a zip file: unpack it first (a workbook ends in .xlsx)")
    if suffix in _BOOKS and not packed:
        raise ValueError(f"{name}: this is no workbook, or a damaged one")
    return packed


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


def _parquet(reading: Reading) -> Found:
    """Find the row groups of Parquet files, and the columns of their folders."""
    found = reading.each(_footer)
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


def _arrow(reading: Reading) -> Found:
    """Find the schema of Arrow files."""
    found = reading.each(_arrow_schema)
    schema = unified(found)
    return schema, tuple(ArrowPart(file, schema, _fair(reading.rows, schema)) for file, _ in found)


def _arrow_schema(file: str) -> pa.Schema:
    with opened(file) as source:
        head = source.read(6)
        source.seek(0)
        reader = pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream
        schema = reader(source).schema
        schema.names  # noqa: B018 - a name that is no text is noticed here
        return schema


def dictionary_types(path: str) -> dict[str, pa.DataType]:
    """Tell which columns of a Parquet or Arrow file here are dictionaries; none of any other.

    Those whose words have an order are not among them: the order is not known once they are read.
    """
    try:
        file = files_of(path)[0][0]
        kind = "" if is_address(file) else kind_of(file)
        schema = _footer(file)[0] if kind == "parquet" else pa.schema([])
        schema = _arrow_schema(file) if kind == "arrow" else schema
    except (*FAULTS, ValueError):
        return {}
    fields = [one for one in schema if pa.types.is_dictionary(one.type) and not one.type.ordered]
    return {one.name: pa.dictionary(pa.int32(), one.type.value_type) for one in fields}


def _whole(reading: Reading, read: Callable[[str], pa.Table]) -> Found:
    """Read files that cannot be read by parts, such as workbooks, at once."""
    found = reading.each(read)
    schema = unified([(file, table.schema) for file, table in found])
    return schema, tuple(
        TablePart(_conformed(table, schema), file, reading.rows, lines_of(table))
        for file, table in found
    )


def _conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches([conform(table, schema, schema.names)])


def _json_lines(reading: Reading) -> Found:
    """Find the types of JSON lines: every block is looked at."""
    leave, keep = reading.bad is not None, reading.keep

    def understood(part: LinesPart) -> LinesPart:
        schemas, kept = [], []
        for table in part.tables([] if leave else None):
            schemas.append((part.name, table.schema))
            kept += [table] if keep else []
        if not schemas:
            raise ValueError(f"{part.name}: no line of it can be read as a JSON object")
        return replace(part, schema=unified(schemas), kept=tuple(kept))

    def look(file: str) -> LinesPart:
        part = LinesPart(file)
        try:
            return understood(part)
        except ValueError:
            if not leave:
                raise
        return understood(replace(part, types=part.usual_types()))

    parts = [part for _, part in reading.each(look)]
    schema = unified([(part.name, part.schema) for part in parts if part.schema is not None])
    return schema, tuple(replace(part, schema=schema) for part in parts)


def text(reading: Reading, opened_as: Callable[[str], Open] | None = None) -> Found:
    """Find the types of separated cells: every cell is looked at."""
    dialect = by_name(reading.dialect, reading.files[0])
    leave = reading.bad is not None
    near = reading.mapped is map and not leave  # what is kept here cannot be read elsewhere
    near = near and not dialect.missing

    def understood(file: str, dialect: Dialect) -> _Understood:
        opened = partial(open_text, file) if opened_as is None else opened_as(file)
        part = text_part(opened, file, dialect, keep=reading.keep)
        once = parsed(part, keep=reading.keep) if near else None
        return (part, *once) if once else (part, part.guesses([] if leave else None), None)

    def look(file: str) -> _Understood:
        try:
            return understood(file, dialect)
        except NotUTF8Error:
            if dialect.encoding is not None:
                raise
        found = understood(file, in_old_windows(dialect))
        say_old_windows(file)
        return found

    found = [seen for _, seen in reading.each(look)]
    first = found[0][0]
    for part, _, _ in found[1:]:
        if set(part.header) != set(first.header):
            odd = sorted(set(part.header) ^ set(first.header))[0]
            raise ValueError(f"{part.name}: column {odd!r} is not in all of the files")
    totals = {name: _total(name, found) for name in first.header}
    comma = first.dialect.separator == ";"  # where a semicolon separates, a comma marks decimals
    kinds = {name: total.kind(decimal_comma=comma) for name, total in totals.items()}
    clean = {name for name, total in totals.items() if total.clean and not dialect.missing}
    schema = pa.schema([pa.field(name, TYPES[kinds[name]]) for name in first.header])
    return schema, tuple(
        _part_of(replace(part, kinds=kinds, clean=frozenset(clean)), parsed_part)
        for part, _, parsed_part in found
    )


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
