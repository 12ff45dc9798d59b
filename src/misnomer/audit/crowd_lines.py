"""A line per answer, anywhere in a file: which rows they are about, and who said what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.answers import Answers, from_codes
from misnomer.audit.crowd_heard import Codebook, Codes, Heard, joined, one_dictionary
from misnomer.rows.parts import Part


@dataclass(frozen=True, eq=False)
class Items:
    """The rows that the lines are about.

    Attributes
    ----------
    answers : Answers
        Who said what about them; rows are numbered by their first line.
    item : (N,) array of int
        The row that each line is about.
    first : (N,) array of bool
        Whether a line is the first about its row.
    lines : list of int
        How many lines each part has.
    """

    answers: Answers
    item: Codes
    first: NDArray[np.bool_]
    lines: list[int]

    def of_parts(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split what is known of each line by the parts that the lines are in."""
        return np.split(values, np.cumsum(self.lines)[:-1])


def by_lines(heard: Sequence[Heard], names: Sequence[str]) -> Items:
    """Put the answers of all parts together."""
    row, column, _ = names
    named = [one.item for one in heard if one.item is not None]
    if not named:
        raise ValueError("the table has no rows")
    items = one_dictionary(named)
    if items.null_count:
        at = int(np.argmax(np.asarray(items.is_null())))
        raise ValueError(f"line {at} names no row in column {row!r}: fill it in or drop the line")
    item = items.indices.to_numpy(zero_copy_only=False)
    people, book = Codebook(), Codebook()
    who = joined([_placed(people, one.annotators, one.annotator) for one in heard])
    label = joined([_placed(book, one.labels, one.label) for one in heard])
    _check_who(who, label, column)
    _check_alike(items.dictionary, item, (who, people.values), (label, book.values))
    first = np.zeros(len(item), bool)
    first[np.unique(item, return_index=True)[1]] = True
    there, n = label >= 0, int(first.sum())
    answers = from_codes(
        item[there], who[there], label[there], n_rows=n, annotators=people.values,
        labels=book.values, by_name=True,
    )  # fmt: skip
    return Items(answers, item, first, [one.rows for one in heard])


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
class FirstLines:
    """Of a part with a line per answer, the first line about each row."""

    part: Part
    first: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.part.name

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
class WholeLines:
    """A part all of whose columns are read, so that what is damaged is left out every time."""

    part: Part
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file, for messages."""
        return self.part.name

    def batches(
        self, columns: Sequence[str], bad: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, only these columns."""
        for rows in self.part.batches(self.columns, bad):
            yield rows.select(list(columns))
