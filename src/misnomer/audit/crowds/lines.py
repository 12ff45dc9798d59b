"""Answers as they stand in a table, part by part: a column per annotator, or a line per answer.

Which columns of a table with a line per answer describe the row, as they say the same in all lines
about it? Lines about one row may lie anywhere in a file: what a cell says is digested into 64 bits,
each line's digest is multiplied by a factor, and the factors of a row's lines add up to zero. So do
the products, where all of its lines say the same.
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

from misnomer.answers import Answers, from_codes
from misnomer.audit import inputs
from misnomer.rows.parts import Part, PartView

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]
_GAP = np.uint64(0x9E3779B97F4A7C15)


class Codebook:
    """Numbers values by their first appearance; what is no answer gets -1.

    Examples
    --------
    >>> book = Codebook()
    >>> book.codes(pa.array(["b", None, "a"]), "y").tolist(), book.codes(pa.array(["a"]), "y")
    ([0, -1, 1], array([1], dtype=int32))
    """

    def __init__(self) -> None:
        self._places: dict[tuple[type, Any], int] = {}

    def codes(self, column: Any, name: str) -> Codes:
        """Number the cells of a column, (n,); each different value is looked at once."""
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        values = inputs.labels_of(pa.table([coded.dictionary], names=[name]), name)
        at = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return self.recode(values.tolist(), at)

    def recode(self, values: Sequence[Any], codes: NDArray[Any]) -> Codes:
        """Number anew what numbers of these values stand for, (n,); -1 stays."""
        place = [-1 if one is None else self._place(one) for one in values]
        return np.array([*place, -1], np.int32)[codes]

    def _place(self, value: Any) -> int:
        return self._places.setdefault((type(value), value), len(self._places))

    @property
    def values(self) -> list[Any]:
        """The values, in the order of their numbers."""
        return [value for _, value in self._places]


@dataclass(frozen=True, eq=False)
class PartAnswers:
    """The answers in a part: ``annotators[annotator[j]]`` said ``labels[label[j]]`` in a line."""

    lines: int
    line: Codes  # (N,): rows where there is a column per annotator
    annotator: Codes  # (N,); -1 for nobody
    label: Codes  # (N,); -1 for nothing
    labels: list[Any]
    annotators: list[Any]
    row: pa.DictionaryArray | None = None  # what each line is about, where it is said
    left_out: tuple[str, ...] = ()


def column_answers(part: Part, names: Sequence[str], *, skip_bad: bool = False) -> PartAnswers:
    """Gather the answers of a part with a column per annotator."""
    book, bad = Codebook(), list[str]()
    line, who, label, start = list[Codes](), list[Codes](), list[Codes](), 0
    for rows in part.batches(names, bad if skip_bad else None):
        cells = np.stack([book.codes(rows.column(j), name) for j, name in enumerate(names)], axis=1)
        at, column = np.nonzero(cells >= 0)
        line.append((at + start).astype(np.int32))
        who.append(column.astype(np.int32))
        label.append(cells[at, column])
        start += rows.num_rows
    codes = (_join(line), _join(who), _join(label))
    return PartAnswers(start, *codes, book.values, list(names), left_out=tuple(bad))


def line_answers(part: Part, names: Sequence[str], *, skip_bad: bool = False) -> PartAnswers:
    """Gather the answers of a part with a line per answer: row, annotator, label."""
    people, book, bad = Codebook(), Codebook(), list[str]()
    rows, who, label = list[Any](), list[Codes](), list[Codes]()
    for lines in part.batches(names, bad if skip_bad else None):
        column = lines.column(0)
        rows.append(column if pa.types.is_dictionary(column.type) else column.dictionary_encode())
        who.append(people.codes(lines.column(1), names[1]))
        label.append(book.codes(lines.column(2), names[2]))
    n = sum(map(len, rows))
    codes = (np.arange(n, dtype=np.int32), _join(who), _join(label))
    row = one_dictionary(rows) if rows else None
    return PartAnswers(n, *codes, book.values, people.values, row, tuple(bad))


def _join(parts: Sequence[Codes]) -> Codes:
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def one_dictionary(parts: Sequence[Any]) -> pa.DictionaryArray:
    """Join coded columns; values are numbered by their first appearance."""
    first = parts[0].type.value_type
    same = [part.cast(pa.dictionary(pa.int32(), first)) for part in parts]
    joined = pa.chunked_array(same).unify_dictionaries().combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def rows_of(by_part: Sequence[PartAnswers], names: Sequence[str]) -> pa.DictionaryArray:
    """Number the rows that the lines of all parts are about, (N,), as they appear.

    A column of categories has an order of its own, and may have some that no line names.
    """
    named = [one.row for one in by_part if one.row is not None]
    if not named:
        raise ValueError("the table has no rows")
    rows = one_dictionary(named)
    if rows.null_count:
        at = int(np.argmax(np.asarray(rows.is_null())))
        raise ValueError(
            f"line {at} names no row in column {names[0]!r}: fill it in or drop the line"
        )
    codes = numbers_of(rows)
    used, first = np.unique(codes, return_index=True)
    used = used[np.argsort(first)]
    place = np.zeros(len(rows.dictionary), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return pa.DictionaryArray.from_arrays(place[codes], rows.dictionary.take(pa.array(used)))


def numbers_of(rows: pa.DictionaryArray) -> NDArray[Any]:
    """Take the number of the row that each line is about, (N,)."""
    return np.asarray(rows.indices.to_numpy(zero_copy_only=False))


def join_answers(
    by_part: Sequence[PartAnswers], rows: Any = None, names: Sequence[str] = ()
) -> Answers:
    """Put the answers of all parts together; who gave none is left out.

    ``rows`` says what each line is about, and ``names`` are the three columns that say it; without
    them lines are rows, and annotators keep the order of their columns.
    """
    people, book = Codebook(), Codebook()
    who = _join([people.recode(one.annotators, one.annotator) for one in by_part])
    label = _join([book.recode(one.labels, one.label) for one in by_part])
    starts = np.cumsum([0, *(one.lines for one in by_part)])
    if not starts[-1]:
        raise ValueError("the table has no rows")
    pairs = zip(by_part, starts[:-1], strict=True)
    row, n = _join([one.line + np.int32(start) for one, start in pairs]), int(starts[-1])
    if rows is not None:
        row, n = numbers_of(rows), len(rows.dictionary)
        _check_who(who, label, names[1])
        _check_alike(rows.dictionary, row, (who, people.values), (label, book.values))
    there = label >= 0
    return from_codes(
        row[there], who[there], label[there], n_rows=n, annotators=people.values,
        labels=book.values, by_name=rows is not None,
    )  # fmt: skip


def _check_who(who: Codes, label: Codes, column: str) -> None:
    """Refuse answers of nobody."""
    nobody = (who < 0) & (label >= 0)
    if nobody.any():
        at = int(np.argmax(nobody))
        raise ValueError(f"the answer in line {at} names nobody in column {column!r}: say who")


def _check_alike(
    items: Any, item: Codes, who: tuple[Codes, list[Any]], said: tuple[Codes, list[Any]]
) -> None:
    """Refuse two different answers of one annotator about one row."""
    there = np.flatnonzero(said[0] >= 0)
    order = there[np.lexsort((there, who[0][there], item[there]))]
    same = np.ones(len(order), bool)  # begins a new pair of row and annotator
    same[1:] = (np.diff(item[order]) != 0) | (np.diff(who[0][order]) != 0)
    before = order[np.maximum.accumulate(np.where(same, np.arange(len(order)), 0))]
    unlike = said[0][order] != said[0][before]
    if unlike.any():
        place = np.argmin(np.where(unlike, order, len(item)))
        at, first = order[place], before[place]
        raise ValueError(
            f"annotator {who[1][who[0][at]]} says both {said[1][said[0][first]]} and "
            f"{said[1][said[0][at]]} about row {items[int(item[at])].as_py()}: keep one answer of "
            "each annotator about a row"
        )


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
        return mix_bits(np.where(np.isnan(real), np.nan, real).view(np.uint64))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        whole = values.fill_null(0 if pa.types.is_integer(kind) else False)
        return mix_bits(whole.to_numpy(zero_copy_only=False).astype(np.uint64))
    return np.array([_digest(value) for value in values.to_pylist()], np.uint64)


def _digest(value: Any) -> int:
    said = value if isinstance(value, str) else repr(value)
    return int.from_bytes(hashlib.blake2b(said.encode(), digest_size=8).digest(), "little")


def mix_bits(bits: Words) -> Words:
    """Stir 64 bits so that each depends on all; different ones stay different."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
