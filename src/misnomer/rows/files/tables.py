"""Files of many kinds -> one Arrow table.

CSV and TSV (comma, semicolon, tab or bar, whichever the header uses; UTF-8, UTF-16 with its mark,
else Windows-1252), JSON lines and arrays, all of them also gzipped; Excel workbooks; Parquet, a
folder of Parquet files; Arrow and Feather. What a file is shows in its first bytes; the name
decides only where they do not. What a cell of text means is decided column by column.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from misnomer.rows.files.delimited import read_delimited
from misnomer.rows.files.dialect import Dialect, by_name, known_of
from misnomer.rows.files.excel import read_workbook
from misnomer.rows.files.lines import json_lines, with_lines
from misnomer.rows.files.text import odd_line, parsed_lines
from misnomer.rows.files.unpacked import read_whole
from misnomer.rows.parts import validated
from misnomer.rows.tabular import as_table

_TEXTS = {".csv", ".tsv", ".tab", ".txt", ""}
_BOOKS = {".xlsx", ".xlsm"}
_LINES = {".jsonl", ".ndjson", ".json"}
_HEAD = 1 << 16


def read_table(
    path: str | Path, columns: Sequence[str] | None = None, dialect: Dialect | None = None
) -> pa.Table:
    """Read a file, or a folder of Parquet files, into memory; "-" is a CSV on standard input.

    Parameters
    ----------
    path : str or Path
        What to read.
    columns : sequence of str, optional
        Keep only these columns, in this order.
    dialect : Dialect, optional
        What is known of the file: its encoding, separator, sheet...

    Returns
    -------
    pyarrow.Table
        Its columns in the file's order, each under its own name.
    """
    dialect = dialect or known_of(path)
    if str(path) == "-":
        table = _standard_input(dialect)
    else:
        path = Path(path)
        try:
            table = _folder(path) if path.is_dir() else _file(path, dialect)
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {str(path)!r}") from None
        except PermissionError:
            raise PermissionError(f"{str(path)!r} may not be read: check its permissions") from None
    check_names(table, str(path))
    return table if columns is None else table.select(list(columns))


def check_names(table: pa.Table, where: str) -> None:
    """Refuse a table without rows or columns, or with two columns of the same name."""
    names = table.column_names
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{where}: column {twice!r} occurs twice: give each column its own name")
    if not names:
        raise ValueError(f"{where}: the file holds no column")
    if not table.num_rows:
        raise ValueError(f"{where}: the file has a header ({_few(names)}) but no rows")


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")


def _standard_input(dialect: Dialect) -> pa.Table:
    import sys

    data = sys.stdin.buffer.read()
    return read_delimited(lambda: io.BytesIO(data), "standard input", dialect)


def _file(path: Path, dialect: Dialect) -> pa.Table:
    name = str(path)
    if path.is_fifo() or path.is_char_device():  # what comes through a pipe can be read once only
        data = path.read_bytes()
        return read_delimited(lambda: io.BytesIO(data), name, dialect)
    head = _first_bytes(path)
    if not head:
        raise ValueError(f"{name}: the file is empty")
    if head.startswith(b"PAR1"):
        return _guarded(name, "a Parquet file", lambda: _parquet(path))
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return _guarded(name, "an Arrow file", lambda: _arrow(path))
    suffix = _suffix(path)
    if is_workbook(head, suffix, name):
        return read_workbook(path, dialect)
    if suffix in (".parquet", ".arrow", ".feather", ".ipc"):
        raise ValueError(f"{name}: this is no {suffix[1:]} file, or it is damaged")
    if suffix in _LINES or (suffix not in _TEXTS and head.lstrip().startswith(b"{")):
        if head.lstrip().startswith(b"["):
            return read_array(path)
        return _guarded(name, "JSON lines", lambda: _json(path))
    return read_delimited(lambda: _open(path), name, by_name(dialect, name))


def is_workbook(head: bytes, suffix: str, name: str) -> bool:
    """Tell a workbook by its bytes and its name; refuse what only looks like one."""
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        raise ValueError(f"{name}: this is an old workbook (.xls): save it as .xlsx or CSV first")
    if not head.startswith(b"PK\x03\x04"):
        if suffix in _BOOKS:
            raise ValueError(f"{name}: this is no workbook, or a damaged one")
        return False
    if suffix not in _BOOKS:
        raise ValueError(f"{name}: this is a zip file: unpack it first (a workbook ends in .xlsx)")
    return True


def read_array(path: str | Path) -> pa.Table:
    """Read a JSON array of objects; a row may lack some of the names."""
    import json

    try:
        with _open(Path(path)) as stream:
            data = read_whole(stream, str(path))
        rows = json.loads(data.decode("utf-8-sig"))
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path}: the gzip file is damaged or cut short") from None
    except (ValueError, RecursionError) as error:
        why = str(error).splitlines()[0][:120]
        raise ValueError(f"{path}: this is JSON that cannot be read ({why})") from None
    odd = next((i for i, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise ValueError(f"{path}: entry {odd + 1} of the array is no object with named cells")
    table: pa.Table = as_table(rows)
    return table if rows else pa.table({})


def _suffix(path: Path) -> str:
    parts = [part.lower() for part in path.suffixes if part.lower() != ".gz"]
    return parts[-1] if parts else ""


def _open(path: Path) -> BinaryIO:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def _first_bytes(path: Path) -> bytes:
    try:
        with _open(path) as stream:
            return stream.read(_HEAD)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise ValueError(f"{path}: the gzip file is damaged or cut short") from None


def _guarded(name: str, kind: str, read: Any) -> pa.Table:
    """Call a reader of pyarrow; say in one sentence what it could not read."""
    try:
        return read()
    except (pa.ArrowException, OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ValueError(f"{name}: {kind} that cannot be read ({why})") from None


def _parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    return with_lines(validated(pq.ParquetFile(path).read()), None)


def _arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source:
        head = source.read(6)
        source.seek(0)
        table = (pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream)(source).read_all()
    return with_lines(validated(table), None)


def _json(path: Path) -> pa.Table:
    try:
        with _open(path) as stream:
            table = parsed_lines(read_whole(stream, str(path)))
    except pa.ArrowInvalid:
        with _open(path) as stream:
            odd = odd_line(stream)
        if odd:
            raise ValueError(f"{path}: {odd}") from None
        raise
    with _open(path) as stream:
        return with_lines(validated(table), json_lines(stream))


def _folder(path: Path) -> pa.Table:
    import pyarrow.dataset as ds

    found = sorted(
        file
        for file in path.rglob("*.parquet")
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )
    if not found:
        raise ValueError(f"{path}: the folder holds no Parquet file")
    files = [str(file) for file in found]
    partitions = ds.HivePartitioning.discover()
    dataset: Any = _guarded(
        str(path),
        "a folder of Parquet files",
        lambda: ds.dataset(
            files, format="parquet", partitioning=partitions, partition_base_dir=str(path)
        ).to_table(),
    )
    return dataset
