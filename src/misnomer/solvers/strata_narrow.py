"""All rows without one of their columns, cut where the rows are, when a pass asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from misnomer.solvers.pool_sample import taken
from misnomer.solvers.strata_columns import Variable
from misnomer.solvers.strata_without import schema_without, without
from misnomer.table import Batch, Fold, Schema


@dataclass(frozen=True, eq=False)
class Cut:
    """Leaves a column out of a batch."""

    schema: Schema
    column: Variable

    def __call__(self, batch: Batch) -> Batch:
        """Leave it out."""
        return without(self.schema, batch, self.column)[1]

    @property
    def left(self) -> Schema:
        """The other columns."""
        return schema_without(self.schema, self.column)


@dataclass(frozen=True, eq=False)
class Narrowed(Sequence[Batch]):
    """Batches that are elsewhere, each cut when it is asked for."""

    batches: Sequence[Batch]
    cut: Cut

    def __len__(self) -> int:
        return len(self.batches)

    @overload
    def __getitem__(self, place: int) -> Batch: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Batch]: ...
    def __getitem__(self, place: int | slice) -> Batch | Sequence[Batch]:
        """Cut a batch."""
        if isinstance(place, slice):
            return [self.cut(batch) for batch in self.batches[place]]
        return self.cut(self.batches[place])

    def __iter__(self) -> Iterator[Batch]:
        """Cut the batches one by one."""
        return map(self.cut, self.batches)

    def take(self, rows: NDArray[np.intp]) -> Batch:
        """Collect rows by their numbers, and cut them."""
        return self.cut(taken(self.batches, rows))


@dataclass(frozen=True, eq=False)
class NarrowFold:
    """Who adds over such batches: where they are, before they are cut."""

    fold: Fold[Any]
    cut: Cut

    def __call__(self, step: Callable[[Batch], Any], rows: Any) -> Any:
        """Add the step over all batches without the column."""
        return self.fold(_Cutting(step, self.cut), rows.batches)


@dataclass(frozen=True, eq=False)
class _Cutting:
    step: Callable[[Batch], Any]
    cut: Cut

    def __call__(self, batch: Batch) -> Any:
        return self.step(self.cut(batch))
