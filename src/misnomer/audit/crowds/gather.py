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
from numpy.typing import NDArray

from misnomer.answers import Answers, from_groups
from misnomer.audit import inputs
from misnomer.audit.crowds.lines import (
    FirstLines,
    Lines,
    PartAnswers,
    column_answers,
    join_answers,
    line_answers,
    numbers_of,
    rows_of,
    same_columns,
)
from misnomer.audit.inputs import Inputs, check_column
from misnomer.audit.request import Request
from misnomer.audit.shape import Shape
from misnomer.classifiers import labels
from misnomer.classifiers.inputs import checked_trusted
from misnomer.classifiers.terms import check_several, check_stray
from misnomer.rows.frames import arrow_columns
from misnomer.rows.labels import clean_parts
from misnomer.rows.parts import PartView, TablePart
from misnomer.rows.scan import Scan
from misnomer.table import CheckedRows

Ints = NDArray[np.int64]

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
        return _inputs_by_group(request)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _of_table(request)
    return replace(found, notes=(*found.notes, *(str(one.message) for one in caught)))


def _of_table(request: Request) -> Inputs:
    """Read several labels a row: a table is a scan of one part."""
    data, backend = inputs.as_table_or_file(request.data)
    if not inputs._is_table(data):
        raise ValueError("annotators are named by columns: pass a frame or a file, not an array")
    names, columns = arrow_columns(data)
    source, index = pa.table(columns, names=names), inputs._index(data)
    if not len(source):
        raise ValueError("the table has no rows")
    backend = backend or inputs._backend(nw.from_native(data, eager_only=True))
    words = [name for name in label_columns(request) if name in names]
    parts = clean_parts([TablePart(source)], words, request.ignore_case)
    said = gather_answers(Scan(source.schema, parts), request, map)
    if request.long is not None:
        source, index = pa.Table.from_batches(said.rows.batches(said.rows.names)), None
    left = [name for name in source.column_names if name not in said.excluded]
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


def _inputs_by_group(request: Request) -> Inputs:
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
    excluded: list[str]  # columns that must not be learned from
    id: str | None  # the column that names the rows
    asked: dict[str, Any]  # the arguments of `audit` that led here
    # what is not learned from, and what could not be read
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def gather_answers(scan: Scan, request: Request, mapped: Any) -> Gathered:
    """Go through the labels, and through nothing else."""
    if request.skip_bad:  # what is damaged is left out every time, whichever columns are read
        whole = partial(WholeLines, columns=tuple(scan.names))
        scan = replace(scan, parts=_wrap_parts(whole, scan.parts))
    named = [one for one in (request.id, request.trusted) if isinstance(one, str)]
    gather_by = _by_columns if request.long is None else _by_lines
    found = gather_by(scan, request, mapped, [*request.ignore, *named])
    said = (*found.excluded, *(_three_columns(request.long) if request.long is not None else ()))
    written = [name for name in inputs.written_by_misnomer(scan.names) if name not in said]
    notes = (*found.notes, *inputs.written_note(written, None))
    return replace(found, excluded=[*found.excluded, *written], notes=notes)


def _by_columns(scan: Scan, request: Request, mapped: Any, excluded: list[str]) -> Gathered:
    """Gather a label column per annotator; an empty cell was not asked."""
    names = label_columns(request)
    for name in (*names, *excluded):
        check_column(name, scan.names)
    read = partial(column_answers, names=names, skip_bad=request.skip_bad)
    by_part = list(mapped(read, scan.parts))
    answers = join_answers(by_part)
    silent = [name for name in names if name not in {*answers.annotators.tolist()}]
    notes = [f"annotator {name!r} gave no answer: the column is left out" for name in silent]
    return Gathered(
        answers=answers,
        rows=scan,
        sizes=[one.lines for one in by_part],
        excluded=[*names, *excluded],
        id=request.id,
        asked={"annotators": names},
        notes=tuple(notes),
        left_out=_left_out(scan, by_part),
    )


