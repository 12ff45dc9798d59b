"""Text separated by commas, semicolons or tabs -> an Arrow table, or which line is at fault."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

_HEAD = 1 << 16
_WIDEST = 1 << 30  # bytes of a block: no row is longer
_BLOCK = 1 << 24

#: What a column of numbers or dates may hold for "missing", beside the empty cell.
MISSING = ("NA", "N/A", "na", "n/a", "NaN", "nan", "NULL", "null", "None", "none", "?", "-", ".")

Open = Callable[[], BinaryIO]


def read_delimited(opened: Open, name: str, separator: str | None = None) -> pa.Table:
    """Read delimited text; ``opened`` opens it anew, ``separator`` None follows the header."""
    try:
        with opened() as stream:
            head = stream.read(_HEAD)
        opened = _utf8(opened, head, name)
        with opened() as stream:
            head = stream.read(_HEAD)
        separator = separator or _separator(head)
        names = _header(opened, name, separator)
        return _typed(_strings(opened, name, names, separator), separator)
    except (EOFError, zlib.error):
        raise ValueError(f"{name}: the gzip file is damaged or cut short") from None


def _utf8(opened: Open, head: bytes, name: str) -> Open:
    """Recode UTF-16 that says so; refuse what is no text."""
    if not head.strip():
        raise ValueError(f"{name}: the file is empty")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        with opened() as stream:
            try:
                data = stream.read().decode("utf-16").encode()
            except UnicodeDecodeError:
                raise ValueError(f"{name}: this is neither UTF-8 nor UTF-16 text") from None
        return lambda: io.BytesIO(data)
    if b"\x00" in head:
        raise ValueError(f"{name}: this is a binary file, not a table of text")
    return opened


def _separator(head: bytes) -> str:
    """Choose the separator that the header uses most."""
    line = head.split(b"\n", 1)[0]
    return max((",", ";", "\t"), key=lambda mark: line.count(mark.encode()))


def _header(opened: Open, name: str, separator: str) -> list[str]:
    """Read the names of the columns; a nameless column is called by its place."""
    with opened() as stream:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        try:
            cells = next(csv.reader(text, delimiter=separator), [])
        except (UnicodeDecodeError, csv.Error):
            fault = _complaint(opened, name, separator)
            raise ValueError(fault or f"{name}: the header cannot be read") from None
    names = [cell.strip() or f"column {place}" for place, cell in enumerate(cells, start=1)]
    seen: set[str] = set()
    for one in names:
        if one in seen:
            raise ValueError(f"{name}: column {one!r} occurs twice: give each column its own name")
        seen.add(one)
    return names


def _strings(opened: Open, name: str, names: list[str], separator: str) -> pa.Table:
    """Read every cell as text; nothing between two separators is null."""
    with opened() as stream:
        try:
            return arrow_csv.read_csv(
                _native(stream),
                arrow_csv.ReadOptions(
                    column_names=names, skip_rows_after_names=1, block_size=_BLOCK
                ),
                arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            fault = _complaint(opened, name, separator)
            if fault is None and _only_header(opened, separator):
                return pa.table({one: pa.array([], pa.string()) for one in names})
            raise ValueError(fault or f"{name}: this is not a table of separated cells") from None


def _native(stream: BinaryIO) -> pa.NativeFile:
    """Give Arrow a file without Python in it: its threads may outlive the interpreter.

    One that still holds a Python object when the interpreter ends brings the process down.
    """
    if isinstance(stream, io.BufferedReader) and isinstance(stream.name, str):
        return pa.OSFile(stream.name, "rb")
    return pa.BufferReader(stream.read())


def _complaint(opened: Open, name: str, separator: str) -> str | None:
    """Say which line is at fault, if any: read again, slowly, up to there."""
    csv.field_size_limit(_WIDEST)
    with opened() as stream:
        lines = csv.reader(_decoded(stream), delimiter=separator, strict=False)
        width, before = 0, 0
        try:
            for cells in lines:
                width = width or len(cells)
                if cells and len(cells) != width:
                    return (
                        f"{name}: line {before + 1} has {len(cells)} cells, but the header has "
                        f"{width}: check for a separator or a quotation mark too many"
                    )
                before = lines.line_num
        except UnicodeDecodeError:
            return (
                f"{name}: line {lines.line_num + 1} is not UTF-8 text: save the file as UTF-8 "
                "(iconv -f WINDOWS-1252 -t UTF-8 does it for most old files)"
            )
        except csv.Error as error:
            return f"{name}: line {lines.line_num + 1} cannot be read ({error})"
    return None


def _only_header(opened: Open, separator: str) -> bool:
    with opened() as stream:
        lines = (cells for cells in csv.reader(_decoded(stream), delimiter=separator) if cells)
        return len(list(islice(lines, 2))) < 2


def _decoded(stream: BinaryIO) -> Iterator[str]:
    return (line.decode("utf-8") for line in stream)


def _typed(table: pa.Table, separator: str) -> pa.Table:
    comma = separator == ";"  # where a semicolon separates, a comma marks decimals
    columns = [typed(column, decimal_comma=comma) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def typed(values: pa.ChunkedArray, *, decimal_comma: bool = False) -> pa.ChunkedArray:
    """Turn a column of text into whole numbers, numbers or dates, where every cell is one.

    Blanks are missing. Numbers that begin with a zero, such as a postal code, stay text.

    Examples
    --------
    >>> typed(pa.chunked_array([["1", "NA", " 3"]])).to_pylist()
    [1, None, 3]
    >>> typed(pa.chunked_array([["a", "NA", "007"]])).to_pylist()
    ['a', 'NA', '007']
    """
    trimmed = pc.utf8_trim_whitespace(values)
    blank = pc.equal(trimmed, "")
    if pc.any(blank).as_py():
        nothing = pa.scalar(None, pa.string())
        values, trimmed = (pc.if_else(blank, nothing, part) for part in (values, trimmed))
    if trimmed.null_count == len(trimmed) or not _plausible(trimmed):
        return values
    gaps = pc.is_in(trimmed, value_set=pa.array(MISSING))
    numbers = pc.if_else(gaps, pa.scalar(None, pa.string()), trimmed)
    if numbers.null_count == len(numbers):
        return values
    tries = [(numbers, kind) for kind in (pa.int64(), pa.float64())]
    if decimal_comma:
        tries.append((pc.replace_substring(numbers, ",", "."), pa.float64()))
    tries += [(numbers, kind) for kind in (pa.date32(), pa.timestamp("us"))]
    for cells, kind in tries:
        try:
            found = cells.cast(kind)
        except pa.ArrowInvalid:
            continue
        code = kind == pa.int64() and pc.any(pc.match_substring_regex(cells, "^0[0-9]")).as_py()
        return values if code else found
    return values


def _plausible(values: pa.ChunkedArray) -> bool:
    """Tell by the first cells whether a column could hold numbers or dates at all."""
    some = [cell for cell in values.slice(0, 20).to_pylist() if cell and cell not in MISSING]
    return all(any(letter.isdigit() for letter in cell) for cell in some)
