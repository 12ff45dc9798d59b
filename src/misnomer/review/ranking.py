"""Which rows to look at first: what a fit says of every row, and two orders of them.

Of rows in memory these are arrays. What an audit by batches says of every row lies in arrays on
disk, looked at in part, never read: ``rows.parquet`` is gone through once, and they are mapped from
files, so that only what a page of the queue needs is ever in memory. Their orders are made by
counting (each row's place follows from how many rows come before its bin).
"""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from misnomer.store.container import filling, reading

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

#: "probability": most likely wrong first. "information": what the model is least sure of first.
ORDERS = ("probability", "information")

#: Which rows a filter may ask for, by what was decided.
STATES = ("all", "open", "decided", "second")

#: Rows in an order: all in one array, or one array behind another.
Order = NDArray[np.intp] | tuple[NDArray[Any], ...]
Values = Any
Passing = Callable[[NDArray[np.intp]], NDArray[np.bool_]]

_ROWS_PER_LOOK = 1 << 14  # rows looked at while a page of the queue is put together
_ROWS_AT_ONCE = 1 << 22  # rows counted at a time
_MAX_SHUFFLED, _MAX_CHECKS = 1 << 20, 20_000  # rows


@dataclass(frozen=True, eq=False)
class Ranking:
    """What one fit says about every row.

    Of rows that do not fit in memory, "array" means what can be read like one, row by row.
    """

    version: int  # how often the model was fitted before
    wrong: Values  # (n,): P(the given label is wrong); 0 without a label
    # (n,): places in the audit's ``labels`` (-1: none) and ``classes``
    given: Values
    suggested: Values
    # (n,): whether there is a label to judge: none is missing, or was trusted beforehand
    judged: Values
    flagged: Values  # (n,): whether another class is more probable than the given label
    orders: Mapping[str, Order]  # the judged rows, as each of `ORDERS` has them


def rank_rows(audit: Audit, version: int = 0) -> Ranking:
    """Rank the labeled rows of an audit; those trusted beforehand are left out."""
    judged = (audit.given >= 0) & ~audit.trusted
    rows = np.flatnonzero(judged)
    right, doubt = audit.right, audit.shares.entropy
    return Ranking(
        version=version,
        wrong=np.nan_to_num(audit.error_probability),
        given=audit.given,
        suggested=audit.suggested,
        judged=judged,
        flagged=audit.is_label_issue,
        orders={
            "probability": rows[np.argsort(right[rows], kind="stable")],
            "information": rows[np.argsort(-doubt[rows], kind="stable")],
        },
    )


@dataclass(frozen=True)
class Filter:
    """Which rows to show."""

    # places in ``labels`` and ``classes``
    given: int | None = None
    suggested: int | None = None
    # bounds of P(wrong)
    low: float = 0.0
    high: float = 1.0
    # all, open, decided; or second: decided by others, and open for a second opinion
    state: str = "open"
    flagged: bool = False  # only where another class is more probable than the given label
    # only rows that hold this value in this column
    column: str | None = None
    value: str | None = None
    words: str | None = None  # only rows that hold each of these words in some column

    @property
    def looks_at_cells(self) -> bool:
        """Tell whether the rows themselves must be read."""
        return self.column is not None or bool(self.words)

    def passing(
        self, ranking: Ranking, decided: NDArray[np.bool_], rows: Any = slice(None)
    ) -> NDArray[np.bool_]:
        """Tell which rows pass (all, or those named by ``rows``); rows that are not judged do not.

        Of many rows only those that are about to be shown are ever looked at.
        """
        kept = self.fitting(ranking, rows)
        if self.state != "all":
            kept &= ~decided[rows] if self.state == "open" else decided[rows]
        return kept

    def fitting(self, ranking: Ranking, rows: Any = slice(None)) -> NDArray[np.bool_]:
        """Tell the same, decided or not."""
        kept = np.array(ranking.judged[rows])
        if self.flagged:
            kept &= ranking.flagged[rows]
        if self.given is not None:
            kept &= ranking.given[rows] == self.given
        if self.suggested is not None:
            kept &= ranking.suggested[rows] == self.suggested
        if self.low > 0:
            kept &= ranking.wrong[rows] >= self.low
        if self.high < 1:
            kept &= ranking.wrong[rows] <= self.high
        return kept

    def count(self, ranking: Ranking) -> int:
        """Count the rows that pass, decided or not, some at a time."""
        parts = range(0, len(ranking.judged), _ROWS_AT_ONCE)
        return sum(int(self.fitting(ranking, slice(at, at + _ROWS_AT_ONCE)).sum()) for at in parts)


#: Every open row.
EVERYTHING = Filter()


def take_passing(order: Order, passing: Passing, offset: int, limit: int) -> Rows:
    """Take the rows from ``offset`` on that pass, in their order, and look no further than needed.

    Parameters
    ----------
    order : array, or tuple of arrays
        The rows; several arrays stand one behind the other.
    passing : callable
        Tells which of some rows pass.

    Examples
    --------
    >>> order, passing = np.array([3, 1, 0, 2]), np.array([True, True, False, True])
    >>> take_passing(order, lambda rows: passing[rows], 1, 5).tolist()
    [1, 0]
    """
    pieces = order if isinstance(order, tuple) else (order,)
    parts: list[Rows] = []
    seen = 0
    for piece in pieces:
        for start in range(0, len(piece), _ROWS_PER_LOOK):
            part = np.asarray(piece[start : start + _ROWS_PER_LOOK], np.intp)
            part = part[passing(part)]
            parts.append(part[max(offset - seen, 0) : max(offset + limit - seen, 0)])
            seen += len(part)
            if seen >= offset + limit:
                return np.concatenate(parts)
    return np.concatenate(parts) if parts else np.zeros(0, np.intp)


def draw_random_checks(ranking: Ranking, seed: int) -> Rows:
    """Draw labeled rows that are not suspected, as many as anybody will ever check.

    Their order is fixed beforehand: the same audit shuffles alike.
    """
    rng, n = np.random.default_rng(seed), len(ranking.judged)
    some = rng.permutation(n) if n <= _MAX_SHUFFLED else rng.choice(n, _MAX_SHUFFLED, shuffle=False)
    some = np.unique(some) if n > _MAX_SHUFFLED else some
    calm = some[ranking.judged[some] & ~ranking.flagged[some]]
    return rng.permutation(calm)[:_MAX_CHECKS]


def as_filter(said: dict[str, Any], labels: int, classes: int) -> Filter:
    """Read a filter as the page sends it; what is out of range is an error."""
    given, suggested = _place(said, "given", labels), _place(said, "suggested", classes)
    low, high = (float(said.get(name) or end) for name, end in (("low", 0), ("high", 1)))
    state = str(said.get("state") or "open")
    if state not in STATES or not (0 <= low <= 1 and 0 <= high <= 1):
        raise ValueError(f"a filter wants a state of {', '.join(STATES)}, and bounds from 0 to 1")
    flagged = str(said.get("flagged") or "") == "1"
    column, words = (str(said.get(name) or "")[:1000] or None for name in ("column", "words"))
    value = None if said.get("value") is None else str(said["value"])[:1000]
    if column is None or value is None:  # a column without a value asks for nothing
        column = value = None
    return Filter(given, suggested, low, high, state, flagged, column, value, words)


def _place(said: dict[str, Any], name: str, size: int) -> int | None:
    value = said.get(name)
    if value in (None, ""):
        return None
    place = int(str(value))
    if not 0 <= place < size:
        raise ValueError(f"there is no {name} class number {place}")
    return place


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
