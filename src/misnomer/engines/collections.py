"""Dask collections taken apart into their partitions, and put together again."""

# mypy: disable-error-code="attr-defined, import-untyped, no-untyped-call, type-arg, unused-ignore"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask
from dask.delayed import Delayed


def pieces(data: Any, y: Any = None) -> list[Delayed]:
    """Split a data frame, a bag of Arrow tables or an array into its partitions.

    An array's rows may be split, its columns are joined; its labels ``y`` go with its rows.
    """
    if not hasattr(data, "rechunk"):
        found: list[Delayed] = data.to_delayed()
        return found
    if data.ndim != 2 or y is None:
        raise ValueError("a Dask array needs two dimensions, and its labels in a second array")
    data = data.rechunk({1: -1})
    blocks, labels = data.to_delayed().ravel(), y.rechunk((data.chunks[0],)).to_delayed().ravel()
    return [then(_paired, block, label) for block, label in zip(blocks, labels, strict=True)]


def then(function: Callable[..., Any], *items: Any) -> Delayed:
    """Plan a call; a planned argument is there when the call is made."""
    planned: Delayed = dask.delayed(function, pure=False)(*items)
    return planned


def _paired(block: Any, label: Any) -> tuple[Any, Any]:
    return block, label


def lazily(frame: Any, function: Callable[[Any, int], Any], meta: Any) -> Any:
    """Apply a function to every partition of a data frame and the number of its first row.

    Nothing is computed before somebody asks; each partition then counts those before it.
    """
    sizes = [dask.delayed(len)(part) for part in frame.to_delayed()]
    starts = [dask.delayed(sum)(sizes[:place]) for place in range(len(sizes))]
    return lazily_beside(frame, function, starts, meta)


def lazily_beside(
    frame: Any, function: Callable[[Any, Any], Any], beside: Sequence[Any], meta: Any
) -> Any:
    """Apply a function to every partition of a data frame and to what belongs to it."""
    import dask.dataframe as dd

    pairs = zip(frame.to_delayed(), beside, strict=True)
    planned = [dask.delayed(function)(*pair) for pair in pairs]
    return dd.from_delayed(planned, meta=meta, divisions=frame.divisions)
