"""Drawn rows and their answers <-> columns of a table, for any frame or file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer.checks.design import OPEN, UNSURE, Draw, Population, Sample
from misnomer.rows.notation import as_it_looks

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Columns = Mapping[str, Sequence[Any]]

#: What a person writes where the row does not tell.
CANNOT_SAY = "cannot say"
_UNSURE_WORDS = {CANNOT_SAY, "can't say", "cannot tell", "don't know", "unsure", "?"}

_PARTS = ("size", "guess", "mass", "least")
#: The recorded design, column by column; a person needs none of them.
DESIGN = (
    "draw",
    "turn",
    "inclusion",
    "chance",
    "intensity",
    "stratum",
    *(f"stratum_{part}" for part in _PARTS),
    "label_column",
    "code",
)


@dataclass(frozen=True)
class Table:
    """What the checks are about: the labels of a table.

    Attributes
    ----------
    label : str
        The name of the label column.
    labels, classes : tuple
        The given labels and the true classes.
    given : (N,) array of int
        The place of each row's label in ``labels``; -1 where there is none.
    kept : (N,) array of int, optional
        The numbers of these rows, rising, where they are some of all; a sample's positions are then
        those in ``given``.
    labeled : int, optional
        How many of all rows have a label; by default as many of these.
    """

    label: str
    labels: tuple[Any, ...]
    classes: tuple[Any, ...]
    given: Codes
    kept: Codes | None = None
    labeled: int | None = None

    def code(self, row: int) -> str:
        """Stand for a row and its label, so that another file or column is noticed."""
        name = self.labels[self.given[row]] if self.given[row] >= 0 else None
        number = row if self.kept is None else int(self.kept[row])
        return "c" + blake2b(f"{self.label}|{number}|{name}".encode(), digest_size=4).hexdigest()

    def placed(self, columns: Columns) -> Columns:
        """Put the positions in ``given`` in the place of row numbers, where they differ."""
        if self.kept is None:
            return columns
        place = {number: at for at, number in enumerate(self.kept.tolist())}
        rows = [_position(row) for row in columns["row"]]
        for row in rows:
            if row not in place:
                raise ValueError(f"row {row} is answered, but the table has no such row")
        return {**columns, "row": [place[row] for row in rows]}


@dataclass(frozen=True, eq=False)
class Answers:
    """What a sheet says.

    Attributes
    ----------
    sample : Sample or None
        The rows that were drawn by a design, in the order of their turns.
    known : dict of int to int
        Every row whose class was said, drawn or not, and its place in ``classes``.
    classes : tuple
        The classes, and behind them those that only an answer names.
    notes : tuple of str
        What the user should know.
    """

    sample: Sample | None
    known: dict[int, int]
    classes: tuple[Any, ...]
    notes: tuple[str, ...] = ()


def sheet_columns(
    table: Table,
    one: Draw,
    number: int,
    first_turn: int,
    q: Array,
    stratum: Codes,
    rows: Population,
) -> dict[str, list[Any]]:
    """Write a draw down: the rows in the order of their turns, an empty answer, the design."""
    place = stratum[one.rows]
    parts = {f"stratum_{part}": getattr(rows, part)[place].tolist() for part in _PARTS}
    count = len(one.rows)
    return {
        "row": one.rows.tolist(),
        "true_label": [None] * count,
        "draw": [number] * count,
        "turn": list(range(first_turn, first_turn + count)),
        "inclusion": one.inclusion.tolist(),
        "chance": one.chance.tolist(),
        "intensity": q[one.rows].tolist(),
        "stratum": place.tolist(),
        **parts,
        "label_column": [table.label] * count,
        "code": [table.code(row) for row in one.rows.tolist()],
    }


def joined(design: Columns, answers: Mapping[int, Any]) -> dict[str, list[Any]]:
    """Put answers (row -> class) beside the recorded design; those without one come last."""
    out = {name: list(column) for name, column in design.items()}
    drawn = [int(row) for row in out["row"]]
    out["true_label"] = [answers.get(row) for row in drawn]
    for row in answers.keys() - {*drawn}:
        for name, column in out.items():
            column.append({"row": row, "true_label": answers[row]}.get(name))
    return out


def read_answers(columns: Columns) -> dict[int, Any]:
    """Read row -> answer; refuse a row that is answered twice, differently."""
    for name in ("row", "true_label"):
        if name not in columns:
            raise ValueError(
                f"the checked rows have no column {name!r}: they need row (its position, from 0) "
                "and true_label (the answer)"
            )
    out: dict[int, Any] = {}
    for row, answer in zip(columns["row"], columns["true_label"], strict=True):
        said = None if _blank(answer) else answer
        if said is None:
            continue
        place = _position(row)
        if place in out and _spelled(out[place]) != _spelled(said):
            raise ValueError(
                f"row {place} is answered twice, as {out[place]!r} and as {said!r}: keep one"
            )
        out[place] = said
    return out


def asked_rows(columns: Columns) -> list[int]:
    """List the rows that a sheet is about, answered or not."""
    return [_position(row) for row in columns["row"]]


def design_weights(columns: Columns, total: int) -> Array:
    """One over the intensity by which each of so many rows was drawn; zero for all others.

    Examples
    --------
    >>> design_weights({"row": [2, 0], "turn": [1, None], "intensity": [0.25, None]}, 3).tolist()
    [0.0, 0.0, 4.0]
    """
    out = np.zeros(total)
    if "intensity" not in columns:
        return out
    for row, intensity in zip(columns["row"], columns["intensity"], strict=True):
        if not _blank(intensity) and 0 <= _position(row) < total:
            out[_position(row)] = 1.0 / float(intensity)
    return out


def read_sheet(columns: Columns, table: Table) -> Answers:
    """Understand a sheet: its answers and, where it carries one, its design.

    Parameters
    ----------
    columns : mapping of str to sequence
        At least ``row`` and ``true_label``; the columns of `DESIGN` where the rows were drawn.
    table : Table
        What the rows are about.
    """
    read_answers(columns)
    columns = table.placed(columns)
    said = read_answers(columns)
    if not said:
        raise ValueError("no row is answered yet: write the true class into the column true_label")
    classes, known, notes = _classes(said, table)
    for row in known:
        if not 0 <= row < len(table.given):
            last = len(table.given) - 1
            raise ValueError(f"row {row} is answered, but the table has rows 0 to {last} only")
    sample = _sample(columns, table, known)
    drawn = set() if sample is None else {*sample.row.tolist()}
    extra = len(known.keys() - drawn)
    if extra:
        notes.append(
            f"{extra:,} answered {'row was' if extra == 1 else 'rows were'} not drawn by chance: "
            "what is known of them is used, but they do not count for the rate"
        )
    sure = {row: code for row, code in known.items() if code >= 0}
    return Answers(sample, sure, classes, tuple(notes))


def _classes(
    said: Mapping[int, Any], table: Table
) -> tuple[tuple[Any, ...], dict[int, int], list[str]]:
    """Find each answer among the classes; a new name is a new class."""
    place = {_spelled(name): k for k, name in enumerate(table.classes)}
    loose: dict[str, int] = {}
    for name, k in place.items():
        loose[name.casefold()] = k if name.casefold() not in loose else -1
    names, fresh, known = list(table.classes), dict[str, int](), dict[int, int]()
    for row, answer in said.items():
        word = _spelled(answer)
        k = place.get(word, loose.get(word.casefold(), -1))
        if k >= 0:
            known[row] = k
        elif word.casefold() in _UNSURE_WORDS:
            known[row] = UNSURE
        else:
            if word not in fresh:
                fresh[word] = len(names)
                names.append(answer)
            known[row] = fresh[word]
    notes = []
    for word in fresh:
        near = get_close_matches(word, list(place), 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        notes.append(
            f"the answer {word!r} is no class of the column {table.label!r}{hint}: it is taken for "
            "a class of its own, and the given labels of those rows for wrong"
        )
    return tuple(names), known, notes


def _sample(columns: Columns, table: Table, known: Mapping[int, int]) -> Sample | None:
    if not {*DESIGN} <= {*columns}:
        return None
    drawn = [i for i, turn in enumerate(columns["turn"]) if not _blank(turn)]
    if not drawn:
        return None
    order = sorted(drawn, key=lambda i: int(columns["turn"][i]))

    def numbers(name: str) -> Array:
        return np.array([float(columns[name][i]) for i in order])

    row = np.array([_position(columns["row"][i]) for i in order], np.int64)
    _check_origin(columns, table, order, row)
    stratum = numbers("stratum").astype(np.int64)
    true = np.array([known.get(int(one), OPEN) for one in row], np.int64)
    return Sample(
        row=row,
        draw=numbers("draw").astype(np.int64),
        chance=numbers("chance"),
        intensity=numbers("intensity"),
        inclusion=numbers("inclusion"),
        stratum=stratum,
        population=_population(stratum, numbers, _labeled(table)),
        true=true,
        given=_homes(table)[table.given[row]],
    )


def _labeled(table: Table) -> int:
    return int((table.given >= 0).sum()) if table.labeled is None else int(table.labeled)


def _check_origin(columns: Columns, table: Table, order: list[int], row: Codes) -> None:
    names = {str(columns["label_column"][i]) for i in order}
    if names != {table.label}:
        raise ValueError(
            f"these checks were drawn for the label column {sorted(names)[0]!r}, not for "
            f"{table.label!r}: draw new ones for it"
        )
    if len({*row.tolist()}) < len(row):
        raise ValueError("a row stands twice among the drawn ones: keep the sheet as it was drawn")
    for i, one in zip(order, row.tolist(), strict=True):
        if not 0 <= one < len(table.given) or table.code(one) != str(columns["code"][i]):
            raise ValueError(
                f"row {one} is not what it was when the checks were drawn: the file has changed; "
                "audit it into another folder and draw new ones, or pass rows and answers alone"
            )


def _population(stratum: Codes, numbers: Any, total: int) -> Population:
    """Read what was recorded of each stratum; one without a drawn row is what is left over."""
    H = int(stratum.max()) + 1
    parts = {part: np.zeros(H) for part in _PARTS}
    for part in _PARTS:
        parts[part][stratum] = numbers(f"stratum_{part}")
    empty = parts["size"] == 0
    over = total - parts["size"].sum()
    if over > 0.5 and not empty.any():
        parts = {name: np.append(value, 0.0) for name, value in parts.items()}
        empty = np.append(empty, True)
    if empty.any():
        parts["size"][empty] = over / empty.sum()
        parts["guess"][empty] = 0.5
        parts["mass"][empty] = max(1.0 - parts["mass"].sum(), 0.0) / empty.sum()
        parts["least"][empty] = parts["least"][~empty].min()
    return Population(**parts)


def _homes(table: Table) -> Codes:
    """The place of each given label among the classes; one that is none of them is never right."""
    place = {name: k for k, name in enumerate(table.classes)}
    return np.array([place.get(name, -9) for name in table.labels], np.int64)


def _position(row: Any) -> int:
    try:
        number = float(row)
        if number == int(number):
            return int(number)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"the column row holds {row!r}: it takes positions, 0, 1, 2, ...")


def _blank(cell: Any) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def _spelled(name: Any) -> str:
    """Spell a class as a cell of a spreadsheet may: blanks around it mean nothing, 1.0 is 1."""
    if isinstance(name, float) and name == int(name):
        return str(int(name))
    return as_it_looks(str(name).strip().removeprefix("'"))
