"""Which columns are the same in all lines about a row: told by one number a column.

With h the digest of a cell and r a random number for each line, all modulo 2^64,

    sum over lines r h  -  sum over rows h(first line) (sum of r over the row's lines)

is zero where the lines of each row agree, and by chance elsewhere (about once in 2^60). It is a
sum over lines, so it adds over parts, and nothing is kept of the cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.audit.crowds.gather import Items
from misnomer.rows.parts import Part

Words = NDArray[np.uint64]
_GAP = np.uint64(0x9E3779B97F4A7C15)


def same_columns(
    parts: Sequence[Part], items: Items, columns: Sequence[str], mapped: Any = map
) -> list[str]:
    """Name the columns that say the same in all lines about a row."""
    if not columns:
        return []
    factors = items.of_parts(factors_of(items.item, items.first))
    pairs = list(zip(parts, factors, strict=True))
    total = reduce(add, mapped(partial(_signs, columns=tuple(columns)), pairs))
    return [name for name, sign in zip(columns, total, strict=True) if not sign]


def factors_of(item: NDArray[Any], first: NDArray[np.bool_]) -> Words:
    """Draw the factor of each line's digest, (N,): they add up to zero over each row's lines.

    Examples
    --------
    >>> found = factors_of(np.array([0, 1, 0]), np.array([True, True, False]))
    >>> int(found[1]), int(found[[0, 2]].sum())
    (0, 0)
    """
    drawn = np.random.default_rng(0).integers(0, 2**64, len(item), dtype=np.uint64)
    total = np.zeros(int(first.sum()), np.uint64)
    np.add.at(total, item, drawn)
    drawn[first] -= total[item[first]]
    return drawn


def _signs(pair: tuple[Part, Words], columns: tuple[str, ...]) -> Words:
    part, factor = pair
    out, start = np.zeros(len(columns), np.uint64), 0
    for lines in part.batches(columns):
        own = factor[start : start + lines.num_rows]
        start += lines.num_rows
        out += np.array([(digests(cells) * own).sum() for cells in lines.columns], np.uint64)
    return out


def digests(cells: Any) -> Words:
    """Digest each cell into 64 bits, the same on every machine; equal cells are equal.

    Examples
    --------
    >>> a, b, c = digests(pa.array(["x", "y", "x"]))
    >>> bool(a == c), bool(a == b), bool(digests(pa.array(["x"]).dictionary_encode())[0] == a)
    (True, False, True)
    """
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        cells = cells.dictionary_encode()  # each word is digested once
    if not pa.types.is_dictionary(cells.type):
        return np.where(np.asarray(cells.is_null()), _GAP, _of_values(cells))
    known = np.append(_of_values(cells.dictionary), _GAP)
    at = pc.fill_null(cells.indices, len(known) - 1).to_numpy(zero_copy_only=False)
    return np.asarray(known[at], np.uint64)


def _of_values(values: Any) -> Words:
    kind = values.type
    if pa.types.is_floating(kind):
        real = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        return mixed(np.where(np.isnan(real), np.nan, real).view(np.uint64))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        whole = values.fill_null(0 if pa.types.is_integer(kind) else False)
        return mixed(whole.to_numpy(zero_copy_only=False).astype(np.uint64))
    return np.array([_digest(value) for value in values.to_pylist()], np.uint64)


def _digest(value: Any) -> int:
    said = value if isinstance(value, str) else repr(value)
    return int.from_bytes(hashlib.blake2b(said.encode(), digest_size=8).digest(), "little")


def mixed(bits: Words) -> Words:
    """Stir 64 bits so that each depends on all; different ones stay different."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
