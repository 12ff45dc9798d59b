"""Which rows an audit is about, and whether a file still holds them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from misnomer.audit import load_audit
from misnomer.review.ledger import ReviewError

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

#: What an audit's folder is known by.
MARKS = ("audit.safetensors", "model.safetensors", "rows.parquet")


def reviewed_audit(folder: str | Path) -> Audit:
    """Load the audit of a folder; say how to make one where it is none."""
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    if (folder / "sample" / MARKS[0]).is_file():
        raise ReviewError(
            f"{str(folder)!r} was audited by batches, its rows are not all at hand: review the "
            f"sample of them, {str(folder / 'sample')!r}"
        )
    missing = [name for name in MARKS if not (folder / name).is_file()]
    if not folder.is_dir() or missing:
        lacks = f" (it lacks {missing[0]})" if folder.is_dir() else ""
        raise ReviewError(
            f"{str(folder)!r} is not the folder of an audit{lacks}: make one with "
            "misnomer audit FILE --label COLUMN --out FOLDER"
        )
    return load_audit(folder)


def fingerprint(audit: Audit) -> str:
    """Digest the rows and their given labels: the same rows audited anew have the same one."""
    total = hashlib.sha256(repr((audit.label, audit.labels, len(audit.given))).encode())
    total.update(audit.given.tobytes())
    total.update(repr(audit.data.column_names).encode())
    for column in audit.data.columns:
        _digest(column, total)
    return total.hexdigest()


def _digest(column: pa.ChunkedArray, total: hashlib._Hash) -> None:
    """Add which cells are filled, and what the filled ones hold: the bytes under gaps are noise."""
    total.update(np.packbits(column.is_null().to_numpy()).tobytes())
    filled = column.drop_null()
    if pa.types.is_boolean(filled.type):
        filled = filled.cast(pa.int8())
    table = pa.table({"cells": filled}).combine_chunks()
    sink = pa.PythonFile(_Digest(total), mode="w")
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=1 << 16)


class _Digest:
    """A file that only remembers the digest of what was written to it."""

    closed = False

    def __init__(self, total: hashlib._Hash) -> None:
        self.total = total

    def write(self, data: bytes) -> int:
        self.total.update(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...


def check_unchanged(audit: Audit, folder: str | Path, file: str | Path) -> None:
    """Compare a file with the rows that were audited; name the first difference."""
    from misnomer.readers.files import read_table

    now = read_table(file)
    difference = _difference(audit.data, now)
    if difference is not None:
        raise ReviewError(
            f"{str(file)!r} has changed since the audit in {str(folder)!r} ({difference}): audit "
            f"it anew with misnomer audit {file} --label {audit.label!r} --out NEW_FOLDER"
        )


def _difference(then: pa.Table, now: pa.Table) -> str | None:
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
