"""Which rows stand for many: drawn by their number alone, whatever the batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Words
from misnomer.solvers.pool_rows import joined
from misnomer.solvers.task import Task
from misnomer.table import Batch

MOST_ROWS = 20_000  # up to which every row takes part in every choice
MOST_CELLS = 40_000_000  # the same for statistics times classes
SAMPLE = 5_000


def is_large(task: Task) -> bool:
    """Tell whether choices are to be made on a sample."""
    rows = sum(len(batch) for batch in task.batches)
    if rows > MOST_ROWS:
        return True
    cells = sum(_cells(batch) for batch in task.batches)
    return rows > SAMPLE and cells * task.channel.n_classes > MOST_CELLS


def _cells(batch: Batch) -> int:
    return sum(
        block.matrix.nnz if isinstance(block, Words) else block.rows * block.width
        for block in batch.blocks
    )


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


def numbered(batches: Sequence[Batch]) -> Iterator[tuple[int, Batch]]:
    """Go through the batches; each comes with the number of its first row."""
    start = 0
    for batch in batches:
        yield start, batch
        start += len(batch)


def taken(batches: Sequence[Batch], rows: NDArray[np.intp]) -> Batch:
    """Collect the rows of these (rising) numbers."""
    parts = []
    for start, batch in numbered(batches):
        first, last = np.searchsorted(rows, (start, start + len(batch)))
        parts.append(batch.take(rows[first:last] - start))
    return joined(parts)


def sample(task: Task) -> tuple[Batch, NDArray[np.intp]]:
    """Draw the rows on which explanations compete; and their numbers."""
    place = drawn(sum(len(batch) for batch in task.batches), SAMPLE)
    return taken(task.batches, place), place
