"""Columns as strata: the values of a category, bins of a number, and the rows without either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels.blocks import Block, Codes, Flags, Reals
from misnomer.table import Batch, Column, Schema

Array = NDArray[np.float64]
Strata = NDArray[np.intp]

MOST = 500  # columns that are looked at
_BINS = 4  # of a number
_VALUES = 12  # of a category; the rarest share a stratum
_NAMED = 3  # values that a sentence names
_CHOSEN_BY = 2_000  # rows whose quantiles are the ends of the bins


@dataclass(frozen=True)
class Variable:
    """A column whose values sort rows into strata; the last stratum is of missing cells.

    Attributes
    ----------
    name : str
        Of the column.
    block, place : int
        Where its cells are in a batch.
    lookup : tuple of int
        The stratum of each category; empty for numbers.
    edges : tuple of float
        The upper ends of all bins but the last; empty for categories.
    words : tuple of str
        What each stratum is, such as "ward = B".
    """

    name: str
    block: int
    place: int
    lookup: tuple[int, ...]
    edges: tuple[float, ...]
    words: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many strata there are."""
        return len(self.words)

    def codes(self, batch: Batch) -> Strata:
        """Sort the rows of a batch, (n,)."""
        return self.sorted_in(cells(batch.blocks[self.block], self.place))

    def sorted_in(self, values: Array) -> Strata:
        """Sort cells into strata, (n,); NaN is missing."""
        there = ~np.isnan(values)
        out = np.full(len(values), self.count - 1, np.intp)
        if self.lookup:
            out[there] = np.array(self.lookup, np.intp)[values[there].astype(np.intp)]
        else:
            out[there] = np.searchsorted(np.array(self.edges), values[there])
        return out

    def where(self, strata: Sequence[int]) -> str:
        """Put some of the strata into words; neighboring bins are joined.

        Examples
        --------
        >>> age = Variable("age", 0, 0, (), (30.0, 60.0), ("a", "b", "c", "age is missing"))
        >>> age.where([1, 2]), age.where([0, 2])
        ('age > 30', 'age <= 30 or age > 60')
        """
        if self.lookup:
            said = [self.words[one] for one in strata]
            return " or ".join(said) if len(said) <= _NAMED else f"{', '.join(said[:_NAMED])}..."
        ends = [-np.inf, *self.edges, np.inf]
        runs: list[list[int]] = []
        for one in (one for one in strata if one < self.count - 1):
            if runs and runs[-1][1] == one:
                runs[-1][1] = one + 1
            else:
                runs.append([one, one + 1])
        said = [_between(self.name, ends[low], ends[high]) for low, high in runs]
        return " or ".join([*said, *([self.words[-1]] if self.count - 1 in strata else [])])


@dataclass(frozen=True)
class Members:
    """Groups that were named beforehand: the rows of a batch bring their numbers along.

    Attributes
    ----------
    name : str
        What the groups are called.
    count : int
        How many groups there are, and one more for rows without any.

    Examples
    --------
    >>> rows = Batch((), np.zeros(3, np.int32), group=np.array([1, -1, 0], np.int32))
    >>> Members("site", 3).codes(rows).tolist()
    [1, 2, 0]
    """

    name: str
    count: int

    def codes(self, batch: Batch) -> Strata:
        """Sort the rows of a batch, (n,)."""
        if batch.group is None:
            return np.full(len(batch), self.count - 1, np.intp)
        return np.where(batch.group < 0, self.count - 1, batch.group).astype(np.intp)


def _between(name: str, low: float, high: float) -> str:
    if np.isinf(low):
        return f"{name} <= {high:.4g}"
    return f"{name} > {low:.4g}" if np.isinf(high) else f"{low:.4g} < {name} <= {high:.4g}"


def cells(block: Block, place: int) -> Array:
    """Read one column of a block as numbers, (n,): categories as their codes, NaN where missing.

    Examples
    --------
    >>> cells(Codes(np.array([[1], [2]], np.uint8), (2,)), 0).tolist()
    [1.0, nan]
    """
    if isinstance(block, Codes):
        codes = block.codes[:, place].astype(np.float64)
        return np.where(codes < block.sizes[place], codes, np.nan)
    if isinstance(block, Flags):
        bits = _bit(block.bits, place)
        return (
            bits if block.observed is None else np.where(_bit(block.observed, place), bits, np.nan)
        )
    if isinstance(block, Reals):
        return block.values[:, place].astype(np.float64)
    return np.asarray(block.matrix[:, [place]].toarray(), np.float64)[:, 0]


def _bit(bytes_: NDArray[np.uint8], place: int) -> Array:
    return ((bytes_[:, place // 8] >> (place % 8)) & 1).astype(np.float64)


def variables(schema: Schema, batch: Batch) -> list[tuple[Variable, Strata]]:
    """List the columns that can be strata, each with the strata of the rows of a batch.

    Texts cannot, nor sparse matrices, nor a column that is the same in all rows.
    """
    found: list[tuple[Variable, Strata]] = []
    for at, group in enumerate(schema.groups):
        columns = [schema.columns[member] for member in group.members]
        if group.kind == "text" or any(column.width > 1 for column in columns):
            continue
        for place, column in enumerate(columns[:MOST]):
            one = _variable(column, at, place, cells(batch.blocks[at], place))
            if one is not None:
                found.append((one, one.codes(batch)))
    return found[:MOST]


def _variable(column: Column, block: int, place: int, values: Array) -> Variable | None:
    there = values[~np.isnan(values)]
    if not len(there) or (there == there[0]).all():
        return None
    missing = f"{column.name} is missing"
    if column.kind in ("categorical", "bernoulli"):
        lookup, words = _by_value(column, there)
        return Variable(column.name, block, place, lookup, (), (*words, missing))
    edges = _ends(there)
    return Variable(column.name, block, place, (), edges, (*_bins(column.name, edges), missing))


def _by_value(column: Column, there: Array) -> tuple[tuple[int, ...], list[str]]:
    """Give each frequent value a stratum; the others share one."""
    names = column.categories or (0, 1)
    often = np.bincount(there.astype(np.intp), minlength=len(names))
    kept = np.argsort(-often, kind="stable")[: len(names) if len(names) <= _VALUES else _VALUES - 1]
    lookup = np.full(len(names), len(kept), np.intp)
    kept = np.sort(kept)
    lookup[kept] = np.arange(len(kept))
    words = [f"{column.name} = {names[one]!s}" for one in kept.tolist()]
    if len(kept) < len(names):
        words.append(f"{column.name} is another value")
    return tuple(lookup.tolist()), words


def _ends(there: Array) -> tuple[float, ...]:
    """Take quartiles as the upper ends of bins; equal ones, and the largest value, end none."""
    some = np.sort(there[:: -(-len(there) // _CHOSEN_BY)])
    ends = np.unique(some[(np.arange(1, _BINS) * len(some)) // _BINS - 1])
    return tuple(float(end) for end in ends if end < some[-1])


def _bins(name: str, edges: Sequence[float]) -> list[str]:
    """Put bins into words.

    Examples
    --------
    >>> _bins("age", [30.0, 60.0])
    ['age <= 30', '30 < age <= 60', 'age > 60']
    """
    ends = [-np.inf, *edges, np.inf]
    return [_between(name, low, high) for low, high in pairwise(ends)]
