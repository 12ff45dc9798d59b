"""Write all of a file or nothing, and know who is at work where.

A file is written under a temporary name first, brought to the disk, then renamed. Locks end with
the process that holds them, however it ends: what a killed one has left is told from what another
one is filling, and cleared.
"""

from __future__ import annotations

import csv
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from misnomer.rows.files.cells import harmless

if sys.platform != "win32":
    import fcntl

_MAX_WAIT_SECONDS = 10.0  # for whoever reads or writes the same folder
_PAUSE_SECONDS = 0.02


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Hand out a temporary name beside ``path``, and rename it when all went well.

    A pipe or a device is written to directly: there is nothing to rename.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it")
        yield path
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(path.parent)!r} to write {path.name!r} into"
        )
    clear(path.parent, f".{glob.escape(path.name)}.*.part")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    with marked(temporary):
        try:
            yield temporary
            os.chmod(temporary, 0o666 & ~umask())  # mkstemp's own is for the owner alone
            sync(temporary)
            os.replace(temporary, path)
            sync(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def sync(place: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    try:
        handle = os.open(place, os.O_RDONLY)
    except OSError:  # pragma: no cover - Windows opens no folders
        return
    try:
        os.fsync(handle)
    except OSError:  # some systems sync no folders
        if not place.is_dir():
            raise
    finally:
        os.close(handle)


def umask() -> int:
    """Return what new files may not be."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write bytes to a file, all or nothing."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)
    return Path(path)


def write_text(path: str | Path, text: str) -> Path:
    """Write a text to a file as UTF-8, all or nothing."""
    return write_bytes(path, text.encode("utf-8", "replace"))


@contextmanager
def held(place: Path, *, alone: bool = False) -> Iterator[None]:
    """Hold a folder or a file, with others or alone; refuse where somebody else is at work.

    Where the system knows no such locks, nothing is held.
    """
    handle = _opened(place)
    try:
        if handle is not None and not _locked(handle, alone=alone, patience=_MAX_WAIT_SECONDS):
            raise BlockingIOError(
                f"{str(place)!r} is in use (a review of it is open, or somebody writes to it): end "
                "that first"
            )
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def marked(place: Path) -> Iterator[None]:
    """Mark a temporary file or folder as being filled: `clear` leaves it alone."""
    handle = _opened(place)
    try:
        if handle is not None:
            _locked(handle, alone=True, patience=0.0)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def clear(folder: Path, pattern: str) -> None:
    """Remove temporary files and folders whose owners have died without doing so."""
    for place in folder.glob(pattern):
        if place.is_symlink() or (handle := _opened(place)) is None:
            continue
        try:
            if _locked(handle, alone=True, patience=0.0, sure=True):
                _remove(place)
        finally:
            os.close(handle)


def _remove(place: Path) -> None:
    with suppress(OSError):
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink()


def _opened(place: Path) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        return os.open(place, os.O_RDONLY)
    except OSError:
        return None


def _locked(handle: int, *, alone: bool, patience: float, sure: bool = False) -> bool:
    """Lock; False where somebody else has it, and where one must be sure but locks are unknown."""
    kind = (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, kind)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE_SECONDS)
        except OSError:
            return not sure


def write_csv(table: pa.Table, path: str | Path, *, marked: bool = False) -> None:
    """Write a table as UTF-8 CSV (``marked``: Excel knows it then); a missing cell is empty."""
    encoding = "utf-8-sig" if marked else "utf-8"
    with Path(path).open("w", encoding=encoding, errors="replace", newline="") as stream:
        print_csv(table, stream)


def print_csv(table: pa.Table, stream: TextIO, *, exact: bool = False, header: bool = True) -> None:
    """Write a table as CSV to a stream that is open, with its header unless that stands there.

    ``exact`` writes the cells for programs, so that they come back as they are; else texts that a
    spreadsheet would take for formulas get an apostrophe, for people.
    """
    written = _cell if exact else harmless
    lines = csv.writer(stream, lineterminator="\n")
    if header:
        lines.writerow([written(name) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=10_000):
        columns = [column.to_pylist() for column in batch.columns]
        for cells in zip(*columns, strict=True):
            lines.writerow([written(cell) for cell in cells])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date | datetime) else value


_GROUP_ROWS, _GROUP_BYTES = 1 << 20, 1 << 25  # that are written at once


def write_parquet(tables: Iterable[pa.Table], path: Path) -> None:
    """Write tables one behind the other, in row groups of a fair size."""
    with ExitStack() as stack:
        writer: Any = None
        waiting: list[pa.Table] = []
        for table in tables:
            if writer is None:
                schema = table.schema
                writer = stack.enter_context(pq.ParquetWriter(path, schema, compression="zstd"))
            waiting.append(table)
            rows, size = (sum(getattr(one, of) for one in waiting) for of in ("num_rows", "nbytes"))
            if rows >= _GROUP_ROWS or size > _GROUP_BYTES:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))


def write_tables(tables: Iterable[pa.Table], path: Path, suffix: str) -> None:
    """Write tables one behind the other as Parquet, or as CSV whose cells are exactly theirs."""
    if suffix == ".parquet":
        write_parquet(tables, path)
        return
    with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        print_tables(tables, stream)


def print_tables(tables: Iterable[pa.Table], stream: TextIO) -> None:
    """Write tables one behind the other as CSV for programs."""
    for nth, table in enumerate(tables):
        print_csv(table, stream, exact=True, header=nth == 0)


def with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    """Add a column behind the others; one of that name is left alone.

    Examples
    --------
    >>> with_column(pa.table({"a": [1]}), "a", pa.array([2])).column_names
    ['a', 'a (misnomer)']
    """
    while name in table.column_names:
        name += " (misnomer)"
    return table.append_column(name, column) if table.num_columns else pa.table({name: column})
