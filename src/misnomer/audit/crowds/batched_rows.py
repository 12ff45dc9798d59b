"""The columns of a crowd's rows, by batches: what they are, what they take, what is known."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.answers import Answers
from misnomer.audit.batches.collector import Begun, Collector, Judging
from misnomer.audit.crowds.reading import Gathered
from misnomer.audit.request import bytes_of
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.streaming import yes_or_no
from misnomer.kernels.blocks import Block
from misnomer.rows import read_like
from misnomer.rows.columns import discover
from misnomer.rows.parts import Part, decoded_table
from misnomer.rows.read import _kinds
from misnomer.rows.scan import Scan
from misnomer.table import Batch, CheckedRows, Column, Schema


@dataclass(frozen=True, eq=False)
class Reading:
    """What rows are to be read as; small, so that it can travel to other machines."""

    schema: Schema | None  # the columns to learn from; None without any
    skip_bad: bool = False  # whether to leave out what cannot be read

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that must be read."""
        columns = () if self.schema is None else self.schema.columns
        return tuple(column for column in columns if column.kind != "ignored")

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """Put some rows into compact form."""
        names = [column.name for column in self.used]
        blocks: tuple[Block, ...] = ()
        if self.schema is not None and names:
            table = pa.table(rows.select(names).columns, names=names)
            blocks = read_like(table, replace(self.schema, columns=self.used))
        return Batch(blocks, np.zeros(rows.num_rows, np.int32))

    def batches(self, part: Part) -> Iterator[Batch]:
        """Put the rows of a part into compact form, batch by batch."""
        names = [column.name for column in self.used]
        for rows in part.batches(names, [] if self.skip_bad else None):
            if rows.num_rows:
                yield self.batch(rows)


def understood(
    rows: Scan, apart: Sequence[str], families: Any, *, skip_bad: bool, mapped: Any
) -> tuple[Reading, list[str]]:
    """Look at all rows once: what their columns are, and which ones only number the rows."""
    names = [name for name in rows.names if name not in apart]
    kinds = dict(zip(names, _kinds(families, names), strict=True))
    if not names:
        return Reading(None, skip_bad), []
    looked = discover.discover(rows.parts, kinds, skip_bad=skip_bad, mapped=mapped)
    if not looked.rows:
        raise ValueError("the table has no rows")
    numbers = [name for name in names if looked.numbering(name)]
    kept = [name for name in names if name not in numbers]
    columns = tuple(discover.column(looked, name, kinds[name]) for name in kept)
    notes = [f"column {name!r} only numbers the rows: it is ignored" for name in numbers]
    return Reading(Schema(columns) if columns else None, skip_bad), notes


def trusted_rows(rows: Scan, name: str, *, skip_bad: bool, mapped: Any) -> NDArray[np.bool_]:
    """Read which rows are known to be right, (n,)."""
    found = mapped(partial(_flags, name=name, skip_bad=skip_bad), rows.parts)
    return np.concatenate(list(found))


def _flags(part: Part, name: str, skip_bad: bool) -> NDArray[np.bool_]:
    read = part.batches([name], [] if skip_bad else None)
    return np.concatenate([np.zeros(0, bool), *(yes_or_no(one.column(0), name) for one in read)])


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of some rows: their evidence codes, (n,), and P(true class), (n, K).

    ``checked`` are the rows of all that a person was asked about.
    """

    codes: NDArray[np.int32]
    share: Array
    checked: CheckedRows | None = None

    def part(self, first: int, last: int) -> Known:
        """Take some rows that follow one another."""
        return Known(self.codes[first:last], self.share[first:last], self.checked)

    def parts(self, sizes: list[int]) -> list[Known]:
        """Split them into parts of so many rows."""
        return [self.part(*span) for span in pairwise(np.cumsum([0, *sizes]).tolist())]


def judging(
    said: Gathered, reading: Reading, classifier: NoisyLabelEstimator, known: Known
) -> Judging:
    """Judge rows of several labels each, by what is known of them."""
    start = partial(begin, reading, len(known.codes))
    return Judging(said.rows, classifier, start, known, reading.skip_bad)


def begin(
    reading: Reading,
    n: int,
    batches: Iterable[pa.RecordBatch],
    start: int,
    classifier: NoisyLabelEstimator,
    known: Known,
) -> Begun:
    """Begin to judge rows, the first of which is number ``start`` of n."""
    collector = Collector(classifier, n, start, checked=known.checked)
    return collector, judged(batches, reading, collector, known)


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


# Bytes at most, measured: for a row and a class while the search runs (a dozen numbers), for an
# answer while classes and characters are drawn, for a cell of somebody's channel.
_CELL, _ANSWER, _CHANNEL = 100, 100, 64


def room_of(answers: Answers) -> int:
    """Estimate how many bytes learning from the answers takes, the columns apart."""
    n, K = answers.n_rows, answers.n_labels
    return _CELL * n * K + _ANSWER * len(answers) + _CHANNEL * answers.n_annotators * K * K


def check_room(answers: Answers, memory: str | int | None, used: int = 0) -> int:
    """Refuse answers that do not fit; return how many bytes they take.

    The cap is what the user said, ``used`` of it before; else what the machine has left.
    """
    needed = room_of(answers)
    most = _free() + used if memory is None else bytes_of(memory)
    if needed + used > most:
        raise ValueError(
            f"{len(answers):,} answers about {answers.n_rows:,} rows of {answers.n_labels} classes "
            f"take about {_written(needed + used)}, which is more than {_written(most)}: allow "
            "more with memory=, or take a sample of whole rows"
        )
    return needed


def _free() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 << 30


def _written(size: int) -> str:
    """Write an amount of memory.

    Examples
    --------
    >>> _written(1_500_000_000), _written(20_000_000)
    ('1.5GB', '20MB')
    """
    return f"{size / 1e9:.1f}GB" if size >= 10**9 else f"{size / 1e6:.0f}MB"
