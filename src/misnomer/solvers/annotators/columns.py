"""What the columns say of each row, as whoever compares annotators asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from misnomer.model import Model
from misnomer.table import Batch

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Word:
    """The columns' word."""

    # (n, K): ``log P(true class | columns) / P(true class)`` of every row, learned without the row
    scores: Array
    model: Model  # classifies rows by their columns; its channel says nothing


class Columns(Protocol):
    """The columns of the rows, wherever the rows are."""

    def learned(self, likelihood: Array, truth: NDArray[np.int32] | None) -> Word:
        """Learn the classes from the columns.

        Parameters
        ----------
        likelihood : (n, K) array
            P(what was said of the row | true class), each row up to a factor.
        truth : (n,) array of int, optional
            The true class where it is known, -1 elsewhere.
        """
        ...


class Passes(Protocol):
    """Who goes over batches with arrays beside them, whose rows are those of the batches."""

    def each(
        self, step: Callable[..., Any], batches: Sequence[Batch], *beside: NDArray[Any]
    ) -> Iterator[Any]:
        """Yield ``step(batch, *the batch's rows of the arrays)``, in the batches' order."""
        ...
