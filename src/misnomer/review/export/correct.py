"""The right labels in the label column: by people, by the model where asked, else as given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.reports.wording import counted
from misnomer.review.log.decisions import Decision

CONSENSUS = "consensus"  # the label column of rows with several answers, which have none


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows, one after the other, and what the model thinks of them.

    Attributes
    ----------
    table : pyarrow.Table
        The input's own columns.
    start : int
        The place of the first row among all.
    given, suggested : list
        Labels; None where there is none.
    wrong : array
        P(the given label is wrong); negative without a label.
    flagged : array of bool
        Where another class is more probable than the given label.
    """

    table: pa.Table
    start: int
    given: list[Any]
    suggested: list[Any]
    wrong: NDArray[Any]
    flagged: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Wish:
    """How labels are to be corrected.

    Attributes
    ----------
    label : str
        The label column.
    voted : bool
        Whether the given labels are votes: then the model's consensus counts, not the majority's.
    decided : mapping of int to Decision
        What people decided, by row.
    probability : float or None
        Take the model's suggestion where the label is wrong with at least this probability.
    """

    label: str
    voted: bool
    decided: Mapping[int, Decision]
    probability: float | None = None

    @property
    def model_helps(self) -> bool:
        """Tell whether the model's suggestions are taken at all."""
        return self.voted or self.probability is not None


@dataclass(frozen=True)
class Done:
    """What was changed; parts add."""

    changed: int = 0
    people: int = 0
    model: int = 0

    def __add__(self, other: Done) -> Done:
        return Done(
            self.changed + other.changed, self.people + other.people, self.model + other.model
        )

    def words(self, *, voted: bool) -> str:
        """Say it in a sentence.

        Examples
        --------
        >>> Done(3, 2, 2).words(voted=True)
        'the consensus is not the majority in 3 rows (2 rows decided by people, 2 by the model)'
        """
        what = f"{counted(self.changed, 'label')} changed"
        if voted:
            what = f"the consensus is not the majority in {counted(self.changed, 'row')}"
        people = f"{counted(self.people, 'row')} decided by people"
        return f"{what} ({people}, {self.model:,} by the model)"


def corrected(part: Part, wish: Wish) -> tuple[pa.Table, Done]:
    """Put the right labels into the label column, the given ones and who decided behind it.

    Returns
    -------
    pyarrow.Table
        The input's columns, then ``given_label``, ``decided_by`` ("person", "model" or
        "untouched") and ``decided_at``. A row that nobody could tell stays untouched. Where rows
        have several answers, a column ``consensus`` comes before them, and ``given_label`` is the
        majority's.
    Done
        How many labels were changed, and by whom.
    """
    labels, who = list(part.given), ["untouched"] * len(part.given)
    when: list[str | None] = [None] * len(part.given)
    if wish.model_helps:
        enough = part.wrong >= (0.0 if wish.probability is None else wish.probability)
        for row in np.flatnonzero(enough & part.flagged).tolist():
            if part.start + row not in wish.decided:
                labels[row], who[row] = part.suggested[row], "model"
    for place, one in _within(part, wish.decided):
        if one.action != "unsure":
            labels[place], who[place], when[place] = one.label, "person", one.at
    changed = sum(new != old for new, old in zip(labels, part.given, strict=True))
    done = Done(changed, who.count("person"), who.count("model"))
    return _extended(part, wish, labels, who, when), done


def _within(part: Part, decided: Mapping[int, Decision]) -> list[tuple[int, Decision]]:
    """Find the decided rows of a part, by their places in it."""
    stop = part.start + len(part.given)
    return [(row - part.start, one) for row, one in decided.items() if part.start <= row < stop]


def _extended(
    part: Part, wish: Wish, labels: list[Any], who: list[str], when: list[str | None]
) -> pa.Table:
    table, names = part.table, part.table.column_names
    if wish.label in names and not wish.voted:
        at = names.index(wish.label)
        before = table.column(at)
        fresh = _changed(before, labels, part.given)
        table = table.set_column(at, pa.field(wish.label, fresh.type), fresh)
    else:
        before = pa.array(part.given)
        name = CONSENSUS if wish.voted else wish.label
        table = _beside(table, name, pa.array(labels, before.type))
    for name, column in (
        ("given_label", before),
        ("decided_by", pa.array(who)),
        ("decided_at", pa.array(when, pa.string())),
    ):
        table = _beside(table, name, column)
    return table


def _beside(table: pa.Table, name: str, column: Any) -> pa.Table:
    """Add a column; one of that name is left alone."""
    while name in table.column_names:
        name += " (misnomer)"
    return table.append_column(name, column) if table.num_columns else pa.table({name: column})


def _changed(before: pa.ChunkedArray, labels: list[Any], given: list[Any]) -> pa.Array:
    """Change only the cells whose label changed: all others stay as they were written."""
    cells = before.to_pylist()
    for row, (new, old) in enumerate(zip(labels, given, strict=True)):
        if new != old:
            cells[row] = new
    kind = before.type.value_type if pa.types.is_dictionary(before.type) else before.type
    try:
        fresh = pa.array(cells, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        fresh = pa.array([None if cell is None else str(cell) for cell in cells]).cast(kind)
    return fresh.cast(before.type) if pa.types.is_dictionary(before.type) else fresh
