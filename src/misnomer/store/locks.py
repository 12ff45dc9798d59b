"""Who is at work in a folder: locks that end with the process that holds them, however it ends."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PATIENCE = 10.0  # seconds to wait for whoever reads or writes the same folder
_PAUSE = 0.02


@contextmanager
def held(place: Path, *, alone: bool = False) -> Iterator[None]:
    """Hold a folder or a file, with others or alone; refuse where somebody else is at work.

    Where the system knows no such locks, nothing is held.
    """
    handle = _opened(place)
    try:
        if handle is not None and not _locked(handle, alone=alone, patience=_PATIENCE):
            raise BlockingIOError(
                f"{str(place)!r} is in use (a review of it is open, or somebody writes to it): end "
                "that first"
            )
        yield
    finally:
        if handle is not None:
            os.close(handle)


def mark(place: Path) -> int | None:
    """Mark a temporary file or folder as being filled, until this process ends or closes it."""
    handle = _opened(place)
    if handle is not None and not _locked(handle, alone=True, patience=0.0):
        os.close(handle)
        return None
    return handle


def unmark(handle: int | None) -> None:
    """Take the mark away."""
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
            time.sleep(_PAUSE)
        except OSError:
            return not sure
