"""JSON: a line per object, by batches, or one array of objects, at once."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from misnomer.rows.files.paths import LONGEST, bounded_lines, open_text, read_whole
from misnomer.rows.frames import as_table
from misnomer.rows.parts import (
    DAMAGED_GZIP,
    FAULTS,
    Found,
    Reading,
    complaint,
    conform,
    rest_left_out,
    unified,
    validated,
)

_BLOCK = 1 << 20  # bytes of text that are parsed at once
_NULL_LINE = re.compile(rb"(?:^|[\r\n])\s*null")
_TYPES: dict[type, str] = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}

_ONE_OBJECT = (
    "this is one JSON object, which holds a table in itself: write a list of rows, [{...}, {...}] "
    "(pandas: to_json(path, orient='records'))"
)

_NO_UTF8 = "this is not UTF-8, as JSON is: write it with encoding='utf-8'"

Path = tuple[str, ...]  # from a row to a value within it
Types = Mapping[Path, str]


def parsed_lines(block: bytes) -> pa.Table:
    """Parse JSON lines; what Arrow lets through is checked before anybody follows it.

    A block that begins with null brings Arrow 26 down, and it cuts blocks where it likes.
    """
    from pyarrow.json import read_json

    if _NULL_LINE.search(block):
        raise pa.ArrowInvalid("a line holds null, and no JSON object")
    return validated(read_json(io.BytesIO(block)))


def objects(lines: Iterable[bytes]) -> Iterator[tuple[bytes, Any]]:
    """Read lines one by one, slowly: each with its object, or None where it holds no such thing."""
    for line in lines:
        try:
            row = json.loads(line, object_pairs_hook=_named_once)
        except (ValueError, RecursionError):
            row = None
        yield line, row if isinstance(row, dict) else None


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a cell twice, as Arrow does."""
    if len(row := dict(pairs)) < len(pairs):
        raise ValueError("a cell is named twice")
    return row


def sound_lines(block: bytes, types: Types | None = None) -> tuple[bytes, int, int]:
    r"""Keep the JSON objects whose cells are of these types; count what is none, and the others.

    Examples
    --------
    >>> types = {(): "an object", ("a",): "a number"}
    >>> sound_lines(b'{"a": 1}\n{"a": \n{"a": {"z": 1}}\n{"a": 2}\n', types)
    (b'{"a": 1}\n{"a": 2}\n', 1, 1)
    """
    kept, none, odd = list[bytes](), 0, 0
    for line, row in objects(block.splitlines(keepends=True)):
        if row is None and line.strip():
            none += 1
        elif types is not None and unusual(row, types):
            odd += 1
        else:
            kept.append(line)
    return b"".join(kept), none, odd


def types_of(row: Any) -> set[tuple[Path, str]]:
    """Name the types of the cells of a row, and of what is within them; a missing one has none.

    Examples
    --------
    >>> sorted(types_of({"a": [1, 2.5], "b": None}))
    [((), 'an object'), (('a',), 'a list'), (('a', '[]'), 'a number')]
    """
    pairs = set[tuple[Path, str]]()
    waiting: list[tuple[Path, Any]] = [((), row)]
    while waiting:
        path, value = waiting.pop()
        if value is None:
            continue
        pairs.add((path, _TYPES[type(value)]))
        if isinstance(value, dict):
            waiting += [((*path, name), one) for name, one in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, "[]"), one) for one in value]
    return pairs


def usual_types(lines: Iterable[bytes]) -> dict[Path, str]:
    """Tell the type that each cell has in most lines; of two as frequent, the first.

    Examples
    --------
    >>> usual_types([b'{"a": 1}', b'{"a": "word"}', b'{"a": 2}'])[("a",)]
    'a number'
    """
    frequency: Counter[tuple[Path, str]] = Counter()
    for _, row in objects(lines):
        frequency.update(sorted(types_of(row)))
    return dict(pair for pair, _ in reversed(frequency.most_common()))


def unusual(row: Any, types: Types) -> tuple[Path, str] | None:
    """Find a value of another type than most."""
    return next((pair for pair in sorted(types_of(row)) if types.get(pair[0]) != pair[1]), None)


