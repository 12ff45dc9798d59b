"""Which column is what (Schema), some rows of it (Batch), and who adds over batches (Fold)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from misnomer.families import Bernoulli, Categorical, Count, Family, Gaussian, code_type
from misnomer.kernels.blocks import Block, is_empty

Array = NDArray[np.float64]
Labels = NDArray[np.int32]
Sum = TypeVar("Sum")

#: Adds ``step(batch)`` over batches: in memory, streaming or on a cluster.
Fold = Callable[[Callable[["Batch"], Sum], Iterable["Batch"]], Sum]

#: What a column may be; "ignored" carries no evidence (an identifier, or nothing observed).
KINDS = ("categorical", "bernoulli", "gaussian", "count", "text", "ignored")

#: Forms of a column (`Column.form`) whose numbers are days since 1970.
DATE_FORMS = ("date", "zoned", "day first", "month first", "dotted", "year first")


@dataclass(frozen=True)
class Column:
    """One column of the input and the family that explains it."""

    name: str  # as the user knows it
    kind: str  # categorical, bernoulli, gaussian, count, text (a count of its words), ignored
    # the values seen in training, sorted (categorical), or the two values off, on (bernoulli)
    categories: tuple[Any, ...] = ()
    # a typical value (gaussian): it keeps the sums well conditioned, nothing depends on it
    center: float = 0.0
    # how many statistics a count has: the columns of a sparse matrix, the words of a text
    width: int = 1
    words: tuple[str, ...] = ()  # the names of those, where they have any
    # how its numbers or dates are written where they come as texts, such as "day first"; "date"
    # where they come as dates
    form: str = ""

    @property
    def is_date(self) -> bool:
        """Whether its numbers are days since 1970."""
        return self.form in DATE_FORMS

    def label(self, index: int) -> str:
        """Name the index-th count that it stands for."""
        if self.words:
            return self.words[index]
        if self.form == "signed":  # what is below zero stands behind what is above
            half = self.width // 2
            return f"{self.name}[{index % half}]" + (" < 0" if index >= half else "")
        return self.name if self.width == 1 else f"{self.name}[{index}]"


@dataclass(frozen=True)
class Group:
    """Columns of one family whose statistics stand side by side."""

    kind: str
    family: Family
    members: tuple[int, ...]  # positions in Schema.columns
    span: slice  # of the S statistics


@dataclass(frozen=True)
class Schema:
    """The columns in the input's order, and their statistics in the model's order.

    Examples
    --------
    >>> schema = Schema((Column("age", "gaussian"), Column("sex", "categorical", ("f", "m"))))
    >>> [(group.kind, group.span) for group in schema.groups]
    [('categorical', slice(0, 2, None)), ('gaussian', slice(2, 5, None))]
    """

    columns: tuple[Column, ...]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Columns by kind; categories also by the size of their codes; a text stands alone."""
        keys: dict[tuple[int, int], list[int]] = {}
        for position, column in enumerate(self.columns):
            if column.kind == "ignored":
                continue
            part = position if column.kind == "text" else 0
            if column.kind == "categorical":
                part = code_type(len(column.categories))(0).nbytes
            keys.setdefault((KINDS.index(column.kind), part), []).append(position)
        groups: list[Group] = []
        start = 0
        for (kind, _), members in sorted(keys.items()):
            family = _family(KINDS[kind], [self.columns[i] for i in members])
            stop = start + len(family.owner)
            groups.append(Group(KINDS[kind], family, tuple(members), slice(start, stop)))
            start = stop
        return tuple(groups)

    @property
    def statistics(self) -> int:
        """How many statistics a row has (S)."""
        return self.groups[-1].span.stop if self.groups else 0

    @property
    def width(self) -> int:
        """How many columns the input has."""
        return sum(column.width if column.kind == "count" else 1 for column in self.columns)

    def each(self, function: Callable[[Group], Array]) -> Array:
        """Put a function of each group side by side along the last axis: (…, S)."""
        parts = [function(group) for group in self.groups]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate(parts, axis=-1) if parts else np.zeros(0)


