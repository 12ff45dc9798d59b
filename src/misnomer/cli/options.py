"""Options of the command line -> arguments of `audit`; what goes wrong, in one sentence."""

from __future__ import annotations

import errno
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import typer


def sources_of(
    annotators: Sequence[str] = (),
    long: str | None = None,
    noise_group: str | None = None,
    known: Sequence[str] = (),
    at_most: float | None = None,
    never: Sequence[str] = (),
) -> dict[str, Any]:
    """Turn the options into arguments of `audit`; those not said are left out.

    Examples
    --------
    >>> sources_of(["ann,bob"])
    {'annotators': ['ann', 'bob']}
    >>> sources_of(known=["ill=0.2"], never=["ill:well"])
    {'knowledge': {'rates': {'ill': 0.2}, 'never': [('ill', 'well')]}}
    """
    knowledge: dict[str, Any] = {}
    if known:
        knowledge["rates"] = dict(map(_rate, known))
    if at_most is not None:
        knowledge["most"] = at_most
    if never:
        knowledge["never"] = [_pair(one) for one in never]
    said = {
        "annotators": columns_of(annotators) or None,
        "long": _three(long) if long is not None else None,
        "noise_groups": noise_group,
        "knowledge": knowledge or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def reading_of(
    encoding: str | None = None,
    sep: str | None = None,
    no_header: bool = False,
    missing: Sequence[str] = (),
    sheet: str | None = None,
) -> dict[str, Any]:
    """Turn the options about a file into the argument of `audit`; those not said are left out.

    Examples
    --------
    >>> reading_of(sep=";", no_header=True)
    {'sep': ';', 'header': False}
    """
    said: dict[str, Any] = {"encoding": encoding, "sep": sep, "sheet": sheet}
    said |= {"missing": list(missing) or None, "header": False if no_header else None}
    return {name: value for name, value in said.items() if value is not None}


def columns_of(said: Sequence[str]) -> list[str]:
    """List column names: said once, several between commas; repeated, one each, commas and all.

    Examples
    --------
    >>> columns_of(["a,b"]), columns_of(["last, first", "b"])
    (['a', 'b'], ['last, first', 'b'])
    """
    return [name for name in said[0].split(",") if name] if len(said) == 1 else list(said)


def _three(said: str) -> list[str]:
    names = said.split(",")
    if len(names) != 3 or not all(names):
        raise ValueError(f"--long takes ROW,ANNOTATOR,LABEL: three column names, not {said!r}")
    return names


def _rate(said: str) -> tuple[str, float]:
    """Read CLASS=RATE; the last equals sign separates."""
    name, _, rate = said.rpartition("=")
    try:
        return (name, float(rate)) if name else _refused(said)
    except ValueError:
        return _refused(said)


def _refused(said: str) -> tuple[str, float]:
    raise ValueError(f"--known takes CLASS=RATE, such as spam=0.1, not {said!r}")


def _pair(said: str) -> tuple[str, str]:
    """Read GIVEN:TRUE; the last colon separates."""
    given, _, true = said.rpartition(":")
    if not given or not true:
        raise ValueError(f"--never takes GIVEN:TRUE, such as spam:ham, not {said!r}")
    return given, true


def families_of(said: Sequence[str]) -> dict[str, str]:
    """Read COL=KIND; the last equals sign separates, so that names may hold one.

    Examples
    --------
    >>> families_of(("age=gaussian", "a=b=text"))
    {'age': 'gaussian', 'a=b': 'text'}
    """
    families = {}
    for one in said:
        name, sign, kind = one.rpartition("=")
        if not sign or not name:
            raise ValueError(f"--family takes COL=KIND, such as age=gaussian, not {one!r}")
        families[name] = kind
    return families


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
    """Turn what users can cause into one line on standard error, and warnings into notes."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = partial(_note, warnings.showwarning)
            yield
    except BrokenPipeError:
        raise  # typer ends quietly: whoever read our output has seen enough
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one finds us on the way out already
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


def _note(show: Callable[..., None], message: Any, category: Any, *place: Any) -> None:
    """Print what users should know as a line without the place in the program."""
    if issubclass(category, UserWarning):
        complain(f"note: {message}")
    else:
        show(message, category, *place)


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
    >>> of_system(PermissionError(errno.EACCES, "Permission denied", "out/.misnomer.x1.part"))
    "'out': permission denied"
    """
    if error.errno is None or (error.strerror is None):
        return str(error)
    why = _WORDS.get(error.errno, error.strerror)
    if error.filename is None:
        return why
    place = Path(str(error.filename))
    if place.name.startswith(".") and place.name.endswith(".part"):  # ours, which nobody has named
        place = place.parent
    return f"{str(place)!r}: {why}"
