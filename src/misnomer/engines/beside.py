"""Go over batches together with arrays that have a row for each of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import Any

from numpy.typing import NDArray

from misnomer.table import Batch


class Here:
    """Goes over batches in this process, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from misnomer.table import numbered
    >>> two = list(numbered([Batch((), np.zeros(2, np.int32)), Batch((), np.zeros(1, np.int32))]))
    >>> [own.tolist() for own in Here().each(lambda batch, own: own, two, np.array([5, 6, 7]))]
    [[5, 6], [7]]
    >>> int(Here().total(lambda batch, own: own.sum(), two, np.array([5, 6, 7])))
    18
    """

    def each(
        self, step: Callable[..., Any], batches: Iterable[Batch], *beside: NDArray[Any]
    ) -> Iterator[Any]:
        """Yield ``step(batch, *the batch's rows of the arrays)``."""
        return (stepped(step, batch, 0, beside) for batch in batches)

    def total(
        self, step: Callable[..., Any], batches: Iterable[Batch], *beside: NDArray[Any]
    ) -> Any:
        """Add the same up, from the left."""
        return reduce(add, self.each(step, batches, *beside))


def stepped(
    step: Callable[..., Any], batch: Batch, first: int, beside: tuple[NDArray[Any], ...]
) -> Any:
    """Take a step with a batch and its rows of the arrays, which begin at row ``first`` of all."""
    rows = slice(batch.start - first, batch.start - first + len(batch))
    return step(batch, *(array[rows] for array in beside))
