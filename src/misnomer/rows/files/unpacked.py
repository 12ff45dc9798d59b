"""Files that unpack to more than they seem: how much they are is looked at, not believed."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

LONGEST = 1 << 26  # bytes of a line: what is longer is no row of a table
_BLOCK = 1 << 20
_RATIO = 1032  # bytes that one byte of a gzip file can stand for, at most


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
        if stream.read(2) != b"\x1f\x8b":
            return size
    size = 0
    try:
        with gzip.open(path, "rb") as unpacking:
            while size <= most and (block := unpacking.read(_BLOCK)):
                size += len(block)
    except (OSError, EOFError, zlib.error):
        pass  # whoever reads it says that it is damaged
    return size


def read_whole(stream: BinaryIO, name: str) -> bytes:
    """Read all of a stream, unless that would fill the memory."""
    blocks, most = [], free_memory() // 2
    while block := stream.read(1 << 24):
        blocks.append(block)
        most -= len(block)
        if most < 0:
            raise ValueError(
                f"{name}: the file unpacks to more than fits in memory: audit it with --memory, or "
                "a part of it"
            )
    return b"".join(blocks)


def lines_of(stream: Any, name: str) -> Iterator[bytes]:
    """Yield the lines of a stream; refuse one that no table has."""
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise ValueError(
                f"{name}: a line is longer than {LONGEST >> 20} MB: this is no table of rows"
            )
        yield line