@dataclass(frozen=True, eq=False)
class LinesPart:
    """One file of JSON lines; without a schema the types are those of each block."""

    name: str
    schema: pa.Schema | None = None
    kept: tuple[pa.Table, ...] = ()
    types: Types | None = None  # where lines differ in them: those that are kept

    def lines(self, rows: int) -> list[int]:
        """List the lines that hold something."""
        with open_text(self.name) as stream:
            return [number for number, line in enumerate(stream, start=1) if line.strip()]

    def tables(self, bad: list[str] | None = None) -> Iterator[pa.Table]:
        """Parse block after block; lines that are at fault can be left out."""
        with rest_left_out(bad, self.name, self._fault):
            for block in self._blocks():
                table = self._parsed(block, bad)
                if table is not None:
                    yield table

    def _parsed(self, block: bytes, bad: list[str] | None) -> pa.Table | None:
        """Parse a block, without the lines at fault where those may be left out."""
        if self.types is None or bad is None:
            try:
                return parsed_lines(block)
            except FAULTS:
                if bad is None:
                    raise
        sound, none, odd = sound_lines(block, self.types)
        self._leave_out(none, "of no JSON", bad)
        self._leave_out(odd, "with a cell of another type than in most lines", bad)
        try:
            return parsed_lines(sound) if sound.strip() else None
        except FAULTS as error:
            if self.types is None:  # lines of several types, most likely
                raise ValueError(complaint(self.name, error)) from None
            raise

    def _leave_out(self, odd: int, what: str, bad: list[str]) -> None:
        if odd:
            bad.append(f"{self.name}: {odd:,} {'line' if odd == 1 else 'lines'} {what}")

    def _fault(self, error: BaseException) -> str:
        """Say which line is the first that is no JSON object, or has a cell of another type."""
        mend = "mend it, or leave it out (--skip-bad)"
        try:
            types = self.usual_types()
            with open_text(self.name) as stream:
                lines = objects(bounded_lines(stream, self.name))
                for number, (line, row) in enumerate(lines, start=1):
                    where = f"{self.name}: line {number}"
                    if number == 1 and line.strip() == b"{":
                        return f"{self.name}: {_ONE_OBJECT}"
                    if row is None and not _is_utf8(line):
                        return f"{where}: {_NO_UTF8}"
                    if line.strip() and row is None:
                        return f"{where} is no JSON object: {mend}"
                    if odd := unusual(row, types):
                        usual = f"{odd[1]}, but {types[odd[0]]} in most lines"
                        return f"{where}: column {odd[0][0]!r} holds {usual}: {mend}"
        except (*FAULTS, ValueError):
            pass
        return complaint(self.name, error)

    def usual_types(self) -> dict[Path, str]:
        """Look at every line: the type that each cell has in most of them."""
        with open_text(self.name) as stream:
            return usual_types(bounded_lines(stream, self.name))

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
        for table in self.kept or self.tables(bad):
            yield conform(table, self.schema, columns)


def read_array(path: str) -> pa.Table:
    """Read a JSON array of objects; a row may lack some of the names."""
    try:
        with open_text(path) as stream:
            data = read_whole(stream, path)
        rows = json.loads(data.decode("utf-8-sig"))
    except DAMAGED_GZIP as error:
        raise ValueError(complaint(path, error)) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: {_NO_UTF8}") from None
    except (ValueError, RecursionError) as error:
        why = str(error).splitlines()[0][:120]
        raise ValueError(f"{path}: this is JSON that cannot be read ({why})") from None
    odd = next((i for i, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise ValueError(f"{path}: entry {odd + 1} of the array is no object with named cells")
    table: pa.Table = as_table(rows)
    return table if rows else pa.table({})


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _holds_columns(schema: pa.Schema) -> bool:
    """Tell one object that holds a table, as columns or as rows, from a row of it."""
    inner = [one.type.value_type if pa.types.is_list(one.type) else one.type for one in schema]
    lists = all(pa.types.is_nested(one.type) for one in schema)
    return lists and any(pa.types.is_nested(one) or pa.types.is_string(one) for one in inner)


def line_parts(reading: Reading) -> Found:
    """Find the types of JSON lines: every block is looked at."""
    leave, keep = reading.bad is not None, reading.keep

    def understood(part: LinesPart) -> LinesPart:
        schemas, kept, rows = [], [], 0
        for table in part.tables([] if leave else None):
            schemas.append((part.name, table.schema))
            kept += [table] if keep else []
            rows += table.num_rows
        if not schemas:
            raise ValueError(f"{part.name}: no line of it can be read as a JSON object")
        schema = unified(schemas)
        if rows == 1 and _holds_columns(schema):
            raise ValueError(f"{part.name}: {_ONE_OBJECT}")
        return replace(part, schema=schema, kept=tuple(kept))

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
