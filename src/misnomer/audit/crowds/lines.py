"""Which columns of a table with a line per answer say the same in all lines about a row.

They describe the row. Lines about one row may lie anywhere in a file: what a cell says is digested
into 64 bits, each line's digest is multiplied by a factor, and the factors of a row's lines add up
to zero. So do the products, where all of its lines say the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.rows.parts import Part, PartView

Words = NDArray[np.uint64]
_GAP = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a table with a line per answer."""

    row: NDArray[Any]  # (N,): the row that each line is about; rows are numbered as they appear
    sizes: list[int]  # how many lines each part has

    @cached_property
    def first(self) -> NDArray[np.bool_]:
        """Whether a line is the first about its row, (N,)."""
        out = np.zeros(len(self.row), bool)
        out[np.unique(self.row, return_index=True)[1]] = True
        return out

    def of_parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split what is known of each line by the parts that the lines are in."""
        return np.split(values, np.cumsum(self.sizes)[:-1])


@dataclass(frozen=True, eq=False)
class FirstLines(PartView):
    """Of a part with a line per answer, the first line about each row."""

    first: NDArray[np.bool_]

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, only these columns."""
        start = 0
        for lines in self.part.batches(columns, bad):
            kept = self.first[start : start + lines.num_rows]
            start += lines.num_rows
            yield lines if kept.all() else lines.filter(pa.array(kept))


def same_columns(
    parts: Sequence[Part], lines: Lines, columns: Sequence[str], mapped: Any = map
) -> list[str]:
    """Name the columns that say the same in all lines about a row."""
    if not columns:
        return []
    pairs = list(zip(parts, lines.of_parts(factors_of(lines.row, lines.first)), strict=True))
    total = reduce(add, mapped(partial(_signs, columns=tuple(columns)), pairs))
    return [name for name, sign in zip(columns, total, strict=True) if not sign]


def factors_of(row: NDArray[Any], first: NDArray[np.bool_]) -> Words:
    """Draw the factor of each line's digest, (N,): they add up to zero over each row's lines.

    Examples
    --------
    >>> factors = factors_of(np.array([0, 1, 0]), np.array([True, True, False]))
    >>> int(factors[1]), int(factors[[0, 2]].sum())
    (0, 0)
    """
    drawn = np.random.default_rng(0).integers(0, 2**64, len(row), dtype=np.uint64)
    total = np.zeros(int(first.sum()), np.uint64)
    np.add.at(total, row, drawn)
    drawn[first] -= total[row[first]]
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
