"""Every second row of all batches, cut when a pass asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from misnomer.solvers.pool_sample import numbered
from misnomer.table import Batch


@dataclass(frozen=True, eq=False)
class Half(Sequence[Batch]):
    """The rows with even (0) or odd (1) numbers."""

    batches: Sequence[Batch]
    which: int

    def __len__(self) -> int:
        return len(self.batches)

    @overload
    def __getitem__(self, place: int) -> Batch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Batch]: ...
    def __getitem__(self, place: int | slice) -> Batch | Sequence[Batch]:
        """Cut a batch when it is asked for."""
        halves = list(self)
        return halves[place]

    def __iter__(self) -> Iterator[Batch]:
        """Cut the batches one by one."""
        for start, batch in numbered(self.batches):
            yield batch.take(slice((self.which - start) % 2, None, 2))