def _by_lines(scan: Scan, request: Request, mapped: Any, excluded: list[str]) -> Gathered:
    """Gather a line per answer; columns that say the same in all lines of a row describe it."""
    names = row, *said = _three_columns(request.long)
    for name in (*names, *excluded):
        check_column(name, scan.names)
    read = partial(line_answers, names=names, skip_bad=request.skip_bad)
    by_part = list(mapped(read, scan.parts))
    items = rows_of(by_part, names)
    answers = join_answers(by_part, items, names)
    lines = Lines(numbers_of(items), [one.lines for one in by_part])
    others = [name for name in scan.names if name not in said]
    same = [row, *same_columns(scan.parts, lines, [n for n in others if n != row], mapped)]
    _check_about_rows(excluded[len(request.ignore) :], same)
    vary = [name for name in others if name not in {*same, *request.ignore}]
    first = lines.of_parts(lines.first)
    kept = pa.schema([scan.schema.field(name) for name in others if name in same])
    return Gathered(
        answers=answers,
        rows=replace(scan, schema=kept, parts=_wrap_parts(FirstLines, scan.parts, first)),
        sizes=[int(own.sum()) for own in first],
        excluded=[row, *excluded],
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


def _wrap_parts(make: Callable[..., Any], parts: Sequence[Any], *aligned: Sequence[Any]) -> Any:
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


def plurality(answers: Answers) -> Ints:
    """Find the most frequent answer about each row, (n,); -1 where there is none.

    Of answers that are equally frequent, the one of the first annotator counts.

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> plurality(from_table([["b", "a", "a"], ["b", "a", None], [None] * 3])).tolist()
    [0, 1, -1]
    """
    votes = answers.votes()
    most = votes == votes.max(axis=1, keepdims=True, initial=0)
    among = np.flatnonzero(most[answers.row, answers.label])
    rows, first = np.unique(answers.row[among], return_index=True)
    given = np.full(answers.n_rows, -1, np.int64)
    given[rows] = answers.label[among[first]]
    return given


@dataclass(frozen=True, eq=False)
class Votes:
    """What is taken for the label of each row: its vote, (n,), -1 without any; and who is sure.

    A person who has checked a row settles its class; its vote stays what it was.
    """

    given: Ints
    trusted: NDArray[np.bool_]
    checked: CheckedRows | None = None

    @property
    def truth(self) -> NDArray[np.int32]:
        """The classes that are known to be right, (n,), -1 elsewhere."""
        out = np.where(self.trusted, self.given, -1).astype(np.int32)
        if self.checked is not None:
            row, true = self.checked.row, self.checked.true
            some = (true >= 0) & (row < len(out))
            out[row[some]] = true[some]
        return out

    def codes(self, L: int) -> NDArray[np.int32]:
        """Write the labels as the evidence codes of a batch."""
        codes = np.where(self.given < 0, L, self.given)
        codes[self.trusted] = L + 1 + self.given[self.trusted]
        return codes.astype(np.int32)


def votes_of(answers: Answers, trusted: Any, checked: CheckedRows | None = None) -> Votes:
    """Take the votes for the labels."""
    if not len(answers):
        raise ValueError("there is no label at all: every cell of the label columns is empty")
    given = plurality(answers)
    mask = checked_trusted(trusted, answers.n_rows)
    sure = (np.zeros(len(given), bool) if mask is None else mask) & (given >= 0)
    return Votes(given, sure, checked)


_MIN_ANSWERS_FOR_SLIPS = 100  # among so many, a label said once is rather a slip than a class


def rare(answers: Answers) -> list[str]:
    """Name the labels that were said once among many answers: most likely slips of the pen.

    Examples
    --------
    >>> from misnomer.answers import from_table
    >>> rare(from_table([["a", "b"]] * 60 + [["bb", "b"]]))
    ["the label 'bb' was said once only: correct it if it is no class of its own"]
    """
    often = answers.votes().sum(axis=0)
    if len(answers) < _MIN_ANSWERS_FOR_SLIPS:
        return []
    return [
        f"the label {name!r} was said once only: correct it if it is no class of its own"
        for name in answers.labels[often == 1].tolist()[:5]
    ]
