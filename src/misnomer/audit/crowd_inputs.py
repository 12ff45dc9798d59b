"""A file or a Dask frame with several annotators -> their answers here, the rows where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from misnomer.answers import Answers
from misnomer.audit import crowd_heard, crowd_lines, several_inputs
from misnomer.audit.crowd_lines import FirstLines, WholeLines
from misnomer.audit.crowd_same import same_columns
from misnomer.audit.inputs import check_column
from misnomer.rows.scan import Scan


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

    @property
    def label_columns(self) -> list[str]:
        """The columns that hold labels."""
        if self.long is not None:
            return several_inputs.three_columns(self.long)[2:]
        return several_inputs.named_annotators(self.annotators)

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
    return (_by_columns if asked.long is None else _by_lines)(found, asked, mapped)


def _by_columns(found: Scan, asked: Asked, mapped: Any) -> Gathered:
    names = several_inputs.named_annotators(asked.annotators)
    _check([*names, *asked.named], found)
    hear = partial(crowd_heard.heard_columns, names=names, skip_bad=asked.skip_bad)
    heard = list(mapped(hear, found.parts))
    answers = crowd_heard.by_columns(heard, names)
    return Gathered(
        answers=answers,
        rows=found,
        sizes=[one.rows for one in heard],
        apart=[*names, *asked.named],
        id=asked.id,
        arguments={"annotators": names},
        notes=tuple(several_inputs.silent(names, answers)),
        left_out=_left_out(found, heard),
    )


def _by_lines(found: Scan, asked: Asked, mapped: Any) -> Gathered:
    names = several_inputs.three_columns(asked.long)
    row, *said = names
    _check([*names, *asked.named], found)
    hear = partial(crowd_heard.heard_lines, names=names, skip_bad=asked.skip_bad)
    heard = list(mapped(hear, found.parts))
    items = crowd_lines.by_lines(heard, names)
    others = [name for name in found.names if name not in said]
    same = [row, *same_columns(found.parts, items, [n for n in others if n != row], mapped)]
    several_inputs.check_about_rows(
        [name for name in asked.named if name not in asked.ignore], same
    )
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
        notes=tuple(several_inputs.varying(others, [*same, *asked.ignore])),
        left_out=_left_out(found, heard),
    )


def _check(names: Sequence[str], found: Scan) -> None:
    for name in names:
        check_column(name, found.names)


def _left_out(found: Scan, heard: list[crowd_heard.Heard]) -> tuple[str, ...]:
    return (*found.left_out, *(one for part in heard for one in part.left_out))


def _wrapped(make: Callable[..., Any], parts: Sequence[Any], *beside: Sequence[Any]) -> Any:
    """Change how parts are read; those that are planned on a cluster, when they are there."""
    if parts and type(parts[0]).__module__.startswith("dask"):
        from misnomer.engines.dask_frames import then

        make = partial(then, make)
    return tuple(make(*pair) for pair in zip(parts, *beside, strict=True))
