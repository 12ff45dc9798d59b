"""Write all of a file or nothing: under a temporary name first, to the disk, then renamed."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from misnomer.store.locks import clear, mark, unmark


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
    clear(path.parent, f".{glob.escape(path.name)}.*.part")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    marked = mark(temporary)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~umask())  # mkstemp's own is for the owner alone
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        unmark(marked)


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
