"""What was found of a crowd's rows, beside all of their columns: read once more, by batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit.crowd_inputs import Gathered
from misnomer.audit.crowd_rows import Reading
from misnomer.audit.streamed import Collector
from misnomer.audit.streamed_judging import RowsTo, collected, lightened
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.rows.parts import decoded_table

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of some rows: their evidence codes, (n,), and P(true class), (n, K)."""

    codes: NDArray[np.int32]
    share: Array

    def part(self, first: int, last: int) -> Known:
        """Take some rows that follow one another."""
        return Known(self.codes[first:last], self.share[first:last])

    def parts(self, sizes: list[int]) -> list[Known]:
        """Split them into parts of so many rows."""
        return [self.part(*span) for span in pairwise(np.cumsum([0, *sizes]).tolist())]


def judged_here(
    said: Gathered,
    reading: Reading,
    classifier: NoisyLabelEstimator,
    known: Known,
    rows_to: RowsTo | None,
) -> Collector:
    """Read every row; whoever asked for the rows gets them table by table."""
    collector = Collector(classifier, len(known.codes))
    read = said.rows.batches(said.rows.names, [] if reading.skip_bad else None)
    tables = judged(read, reading, collector, known)
    deque(tables, maxlen=0) if rows_to is None else rows_to(tables)
    return collector


def judged_there(
    cluster: Any,
    said: Gathered,
    reading: Reading,
    classifier: NoisyLabelEstimator,
    known: Known,
    rows_to: RowsTo | None,
) -> Collector:
    """Let each part be read where it is, with what is known of its rows.

    Rows come here only where somebody asked for them, part after part.
    """
    n, names = len(known.codes), said.rows.names
    starts, light = (np.cumsum(said.sizes) - said.sizes).tolist(), lightened(classifier)

    def begin(item: tuple[Any, int, Known]) -> tuple[Collector, Iterator[pa.Table]]:
        part, start, own = item
        collector = Collector(light, n, start)
        read = part.batches(names, [] if reading.skip_bad else None)
        return collector, judged(read, reading, collector, own)

    items = list(zip(said.rows.parts, starts, known.parts(said.sizes), strict=True))
    return collected(cluster, begin, items, rows_to, classifier)


def judged(
    batches: Iterable[pa.RecordBatch], reading: Reading, collector: Collector, known: Known
) -> Iterator[pa.Table]:
    """Put what is known of rows beside their columns; ``known`` begins where the collector is."""
    first, n = collector.start, len(known.codes)
    for rows in batches:
        start = collector.start - first
        own = known.part(start, start + rows.num_rows)
        if len(own.codes) < rows.num_rows:
            raise ValueError(
                f"there were {n:,} rows, and now there are more: was the file changed?"
            )
        if rows.num_rows:
            batch = replace(reading.batch(rows), given=own.codes, start=collector.start)
            yield collector.take(batch, decoded_table(rows), own.share)
    if collector.start - first < n:
        raise ValueError(f"there were {n:,} rows, and now there are fewer: was the file changed?")