def _family(kind: str, columns: list[Column]) -> Family:
    if kind == "categorical":
        return Categorical(tuple(len(column.categories) for column in columns))
    if kind == "bernoulli":
        return Bernoulli(len(columns))
    if kind == "gaussian":
        return Gaussian(tuple(column.center for column in columns))
    return Count(sum(column.width for column in columns))


OWN_CLASS = -2  # in ``Batch.said``: a trusted row was given the label of its class


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows, in compact form: a block per group of the schema.

    ``given`` holds evidence codes: 0..L-1 a given label, L none, L+1+k trusted to be class k.
    ``start`` is the number of the first row among all, where the rows follow one another.
    ``group`` numbers the groups that may err each in their own way, -1 for none, where there are.
    ``said`` holds the labels that were given to rows whose class is known by now, -1 for none; a
    row that is trusted without it was given the label of its class.
    ``design`` holds the design weights of rows of known class, one over the chance by which each
    was drawn; zero for those that were picked, and for all others.
    """

    blocks: tuple[Block, ...]
    given: Labels  # (n,)
    weight: Array | None = None  # (n,)
    start: int = 0
    group: Labels | None = None  # (n,)
    said: Labels | None = None  # (n,)
    table: Any = None  # the rows as they came, where somebody's own classifier asks for them
    brought: Array | None = None  # (n, K) probabilities of the classes that somebody has brought
    design: Array | None = None  # (n,)

    def __len__(self) -> int:
        return len(self.given)

    def take(self, rows: Any) -> Batch:
        """Select rows by a slice, a mask or positions."""
        weight = None if self.weight is None else self.weight[rows]
        group = None if self.group is None else self.group[rows]
        said = None if self.said is None else self.said[rows]
        blocks = tuple(block.take(rows) for block in self.blocks)
        given = np.ascontiguousarray(self.given[rows])
        table = None
        if self.table is not None:
            table = _safe_indexing(self.table, np.arange(len(self))[rows])
        brought = None if self.brought is None else self.brought[rows]
        design = None if self.design is None else self.design[rows]
        return Batch(
            blocks, given, weight, group=group, said=said, table=table, brought=brought,
            design=design,
        )  # fmt: skip

    def labels(self, n_labels: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Read the evidence codes: the given label and the known class of each row, -1 for none.

        Examples
        --------
        >>> rows = Batch((), np.array([1, 2, 3], np.int32))
        >>> [one.tolist() for one in rows.labels(2)]
        [[1, -1, 0], [-1, -1, 0]]
        """
        known = np.where(self.given > n_labels, self.given - n_labels - 1, -1).astype(np.intp)
        label = np.where(self.given < n_labels, self.given, known).astype(np.intp)
        if self.said is not None:
            label = np.where((known >= 0) & (self.said != OWN_CLASS), self.said, label)
        return label, known

    @property
    def empty(self) -> NDArray[np.bool_]:
        """The rows that hold no value at all, (n,); probabilities are one."""
        out = np.full(len(self), self.brought is None)
        for block in self.blocks:
            out &= is_empty(block)
        return out

    def judged_by(self, given: Labels) -> Batch:
        """Replace the evidence codes."""
        return replace(self, given=given)


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that a person was asked about, by their numbers among all."""

    row: NDArray[np.int64]  # (m,): their numbers, rising
    # (m,): the class that was said; -1 where nobody could say, or has said yet
    true: NDArray[np.int32]
    design: Array  # (m,): design weights, see `Batch`

    @property
    def sampled(self) -> NDArray[np.int64]:
        """The numbers of the rows that were drawn by chance and are known by now."""
        return self.row[(self.true >= 0) & (self.design > 0)]

    def put_into(self, batch: Batch, n_labels: int) -> Batch:
        """Put what is known of its rows into a batch, which knows the number of its first one.

        Examples
        --------
        >>> known = CheckedRows(np.array([4]), np.array([1], np.int32), np.array([9.0]))
        >>> rows = known.put_into(Batch((), np.zeros(2, np.int32), start=3), n_labels=2)
        >>> rows.given.tolist(), rows.said.tolist(), rows.design.tolist()
        ([0, 4], [0, 0], [0.0, 9.0])
        """
        first, last = np.searchsorted(self.row, (batch.start, batch.start + len(batch)))
        some = first + np.flatnonzero(self.true[first:last] >= 0)
        if not len(some):
            return batch
        at = self.row[some] - batch.start
        said = batch.labels(n_labels)[0].astype(np.int32)
        given, design = batch.given.copy(), np.zeros(len(batch))
        given[at], design[at] = n_labels + 1 + self.true[some], self.design[some]
        return replace(batch, given=given, said=said, design=design)


def joined_groups(batches: Sequence[Batch]) -> Labels | None:
    """Put the groups of batches one under another; rows of a batch without any have none.

    Examples
    --------
    >>> one = Batch((), np.zeros(2, np.int32), group=np.array([1, 0], np.int32))
    >>> joined_groups([one, Batch((), np.zeros(1, np.int32))]).tolist()
    [1, 0, -1]
    """
    if all(batch.group is None for batch in batches):
        return None
    none = [np.full(len(b), -1, np.int32) if b.group is None else b.group for b in batches]
    return np.concatenate(none)


def joined_checks(batches: Sequence[Batch]) -> dict[str, Any]:
    """Put ``said`` and ``design`` of batches one under another; None where no batch has any.

    Examples
    --------
    >>> one = Batch((), np.array([4], np.int32), said=np.array([0], np.int32))
    >>> joined_checks([one, Batch((), np.array([3], np.int32))])["said"].tolist()
    [0, -2]
    """
    fills = {"said": np.int32(OWN_CLASS), "design": np.float64(0.0)}
    out: dict[str, Any] = dict.fromkeys(fills)
    for name, fill in fills.items():
        own = [getattr(batch, name) for batch in batches]
        if any(one is not None for one in own):
            pairs = zip(own, batches, strict=True)
            out[name] = np.concatenate(
                [np.full(len(batch), fill) if one is None else one for one, batch in pairs]
            )
    return out


def numbered(batches: Iterable[Batch], start: int = 0) -> Iterator[Batch]:
    """Tell each batch the number of its first row.

    Examples
    --------
    >>> rows = Batch((), np.zeros(3, np.int32))
    >>> [batch.start for batch in numbered([rows, rows])]
    [0, 3]
    """
    for batch in batches:
        yield batch if batch.start == start else replace(batch, start=start)
        start += len(batch)


def merge(first: Schema, second: Schema) -> tuple[Schema, NDArray[np.intp]]:
    """Join the categories of two schemas of the same columns.

    Returns the joint schema and the place of each statistic of ``first`` in it, (S,).

    Examples
    --------
    >>> a, b = (Schema((Column("x", "categorical", seen),)) for seen in [("a", "c"), ("b",)])
    >>> joint, place = merge(a, b)
    >>> joint.columns[0].categories, place.tolist()
    (('a', 'b', 'c'), [0, 2])
    """
    if len(first.columns) != len(second.columns):
        raise ValueError(
            f"X has {second.width} features, but the model expects {first.width} features"
        )
    joint = Schema(tuple(map(_joined, first.columns, second.columns)))
    where = {key: place for place, key in enumerate(_keys(joint))}
    return joint, np.array([where[key] for key in _keys(first)], np.intp)


def _keys(schema: Schema) -> list[tuple[Any, ...]]:
    """Name each statistic by its column and its category, or its place in the group."""
    keys: list[tuple[Any, ...]] = []
    for group in schema.groups:
        if group.kind == "categorical":
            keys += [(i, value) for i in group.members for value in schema.columns[i].categories]
        else:
            keys += [(group.members, place) for place in range(len(group.family.owner))]
    return keys


def _joined(first: Column, second: Column) -> Column:
    if first.kind != "categorical":
        return second if second.width > first.width else first
    if first.categories == second.categories:
        return first
    return replace(first, categories=tuple(sorted({*first.categories, *second.categories})))
