"""Which rows an audit is about, and whether the audited file still holds them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from misnomer.audit import load_audit
from misnomer.audit.files.origin import is_near, nearest, state
from misnomer.reports.tables import shell_words
from misnomer.review.large import LargeRows
from misnomer.review.ledger import ReviewError
from misnomer.review.rows import Rows, rows_of
from misnomer.store.container import check_whole, reading

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


#: What an audit's folder is known by.
MARKS = ("audit.safetensors", "model.safetensors", "rows.parquet")


def load_for_review(folder: str | Path) -> Rows:
    """Load the rows of an audit's folder; say how to make one where it is none."""
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    with reading(folder):
        return _loaded(folder)


def _loaded(folder: Path) -> Rows:
    if (folder / "sample" / MARKS[0]).is_file():
        return _by_batches(folder)
    missing = [name for name in MARKS if not (folder / name).is_file()]
    if not folder.is_dir() or missing:
        lacks = f" (it lacks {missing[0]})" if folder.is_dir() else ""
        raise ReviewError(
            f"{str(folder)!r} is not the folder of an audit{lacks}: make one with "
            "misnomer audit FILE --label COLUMN --out FOLDER"
        )
    return Rows(load_audit(folder))


def _by_batches(folder: Path) -> LargeRows:
    """Open an audit whose rows do not fit in memory."""
    if not (folder / MARKS[2]).is_file():
        raise ReviewError(
            f"{str(folder)!r} was audited by batches and lacks {MARKS[2]}: review the sample of "
            f"its rows, {str(folder / 'sample')!r}, or audit the file anew"
        )
    check_whole(folder, ("rows.parquet", "audit.json", "sample"))
    sample = load_audit(folder / "sample")
    if sample.annotators is not None:
        raise ReviewError(
            f"{str(folder)!r} was audited by batches, from several annotators: review the sample "
            f"of its rows, {str(folder / 'sample')!r}, which holds all answers about them"
        )
    return LargeRows(folder, sample)


_MAX_REREAD_BYTES = 1 << 28  # of a file that is read again to name what changed


def noticed(
    rows: Audit | Rows, folder: Path, data: Path | str | None = None, *, anyway: bool = False
) -> str | None:
    """Compare the audited file with what it is now; None where nothing is to be said.

    Parameters
    ----------
    rows : Rows or Audit
        The audit, which knows the file it was made from.
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
    audit = rows_of(rows).audit
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
    raise ReviewError(f"{said}, or say --anyway to go on with the rows as they were audited")


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
