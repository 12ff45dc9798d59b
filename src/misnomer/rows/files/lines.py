"""On which line of its file a row stands: the number by which a person finds it there.

Rows are counted from 0, lines from 1 and with the header, comments and empty lines; a cell may go
over several. A reader that knows the lines writes them beside the table it has read.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_KEY = b"misnomer.lines"  # in the description of a table: the first line, or every one


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
