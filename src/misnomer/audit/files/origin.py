"""Which file was audited, and whether it still holds those rows: size, time, a digest, cells."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from misnomer.reports.tables import command_words, shell_words
from misnomer.store.container import blocks

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

_MAX_WHOLE_BYTES = 1 << 30  # bytes in all up to which every byte is digested

WHOLE, SAMPLED, SIZE = "sha256", "sha256 of the size and 64 blocks of 1 MiB of each file", "size"


@dataclass(frozen=True)
class Origin:
    """The file, the folder or the pattern that was audited, as it was then."""

    path: str  # where it was: absolute, or an address
    # how many files it stood for, and their bytes
    files: int
    size: int
    modified: str  # when the newest of them was last written (UTC); empty where that is not told
    stamp: str  # a digest of the files' names, sizes and times: what is compared first
    digest: str  # a digest of what they hold; empty where only the size is known
    # what the digest is of: every byte; of more than 1 GiB, blocks; of an address, nothing
    method: str
    # what `audit` must be told to do the same, by the names of its arguments
    asked: Mapping[str, Any] = field(default_factory=dict)
    audited: str = ""  # when that was (UTC); empty where an older misnomer wrote it down

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of the command line, as far as it has them."""
        return command_words(self.asked)

    def command(self, out: str | Path, file: str | Path | None = None) -> str:
        """Write the command that audits the file, or another one, in the same way.

        Examples
        --------
        >>> Origin("/data/a b.csv", 1, 9, "", "", "", "size", {"label": "y"}).command("new")
        "misnomer audit '/data/a b.csv' --label y --out new"
        """
        where = nearest(self.path) if file is None else str(file)
        return shlex.join(["misnomer", "audit", where, *self.options, "--out", str(out)])


def nearest(path: str) -> str:
    """Write a path from here where it is below, else in full."""
    below = str(Path.cwd()) + os.sep
    return path.removeprefix(below) if path.startswith(below) else path


