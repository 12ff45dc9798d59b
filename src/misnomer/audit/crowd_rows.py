"""The columns of a crowd's rows, read by batches: what they are, and their compact form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.classifiers.terms import yes_or_no
from misnomer.kernels.blocks import Block
from misnomer.rows import read_like
from misnomer.rows.columns import discover
from misnomer.rows.parts import Part
from misnomer.rows.read import _kinds
from misnomer.rows.scan import Scan
from misnomer.table import Batch, Column, Schema


@dataclass(frozen=True, eq=False)
class Reading:
    """What rows are to be read as; small, so that it can travel to other machines.

    Attributes
    ----------
    schema : Schema or None
        The columns to learn from; None without any.
    skip_bad : bool
        Whether to leave out what cannot be read.
    """

    schema: Schema | None
    skip_bad: bool = False

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
