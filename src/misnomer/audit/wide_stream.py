"""Rows read by batches whose labels and words are too many for dense weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit.frames import Shape, default_backend
from misnomer.audit.frames import row_columns as answers
from misnomer.audit.streamed import renamed
from misnomer.audit.wide import audit_blocks
from misnomer.audit.wide_result import WideAudit
from misnomer.classifiers.terms import Terms
from misnomer.engines.stream import joined
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import Scan

RowsTo = Callable[[Iterator[pa.Table]], None]


def audit_wide_stream(
    found: Scan,
    terms: Terms,
    rows: Any,
    *,
    id: str | None,
    notes: list[str],
    progress: Any,
    rows_to: RowsTo | None,
    started: float | None = None,
) -> WideAudit:
    """Audit compact rows, which must fit in memory; the table itself need not.

    ``rows_to`` takes every row with its own columns, read once more, table after table.
    """
    started = perf_counter() if started is None else started
    batch = joined(list(rows))
    label, sure = labels_of(batch.given, terms)
    audit = audit_blocks(
        terms.schema,
        batch.blocks,
        label,
        terms.naming.labels,
        trusted=sure,
        name=terms.label,
        shape=Shape(default_backend(), None, None, id),
        notes=(*notes, *(f"left out: {one}" for one in terms.left_out)),
        progress=progress,
        started=started,
    )
    if rows_to is not None:
        rows_to(judged(found, terms, audit))
    return audit


def labels_of(given: NDArray[np.int32], terms: Terms) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Turn evidence codes into labels, -1 where there is none, and which of them are known."""
    L = len(terms.naming.labels)
    sure = given > L
    label = np.where(sure, given - L - 1, np.where(given == L, -1, given))
    return label.astype(np.intp), sure


def judged(found: Scan, terms: Terms, audit: WideAudit) -> Iterator[pa.Table]:
    """Yield what is known of each row beside its own columns."""
    every, start = answers(audit), 0  # type: ignore[arg-type]
    for batch in found.batches(found.names, [] if terms.skip_bad else None):
        source = decoded_table(batch)
        n = source.num_rows
        some = every.slice(start, n).add_column(0, "row", pa.array(np.arange(start, start + n)))
        for name, own in zip(renamed(source.column_names), source.columns, strict=True):
            some = some.append_column(name, own)
        yield some
        start += n


def issues_of(audit: WideAudit, file: Any) -> pa.Table:
    """Take the flagged rows out of the file of all, the worst first."""
    import pyarrow.parquet as pq

    order = audit.ranking.astype(np.int64)
    with pq.ParquetFile(file) as every:
        kept, start = [], 0
        for batch in every.iter_batches(1 << 16):
            own = np.sort(order[(order >= start) & (order < start + batch.num_rows)]) - start
            kept.append(pa.Table.from_batches([batch]).take(pa.array(own)))
            start += batch.num_rows
    place = np.searchsorted(np.sort(order), order)
    return pa.concat_tables(kept).take(pa.array(place)).drop_columns(["is_label_issue"])
