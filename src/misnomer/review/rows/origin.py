"""Which rows an audit is about."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from misnomer.audit import load_audit
from misnomer.review.log.ledger import ReviewError
from misnomer.review.rows.large import LargeRows
from misnomer.store.folders import check_whole, reading

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

#: What an audit's folder is known by.
MARKS = ("audit.safetensors", "model.safetensors", "rows.parquet")


def reviewed_audit(folder: str | Path) -> Any:
    """Load the audit of a folder; say how to make one where it is none."""
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    with reading(folder):
        return _loaded(folder)


def _loaded(folder: Path) -> Any:
    if (folder / "sample" / MARKS[0]).is_file():
        return _by_batches(folder)
    missing = [name for name in MARKS if not (folder / name).is_file()]
    if (folder / "audit.json").is_file() and (folder / "rows.parquet").is_file() and missing:
        raise ReviewError(
            f"{str(folder)!r} holds an audit that cannot be reviewed on a page (it lacks "
            f"{missing[0]}): its suspects are in {str(folder / 'issues.csv')!r}"
        )
    if not folder.is_dir() or missing:
        lacks = f" (it lacks {missing[0]})" if folder.is_dir() else ""
        raise ReviewError(
            f"{str(folder)!r} is not the folder of an audit{lacks}: make one with "
            "misnomer audit FILE --label COLUMN --out FOLDER"
        )
    return load_audit(folder)


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


def fingerprint(audit: Audit | LargeRows) -> str:
    """Digest the rows and their given labels: the same rows audited anew have the same one."""
    if isinstance(audit, LargeRows):
        return audit.fingerprint(fingerprint(audit.sample))
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
