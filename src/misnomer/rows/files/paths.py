"""Which files a path, a folder, a pattern or an address stands for, and how to open one.

Files that are packed may unpack to more than they seem: how much is looked at, not believed.
"""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

Open = Callable[[], BinaryIO]

LONGEST = 1 << 26  # bytes of a line: what is longer is no row of a table
_BLOCK = 1 << 20
_RATIO = 1032  # bytes that one byte of a gzip file can stand for, at most
_PACKED = b"\x1f\x8b"
_KINDS = (".parquet", ".arrow", ".feather", ".ipc", ".csv", ".tsv", ".jsonl", ".ndjson", ".gz")
_MARKS = "*?["
_SAFE = (2026, 9)  # versions of fsspec before it run commands that an address may hold


def files_of(path: str | Path) -> tuple[tuple[str, ...], str | None]:
    """List the files that a path stands for, sorted; and the folder, where it is one.

    An address such as ``s3://bucket/part-*.parquet`` is listed by fsspec.
    """
    text = str(path)
    if is_address(text):
        return _remote(text)
    folder = Path(text)
    if folder.is_dir():
        found = sorted(
            str(file)
            for file in folder.rglob("*")
            if file.is_file() and is_data(str(file.relative_to(folder)))
        )
        if not found:
            raise ValueError(f"{text}: the folder holds no Parquet, Arrow, CSV or JSON lines file")
        return tuple(found), text
    if any(mark in text for mark in _MARKS) and not folder.exists():
        found = sorted(file for file in glob.glob(text, recursive=True) if Path(file).is_file())
        if not found:
            raise ValueError(f"{text}: no file is called like that")
        return tuple(found), None
    if not folder.exists():
        raise FileNotFoundError(f"there is no file {text!r}")
    return (text,), None


def _remote(address: str) -> tuple[tuple[str, ...], str | None]:
    files, stem = _fsspec().core.url_to_fs(address)
    base = None
    if any(mark in stem for mark in _MARKS):
        found = files.glob(stem)
    elif files.isdir(stem):
        base = str(files.unstrip_protocol(stem))
        found = [file for file in files.find(stem) if is_data(file[len(stem) :].lstrip("/"))]
    else:
        found = [stem]
    if not found:
        raise ValueError(f"{address}: no file is called like that")
    return tuple(sorted(str(files.unstrip_protocol(file)) for file in found)), base


def is_data(name: str) -> bool:
    """Tell a file of a folder that holds rows from hidden and foreign ones.

    Examples
    --------
    >>> is_data("year=2024/part-0.parquet"), is_data("_SUCCESS"), is_data(".tmp/a.csv")
    (True, False, False)
    """
    hidden = any(part.startswith((".", "_")) for part in name.split("/"))
    return not hidden and name.lower().endswith(_KINDS)


def is_address(path: str) -> bool:
    """Tell an address from a path; refuse a chain of them, which may name code to be run.

    Examples
    --------
    >>> is_address("s3://bucket/a.csv"), is_address("data/a.csv")
    (True, False)
    """
    if "::" in path and not Path(path).exists():
        raise ValueError(f"{path}: addresses may not be chained (::): name the file itself")
    return "://" in path


def opened(path: str) -> Any:
    """Open a file, near or far, for reading bytes at random."""
    if is_address(path):
        return pa.PythonFile(_fsspec().open(path, "rb").open(), mode="r")
    return pa.OSFile(path, "rb")


def size_of(path: str) -> int:
    """Bytes of a file."""
    if is_address(path):
        files, stem = _fsspec().core.url_to_fs(path)
        return int(files.size(stem) or 0)
    return Path(path).stat().st_size


def partition_keys(path: str, base: str | None) -> dict[str, str]:
    """Read the columns that hive folders stand for.

    Examples
    --------
    >>> partition_keys("t/year=2024/site=A%2FB/0.parquet", "t")
    {'year': '2024', 'site': 'A/B'}
    """
    from urllib.parse import unquote

    if base is None:
        return {}
    folders = path[len(base) :].strip("/").split("/")[:-1]
    pairs = [folder.partition("=") for folder in folders]
    return {name: unquote(value) for name, sign, value in pairs if sign}


