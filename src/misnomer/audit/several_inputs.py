"""Several labels a row, or groups of rows -> answers, columns, and how to hand results back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.answers import Answers, from_groups
from misnomer.audit import crowd_heard, crowd_lines, inputs
from misnomer.audit.crowd_heard import heard_columns, heard_lines
from misnomer.audit.frames import Shape
from misnomer.classifiers import labels
from misnomer.classifiers.annotators.groups import check_several, check_stray
from misnomer.rows.columns.labels import CleanPart
from misnomer.rows.frames import arrow_columns
from misnomer.rows.parts import Part, TablePart


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
    answers = crowd_heard.by_columns(
        [heard_columns(_cleaned(source, names, ignore_case), names)], names
    )
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
    part: Part = TablePart(source)
    for name in names:
        part = CleanPart(part, name, ignore_case)
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
    found = crowd_lines.by_lines([heard_lines(_cleaned(lines, [label], ignore_case), names)], names)
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
