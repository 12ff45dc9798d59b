"""Add over batches that are in memory, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add
from typing import TypeVar

from misnomer.table import Batch

Sum = TypeVar("Sum")


def fold(step: Callable[[Batch], Sum], batches: Iterable[Batch]) -> Sum:
    """Compute ``step(b1) + step(b2) + ...``, from the left.

    Examples
    --------
    >>> import numpy as np
    >>> batch = Batch((), np.zeros(3, np.int32))
    >>> fold(len, [batch, batch])
    6
    """
    return reduce(add, map(step, batches))
