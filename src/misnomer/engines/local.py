"""Go over batches in this process, in their order; arrays may go along, row for row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

from numpy.typing import NDArray

from misnomer.table import Batch


def fold(step: Callable[..., Any], batches: Iterable[Batch], *aligned: NDArray[Any]) -> Any:
    """Compute ``step(b1) + step(b2) + ...``, from the left.

    Examples
    --------
    >>> import numpy as np
    >>> from misnomer.table import numbered
    >>> two = list(numbered([Batch((), np.zeros(2, np.int32)), Batch((), np.zeros(1, np.int32))]))
    >>> fold(len, two)
    3
    >>> int(fold(lambda batch, own: own.sum(), two, np.array([5, 6, 7])))
    18
    """
    return reduce(add, each(step, batches, *aligned))


def each(
    step: Callable[..., Any], batches: Iterable[Batch], *aligned: NDArray[Any]
) -> Iterator[Any]:
    """Yield ``step(batch, *the batch's rows of the arrays)``.

    Examples
    --------
    >>> import numpy as np
    >>> from misnomer.table import numbered
    >>> two = list(numbered([Batch((), np.zeros(2, np.int32)), Batch((), np.zeros(1, np.int32))]))
    >>> [own.tolist() for own in each(lambda batch, own: own, two, np.array([5, 6, 7]))]
    [[5, 6], [7]]
    """
    if not aligned:
        return map(step, batches)
    return (stepped(step, batch, 0, aligned) for batch in batches)


def stepped(
    step: Callable[..., Any], batch: Batch, first: int, aligned: tuple[NDArray[Any], ...]
) -> Any:
    """Take a step with a batch and its rows of the arrays, which begin at row ``first`` of all."""
    rows = slice(batch.start - first, batch.start - first + len(batch))
    return step(batch, *(array[rows] for array in aligned))
