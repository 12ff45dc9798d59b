"""Several labels a row, or groups of rows, in a table or a scan -> answers, and the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.answers import Answers, from_groups
from misnomer.audit import inputs
from misnomer.audit.crowds import gather
from misnomer.audit.crowds.gather import (
    FirstLines,
    WholeLines,
    heard_columns,
    heard_lines,
    same_columns,
)
from misnomer.audit.frames import Shape
from misnomer.audit.inputs import check_column
from misnomer.audit.request import Request
from misnomer.classifiers import labels
from misnomer.classifiers.annotators.groups import check_several, check_stray
from misnomer.rows.columns.labels import clean_parts
from misnomer.rows.frames import arrow_columns
from misnomer.rows.parts import Part, TablePart
from misnomer.rows.scan import Scan


@dataclass(frozen=True, eq=False)
class Several:
    """Answers and columns, apart.

    Attributes
    ----------
    features : table or None
        What may be learned from beside the answers; None without any.
    answers : Answers
        Who said what about which row.
    label : str
        What the given label of a row is called.
    trusted : array or None
        Rows whose given label is known to be right.
    shape : Shape
        What the input was.
    asked : mapping
        The arguments of `audit` that led here.
    notes : tuple of str
        What was left out, and why.
    single : Inputs or None
        The same where rows have one label: as an audit without groups would take them.
    """

    features: Any
    answers: Answers
    label: str
    trusted: Any
    shape: Shape
    asked: Mapping[str, Any]
    notes: tuple[str, ...] = ()
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

    def check(self, names: Sequence[str]) -> None:
        """Refuse a column that is not there."""
        for name in names:
            inputs.check_column(name, self.source.column_names)


def several_of(request: Request) -> Several:
    """Read whichever kind of labels was asked for."""
    where: dict[str, Any] = {
        "ignore": request.ignore, "id": request.id, "trusted": request.trusted,
        "ignore_case": request.ignore_case,
    }  # fmt: skip
    if request.annotators is not None:
        return by_columns(request.data, request.annotators, **where)
    if request.long is not None:
        return by_lines(request.data, request.long, **where)
    return by_groups(request.data, request.label, request.noise_groups, **where)


def by_columns(
    data: Any,
    annotators: Any,
    *,
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
    ignore_case: bool = False,
) -> Several:
    """Read a label column per annotator; an empty cell was not asked."""
    table, names = Table.of(data), named_annotators(annotators)
    apart = [*names, *inputs._names(ignore), *_columns(id, trusted)]
    table.check(apart)
    source = table.source
    answers = gather.by_columns([heard_columns(_cleaned(source, names, ignore_case), names)], names)
    features, more = _features(source, apart)
    shape = Shape(table.backend, table.index, source, id)
    mask = inputs.flags_of(source, trusted) if isinstance(trusted, str) else trusted
    asked, notes = {"annotators": names}, (*silent(names, answers), *more)
    return Several(features, answers, "majority vote", mask, shape, asked, notes)


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


def _cleaned(source: pa.Table, names: Sequence[str], ignore_case: bool) -> Part:
    """Strip the labels in these columns on the way."""
    (part,) = clean_parts([TablePart(source)], names, ignore_case)
    return part


def by_lines(
    data: Any,
    long: Any,
    *,
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
    ignore_case: bool = False,
) -> Several:
    """Read a line per answer; other columns that are the same in all lines of a row describe it."""
    table, names = Table.of(data), three_columns(long)
    table.check([*names, *inputs._names(ignore), *_columns(id, trusted)])
    row, who, label = names
    lines = table.source
    found = gather.by_lines([heard_lines(_cleaned(lines, [label], ignore_case), names)], names)
    place, first = found.item, np.flatnonzero(found.first)
    others = [name for name in lines.column_names if name not in (who, label)]
    same = [name for name in others if _same(lines.column(name), place, first)]
    check_about_rows([row, *_columns(id, trusted)], same)
    source = lines.select(same).take(pa.array(first))
    features, more = _features(source, [row, *inputs._names(ignore), *_columns(id, trusted)])
    notes = varying(others, [*same, *inputs._names(ignore)])
    mask = inputs.flags_of(source, trusted) if isinstance(trusted, str) else trusted
    shape = Shape(table.backend, None, source, id or row)
    return Several(
        features, found.answers, "majority vote", mask, shape, {"long": names}, (*notes, *more)
    )


def by_groups(
    data: Any,
    label: Any,
    groups: Any,
    *,
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
    ignore_case: bool = False,
) -> Several:
    """Read one label per row and the group that each row belongs to."""
    apart = [*inputs._names(ignore), *([groups] if isinstance(groups, str) else [])]
    found = inputs.gather(
        data, label, ignore=apart, id=id, trusted=trusted, ignore_case=ignore_case
    )
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


def _columns(*said: Any) -> list[str]:
    return [name for name in said if isinstance(name, str)]


def _features(source: pa.Table, apart: list[str]) -> tuple[pa.Table | None, list[str]]:
    """Take the columns to learn from, and say which ones only number the rows."""
    left = [name for name in source.column_names if name not in apart]
    numbers = [name for name in left if inputs.is_numbering(name, source)]
    kept = [name for name in left if name not in numbers]
    notes = [f"column {name!r} only numbers the rows: it is ignored" for name in numbers]
    return (source.select(kept) if kept else None), notes


def _codes(column: Any) -> NDArray[np.int64]:
    """Number the values of a column by their first appearance; a gap is a value."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    coded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64)


