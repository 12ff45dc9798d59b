"""What an audit by batches says of every row, as arrays on disk: looked at in part, never read.

``rows.parquet`` is gone through once; the arrays are mapped from files, so that only what a page
of the queue needs is ever in memory. The orders are made by counting (each row's place follows from
how many rows come before its bin), which needs no more than the counts.
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from misnomer.store.container import filling, reading

FOLDER = "review.index"
_VERSION = 2
_BINS = 1 << 20
_BATCH_ROWS = 1 << 17
_ARRAY_TYPES = {
    "wrong": np.float32,
    "given": np.int32,
    "suggested": np.int32,
    "judged": np.bool_,
    "flagged": np.bool_,
}


@dataclass(frozen=True, eq=False)
class Index:
    """Of every row: P(wrong), the labels' places, whether it is judged and flagged; two orders."""

    wrong: NDArray[np.float32]
    given: NDArray[np.int32]
    suggested: NDArray[np.int32]
    judged: NDArray[np.bool_]  # where there is a label to judge
    flagged: NDArray[np.bool_]  # where another class is more probable than the given label
    probability: NDArray[np.int64]
    information: NDArray[np.int64]


def open_index(rows: Path, labels: list[Any], classes: list[Any], trusted: str | None) -> Index:
    """Open the index beside a ``rows.parquet``; make it where there is none, or of other rows."""
    folder, stat = rows.parent / FOLDER, rows.stat()
    mark = {"version": _VERSION, "bytes": stat.st_size, "modified": stat.st_mtime_ns}
    if folder.is_dir():
        with reading(folder):
            pass  # what a killed server has begun is finished
    try:
        known = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = None
    if known != mark:
        if not os.access(rows.parent, os.W_OK):  # kept for as long as this process runs
            place = tempfile.TemporaryDirectory(prefix="misnomer-")
            atexit.register(place.cleanup)
            folder = Path(place.name) / FOLDER
        with filling(folder, force=True) as inside:
            _build(rows, inside, labels, classes, trusted)
            (inside / "about.json").write_text(json.dumps(mark), encoding="utf-8")
    names = (*_ARRAY_TYPES, "probability", "information")
    return Index(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in names))


def _build(
    rows: Path, inside: Path, labels: list[Any], classes: list[Any], trusted: str | None
) -> None:
    file = pq.ParquetFile(rows)
    n = file.metadata.num_rows
    kinds = {**_ARRAY_TYPES, "key.probability": np.uint32, "key.information": np.uint32}
    arrays = {
        name: open_memmap(inside / f"{name}.npy", "w+", kind, (n,)) for name, kind in kinds.items()
    }
    wanted = ["given_label", "suggested_label", "error_probability", "label_quality"]
    wanted += ["is_label_issue", *([trusted] if trusted else [])]
    start = 0
    for batch in file.iter_batches(_BATCH_ROWS, columns=wanted):
        at = slice(start, start + batch.num_rows)
        for name, values in _numbers(batch, labels, classes, trusted).items():
            arrays[name][at] = values
        start = at.stop
    for order in ("probability", "information"):
        _sort(arrays[f"key.{order}"], arrays["judged"], inside / f"{order}.npy")
    for array in arrays.values():
        array.flush()
    for order in ("probability", "information"):
        (inside / f"key.{order}.npy").unlink()


def _numbers(
    batch: pa.RecordBatch, labels: list[Any], classes: list[Any], trusted: str | None
) -> dict[str, NDArray[Any]]:
    """Turn what is said of some rows into numbers."""
    table = pa.Table.from_batches([batch])
    given = _places(table.column("given_label"), labels)
    wrong = np.nan_to_num(table.column("error_probability").to_numpy(), nan=0.0)
    right = np.nan_to_num(table.column("label_quality").to_numpy(), nan=1.0)
    judged = given >= 0
    if trusted is not None:
        from misnomer.audit.inputs import flags_of

        judged &= ~flags_of(table, trusted)
    return {
        "wrong": wrong,
        "given": given,
        "suggested": _places(table.column("suggested_label"), classes),
        "judged": judged,
        "flagged": table.column("is_label_issue").to_numpy(),
        "key.probability": small_first(right),
        "key.information": uncertain_first(wrong),
    }


def _places(column: pa.ChunkedArray, names: list[Any]) -> NDArray[np.int32]:
    places = pc.index_in(column, value_set=pa.array(names, column.type))
    return np.asarray(places.fill_null(-1).to_numpy(), np.int32)


def small_first(share: NDArray[Any]) -> NDArray[np.uint32]:
    """Number shares by size, small ones finely: the leading bits of a float grow as it does.

    Examples
    --------
    >>> small_first(np.array([0.0, 1e-20, 2e-20, 0.5, 1.0])).tolist()
    [0, 495417, 503609, 1032192, 1040384]
    """
    bits = np.maximum(share, 0.0).astype(np.float32).view(np.uint32)
    return np.minimum(bits >> np.uint32(10), _BINS - 1).astype(np.uint32)


def uncertain_first(wrong: NDArray[Any]) -> NDArray[np.uint32]:
    """Number probabilities by ``-p log2 p - (1 - p) log2 (1 - p)``, the most uncertain first.

    Examples
    --------
    >>> uncertain_first(np.array([0.5, 0.25, 0.0])).tolist()
    [0, 197889, 1048575]
    """
    p = np.clip(wrong, 1e-300, 1.0)
    q = np.clip(1.0 - p, 1e-300, 1.0)
    heat = -(p * np.log2(p) + q * np.log2(q))
    return np.asarray((1.0 - np.clip(heat, 0.0, 1.0)) * (_BINS - 1), np.uint32)


def _sort(keys: Any, judged: Any, path: Path) -> None:
    """Write the judged rows by their keys, those of one key in the input's order."""
    parts = [slice(at, at + (1 << 20)) for at in range(0, len(keys), 1 << 20)]
    counts = np.zeros(_BINS, np.int64)
    for part in parts:
        counts += np.bincount(keys[part][judged[part]], minlength=_BINS)
    out = open_memmap(path, "w+", np.int64, (int(counts.sum()),))
    place = np.cumsum(counts) - counts
    for part in parts:
        rows = np.flatnonzero(judged[part])
        some = np.asarray(keys[part])[rows]
        order = np.argsort(some, kind="stable")
        key, first, many = np.unique(some[order], return_index=True, return_counts=True)
        nth = np.arange(len(rows)) - np.repeat(first, many)
        out[place[some[order]] + nth] = rows[order] + part.start
        place[key] += many
    out.flush()
