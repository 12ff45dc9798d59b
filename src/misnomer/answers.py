"""Who said what about which row: sparse answers of several annotators.

A group of rows with noise of its own is the same thing: an annotator who labeled exactly its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Answers:
    """Labels by several annotators, one entry per answer, sorted by row.

    Attributes
    ----------
    row, annotator, label : (N,) arrays of int
        Answer j: ``annotator[j]`` said ``label[j]`` about ``row[j]``.
    n_rows : int
        How many rows there are; a row may have no answer at all.
    annotators, labels : arrays
        Their names, in the order of the numbers (A and L of them).

    Examples
    --------
    >>> said = from_table([["cat", None], ["dog", "cat"]], annotators=["ann", "bob"])
    >>> said.row.tolist(), said.annotator.tolist(), said.labels[said.label].tolist()
    ([0, 1, 1], [0, 0, 1], ['cat', 'dog', 'cat'])
    """

    row: Codes
    annotator: Codes
    label: Codes
    n_rows: int
    annotators: NDArray[Any]
    labels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def n_annotators(self) -> int:
        """How many annotators there are (A)."""
        return len(self.annotators)

    @property
    def n_labels(self) -> int:
        """How many labels there are (L)."""
        return len(self.labels)

    @cached_property
    def code(self) -> NDArray[np.int64]:
        """Number of (annotator, label): ``annotator * L + label``, (N,)."""
        return self.annotator.astype(np.int64) * self.n_labels + self.label

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """Ones at (row, code), (n, A * L): a product with it adds over a row's answers."""
        starts = np.searchsorted(self.row, np.arange(self.n_rows + 1))
        size = self.n_annotators * self.n_labels
        return sparse.csr_array((np.ones(len(self)), self.code, starts), shape=(self.n_rows, size))

    @cached_property
    def asked(self) -> NDArray[np.int64]:
        """How many answers each row has, (n,)."""
        return np.bincount(self.row, minlength=self.n_rows)

    @cached_property
    def given(self) -> NDArray[np.int64]:
        """How many answers each annotator gave, (A,)."""
        return np.bincount(self.annotator, minlength=self.n_annotators)

    def votes(self) -> Array:
        """Count the answers of each row by label, (n, L)."""
        place = self.row.astype(np.int64) * self.n_labels + self.label
        count = np.bincount(place, minlength=self.n_rows * self.n_labels)
        return count.reshape(self.n_rows, self.n_labels).astype(np.float64)

    def by_row(self, values: Codes, none: int = -1) -> Codes:
        """Lay what is known of each answer out by rows of one answer at most, (n,).

        Examples
        --------
        >>> said = from_groups(["a", None, "b", "a"], ["x", None, "y", "x"])
        >>> said.by_row(said.annotator).tolist()
        [0, -1, 1, 0]
        """
        out = np.full(self.n_rows, none, np.int32)
        out[self.row] = values
        return out

    def take(self, kept: NDArray[np.bool_]) -> Answers:
        """Keep some of the answers; rows, annotators and labels stay as they are."""
        parts = (self.row[kept], self.annotator[kept], self.label[kept])
        return Answers(*parts, self.n_rows, self.annotators, self.labels)


