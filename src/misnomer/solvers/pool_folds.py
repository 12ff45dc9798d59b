"""Which rows are scored without each other: folds that depend on the rows, not on their order.

Rows are put in order of their label and of a key made of their cells, and dealt out in turn. So
every fold holds its share of each label, the same rows always make the same folds, and a row that
stands there three times is treated like one of weight three.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Array, Block, Codes, Flags, Reals
from misnomer.table import Batch

Fold = NDArray[np.intp]

_FEW = 300  # rows below which ten folds are dealt
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def how_many(rows: float) -> int:
    """Take ten folds of few rows, five of many.

    Examples
    --------
    >>> how_many(100), how_many(1000)
    (10, 5)
    """
    return 10 if rows < _FEW else 5


def row_key(batch: Batch) -> Array:
    """Mix the cells of each row into one number in [0, 1), whatever the other rows are, (n,).

    Examples
    --------
    >>> codes = Codes(np.array([[0, 1], [1, 0], [0, 1]], np.uint8), (2, 2))
    >>> a, b, c = row_key(Batch((codes,), np.zeros(3, np.int32)))
    >>> bool(a == c), bool(a == b)
    (True, False)
    """
    total = np.zeros(len(batch))
    for place, block in enumerate(batch.blocks):
        total += _mixed(block, np.random.default_rng(place))
    return (total * _GOLDEN * 1e3) % 1.0


def deal(label: NDArray[np.integer], key: Array, folds: int) -> Fold:
    """Deal rows out over the folds in order of label and key, (n,).

    Examples
    --------
    >>> deal(np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.1, 0.2]), 2).tolist()
    [0, 1, 0, 1]
    """
    order = np.lexsort((key, label))
    fold = np.empty(len(label), np.intp)
    fold[order] = np.arange(len(label)) % folds
    return fold


def _mixed(block: Block, rng: np.random.Generator) -> Array:
    if isinstance(block, Codes):
        values = block.codes.astype(np.float64)
    elif isinstance(block, Flags):
        bits = block.bits if block.observed is None else block.bits & block.observed
        values = bits.astype(np.float64)
    elif isinstance(block, Reals):
        values = np.nan_to_num(block.values.astype(np.float64), nan=-7.0)
        values = values / (np.abs(values) + 1.0)
    else:
        return np.asarray(block.matrix @ rng.random(block.width), np.float64)
    # column by column: a product would round equal rows differently
    total = np.zeros(len(values))
    marks = rng.random(int(values.shape[1]))
    for j in range(len(marks)):
        total += marks[j] * values[:, j]
    return total