def _same(column: Any, place: NDArray[np.int32], first: NDArray[np.int64]) -> bool:
    """Tell whether a column says the same in all lines of a row."""
    codes = _codes(column)
    return bool((codes == codes[first][place]).all())


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
class Asked:
    """What the user said, beside the rows."""

    annotators: Any = None
    long: Any = None
    ignore: tuple[str, ...] = ()
    id: str | None = None
    trusted: str | None = None
    skip_bad: bool = False
    ignore_case: bool = False

    @classmethod
    def of(cls, request: Request) -> Asked:
        """Take what concerns rows that are read by batches."""
        return cls(
            request.annotators, request.long, request.ignore, request.id, request.trusted,
            request.skip_bad, request.ignore_case,
        )  # fmt: skip

    @property
    def label_columns(self) -> list[str]:
        """The columns that hold labels."""
        if self.long is not None:
            return three_columns(self.long)[2:]
        return named_annotators(self.annotators)

    @property
    def named(self) -> list[str]:
        """The columns that describe rows, but must not be learned from."""
        return [*self.ignore, *(name for name in (self.id, self.trusted) if name)]


@dataclass(frozen=True, eq=False)
class Gathered:
    """The answers, and the rows that they are about.

    Attributes
    ----------
    answers : Answers
        Who said what.
    rows : Scan
        One row each, in the order in which the answers number them.
    sizes : list of int
        How many rows each part of them has.
    apart : list of str
        Columns that must not be learned from.
    id : str or None
        The column that names the rows.
    arguments : dict
        The arguments of `audit` that led here.
    notes, left_out : tuples of str
        What is not learned from, and what could not be read.
    """

    answers: Answers
    rows: Scan
    sizes: list[int]
    apart: list[str]
    id: str | None
    arguments: dict[str, Any]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def gathered(found: Scan, asked: Asked, mapped: Any) -> Gathered:
    """Go through the labels, and through nothing else."""
    if asked.skip_bad:  # what is damaged must be left out every time, whichever columns are read
        whole = partial(WholeLines, columns=tuple(found.names))
        found = Scan(found.schema, _wrapped(whole, found.parts), found.bytes, found.left_out)
    return (_scan_columns if asked.long is None else _scan_lines)(found, asked, mapped)


def _scan_columns(found: Scan, asked: Asked, mapped: Any) -> Gathered:
    names = named_annotators(asked.annotators)
    _check([*names, *asked.named], found)
    hear = partial(gather.heard_columns, names=names, skip_bad=asked.skip_bad)
    heard = list(mapped(hear, found.parts))
    answers = gather.by_columns(heard, names)
    return Gathered(
        answers=answers,
        rows=found,
        sizes=[one.rows for one in heard],
        apart=[*names, *asked.named],
        id=asked.id,
        arguments={"annotators": names},
        notes=tuple(silent(names, answers)),
        left_out=_left_out(found, heard),
    )


def _scan_lines(found: Scan, asked: Asked, mapped: Any) -> Gathered:
    names = three_columns(asked.long)
    row, *said = names
    _check([*names, *asked.named], found)
    hear = partial(gather.heard_lines, names=names, skip_bad=asked.skip_bad)
    heard = list(mapped(hear, found.parts))
    items = gather.by_lines(heard, names)
    others = [name for name in found.names if name not in said]
    same = [row, *same_columns(found.parts, items, [n for n in others if n != row], mapped)]
    check_about_rows([name for name in asked.named if name not in asked.ignore], same)
    first = items.of_parts(items.first)
    kept = pa.schema([found.schema.field(name) for name in others if name in same])
    rows = Scan(kept, _wrapped(FirstLines, found.parts, first), found.bytes, found.left_out)
    return Gathered(
        answers=items.answers,
        rows=rows,
        sizes=[int(own.sum()) for own in first],
        apart=[row, *asked.named],
        id=asked.id or row,
        arguments={"long": names},
        notes=tuple(varying(others, [*same, *asked.ignore])),
        left_out=_left_out(found, heard),
    )


def _check(names: Sequence[str], found: Scan) -> None:
    for name in names:
        check_column(name, found.names)


def _left_out(found: Scan, heard: list[gather.Heard]) -> tuple[str, ...]:
    return (*found.left_out, *(one for part in heard for one in part.left_out))


def _wrapped(make: Callable[..., Any], parts: Sequence[Any], *beside: Sequence[Any]) -> Any:
    """Change how parts are read; those that are planned on a cluster, when they are there."""
    if parts and type(parts[0]).__module__.startswith("dask"):
        from misnomer.engines.dask import then

        make = partial(then, make)
    return tuple(make(*pair) for pair in zip(parts, *beside, strict=True))
