"""Several labels a row, or groups of rows, in a table or a scan -> answers, and the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from misnomer.answers import Answers, from_groups
from misnomer.audit import inputs
from misnomer.audit.crowds import gather
from misnomer.audit.crowds.gather import FirstLines, WholeLines, same_columns
from misnomer.audit.frames import Shape
from misnomer.audit.inputs import check_column
from misnomer.audit.request import Request
from misnomer.classifiers import labels
from misnomer.classifiers.annotators.groups import check_several, check_stray
from misnomer.rows.columns.labels import clean_parts
from misnomer.rows.frames import arrow_columns
from misnomer.rows.parts import TablePart
from misnomer.rows.scan import Scan


@dataclass(frozen=True, eq=False)
class Several:
    """Answers and columns, apart."""

    features: Any  # what may be learned from beside the answers; None without any
    answers: Answers  # who said what about which row
    label: str  # what the given label of a row is called
    trusted: Any  # rows whose given label is known to be right
    shape: Shape  # what the input was
    asked: Mapping[str, Any]  # the arguments of `audit` that led here
    notes: tuple[str, ...] = ()  # what was left out, and why
    # the same where rows have one label: as an audit without groups would take them
    single: inputs.Inputs | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """A frame or a file, as an Arrow table, and what it was."""

    source: pa.Table
    backend: str
    index: Any

    @classmethod
    def of(cls, data: Any) -> Table:
        """Read a file or convert a frame; an array's columns have no names."""
        data, backend = inputs.tabled(data)
        if inputs._is_table(data):
            names, columns = arrow_columns(data)
            kind = backend or inputs._backend(nw.from_native(data, eager_only=True))
            table = cls(pa.table(columns, names=names), kind, inputs._index(data))
        else:
            raise ValueError(
                "annotators are named by columns: pass a frame or a file, not an array"
            )
        if not len(table.source):
            raise ValueError("the table has no rows")
        return table


def several_of(request: Request) -> Several:
    """Read whichever kind of labels was asked for; what the readers remark is kept."""
    if not request.is_crowd:
        return by_groups(request)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _of_table(request)
    return replace(found, notes=(*found.notes, *(str(one.message) for one in caught)))


def _of_table(request: Request) -> Several:
    """Read several labels a row: a table is a scan of one part."""
    table = Table.of(request.data)
    source, index = table.source, table.index
    words = [name for name in label_columns(request) if name in source.column_names]
    parts = clean_parts([TablePart(source)], words, request.ignore_case)
    said = gathered(Scan(source.schema, parts), request, map)
    if request.long is not None:
        rows, index = said.rows, None
        source = pa.Table.from_batches(rows.batches(rows.names), rows.schema)
    features, numbers = _features(source, said.apart)
    trusted = request.trusted
    mask = inputs.flags_of(source, trusted) if isinstance(trusted, str) else trusted
    shape = Shape(table.backend, index, source, said.id)
    notes = (*said.notes, *numbers)
    return Several(features, said.answers, "majority vote", mask, shape, said.arguments, notes)


def label_columns(request: Request) -> list[str]:
    """List the columns that hold labels."""
    if request.long is not None:
        return three_columns(request.long)[2:]
    return named_annotators(request.annotators)


def named_annotators(said: Any) -> list[str]:
    """List the label columns, each once; one alone is no crowd."""
    names = list(dict.fromkeys(inputs._names(said)))
    if len(names) < 2:
        raise ValueError(
            f"{len(names)} annotator columns are named: with one label per row say label=..."
        )
    return names


def three_columns(long: Any) -> list[str]:
    """List the columns of the row, the annotator and the label."""
    names = [long] if isinstance(long, str) else list(long)
    if len(names) != 3:
        raise ValueError("long= names three columns: the row, the annotator and the label")
    return names


def silent(names: Sequence[str], answers: Answers) -> list[str]:
    """Say which columns hold no answer at all."""
    said = {*answers.annotators.tolist()}
    return [
        f"annotator {name!r} gave no answer: the column is left out"
        for name in names
        if name not in said
    ]


def by_groups(request: Request) -> Several:
    """Read one label per row and the group that each row belongs to."""
    groups = request.noise_groups
    column = [groups] if isinstance(groups, str) else []
    found = inputs.gather(
        request.data, request.label, ignore=[*request.ignore, *column], id=request.id,
        trusted=request.trusted, ignore_case=request.ignore_case,
    )  # fmt: skip
    named = groups if isinstance(groups, str) else "noise_groups"
    if isinstance(groups, str):
        group = inputs.labels_of(found.shape.table(), groups)
    else:
        group = labels.column(groups)
        if len(group) != len(found.y):
            raise ValueError(f"there are {len(found.y)} rows but {len(group)} groups")
    nobody = labels.missing(group) & ~labels.missing(found.y)
    check_stray(int(np.argmax(nobody)) if nobody.any() else -1, named)
    answers = from_groups(np.asarray(found.y, object), np.asarray(group, object))
    check_several(answers.n_annotators, named)
    asked = {"label": found.label, "noise_groups": named}
    return Several(
        found.features, answers, found.label, found.trusted, found.shape, asked, found.notes, found
    )


