"""What goes wrong is said in one sentence, with an exit code: 2 for bad input, 130 for Ctrl-C."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

_WORDS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the disk is read-only",
    errno.EFBIG: "the file would be too large",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ENAMETOOLONG: "the name is too long",
}


@contextmanager
def failing_well() -> Iterator[None]:
    """Turn what users can cause into one line on standard error."""
    try:
        yield
    except BrokenPipeError:
        raise  # typer ends quietly: whoever read our output has seen enough
    except KeyboardInterrupt:
        complain("interrupted: nothing was written")
        raise typer.Exit(130) from None
    except (ValueError, TypeError) as error:
        complain(str(error))
        raise typer.Exit(2) from None
    except OSError as error:
        complain(of_system(error))
        raise typer.Exit(2) from None
    except MemoryError:
        complain("the table does not fit into memory: audit a sample of its rows")
        raise typer.Exit(2) from None


def complain(sentence: str) -> None:
    """Print one line to standard error."""
    line = " ".join(sentence.split())
    print(f"misnomer: {line}", file=sys.stderr)


def of_system(error: OSError) -> str:
    """Say what the system refused, and where.

    Examples
    --------
    >>> of_system(OSError(errno.ENOSPC, "No space left on device", "out/rows.parquet"))
    "'out/rows.parquet': the disk is full"
    """
    if error.errno is None or (error.strerror is None):
        return str(error)
    why = _WORDS.get(error.errno, error.strerror)
    where = "" if error.filename is None else f"{str(error.filename)!r}: "
    return where + why
