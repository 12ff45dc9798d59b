"""Go over batches on a cluster: each part is sent its rows of the arrays, and sends back little."""

# mypy: disable-error-code="attr-defined, import-untyped, no-untyped-call, type-arg, unused-ignore"

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import add
from typing import Any

import dask
from distributed import Future
from numpy.typing import NDArray

from misnomer.engines.beside import stepped
from misnomer.engines.dask import LARGE, Cluster, _Nothing
from misnomer.table import Batch

Step = Callable[..., Any]
Arrays = tuple[NDArray[Any], ...]


class There:
    """Goes over the batches that the workers of a cluster keep."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def each(self, step: Step, batches: Any, *beside: NDArray[Any]) -> Iterator[Any]:
        """Yield ``step(batch, *the batch's rows of the arrays)``, in the batches' order."""
        for future in self._parts(_each, step, batches, beside):
            yield from future.result()

    def total(self, step: Step, batches: Any, *beside: NDArray[Any]) -> Any:
        """Add the same up, in a tree whose shape depends on the number of parts alone."""
        return self.cluster.added(self._parts(_total, step, batches, beside))

    def _parts(self, function: Step, step: Step, batches: Any, beside: Arrays) -> list[Future]:
        spans = batches.spans
        pieces = [tuple(array[first:last] for array in beside) for first, last in spans]
        firsts = [first for first, _ in spans]
        with dask.config.set(LARGE):
            return list(
                self.cluster.client.map(
                    function, batches.futures, firsts, pieces,
                    step=self.cluster._sent(step), pure=False,
                )
            )  # fmt: skip


def _each(batches: list[Batch], first: int, beside: Arrays, step: Step) -> list[Any]:
    return [stepped(step, batch, first, beside) for batch in batches]


def _total(batches: list[Batch], first: int, beside: Arrays, step: Step) -> Any:
    found = _each(batches, first, beside, step)
    return reduce(add, found) if found else _Nothing()
