"""Which rows stand for many: drawn by their number alone, whatever the batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from misnomer.kernels.blocks import Words
from misnomer.solvers.pool_rows import alone, joined
from misnomer.solvers.task import Task
from misnomer.table import Batch, Column, Schema

MOST_ROWS = 10_000  # up to which every row takes part in every choice
MOST_CELLS = 10_000_000  # the same for statistics times classes
SAMPLE = 5_000


def is_large(task: Task) -> bool:
    """Tell whether choices are to be made on a sample."""
    rows, cells = task.extent
    if rows > MOST_ROWS:
        return True
    return rows > SAMPLE and cells * task.channel.n_classes > MOST_CELLS


def drawn(rows: int, size: int) -> NDArray[np.intp]:
    """Draw row numbers, rising; all of them where there are no more.

    Examples
    --------
    >>> drawn(3, 5).tolist(), len(drawn(1000, 10))
    ([0, 1, 2], 10)
    """
    if rows <= size:
        return np.arange(rows)
    return np.sort(np.random.default_rng(rows).choice(rows, size, replace=False))


def taken(batches: Sequence[Batch], rows: NDArray[np.intp]) -> Batch:
    """Collect the rows of these (rising) numbers, by whoever keeps them."""
    keeper: Any = batches
    if hasattr(keeper, "take"):
        found: Batch = keeper.take(rows)
        return found
    parts = []
    for batch in batches:
        first, last = np.searchsorted(rows, (batch.start, batch.start + len(batch)))
        parts.append(batch.take(rows[first:last] - batch.start))
    return joined(parts)


@dataclass(frozen=True, eq=False)
class Named(Sequence[str]):
    """Names of some of the counts of a column, made up when asked for: few of many are.

    Examples
    --------
    >>> Named(Column("word", "count", width=9), np.array([2, 7]))[1]
    'word[7]'
    """

    column: Column
    kept: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self.column.label(int(one)) for one in self.kept[place]]
        return self.column.label(int(self.kept[place]))


def sample(task: Task) -> tuple[Task, NDArray[np.intp], NDArray[np.intp]]:
    """Draw the rows on which explanations compete, and drop the words that no two of them have.

    Returns
    -------
    task : Task
        Of those rows, in one batch.
    place : (n,) array of int
        Their numbers.
    back : (S,) array of int
        The place of each of its statistics among all.
    """
    place = drawn(task.extent[0], SAMPLE)
    batch = taken(task.batches, place)
    blocks, back, columns = list(batch.blocks), [], list(task.schema.columns)
    for at, group in enumerate(task.schema.groups):
        every = np.arange(group.span.start, group.span.stop)
        block = blocks[at]
        if isinstance(block, Words) and len(group.members) == 1:
            times = np.bincount(block.matrix.indices, minlength=block.width)
            seen = np.flatnonzero(times > 1)  # a word of one row teaches the others nothing
            column = columns[group.members[0]]
            words = cast("tuple[str, ...]", Named(column, seen))
            columns[group.members[0]] = replace(column, width=len(seen), words=words)
            blocks[at] = Words(sparse.csr_array(block.matrix[:, seen]))
            every = every[seen]
        back.append(every)
    batch = replace(batch, blocks=tuple(blocks), start=0)
    small = replace(task, schema=Schema(tuple(columns)), batches=[batch], fold=alone)
    return small, place, np.concatenate(back)