def _features(source: pa.Table, apart: list[str]) -> tuple[pa.Table | None, list[str]]:
    """Take the columns to learn from, and say which ones only number the rows."""
    left = [name for name in source.column_names if name not in apart]
    numbers = [name for name in left if inputs.is_numbering(name, source)]
    kept = [name for name in left if name not in numbers]
    notes = [f"column {name!r} only numbers the rows: it is ignored" for name in numbers]
    return (source.select(kept) if kept else None), notes


def varying(others: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Say which columns do not describe rows, but answers."""
    vary = [name for name in others if name not in kept]
    return [f"column {name!r} differs between answers about one row: left out" for name in vary]


def check_about_rows(wanted: list[str], same: list[str]) -> None:
    """Refuse columns that must describe rows but differ between answers about one."""
    for name in wanted:
        if name not in same:
            raise ValueError(
                f"column {name!r} differs between answers about one row: make it the same in all"
            )


@dataclass(frozen=True, eq=False)
class Gathered:
    """The answers, and the rows that they are about."""

    answers: Answers  # who said what
    rows: Scan  # one row each, in the order in which the answers number them
    sizes: list[int]  # how many rows each part of them has
    apart: list[str]  # columns that must not be learned from
    id: str | None  # the column that names the rows
    arguments: dict[str, Any]  # the arguments of `audit` that led here
    # what is not learned from, and what could not be read
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def gathered(scan: Scan, request: Request, mapped: Any) -> Gathered:
    """Go through the labels, and through nothing else."""
    if request.skip_bad:  # what is damaged is left out every time, whichever columns are read
        whole = partial(WholeLines, columns=tuple(scan.names))
        scan = Scan(scan.schema, _wrapped(whole, scan.parts), scan.bytes, scan.left_out)
    gather_by = _by_columns if request.long is None else _by_lines
    found = gather_by(scan, request, mapped, _columns(request.id, request.trusted))
    written = inputs.written_by_misnomer(scan.names)
    said = (*found.apart, *(three_columns(request.long) if request.long is not None else ()))
    written = [name for name in written if name not in said]
    notes = (*found.notes, *inputs.written_note(written, None))
    return replace(found, apart=[*found.apart, *written], notes=notes)


def _by_columns(scan: Scan, request: Request, mapped: Any, named: list[str]) -> Gathered:
    """Gather a label column per annotator; an empty cell was not asked."""
    names = named_annotators(request.annotators)
    apart = [*names, *request.ignore, *named]
    _check(apart, scan)
    read = partial(gather.column_answers, names=names, skip_bad=request.skip_bad)
    by_part = list(mapped(read, scan.parts))
    answers = gather.by_columns(by_part, names)
    return Gathered(
        answers=answers,
        rows=scan,
        sizes=[one.rows for one in by_part],
        apart=apart,
        id=request.id,
        arguments={"annotators": names},
        notes=tuple(silent(names, answers)),
        left_out=_left_out(scan, by_part),
    )


def _by_lines(scan: Scan, request: Request, mapped: Any, named: list[str]) -> Gathered:
    """Gather a line per answer; columns that say the same in all lines of a row describe it."""
    names = three_columns(request.long)
    row, *said = names
    _check([*names, *request.ignore, *named], scan)
    read = partial(gather.line_answers, names=names, skip_bad=request.skip_bad)
    by_part = list(mapped(read, scan.parts))
    items = gather.by_lines(by_part, names)
    others = [name for name in scan.names if name not in said]
    same = [row, *same_columns(scan.parts, items, [n for n in others if n != row], mapped)]
    check_about_rows(named, same)
    first = items.of_parts(items.first)
    kept = pa.schema([scan.schema.field(name) for name in others if name in same])
    rows = Scan(kept, _wrapped(FirstLines, scan.parts, first), scan.bytes, scan.left_out)
    return Gathered(
        answers=items.answers,
        rows=rows,
        sizes=[int(own.sum()) for own in first],
        apart=[row, *request.ignore, *named],
        id=request.id or row,
        arguments={"long": names},
        notes=tuple(varying(others, [*same, *request.ignore])),
        left_out=_left_out(scan, by_part),
    )


def _columns(*said: Any) -> list[str]:
    """Take what names a column."""
    return [name for name in said if isinstance(name, str)]


def _check(names: Sequence[str], scan: Scan) -> None:
    for name in names:
        check_column(name, scan.names)


def _left_out(scan: Scan, by_part: list[gather.PartAnswers]) -> tuple[str, ...]:
    return (*scan.left_out, *(one for part in by_part for one in part.left_out))


def _wrapped(make: Callable[..., Any], parts: Sequence[Any], *beside: Sequence[Any]) -> Any:
    """Change how parts are read; those that are planned on a cluster, when they are there."""
    if parts and type(parts[0]).__module__.startswith("dask"):
        from misnomer.engines.dask import then

        make = partial(then, make)
    return tuple(make(*pair) for pair in zip(parts, *beside, strict=True))
