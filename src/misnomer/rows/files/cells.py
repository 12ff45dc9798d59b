"""What the cells of a text file are: numbers, dates, texts, or texts that were made harmless.

What a column is, is settled by a first pass that adds up over its parts.

A column is of the first kind in the order int, float, float with a comma, date, time that every
cell can be read as. "Every" is an "and", so the kinds that remain possible can be found batch by
batch, in any order. An empty cell is missing everywhere; "NA", "?", "null" and the like only where
the other cells are numbers or dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from misnomer.rows.notation import MISSING, emptied, hold_digits, readable

_MOST_DIGITS = 19  # of a whole number, from which on it may not fit into 64 bits
HEAD = 20  # cells that tell whether a column may hold numbers at all

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_OURS = {"row", "given_label", "suggested_label", "error_probability"}  # of an issues.csv

TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "comma": pa.float64(),
    "date": pa.date32(),
    "time": pa.timestamp("us"),
    "text": pa.string(),
}

# What else could be said of cells that can be read as the key, and as nothing before it.
_IMPLIED = {
    "int": frozenset({"int", "float", "comma"}),
    "float": frozenset({"float", "comma"}),
    "comma": frozenset({"comma"}),
    "date": frozenset({"date", "time"}),
    "time": frozenset({"time"}),
}
_ALL = frozenset(_IMPLIED)


@dataclass(frozen=True)
class Guess:
    """What a column of text can still be; guesses of consecutive rows add.

    Examples
    --------
    >>> one, two = guess(pa.array(["1", "NA"])), guess(pa.array(["2.5"]))
    >>> one.kind(), two.kind(), (one + two).kind()
    ('int', 'float', 'float')
    """

    head: tuple[str | None, ...] = ()  # the first cells, trimmed
    possible: frozenset[str] = _ALL  # the kinds that every cell so far can be read as
    numbers: int = 0  # cells that are not missing under such a reading
    code: bool = False  # whether a whole number begins with a zero
    # whether one has so many digits that a double would round it: it names something
    long: bool = False
    clean: bool = True  # whether no cell has white space around it
    # of the points in numbers: "thousand" where they could separate thousands, else "decimal"
    points: frozenset[str] = frozenset()

    def __add__(self, other: Guess) -> Guess:
        return Guess(
            (*self.head, *other.head)[:HEAD],
            self.possible & other.possible,
            self.numbers + other.numbers,
            self.code or other.code,
            self.long or other.long,
            self.clean and other.clean,
            self.points | other.points,
        )

    @property
    def hopeless(self) -> bool:
        """Whether it is text, whatever comes."""
        full = len(self.head) >= HEAD
        return not self.possible or (full and not _plausible(self.head))

    def kind(self, *, decimal_comma: bool = False, thousands: bool = False) -> str:
        """Name the kind that the column is, if no cell is to come.

        Where ``thousands`` may have points, numbers of which all could be such are texts: how they
        are written is looked at later.
        """
        if not self.numbers or not _plausible(self.head):
            return "text"
        order = [kind for kind in _IMPLIED if kind != "comma" or decimal_comma]
        found = next((kind for kind in order if kind in self.possible), "text")
        named = (found == "int" and self.code) or (found == "float" and self.long)
        named = named or (thousands and found == "float" and self.points == {"thousand"})
        return "text" if named else found


def guess(values: pa.Array, sofar: Guess | None = None) -> Guess:
    """Look at some cells; those of a column that is known to be text are not looked at."""
    if sofar is not None and sofar.hopeless:
        return Guess(possible=frozenset())
    trimmed = pc.utf8_trim_whitespace(values)
    clean = pc.sum(pc.binary_length(trimmed)) == pc.sum(pc.binary_length(values))
    trimmed = emptied(trimmed, pc.equal(trimmed, ""))
    head = tuple(trimmed.slice(0, HEAD).to_pylist())
    cells = pc.drop_null(_numbers(trimmed))
    if not len(cells):
        return Guess(head, clean=clean)
    if not _plausible(head) and (sofar is None or len(sofar.head) < HEAD):
        return Guess(head, frozenset(), len(cells))
    left = _ALL if sofar is None else sofar.possible  # what is ruled out is not tried again
    dotted = cells.filter(pc.match_substring(cells, "."))
    left = left - {"comma"} if len(dotted) else left  # in no number both mark decimals
    found = (_IMPLIED[kind] for kind in _IMPLIED if kind in left and readable(cells, _cast, kind))
    possible: frozenset[str] = next(found, frozenset()) & left
    code, long = "int" in possible and _has_code(cells), "float" in possible and _has_long(cells)
    points = _points(dotted) if "float" in possible else frozenset[str]()
    return Guess(head, possible, len(cells), code, long, clean, points)


def typed(values: pa.ChunkedArray, *, decimal_comma: bool = False) -> pa.ChunkedArray:
    """Turn a column of text into whole numbers, numbers or dates, where every cell is one.

    Blanks are missing. Numbers that begin with a zero, such as a postal code, stay text.

    Examples
    --------
    >>> typed(pa.chunked_array([["1", "NA", " 3"]])).to_pylist()
    [1, None, 3]
    >>> typed(pa.chunked_array([["a", "NA", "007"]])).to_pylist()
    ['a', 'NA', '007']
    """
    return cast_cells(values, guess(values).kind(decimal_comma=decimal_comma))


def without_words(values: pa.Array, missing: tuple[str, ...]) -> pa.Array:
    """Empty the cells that hold one of these words, whatever blanks are around it."""
    if not missing or not pa.types.is_string(values.type):
        return values
    said = pc.is_in(pc.utf8_trim_whitespace(values), value_set=pa.array(missing))
    return emptied(values, said)


def _points(dotted: pa.Array) -> frozenset[str]:
    """Tell what the points of these numbers can mean.

    Examples
    --------
    >>> sorted(_points(pa.array(["1.234", "-12.000"]))), sorted(_points(pa.array(["0.123", "1.5"])))
    (['thousand'], ['decimal'])
    """
    grouped = pc.match_substring_regex(dotted, r"^[+-]?[1-9]\d{0,2}\.\d{3}$")
    return frozenset("thousand" if one else "decimal" for one in pc.unique(grouped).to_pylist())


def may_have_thousands(guesses: Iterable[Guess], separator: str | None) -> bool:
    """Tell whether points may separate thousands: beside semicolons, and nowhere decimals."""
    numbers = (one for one in guesses if "float" in one.possible)
    return separator == ";" and not any("decimal" in one.points for one in numbers)


def _has_code(cells: pa.Array) -> bool:
    zero = cells.filter(pc.starts_with(cells, "0"))
    return bool(len(zero) and pc.any(pc.match_substring_regex(zero, "^0[0-9]")).as_py())


def _has_long(cells: pa.Array) -> bool:
    long = cells.filter(pc.greater_equal(pc.binary_length(cells), _MOST_DIGITS))
    return bool(len(long) and pc.any(pc.match_substring_regex(long, r"^[+-]?\d+$")).as_py())


def _numbers(trimmed: pa.Array) -> pa.Array:
    return emptied(trimmed, pc.is_in(trimmed, value_set=pa.array(MISSING)))


def _cast(cells: pa.Array, kind: str) -> pa.Array:
    if kind == "comma":
        cells = pc.replace_substring(cells, ",", ".")
    return cells.cast(TYPES[kind])


def _plausible(head: tuple[str | None, ...]) -> bool:
    return hold_digits(cell for cell in head if cell and cell not in MISSING)


def cast_cells(values: pa.Array, kind: str, missing: tuple[str, ...] = ()) -> pa.Array:
    """Read cells as what the column is; blanks are missing, and what the user says is.

    Examples
    --------
    >>> cast_cells(pa.array([" 3", "?", None]), "int").to_pylist()
    [3, None, None]
    """
    if not pa.types.is_string(values.type):
        return values if kind != "text" else _without_blanks(values, missing)
    trimmed = pc.utf8_trim_whitespace(values)
    blank = pc.is_in(trimmed, value_set=pa.array(["", *missing]), skip_nulls=True)
    if kind == "text":
        return emptied(values, blank)
    return _cast(_numbers(emptied(trimmed, blank)), kind)


def _without_blanks(values: pa.DictionaryArray, missing: tuple[str, ...]) -> pa.Array:
    """Take blanks for missing; the words of a dictionary are looked at once."""
    known = values.dictionary
    trimmed = pc.utf8_trim_whitespace(known)
    blank = np.asarray(pc.is_in(trimmed, value_set=pa.array(["", *missing])))
    if not blank.any():
        return values
    place = pc.fill_null(values.indices, -1).to_numpy(zero_copy_only=False)
    gone = (place < 0) | blank[place]
    return pa.DictionaryArray.from_arrays(pa.array(place, mask=gone), known)


def harmless(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("-5.2"), harmless("- see note"), harmless("fine")
    ("'=1+1", '-5.2', "'- see note", 'fine')
    """
    return "'" + cell if isinstance(cell, str) and _is_formula(cell) else cell


def restored(cell: Any) -> Any:
    """Take the apostrophe of `harmless` away.

    Examples
    --------
    >>> [restored(harmless(cell)) for cell in ("=1", "'=1", "'fine'", "-5")]
    ['=1', "'=1", "'fine'", '-5']
    """
    escaped = isinstance(cell, str) and cell.startswith("'") and _is_formula(cell)
    return cell[1:] if escaped else cell


def _is_formula(cell: str) -> bool:
    """Tell a formula, behind apostrophes or not: those of the cell itself must come back, too."""
    core = cell.lstrip("'")
    return core.startswith(_FORMULA) and not _NEGATIVE.fullmatch(core)


def is_ours(names: Sequence[str]) -> bool:
    """Tell by the header a file that was written for a spreadsheet, whose escapes are read back."""
    return {*names} >= _OURS


def restored_cells(values: Any) -> Any:
    """Read the escapes of a column back; one without any is handed back as it is."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not pa.types.is_string(kind):
        return values
    plain = values.cast(pa.string())
    if not pc.any(pc.starts_with(plain, "'")).as_py():
        return values
    cells = pa.array([restored(cell) for cell in plain.to_pylist()], pa.string())
    return cells.cast(values.type) if pa.types.is_dictionary(values.type) else cells
