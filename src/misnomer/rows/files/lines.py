"""On which line of its file a row stands: the number by which a person finds it there.

Rows are counted from 0, lines from 1 and with the header, comments and empty lines; a cell may go
over several. A reader that knows the lines writes them beside the table it has read.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.rows.files.dialect import Open

_KEY = b"misnomer.lines"  # in the description of a table: the first line, or every one
_BLOCK = 1 << 20


def with_lines(table: pa.Table, lines: Iterable[int] | None) -> pa.Table:
    """Write the line of each row beside a table; None or too few of them erase it.

    Examples
    --------
    >>> table = with_lines(pa.table({"x": ["a", "b"]}), [2, 4])
    >>> lines_of(table).tolist()
    [2, 4]
    """
    about = {name: said for name, said in (table.schema.metadata or {}).items() if name != _KEY}
    found = None if lines is None else np.fromiter(lines, np.int64)
    if found is not None and len(found) == table.num_rows:
        counting = bool((np.diff(found) == 1).all())
        about[_KEY] = (found[:1] if counting else found).astype("<i8").tobytes()
    return table.replace_schema_metadata(about or None)


def lines_of(table: pa.Table) -> NDArray[np.int64] | None:
    """Read the line of each row, (n,); None where no reader has said it."""
    said = (table.schema.metadata or {}).get(_KEY)
    if said is None or not table.num_rows:
        return None
    found = np.frombuffer(said, "<i8").astype(np.int64)
    if len(found) == 1:
        return found[0] + np.arange(table.num_rows, dtype=np.int64)
    return found if len(found) == table.num_rows else None


def cell_lines(opened: Open, separator: str, skip: int, rows: int) -> Iterable[int] | None:
    r"""Find the lines of separated cells, the header's first; None where they cannot be told.

    As many lines as rows need no second look; else an empty line, or a cell of several lines, is
    among them, and the cells are read again.

    Examples
    --------
    >>> import io
    >>> text = b'a,b\n1,"two\nlines"\n\n3,4\n'
    >>> list(cell_lines(lambda: io.BytesIO(text), ",", 0, 3))
    [1, 2, 5]
    """
    with opened() as stream:
        if _count(stream) == skip + rows:
            return range(skip + 1, skip + rows + 1)
    try:
        with opened() as stream:
            found = list(_starts(stream, separator, skip))
    except (UnicodeDecodeError, csv.Error):
        return None
    return found if len(found) == rows else None


def _count(stream: BinaryIO) -> int:
    """Count lines; the last one may lack its end."""
    count, last = 0, b"\n"
    while block := stream.read(_BLOCK):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n")


def _starts(stream: BinaryIO, separator: str, skip: int) -> Iterator[int]:
    """Read cell by cell, slowly: the line on which each row begins."""
    reader = csv.reader(
        (line.decode("utf-8") for line in islice(stream, skip, None)), delimiter=separator
    )
    before = 0
    for cells in reader:
        if cells:
            yield skip + before + 1
        before = reader.line_num


def json_lines(stream: BinaryIO) -> list[int]:
    """List the lines that hold something."""
    return [number for number, line in enumerate(stream, start=1) if line.strip()]
