"""What annotators said, gathered by parts, and which columns say the same in all lines about a row.

A column per annotator, or a line per answer, anywhere in a file: small numbers are kept, while the
columns stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.answers import Answers, from_codes
from misnomer.audit.inputs import labels_of
from misnomer.rows.parts import Part, PartView

Codes = NDArray[np.int32]


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
        values = labels_of(pa.table([coded.dictionary], names=[name]), name)
        place = np.append(self.places(values.tolist()), np.int32(-1))
        at = pc.fill_null(coded.indices, len(values)).to_numpy(zero_copy_only=False)
        return np.asarray(place[at], np.int32)

    def places(self, values: Sequence[Any]) -> Codes:
        """Number plain values, (n,)."""
        return np.array([-1 if one is None else self._place(one) for one in values], np.int32)

    def _place(self, value: Any) -> int:
        return self._places.setdefault((type(value), value), len(self._places))

    @property
    def values(self) -> list[Any]:
        """The values, in the order of their numbers."""
        return [value for _, value in self._places]


@dataclass(frozen=True, eq=False)
class PartAnswers:
    """The answers in a part: answer j is ``labels[label[j]]``, said about a row of the part.

    ``rows`` counts the rows of the part, or its lines where there is a line per answer; then
    ``item`` names what each of them is about, and ``annotators`` who said it.
    """

    rows: int
    row: Codes
    annotator: Codes
    label: Codes
    labels: list[Any]
    annotators: list[Any]
    item: pa.DictionaryArray | None = None
    left_out: tuple[str, ...] = ()


def column_answers(part: Part, names: Sequence[str], *, skip_bad: bool = False) -> PartAnswers:
    """Gather the answers of a part with a column per annotator."""
    book, bad = Codebook(), list[str]()
    row, who, label, start = list[Codes](), list[Codes](), list[Codes](), 0
    for rows in part.batches(names, bad if skip_bad else None):
        cells = np.stack([book.codes(rows.column(j), name) for j, name in enumerate(names)], axis=1)
        at, column = np.nonzero(cells >= 0)
        row.append((at + start).astype(np.int32))
        who.append(column.astype(np.int32))
        label.append(cells[at, column])
        start += rows.num_rows
    said = (joined(row), joined(who), joined(label), book.values, list(names))
    return PartAnswers(start, *said, left_out=tuple(bad))


def line_answers(part: Part, names: Sequence[str], *, skip_bad: bool = False) -> PartAnswers:
    """Gather the answers of a part with a line per answer: item, annotator, label."""
    people, book, bad = Codebook(), Codebook(), list[str]()
    items, who, label = list[Any](), list[Codes](), list[Codes]()
    for rows in part.batches(names, bad if skip_bad else None):
        column = rows.column(0)
        items.append(column if pa.types.is_dictionary(column.type) else column.dictionary_encode())
        who.append(people.codes(rows.column(1), names[1]))
        label.append(book.codes(rows.column(2), names[2]))
    lines = sum(map(len, items))
    numbers = np.arange(lines, dtype=np.int32)
    item = one_dictionary(items) if items else None
    said = (numbers, joined(who), joined(label), book.values, people.values)
    return PartAnswers(lines, *said, item, tuple(bad))


def joined(parts: list[Codes]) -> Codes:
    """Put numbers one behind the other."""
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def one_dictionary(parts: list[Any]) -> pa.DictionaryArray:
    """Join coded columns; values are numbered by their first appearance."""
    first = parts[0].type.value_type
    same = [part.cast(pa.dictionary(pa.int32(), first)) for part in parts]
    joined = pa.chunked_array(same).unify_dictionaries().combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined


def by_columns(by_part: Iterable[PartAnswers], names: Sequence[str]) -> Answers:
    """Put the answers of all parts together; who gave none is left out."""
    book, start = Codebook(), 0
    parts: list[tuple[Codes, Codes, Codes]] = []
    for one in by_part:
        place = book.places(one.labels)
        parts.append((one.row + np.int32(start), one.annotator, place[one.label]))
        start += one.rows
    if not start:
        raise ValueError("the table has no rows")
    row, who, label = (joined(list(part)) for part in zip(*parts, strict=True))
    return from_codes(row, who, label, n_rows=start, annotators=np.array(names), labels=book.values)


@dataclass(frozen=True, eq=False)
class Items:
    """The rows that the lines are about."""

    answers: Answers  # who said what about them; rows are numbered by their first line
    item: Codes  # (N,): the row that each line is about
    first: NDArray[np.bool_]  # (N,): whether a line is the first about its row
    lines: list[int]  # how many lines each part has

    def of_parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split what is known of each line by the parts that the lines are in."""
        return np.split(values, np.cumsum(self.lines)[:-1])


def by_lines(by_part: Sequence[PartAnswers], names: Sequence[str]) -> Items:
    """Put the answers of all parts together."""
    row, column, _ = names
    named = [one.item for one in by_part if one.item is not None]
    if not named:
        raise ValueError("the table has no rows")
    items = one_dictionary(named)
    if items.null_count:
        at = int(np.argmax(np.asarray(items.is_null())))
        raise ValueError(f"line {at} names no row in column {row!r}: fill it in or drop the line")
    item = items.indices.to_numpy(zero_copy_only=False)
    people, book = Codebook(), Codebook()
    who = joined([_placed(people, one.annotators, one.annotator) for one in by_part])
    label = joined([_placed(book, one.labels, one.label) for one in by_part])
    _check_who(who, label, column)
    _check_alike(items.dictionary, item, (who, people.values), (label, book.values))
    first = np.zeros(len(item), bool)
    first[np.unique(item, return_index=True)[1]] = True
    there, n = label >= 0, int(first.sum())
    answers = from_codes(
        item[there], who[there], label[there], n_rows=n, annotators=people.values,
        labels=book.values, by_name=True,
    )  # fmt: skip
    return Items(answers, item, first, [one.rows for one in by_part])


def _placed(book: Codebook, values: list[Any], codes: Codes) -> Codes:
    """Number a part's values as all parts number them; -1 stays."""
    place: Codes = np.append(book.places(values), np.int32(-1))
    return place[codes]


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


@dataclass(frozen=True, eq=False)
class WholeLines(PartView):
    """A part all of whose columns are read, so that what is damaged is left out every time."""

    columns: tuple[str, ...]

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, only these columns."""
        for rows in self.part.batches(self.columns, bad):
            yield rows.select(list(columns))


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
