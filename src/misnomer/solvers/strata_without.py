"""The same rows without one of their columns, and weights put back in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Block, Codes, Flags
from misnomer.solvers.strata_columns import Variable
from misnomer.table import Batch, Schema

Array = NDArray[np.float64]


def without(schema: Schema, batch: Batch, one: Variable) -> tuple[Schema, Batch]:
    """Leave a column of categories or flags out, which may not be the only one.

    Examples
    --------
    >>> from misnomer.table import Column
    >>> schema = Schema(tuple(Column(name, "categorical", (0, 1)) for name in "ab"))
    >>> rows = Batch((Codes(np.array([[0, 1]], np.uint8), (2, 2)),), np.zeros(1, np.int32))
    >>> left, rows = without(schema, rows, Variable("a", 0, 0, (0, 1), (), ("", "", "")))
    >>> left.statistics, rows.blocks[0].codes.tolist()
    (2, [[1]])
    """
    blocks = list(batch.blocks)
    rest = _thinner(blocks[one.block], one.place)
    blocks[one.block : one.block + 1] = [] if rest is None else [rest]
    return schema_without(schema, one), replace(batch, blocks=tuple(blocks))


def schema_without(schema: Schema, one: Variable) -> Schema:
    """Ignore a column."""
    member = schema.groups[one.block].members[one.place]
    columns = list(schema.columns)
    columns[member] = replace(columns[member], kind="ignored")
    return Schema(tuple(columns))


def _thinner(block: Block, place: int) -> Block | None:
    """Drop a column of a block; None where nothing is left."""
    if isinstance(block, Codes):
        kept = [j for j in range(len(block.sizes)) if j != place]
        sizes = tuple(block.sizes[j] for j in kept)
        return Codes(np.ascontiguousarray(block.codes[:, kept]), sizes) if kept else None
    assert isinstance(block, Flags)
    kept = [j for j in range(block.columns) if j != place]
    if not kept:
        return None
    bits = _packed(block.bits, block.columns, kept)
    seen = None if block.observed is None else _packed(block.observed, block.columns, kept)
    return Flags(bits, seen, len(kept))


def _packed(bits: NDArray[np.uint8], columns: int, kept: list[int]) -> NDArray[np.uint8]:
    wide = np.unpackbits(bits, axis=1, count=columns, bitorder="little")
    return np.packbits(wide[:, kept], axis=1, bitorder="little")


def own_statistics(schema: Schema, one: Variable) -> NDArray[np.intp]:
    """Find the statistics of a column among all."""
    group = schema.groups[one.block]
    return np.asarray(group.span.start + np.flatnonzero(group.family.owner == one.place))


def put_back(schema: Schema, one: Variable, weights: Array, ratio: Array) -> Array:
    """Write weights of the other columns, (K, S'), among all, (K, S), the column's own beside them.

    Its value speaks for a class by ``log ratio``, the ratio (strata, K) of class shares.
    """
    group = schema.groups[one.block]
    own = own_statistics(schema, one)
    rest = np.setdiff1d(np.arange(schema.statistics), own)
    out = np.zeros((len(weights), schema.statistics))
    out[:, rest] = weights
    said = np.log(np.maximum(ratio[list(one.lookup)], 1e-300)).T  # (K, values)
    if group.kind == "bernoulli":
        out[:, own] = np.column_stack([said[:, 0], said[:, 1] - said[:, 0]])
    else:
        out[:, own] = said
    return out
