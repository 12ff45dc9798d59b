"""Every second row of all batches, cut where the batches are, when a pass asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from misnomer.table import Batch, Fold


@dataclass(frozen=True, eq=False)
class Half:
    """Who adds over the rows with even (0) or odd (1) numbers alone.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Batch((), np.arange(5, dtype=np.int32), start=1)
    >>> Half(lambda step, batches: step(batches[0]), 0)(lambda b: b.given.tolist(), [rows])
    [1, 3]
    """

    fold: Fold[Any]
    which: int

    def __call__(self, step: Callable[[Batch], Any], batches: Iterable[Batch]) -> Any:
        """Add the step over half of the rows."""
        return self.fold(_Halved(step, self.which), batches)


@dataclass(frozen=True, eq=False)
class _Halved:
    step: Callable[[Batch], Any]
    which: int

    def __call__(self, batch: Batch) -> Any:
        return self.step(batch.take(slice((self.which - batch.start) % 2, None, 2)))
