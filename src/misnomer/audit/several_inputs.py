"""Several labels a row, or groups of rows -> answers, columns, and how to hand results back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit import inputs
from misnomer.audit.frames import Shape, default_backend
from misnomer.classifiers import labels
from misnomer.readers.frames import arrow_columns
from misnomer.sources import Answers, from_groups, from_long, from_table


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
        if isinstance(data, str | Path):
            from misnomer.readers.files import read_table

            table = cls(read_table(data), default_backend(), None)
        elif inputs._is_table(data):
            names, columns = arrow_columns(data)
            kind = inputs._backend(nw.from_native(data, eager_only=True))
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
    data: Any, annotators: Any, *, ignore: Any = (), id: str | None = None, trusted: Any = None
) -> Several:
    """Read a label column per annotator; an empty cell was not asked."""
    table, names = Table.of(data), list(dict.fromkeys(inputs._names(annotators)))
    apart = [*names, *inputs._names(ignore), *_columns(id, trusted)]
    table.check(apart)
    if len(names) < 2:
        raise ValueError(
            f"{len(names)} annotator columns are named: with one label per row say label=..."
        )
    source = table.source
    said = {name: inputs.labels_of(source, name) for name in names}
    kept = [name for name in names if not labels.missing(said[name]).all()]
    silent = [name for name in names if name not in kept]
    cells = np.empty((len(source), len(kept)), object)
    for j, name in enumerate(kept):
        cells[:, j] = said[name]
    notes = [f"annotator {name!r} gave no answer: the column is left out" for name in silent]
    features, more = _features(source, apart)
    shape = Shape(table.backend, table.index, source, id)
    mask = inputs.flags_of(source, trusted) if isinstance(trusted, str) else trusted
    answers = from_table(cells, annotators=np.array(kept))
    asked = {"annotators": names}
    return Several(features, answers, "majority vote", mask, shape, asked, (*notes, *more))


def by_lines(
    data: Any, long: Any, *, ignore: Any = (), id: str | None = None, trusted: Any = None
) -> Several:
    """Read a line per answer; other columns that are the same in all lines of a row describe it."""
    names = [long] if isinstance(long, str) else list(long)
    if len(names) != 3:
        raise ValueError("long= names three columns: the row, the annotator and the label")
    table = Table.of(data)
    table.check([*names, *inputs._names(ignore), *_columns(id, trusted)])
    row, who, label = names
    lines = table.source
    place, first = _rows_of(lines, row)
    said, who_said = inputs.labels_of(lines, label), inputs.labels_of(lines, who)
    _check_answers(lines.column(row), place, who_said, said, who)
    others = [name for name in lines.column_names if name not in (who, label)]
    same = [name for name in others if _same(lines.column(name), place, first)]
    _check_about_rows([row, *_columns(id, trusted)], same)
    source = lines.select(same).take(pa.array(first))
    features, more = _features(source, [row, *inputs._names(ignore), *_columns(id, trusted)])
    vary = [name for name in others if name not in (*same, *inputs._names(ignore))]
    notes = [f"column {name!r} differs between answers about one row: left out" for name in vary]
    mask = inputs.flags_of(source, trusted) if isinstance(trusted, str) else trusted
    answers = from_long(place, who_said, said, n_rows=len(first))
    shape = Shape(table.backend, None, source, id or row)
    return Several(
        features, answers, "majority vote", mask, shape, {"long": names}, (*notes, *more)
    )


def by_groups(
    data: Any,
    label: Any,
    groups: Any,
    *,
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
) -> Several:
    """Read one label per row and the group that each row belongs to."""
    apart = [*inputs._names(ignore), *([groups] if isinstance(groups, str) else [])]
    found = inputs.gather(data, label, ignore=apart, id=id, trusted=trusted)
    named = groups if isinstance(groups, str) else "noise_groups"
    if isinstance(groups, str):
        group = inputs.labels_of(found.shape.table(), groups)
    else:
        group = labels.column(groups)
        if len(group) != len(found.y):
            raise ValueError(f"there are {len(found.y)} rows but {len(group)} groups")
    nobody = labels.missing(group) & ~labels.missing(found.y)
    if nobody.any():
        raise ValueError(
            f"row {int(np.argmax(nobody))} has a label but no group in {named!r}: name its group"
        )
    answers = from_groups(np.asarray(found.y, object), np.asarray(group, object))
    if answers.n_annotators < 2:
        raise ValueError(f"{named!r} holds one group only: leave it out, there is none to compare")
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


def _rows_of(lines: pa.Table, row: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the rows that the lines are about, (N,), and find the first line of each, (n,)."""
    column = lines.column(row)
    if column.null_count:
        at = int(np.argmax(column.is_null().to_numpy()))
        raise ValueError(f"line {at} names no row in column {row!r}: fill it in or drop the line")
    place = _codes(column)
    return place, np.unique(place, return_index=True)[1].astype(np.int64)


def _same(column: Any, place: NDArray[np.int64], first: NDArray[np.int64]) -> bool:
    """Tell whether a column says the same in all lines of a row."""
    codes = _codes(column)
    return bool((codes == codes[first][place]).all())


def _check_about_rows(wanted: list[str], same: list[str]) -> None:
    for name in wanted:
        if name not in same:
            raise ValueError(
                f"column {name!r} differs between answers about one row: make it the same in all"
            )


def _check_answers(
    rows: Any, place: NDArray[np.int64], who: NDArray[Any], said: NDArray[Any], column: str
) -> None:
    """Refuse answers of nobody, and two different answers of one annotator about one row."""
    known: dict[tuple[int, Any], Any] = {}
    gaps, nobody = labels.missing(said), labels.missing(who)
    for j, key in enumerate(zip(place.tolist(), who.tolist(), strict=True)):
        if gaps[j]:
            continue
        if nobody[j]:
            raise ValueError(f"the answer in line {j} names nobody in column {column!r}: say who")
        if known.setdefault(key, said[j]) != said[j]:
            raise ValueError(
                f"annotator {key[1]} says both {known[key]} and {said[j]} about row "
                f"{rows[j].as_py()}: keep one answer of each annotator about a row"
            )