def from_table(Y: Any, *, annotators: Any = None, labels: Any = None) -> Answers:
    """Read a table with a row per row and a column per annotator; a missing cell was not asked.

    Parameters
    ----------
    Y : (n, A) array, list of rows or data frame
        The labels; None, NaN or an empty string means not asked.
    annotators : sequence, optional
        The annotators' names; the frame's column names or 0..A-1 otherwise.
    labels : sequence, optional
        All the labels there may be; those that occur otherwise.

    Returns
    -------
    Answers
        The labels that are not missing.
    """
    names = annotators if annotators is not None else getattr(Y, "columns", None)
    table = _plain(Y)
    if table.ndim != 2:
        raise ValueError(
            "answers are a table with a row per row and a column per annotator, "
            f"not an array of shape {table.shape}; for one label per row use NoisyLabelNB"
        )
    n, A = table.shape
    names = np.arange(A) if names is None else np.asarray(names)
    if len(names) != A:
        raise ValueError(f"{len(names)} annotators are named but the table has {A} columns")
    flat = table.ravel()
    there = np.flatnonzero(~absent(flat))
    known, code = _labels(flat[there], there // max(A, 1), labels)
    return Answers(
        (there // max(A, 1)).astype(np.int32), (there % max(A, 1)).astype(np.int32),
        code, n, names, known,
    )  # fmt: skip


def from_long(
    row: Any, annotator: Any, label: Any, *, n_rows: int | None = None, labels: Any = None
) -> Answers:
    """Read a list of answers: who (annotator) said what (label) about which row (0, 1, ...).

    Examples
    --------
    >>> said = from_long([1, 0, 1], ["bob", "ann", "ann"], ["x", "y", "y"], n_rows=3)
    >>> said.asked.tolist(), said.annotators.tolist(), said.votes().astype(int).tolist()
    ([1, 2, 0], ['ann', 'bob'], [[0, 1], [1, 1], [0, 0]])
    """
    row, annotator, label = np.asarray(row), _plain(annotator), _plain(label)
    if not len(row) == len(annotator) == len(label):
        raise ValueError(
            f"{len(row)} rows, {len(annotator)} annotators and {len(label)} labels: "
            "an answer needs one of each"
        )
    if len(row) and (row.dtype.kind not in "iu" or row.min() < 0):
        raise ValueError("rows are numbered 0, 1, ...: give the position of each answer's row")
    size = int(row.max()) + 1 if len(row) else 0
    if n_rows is not None and size > n_rows:
        raise ValueError(f"an answer is about row {size - 1}, but there are {n_rows} rows")
    there = ~absent(label)
    row, annotator, label = row[there], annotator[there], label[there]
    nobody = absent(annotator)
    if nobody.any():
        raise ValueError(
            f"the answer about row {row[np.argmax(nobody)]} names no annotator: "
            "drop it, or give its annotator a name"
        )
    names, who = np.unique(_sortable(annotator), return_inverse=True)
    known, code = _labels(label, row, labels)
    return _sort_answers(row, who, code, size if n_rows is None else n_rows, names, known)


def from_codes(
    row: Any, annotator: Any, label: Any, *, n_rows: int, annotators: Any, labels: Any,
    by_name: bool = False,
) -> Answers:  # fmt: skip
    """Read a list of answers that are numbered already; who gave none is left out.

    ``labels`` may be in any order; the annotators stay in theirs unless sorted ``by_name``.

    Examples
    --------
    >>> named = {"annotators": ["a", "b"], "labels": ["y", "x"]}
    >>> said = from_codes([1, 0], [1, 1], [0, 1], n_rows=2, **named)
    >>> said.annotators.tolist(), said.labels.tolist(), said.label.tolist()
    (['b'], ['x', 'y'], [0, 1])
    """
    used, who = np.unique(np.asarray(annotator), return_inverse=True)
    names = _sortable(_plain(annotators))[used]
    if by_name:
        names, place = np.unique(names, return_inverse=True)
        who = place[who]
    known, home = _labels(_plain(labels), None, None)
    code = home[np.asarray(label, np.intp)]
    return _sort_answers(np.asarray(row), who, code, n_rows, names, known)


def from_groups(y: Any, groups: Any) -> Answers:
    """Treat each group of rows as an annotator who labeled exactly its rows.

    Examples
    --------
    >>> from_groups(["a", "b", "a"], ["north", "south", "north"]).given.tolist()
    [2, 1]
    """
    y, groups = _plain(y), _plain(groups)
    if len(y) != len(groups):
        raise ValueError(f"y has {len(y)} labels but the groups have {len(groups)} entries")
    said = from_long(np.arange(len(y)), groups, y, n_rows=len(y))
    check_group_sizes(said.given)
    return said


def check_group_sizes(labels: NDArray[np.int64]) -> None:
    """Refuse groups most of which have one label; ``labels`` (G,) says how many each has."""
    if labels.sum() > 1 and (labels == 1).sum() > len(labels) / 2:
        raise ValueError(
            f"{len(labels)} groups for {labels.sum()} labels: most rows are a group of "
            "its own, so no group's errors can be learned; use a column with fewer values"
        )


def _sort_answers(row: Any, who: Any, code: Any, n: int, names: Any, known: Any) -> Answers:
    """Sort by row and annotator, and drop answers given twice alike; unlike ones are refused."""
    order = np.lexsort((who, row))
    row, who, code = (part[order].astype(np.int32) for part in (row, who, code))
    twice = np.flatnonzero((row[1:] == row[:-1]) & (who[1:] == who[:-1]))
    unlike = twice[code[twice] != code[twice + 1]]
    if len(unlike):
        at = unlike[0]
        raise ValueError(
            f"annotator {names[who[at]]!s} says both {known[code[at]]!s} and "
            f"{known[code[at + 1]]!s} about row {row[at]}: keep one answer of each annotator a row"
        )
    kept = np.ones(len(row), bool)
    kept[twice + 1] = False
    return Answers(row[kept], who[kept], code[kept], n, names, known)


def _labels(values: NDArray[Any], row: Any, labels: Any) -> tuple[NDArray[Any], Codes]:
    """Number the labels; one that is not among ``labels`` is refused."""
    values = _sortable(values)
    if labels is None:
        known, code = np.unique(values, return_inverse=True)
        if known.dtype.kind == "f" and len(known) and (known == np.floor(known)).all():
            known = known.astype(np.int64)  # whole numbers that NaN had turned into floats
        return known, code.astype(np.int32)
    known = np.unique(_sortable(_plain(labels)))
    if not len(values):
        return known, np.zeros(0, np.int32)
    place, right = places_among(values, known)
    if not np.all(right):
        at = int(np.argmin(right))
        raise ValueError(
            f"row {row[at]} has the label {values[at]!s}, which is not one of the classes "
            f"{', '.join(map(str, known[:8]))}: correct it or add it to the classes"
        )
    return known, place.astype(np.int32)


def places_among(
    values: NDArray[Any], known: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Find each value's place among known ones, which are sorted, and tell whether it is there.

    Words are no numbers, however they are written.

    Examples
    --------
    >>> place, right = places_among(np.array(["b", "z"]), np.array(["a", "b"]))
    >>> int(place[0]), right.tolist()
    (1, [True, False])
    """
    if not len(known) or (values.dtype.kind in "US") != (known.dtype.kind in "US"):
        return np.zeros(len(values), np.intp), np.zeros(len(values), bool)
    if is_narrow(values) and is_narrow(known):  # looking up is faster than searching
        least, most = int(known[0]), int(known[-1])
        every = np.searchsorted(known, np.arange(least, most + 1))
        place = every[np.clip(values.astype(np.int64), least, most) - least]
    else:
        place = np.searchsorted(known, values).clip(max=len(known) - 1)
    return place, np.asarray(known[place] == values)


MAX_NARROW_RANGE = 1 << 16  # whole numbers within so many are counted, not sorted


def is_narrow(values: NDArray[Any]) -> bool:
    """Tell whether values are whole numbers that lie close together."""
    if values.dtype.kind not in "iu" or values.dtype == np.uint64 or not len(values):
        return False
    return int(values.max()) - int(values.min()) < MAX_NARROW_RANGE


def distinct_values(values: NDArray[Any]) -> NDArray[Any]:
    """List the different values, sorted; whole numbers that lie close together are counted."""
    if not is_narrow(values):
        return np.unique(values)
    least = int(values.min())
    often = np.bincount((values - least).astype(np.intp))
    return (np.flatnonzero(often) + least).astype(values.dtype)


def absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values are missing: None, NaN, NaT, NA or an empty string.

    Examples
    --------
    >>> absent(np.array(["a", None, "", float("nan")], dtype=object)).tolist()
    [False, True, True, True]
    """
    values = np.asarray(values)
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "US":
        return np.char.str_len(values) == 0
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, bool)
    return np.array([_is_gap(value) for value in values.ravel()], bool).reshape(values.shape)


def _is_gap(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value == ""):
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA answers neither yes nor no
        return True


def _plain(values: Any) -> NDArray[Any]:
    """Turn anything into an array, without turning None into the word "None"."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(object), None)
    if hasattr(values, "__array__") or hasattr(values, "dtype"):
        return np.asarray(values)
    return np.asarray(values, dtype=object)


def _sortable(values: NDArray[Any]) -> NDArray[Any]:
    """Give objects a type of their own, to be sorted by; words and numbers do not mix."""
    if values.dtype.kind != "O":
        return values
    words = sum(isinstance(value, str) for value in values)
    if 0 < words < len(values):
        raise ValueError("some labels are words and some are not: make them all of one type")
    return np.array(values.tolist()) if len(values) else np.zeros(0, np.int64)
