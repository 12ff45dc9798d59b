"""A column whose cells are lists of numbers (an embedding) -> a column of reals per dimension.

The length of an embedding says little, its direction much: rows are brought to length one. A list
of a handful of numbers is a point, whose length says something: it is left as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.rows.columns.plain import unchunked

MIN_DIRECTION = 8  # numbers in a cell from which on the direction alone is kept

Array = NDArray[np.float64]


def is_embedding(kind: pa.DataType) -> bool:
    """Tell lists of numbers from everything else.

    Examples
    --------
    >>> is_embedding(pa.list_(pa.float32())), is_embedding(pa.list_(pa.string()))
    (True, False)
    """
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(test(kind) for test in lists):
        return False
    inner = kind.value_type
    return bool(pa.types.is_floating(inner) or pa.types.is_integer(inner))


def dimensions(name: str, values: Any) -> dict[str, pa.Array]:
    """Split an embedding into its dimensions, named ``name[0]``, ``name[1]``, ...

    A missing cell is missing in every dimension.

    Examples
    --------
    >>> {k: v.to_pylist() for k, v in dimensions("e", pa.array([[1.0, 2.0], None])).items()}
    {'e[0]': [1.0, None], 'e[1]': [2.0, None]}
    """
    matrix = _matrix(name, unchunked(values))
    if matrix.shape[1] >= MIN_DIRECTION:
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
        matrix = matrix / np.where(length > 0, length, 1.0)
    return {
        f"{name}[{j}]": pa.array(np.ascontiguousarray(matrix[:, j]), from_pandas=True)
        for j in range(matrix.shape[1])
    }


def _matrix(name: str, values: pa.Array) -> Array:
    """Lay the lists out, (n, d); a missing list is a row of NaN."""
    seen = np.flatnonzero(np.asarray(pc.is_valid(values)))
    there = values.take(pa.array(seen))
    sizes = np.asarray(pc.list_value_length(there))
    if not len(sizes):
        return np.zeros((len(values), 0))
    odd = np.flatnonzero(sizes != sizes[0])
    if len(odd):
        raise ValueError(
            f"column {name!r} holds lists of different lengths: {sizes[0]} numbers in row "
            f"{seen[0]}, {sizes[odd[0]]} in row {seen[odd[0]]}; an embedding has as many in each"
        )
    flat = pc.list_flatten(there).cast(pa.float64())
    numbers = np.asarray(pc.fill_null(flat, float("nan")))
    if np.isinf(numbers).any():
        row = seen[int(np.isinf(numbers).argmax()) // int(sizes[0])]
        raise ValueError(f"column {name!r} holds infinity in row {row}: replace it by a number")
    matrix = np.full((len(values), int(sizes[0])), np.nan)
    matrix[seen] = numbers.reshape(len(seen), -1)
    return matrix