def origin_of(path: str | Path, asked: Mapping[str, Any] | None = None) -> Origin:
    """Take down which files a path stands for, and what they hold, before they are read."""
    text = str(path) if "://" in str(path) else os.path.abspath(path)
    files = files_of(text)
    size = sum(map(size_of, files))
    stamp, newest = _stamp(text, files)
    method = SIZE if "://" in text else WHOLE if size <= _MAX_WHOLE_BYTES else SAMPLED
    return Origin(
        path=text,
        files=len(files),
        size=size,
        modified=newest,
        stamp=stamp,
        digest="" if method == SIZE else digest(text, files, method),
        method=method,
        asked=dict(asked or {}),
        audited=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def files_of(path: str) -> tuple[str, ...]:
    """List the files that a path stands for; what reads them is imported when it is needed."""
    from misnomer.rows.files import paths

    return paths.files_of(path)[0]


def size_of(file: str) -> int:
    """Bytes of a file."""
    from misnomer.rows.files import paths

    return paths.size_of(file)


def _stamp(path: str, files: tuple[str, ...]) -> tuple[str, str]:
    total, newest = hashlib.sha256(), 0
    for file in files:
        there = None if "://" in file else Path(file).stat().st_mtime_ns
        newest = max(newest, there or 0)
        total.update(repr((_name(path, file), size_of(file), there)).encode())
    when = datetime.fromtimestamp(newest / 1e9, UTC).isoformat(timespec="seconds")
    return total.hexdigest(), when if newest else ""


def _name(path: str, file: str) -> str:
    """Name a part without its folder, so that a folder may move; a single file has none."""
    return "" if file == path else os.path.relpath(file, path) if "://" not in file else file


def digest(path: str, files: tuple[str, ...], method: str) -> str:
    """Digest what files hold, with the names of the parts where there are several."""
    total = hashlib.sha256()
    for file in files:
        if len(files) > 1:
            total.update(repr((_name(path, file), size_of(file))).encode())
        elif method == SAMPLED:
            total.update(str(size_of(file)).encode())
        for block in blocks(file, size_of(file), every=method == WHOLE):
            total.update(block)
    return total.hexdigest()


def is_near(path: str, places: Iterable[Path]) -> bool:
    """Tell whether a path that a file names is a local one below one of these places.

    Only such a path is opened without being asked to: an address, a device or a file elsewhere may
    be a trap in somebody else's folder. The root of a disk is no such place.
    """
    if "://" in path or "::" in path or not os.path.isabs(path):
        return False
    stem = path.split("*")[0].split("?")[0].split("[")[0]
    for place in map(os.path.abspath, places):
        if place != os.path.dirname(place) and all(
            os.path.commonpath([way(stem), way(place)]) == way(place)
            for way in (os.path.abspath, os.path.realpath)
        ):
            return not os.path.exists(path) or os.path.isfile(path) or os.path.isdir(path)
    return False


def state(then: Origin, path: str | Path | None = None) -> str:
    """Compare: "same", "changed", "missing" (moved or deleted), or "unreadable".

    Size and time decide where they are as they were; the digest only where they differ.
    """
    text = then.path if path is None else str(path)
    try:
        files = files_of(text)
        if _stamp(text, files)[0] == then.stamp:
            return "same"
        if sum(map(size_of, files)) != then.size or len(files) != then.files:
            return "changed"
        if then.method == SIZE:
            return "same"
        return "same" if digest(text, files, then.method) == then.digest else "changed"
    except FileNotFoundError:
        return "missing"
    except ValueError:  # a folder or a pattern without files, an address without fsspec
        return "unreadable" if "://" in text else "missing"
    except OSError:
        return "unreadable"


_MAX_REREAD_BYTES = 1 << 28  # of a file that is read again to name what changed


def notice_of_change(
    audit: Audit, folder: Path, data: Path | str | None = None, *, anyway: bool = False
) -> str | None:
    """Compare the audited file with what it is now; None where nothing is to be said.

    Parameters
    ----------
    audit : Audit
        It knows the file it was made from.
    folder : Path
        Where it is.
    data : Path or str, optional
        The file or its address, where it is elsewhere. What the audit itself names is looked at
        only if it is a file beside the folder or below the current one.
    anyway : bool
        Return the sentence about a changed file, rather than raise it.

    Returns
    -------
    str or None
        One sentence for the person who reviews.
    """
    if data is None and audit.origin is None:
        return None
    if data is not None and "://" not in str(data) and not Path(data).exists():
        raise FileNotFoundError(f"there is no file {str(data)!r}")
    beside = (folder.absolute().parent, Path.cwd())
    if data is None and audit.origin is not None and not is_near(audit.origin.path, beside):
        return _elsewhere(audit.origin.path)
    how = "changed" if audit.origin is None else state(audit.origin, data)
    if how == "changed":
        how, difference = _looked_into(audit, data)
    if how == "same":
        return None
    if how != "changed":
        return _gone(audit, how)
    said = _sentence(audit, folder, data, difference)
    if anyway:
        return f"{said}; until then, what is shown and exported are the rows as they were audited"
    raise ValueError(f"{said}, or say --anyway to go on with the rows as they were audited")


def _elsewhere(path: str) -> str:
    return (
        f"whether {path!r} has changed since the audit was not looked at, as it is not beside the "
        "folder: say --data FILE if it should be"
    )


def _looked_into(audit: Audit, data: Path | str | None) -> tuple[str, str | None]:
    """Read a file whose bytes differ: the rows may be the same, or the difference has a name."""
    file = Path(audit.origin.path if data is None and audit.origin else str(data))
    by_lines = audit.sources is not None and "long" in audit.sources.asked
    size = file.stat().st_size if file.is_file() else _MAX_REREAD_BYTES + 1
    if by_lines or size > _MAX_REREAD_BYTES or not audit.data.num_columns or not _is_all(audit):
        return "changed", None
    from misnomer.rows.files.dialect import dialect_of
    from misnomer.rows.scan import read_table

    try:
        how = dialect_of({} if audit.origin is None else audit.origin.asked.get("reading", {}))
        change = difference(audit.data, read_table(file, dialect=how))
    except (ValueError, OSError, pa.ArrowException):
        change = "it is no table any more"
    return ("same" if change is None else "changed"), change


def _is_all(audit: Audit) -> bool:
    """Tell whether the audit holds all of its rows, not a sample of them."""
    return len(audit.data) == audit.fitted.rows


def _gone(audit: Audit, how: str) -> str:
    path = nearest(audit.origin.path) if audit.origin else ""
    why = "is not there any more" if how == "missing" else "cannot be read"
    return (
        f"{path!r} {why}: what is shown and exported are the rows as they were audited "
        "(where it has moved to, say with --data FILE)"
    )


def _sentence(audit: Audit, folder: Path, data: Path | str | None, change: str | None) -> str:
    out = _vacant(folder)
    if audit.origin is not None:
        named = nearest(audit.origin.path) if data is None else str(data)
        command = audit.origin.command(out, data)
    else:
        named = str(data)
        command = f"misnomer audit {shlex.quote(named)} {shell_words(audit)} --out {out}"
    why = "" if change is None else f" ({change})"
    when = f"{named!r} has changed since the audit in {str(folder)!r}{why}"
    return f"{when}: audit it anew with `{command}`"


def _vacant(folder: Path) -> Path:
    """Name a folder beside this one that does not exist: old decisions are about old rows."""
    number = 2
    while (vacant := folder.with_name(f"{folder.resolve().name}-{number}")).exists():
        number += 1
    return vacant


def difference(then: pa.Table, now: pa.Table) -> str | None:
    """Name the first difference between two tables; None where there is none.

    Examples
    --------
    >>> difference(pa.table({"a": [1, 2]}), pa.table({"a": [1, 3]}))
    "row 1, column 'a'"
    """
    if then.column_names != now.column_names:
        odd = sorted({*then.column_names} ^ {*now.column_names}) or then.column_names
        return f"its columns differ, such as {odd[0]!r}"
    if len(then) != len(now):
        return f"it had {len(then):,} rows and has {len(now):,}"
    for name in then.column_names:
        before, after = then.column(name), now.column(name)
        if before.type != after.type:
            return f"column {name!r} was {before.type} and is {after.type}"
        if not before.equals(after):
            pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
            row = next((i for i, (a, b) in enumerate(pairs) if a != b and (a == a or b == b)), None)
            if row is not None:
                return f"row {row}, column {name!r}"
    return None
