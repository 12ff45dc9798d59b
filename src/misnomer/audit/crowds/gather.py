"""Several labels a row, in any table: who said what about which row, and the rows themselves.

A column per annotator, or a line per answer, anywhere in a file: answers are gathered by parts as
small numbers, while the columns stay. A table in memory is one part.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer.answers import Answers, from_codes, from_groups
from misnomer.audit import inputs
from misnomer.audit.crowds.lines import FirstLines, Lines, same_columns
from misnomer.audit.crowds.sources import plurality
from misnomer.audit.frames import Shape
from misnomer.audit.inputs import Inputs, check_column
from misnomer.audit.request import Request
from misnomer.classifiers import labels
from misnomer.classifiers.terms import check_several, check_stray
from misnomer.rows.frames import arrow_columns
from misnomer.rows.labels import clean_parts
from misnomer.rows.parts import Part, PartView, TablePart
from misnomer.rows.scan import Scan

Codes = NDArray[np.int32]

VOTE = "majority vote"  # how the label is called that several answers give a row


def label_columns(request: Request) -> list[str]:
    """List the columns that hold labels, each once; of annotators, one alone is no crowd."""
    if request.long is not None:
        return _three_columns(request.long)[2:]
    names = list(dict.fromkeys(inputs._names(request.annotators)))
    if len(names) < 2:
        raise ValueError(
            f"{len(names)} annotator columns are named: with one label per row say label=..."
        )
    return names


def _three_columns(long: Any) -> list[str]:
    """List the columns of the row, the annotator and the label."""
    names = [long] if isinstance(long, str) else list(long)
    if len(names) != 3:
        raise ValueError("long= names three columns: the row, the annotator and the label")
    return names


def inputs_of(request: Request) -> Inputs:
    """Take the answers out of a frame or a file in memory; what the readers remark is kept."""
    if not request.is_crowd:
        return _grouped(request)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _of_table(request)
    return replace(found, notes=(*found.notes, *(str(one.message) for one in caught)))


def _of_table(request: Request) -> Inputs:
    """Read several labels a row: a table is a scan of one part."""
    data, backend = inputs.tabled(request.data)
    if not inputs._is_table(data):
        raise ValueError("annotators are named by columns: pass a frame or a file, not an array")
    names, columns = arrow_columns(data)
    source, index = pa.table(columns, names=names), inputs._index(data)
    if not len(source):
        raise ValueError("the table has no rows")
    backend = backend or inputs._backend(nw.from_native(data, eager_only=True))
    words = [name for name in label_columns(request) if name in names]
    parts = clean_parts([TablePart(source)], words, request.ignore_case)
    said = gathered(Scan(source.schema, parts), request, map)
    if request.long is not None:
        source, index = pa.Table.from_batches(said.rows.batches(said.rows.names)), None
    left = [name for name in source.column_names if name not in said.apart]
    numbers = [name for name in left if inputs.is_numbering(name, source)]
    kept = [name for name in left if name not in numbers]
    notes = [f"column {name!r} only numbers the rows: it is ignored" for name in numbers]
    trusted = request.trusted
    return Inputs(
        features=source.select(kept) if kept else None,
        y=np.array([*said.answers.labels.tolist(), None], object)[plurality(said.answers)],
        label=VOTE,
        trusted=inputs.flags_of(source, trusted) if isinstance(trusted, str) else trusted,
        shape=Shape(backend, index, source, said.id),
        notes=(*said.notes, *notes),
        answers=said.answers,
        asked=said.asked,
    )


def _grouped(request: Request) -> Inputs:
    """Read one label per row and the group that each row belongs to: who gave the label."""
    groups = request.noise_groups
    column = [groups] if isinstance(groups, str) else []
    single = inputs.gather(
        request.data, request.label, ignore=[*request.ignore, *column], id=request.id,
        trusted=request.trusted, ignore_case=request.ignore_case,
    )  # fmt: skip
    name = groups if isinstance(groups, str) else "noise_groups"
    if isinstance(groups, str):
        group = inputs.labels_of(single.shape.table(), groups)
    else:
        group = labels.column(groups)
        if len(group) != len(single.y):
            raise ValueError(f"there are {len(single.y)} rows but {len(group)} groups")
    nobody = labels.missing(group) & ~labels.missing(single.y)
    check_stray(int(np.argmax(nobody)) if nobody.any() else -1, name)
    answers = from_groups(np.asarray(single.y, object), np.asarray(group, object))
    check_several(answers.n_annotators, name)
    return replace(single, answers=answers, asked={"label": single.label, "noise_groups": name})


@dataclass(frozen=True, eq=False)
class Gathered:
    """The answers, and the rows that they are about."""

    answers: Answers  # who said what
    rows: Scan  # one row each, in the order in which the answers number them
    sizes: list[int]  # how many rows each part of them has
    apart: list[str]  # columns that must not be learned from
    id: str | None  # the column that names the rows
    asked: dict[str, Any]  # the arguments of `audit` that led here
    # what is not learned from, and what could not be read
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def gathered(scan: Scan, request: Request, mapped: Any) -> Gathered:
    """Go through the labels, and through nothing else."""
    if request.skip_bad:  # what is damaged is left out every time, whichever columns are read
        whole = partial(WholeLines, columns=tuple(scan.names))
        scan = replace(scan, parts=_wrapped(whole, scan.parts))
    named = [one for one in (request.id, request.trusted) if isinstance(one, str)]
    gather_by = _by_columns if request.long is None else _by_lines
    found = gather_by(scan, request, mapped, [*request.ignore, *named])
    said = (*found.apart, *(_three_columns(request.long) if request.long is not None else ()))
    written = [name for name in inputs.written_by_misnomer(scan.names) if name not in said]
    notes = (*found.notes, *inputs.written_note(written, None))
    return replace(found, apart=[*found.apart, *written], notes=notes)


def _by_columns(scan: Scan, request: Request, mapped: Any, apart: list[str]) -> Gathered:
    """Gather a label column per annotator; an empty cell was not asked."""
    names = label_columns(request)
    for name in (*names, *apart):
        check_column(name, scan.names)
    read = partial(column_answers, names=names, skip_bad=request.skip_bad)
    by_part = list(mapped(read, scan.parts))
    answers = joined_answers(by_part)
    silent = [name for name in names if name not in {*answers.annotators.tolist()}]
    notes = [f"annotator {name!r} gave no answer: the column is left out" for name in silent]
    return Gathered(
        answers=answers,
        rows=scan,
        sizes=[one.lines for one in by_part],
        apart=[*names, *apart],
        id=request.id,
        asked={"annotators": names},
        notes=tuple(notes),
        left_out=_left_out(scan, by_part),
    )


def _by_lines(scan: Scan, request: Request, mapped: Any, apart: list[str]) -> Gathered:
    """Gather a line per answer; columns that say the same in all lines of a row describe it."""
    names = row, *said = _three_columns(request.long)
    for name in (*names, *apart):
        check_column(name, scan.names)
    read = partial(line_answers, names=names, skip_bad=request.skip_bad)
    by_part = list(mapped(read, scan.parts))
    items = rows_of(by_part, names)
    answers = joined_answers(by_part, items, names)
    lines = Lines(numbers_of(items), [one.lines for one in by_part])
    others = [name for name in scan.names if name not in said]
    same = [row, *same_columns(scan.parts, lines, [n for n in others if n != row], mapped)]
    _check_about_rows(apart[len(request.ignore) :], same)
    vary = [name for name in others if name not in {*same, *request.ignore}]
    first = lines.of_parts(lines.first)
    kept = pa.schema([scan.schema.field(name) for name in others if name in same])
    return Gathered(
        answers=answers,
        rows=replace(scan, schema=kept, parts=_wrapped(FirstLines, scan.parts, first)),
        sizes=[int(own.sum()) for own in first],
        apart=[row, *apart],
        id=request.id or row,
        asked={"long": names},
        notes=tuple(
            f"column {name!r} differs between answers about one row: left out" for name in vary
        ),
        left_out=_left_out(scan, by_part),
    )


def _check_about_rows(wanted: Sequence[str], same: Sequence[str]) -> None:
    """Refuse columns that must describe rows but differ between answers about one."""
    for name in wanted:
        if name not in same:
            raise ValueError(
                f"column {name!r} differs between answers about one row: make it the same in all"
            )


def _left_out(scan: Scan, by_part: Sequence[PartAnswers]) -> tuple[str, ...]:
    return (*scan.left_out, *(one for part in by_part for one in part.left_out))


def _wrapped(make: Callable[..., Any], parts: Sequence[Any], *aligned: Sequence[Any]) -> Any:
    """Change how parts are read; those that are planned on a cluster, when they are there."""
    if parts and type(parts[0]).__module__.startswith("dask"):
        from misnomer.engines.dask import then

        make = partial(then, make)
    return tuple(make(*pair) for pair in zip(parts, *aligned, strict=True))


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
        return self.moved(values.tolist(), at)

    def moved(self, values: Sequence[Any], codes: NDArray[Any]) -> Codes:
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
    codes = (_joined(line), _joined(who), _joined(label))
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
    codes = (np.arange(n, dtype=np.int32), _joined(who), _joined(label))
    row = one_dictionary(rows) if rows else None
    return PartAnswers(n, *codes, book.values, people.values, row, tuple(bad))


def _joined(parts: Sequence[Codes]) -> Codes:
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


def joined_answers(
    by_part: Sequence[PartAnswers], rows: Any = None, names: Sequence[str] = ()
) -> Answers:
    """Put the answers of all parts together; who gave none is left out.

    ``rows`` says what each line is about, and ``names`` are the three columns that say it; without
    them lines are rows, and annotators keep the order of their columns.
    """
    people, book = Codebook(), Codebook()
    who = _joined([people.moved(one.annotators, one.annotator) for one in by_part])
    label = _joined([book.moved(one.labels, one.label) for one in by_part])
    starts = np.cumsum([0, *(one.lines for one in by_part)])
    if not starts[-1]:
        raise ValueError("the table has no rows")
    pairs = zip(by_part, starts[:-1], strict=True)
    row, n = _joined([one.line + np.int32(start) for one, start in pairs]), int(starts[-1])
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