def _fsspec() -> Any:
    try:
        import fsspec  # type: ignore[import-untyped]
    except ImportError:
        raise ValueError("an address needs fsspec: pip install 'misnomer[dask]'") from None
    found = tuple(int(part) for part in fsspec.__version__.split(".")[:2] if part.isdigit())
    if found < _SAFE:
        raise ValueError(
            f"fsspec {fsspec.__version__} is too old to open addresses safely: "
            f"pip install 'fsspec>={_SAFE[0]}.{_SAFE[1]}'"
        )
    return fsspec


def open_text(path: str) -> BinaryIO:
    """Open a file near or far; what is gzipped is unpacked on the way."""
    source = io.BufferedReader(Raw(opened(path)), 1 << 16)
    if source.peek(2)[:2] == _PACKED:
        return gzip.open(source, "rb")  # type: ignore[return-value]
    return source


def open_native(opened: Open) -> Any:
    """Open a file for Arrow's parser: without Python between them where that is possible."""
    stream = opened()
    if isinstance(stream, io.BytesIO):
        return pa.BufferReader(stream.getbuffer())
    raw = getattr(stream, "raw", None)
    if isinstance(raw, Raw) and isinstance(raw.source, pa.OSFile):
        source, raw.source = raw.source, io.BytesIO()  # which closes with the stream, in its place
        source.seek(0)
        return source
    return stream


def in_memory(opened: Open, name: str) -> Open:
    """Unpack and recode a file once; one that Arrow reads by itself stays where it is.

    Arrow's threads may outlive the interpreter, and a Python file that they hold then brings the
    process down.
    """
    with opened() as stream:
        if isinstance(open_native(opened), pa.NativeFile):
            return opened
        return partial(io.BytesIO, read_whole(stream, name, LONGEST))


class Raw(io.RawIOBase):
    """Any file as Python's own kind, which iterates over lines and closes what it wraps."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def take(self, most: int) -> bytes:
        """Read some bytes, none at the end."""
        found: bytes = self.source.read(most)
        return found

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, as Python asks for it."""
        data = self.take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close what it wraps."""
        self.source.close()
        super().close()


def free_memory() -> int:
    """Bytes of memory that nobody uses now (4 GiB, where that is not told)."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


def unpacked_size(path: str | Path, most: int) -> int:
    """Bytes of a file here, unpacked; counted no further than ``most``."""
    size = os.stat(path).st_size
    if size > most or size * _RATIO <= most or not os.path.isfile(path):
        return size
    with open(path, "rb") as stream:
        if stream.read(2) != _PACKED:
            return size
    size = 0
    try:
        with gzip.open(path, "rb") as unpacking:
            while size <= most and (block := unpacking.read(_BLOCK)):
                size += len(block)
    except (OSError, EOFError, zlib.error):
        pass  # whoever reads it says that it is damaged
    return size


def read_whole(stream: BinaryIO, name: str, longest_line: int | None = None) -> bytes:
    """Read all of a stream, unless that would fill the memory or a line of it is no row.

    A few bytes of gzip stand for a line of gigabytes: it is refused before it is unpacked.
    """
    blocks, most, line = [], free_memory() // 2, 0
    while block := stream.read(1 << 24):
        blocks.append(block)
        most -= len(block)
        if most < 0:
            raise ValueError(
                f"{name}: the file unpacks to more than fits in memory: audit it with --memory, or "
                "a part of it"
            )
        end = max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
        line = len(block) - end + (0 if end else line)
        if longest_line is not None and line > longest_line:
            raise _too_long(name)
    return b"".join(blocks)


def _too_long(name: str) -> ValueError:
    return ValueError(f"{name}: a line is longer than {LONGEST >> 20} MB: this is no table of rows")


def bounded_lines(stream: Any, name: str) -> Iterator[bytes]:
    """Yield the lines of a stream; refuse one that no table has."""
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise _too_long(name)
        yield line
