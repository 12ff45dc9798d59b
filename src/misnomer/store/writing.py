"""Write all of a file or nothing: under a temporary name first, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())  # mkstemp's own is for the owner alone
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
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
def filling(folder: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Hand out a temporary folder, and move its files into ``folder`` when all went well.

    A folder that holds something already is refused, unless ``force`` says that files of the same
    names may be replaced; its other files stay.
    """
    folder = Path(folder)
    check_vacant(folder, force=force)
    beside = next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
    with tempfile.TemporaryDirectory(prefix=".misnomer.", suffix=".part", dir=beside) as name:
        inside = Path(name) / "new"
        inside.mkdir()
        yield inside
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(inside.iterdir()):
            os.replace(file, folder / file.name)


def check_vacant(folder: str | Path, *, force: bool = False) -> None:
    """Refuse a folder that is a file, or that already holds something."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{str(folder)!r} is a file: name a folder to write into")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise FileExistsError(f"{str(folder)!r} is not empty: use --force (force=True) to replace")
