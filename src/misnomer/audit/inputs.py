"""Whatever the user has -> features, labels, trusted rows, and how to hand answers back."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from misnomer.answers import Answers
from misnomer.audit.shape import BACKENDS, Shape, default_backend
from misnomer.classifiers.terms import yes_or_no
from misnomer.rows.discover import is_called_id, run_of
from misnomer.rows.files.dialect import DescribedPath, dialect_of
from misnomer.rows.frames import arrow_columns, as_table, column_name, from_objects, is_frame
from misnomer.rows.labels import clean_labels
from misnomer.rows.notation import type_in_words, unchunked
from misnomer.rows.parts import lines_of


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features and labels, apart."""

    features: Any  # what the classifier may look at
    y: NDArray[Any]  # the given labels
    label: str  # their name
    trusted: NDArray[np.bool_] | None  # (n,): rows whose label is known to be right
    shape: Shape  # what the input was
    notes: tuple[str, ...] = ()  # what was left out, and why
    # (n,): the true label of rows that a person has checked, None for the others
    checked: NDArray[Any] | None = None
    # (n,): design weights of those that were drawn by chance, zero for all others
    design: NDArray[np.float64] | None = None
    # probabilities of the labels that somebody brings; without a table ``features`` is None
    pred_probs: Any = None
    # who gave the labels, where that was said, and the arguments of `audit` that say it
    answers: Answers | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)


def gather(
    data: Any,
    label: Any,
    *,
    ignore: Any = (),
    id: str | None = None,
    trusted: Any = None,
    ignore_case: bool = False,
    pred_probs: Any = None,
) -> Inputs:
    """Take the label out of a frame or a file, or line labels up with an array.

    Blanks at the ends of labels say nothing, and "NA" or "?" is no label. Beside probabilities
    there may be no table at all, or one of labels alone.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if data is None:
                found = _labels_alone(label, trusted, pred_probs)
            else:
                _say_order(data, label)
                found = _gather(data, label, ignore, id, trusted, alone=pred_probs is not None)
        except ValueError as error:  # what the reader had to choose may be why
            chosen = [str(one.message) for one in caught if " was read" in str(one.message)]
            raise ValueError(f"{error} ({chosen[0]})" if chosen else str(error)) from None
    y, notes = found.y, [str(one.message) for one in caught]
    if y.dtype.kind in "OU":
        words, more = clean_labels(y.tolist(), ignore_case)
        y, notes = np.array(words, dtype=object), [*notes, *more]
    return replace(found, y=y, notes=(*found.notes, *notes), pred_probs=pred_probs)


def _say_order(data: Any, y: Any) -> None:
    """Say that labels are taken by place, where the index of pandas would put them elsewhere."""
    rows, labels = (_index(one) for one in (data, y))
    if rows is None or labels is None or len(rows) != len(labels) or rows.equals(labels):
        return
    if rows.is_unique and labels.is_unique and rows.isin(labels).all():
        warnings.warn(
            "the labels have the index of the rows in another order, and are taken by place: if "
            "they belong together by index, pass y.loc[X.index]",
            stacklevel=4,
        )


def _labels_alone(label: Any, trusted: Any, pred_probs: Any) -> Inputs:
    """Take labels without a table: probabilities tell about the rows."""
    if pred_probs is None:
        raise ValueError(
            "there are no rows: pass a table, or the probabilities of a model of yours"
        )
    if label is None or isinstance(label, str):
        raise ValueError("beside probabilities, pass the labels: audit(labels=y, pred_probs=P)")
    from misnomer.classifiers import labels

    y = labels.column(label)
    if not len(y):
        raise ValueError("there are no labels")
    source = pa.table([from_objects("label", y)], names=["label"])
    index = getattr(label, "index", None) if hasattr(label, "iloc") else None
    return Inputs(None, y, "label", trusted, Shape(default_backend(), index, source))


def _gather(
    data: Any, label: Any, ignore: Any, id: str | None, trusted: Any, *, alone: bool = False
) -> Inputs:
    data, backend = as_table_or_file(data)
    if _is_table(data):
        return _from_frame(data, label, backend, _names(ignore), id, trusted, alone=alone)
    if _is_place(label):
        data, label = _split(data, label)
    if isinstance(label, str) or label is None:
        raise ValueError("an array has no label column: call audit(X, y) with the labels in y")
    if _names(ignore) or id is not None or isinstance(trusted, str):
        raise ValueError("an array's columns have no names: pass a frame to use ignore= or id=")
    return _from_array(data, label, trusted)


def as_table_or_file(data: Any) -> tuple[Any, str | None]:
    """Read a file, or take whatever holds rows for a table; and the kind of frame to hand out."""
    if isinstance(data, str | Path):
        from misnomer.rows.scan import read_table

        return read_table(data), default_backend()
    table = as_table(data)
    made = isinstance(table, pa.Table) and not isinstance(data, pa.Table | pa.RecordBatch)
    return table, default_backend() if made else None


def describe_path(data: Any, reading: Mapping[str, Any]) -> DescribedPath:
    """Put what the user says of a file beside its path."""
    if not isinstance(data, str | Path):
        raise ValueError("reading= tells how a file is to be read, and the rows are no file")
    return DescribedPath(data, dialect_of(reading))


def _is_place(label: Any) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


def _label_name(label: Any, names: Sequence[str]) -> Any:
    """Name a column by its number or its tuple, as pandas does."""
    if _is_place(label) or (isinstance(label, tuple) and column_name(label) in names):
        return column_name(label)
    return label


def _split(data: Any, place: int) -> tuple[Any, Any]:
    """Take a column of an array for the labels."""
    X = data if isinstance(data, np.ndarray) or sparse.issparse(data) else _array(data)
    if X.ndim != 2 or not -X.shape[1] <= place < X.shape[1]:
        raise ValueError(f"there is no column {place}: the array's shape is {X.shape}")
    if sparse.issparse(X):
        raise ValueError("a sparse matrix holds no labels: call audit(X, y) with the labels in y")
    return np.delete(X, place, axis=1), X[:, place]


def _is_table(data: Any) -> bool:
    return not isinstance(data, np.ndarray) and not sparse.issparse(data) and is_frame(data)


def _names(ignore: Any) -> list[str]:
    return [ignore] if isinstance(ignore, str) else list(ignore or ())


def _from_frame(
    data: Any,
    label: Any,
    backend: str | None,
    ignore: list[str],
    id: Any,
    trusted: Any,
    *,
    alone: bool = False,
) -> Inputs:
    frame = nw.from_native(data, eager_only=True)
    names, columns = arrow_columns(data)
    source, label = pa.table(columns, names=names), _label_name(label, names)
    if not len(source):
        raise ValueError("the table has no rows")
    excluded = [*ignore, *([id] if id is not None else [])]
    if isinstance(label, str):
        excluded.append(label)
    if isinstance(trusted, str):
        excluded.append(trusted)
    for name in excluded:
        check_column(name, names)
    y = labels_of(source, label) if isinstance(label, str) else _labels_in_rows(label, len(source))
    lines = lines_of(data) if isinstance(data, pa.Table) else None
    shape = Shape(backend or _backend(frame), _index(data), source, id, lines)
    mask = _mask(source, trusted, shape)
    written = [name for name in written_by_misnomer(names) if name not in excluded]
    excluded += written
    numbers = [name for name in names if name not in excluded and is_numbering(name, source)]
    kept = [name for name in frame.columns if str(name) not in {*excluded, *numbers}]
    if not kept and not alone:
        raise ValueError("no column is left to learn from: the label needs others beside it")
    named = label if isinstance(label, str) else str(getattr(label, "name", None) or "label")
    notes = tuple(f"column {name!r} only numbers the rows: it is ignored" for name in numbers)
    notes += written_note(written, label)
    features = frame.select(kept).to_native() if kept else None
    return Inputs(features, y, named, mask, shape, notes)


_WRITTEN = (
    "given_label", "suggested_label", "error_probability", "label_quality", "is_label_issue",
    "near_duplicate", "is_outlier", "decided_by", "decided_at", "consensus", "predicted_class",
)  # fmt: skip


def written_by_misnomer(names: Sequence[str]) -> list[str]:
    """List the columns that an export or a prediction has added: they tell the label.

    One such name alone may be anybody's; two are ours.

    Examples
    --------
    >>> (
    ...     written_by_misnomer(["age", "given_label", "decided_by"]),
    ...     written_by_misnomer(["consensus"]),
    ... )
    (['given_label', 'decided_by'], [])
    """
    plain = {name: re.sub(r"( \(misnomer\))+$", "", name) for name in names}
    found = [name for name in names if plain[name] in _WRITTEN]
    if "predicted_class" in found and "probability" in names:
        found += [name for name in names if re.fullmatch(r"probability|P\(.*\)", plain[name])]
    return found if len(found) > 1 else []


def written_note(written: Sequence[str], label: Any) -> tuple[str, ...]:
    """Say that they are left out, and how to audit the labels as they were given."""
    if not written:
        return ()
    named = ", ".join(map(repr, written))
    note = f"the columns {named} were written by misnomer: they are not learned from"
    if "given_label" in written and isinstance(label, str):
        note += f"; the labels before are audited by --label given_label --ignore {quote(label)}"
    return (note,)


def is_numbering(name: str, source: pa.Table) -> bool:
    """Tell a column that counts the rows, or is called an id and never repeats.

    Examples
    --------
    >>> table = pa.table({"row": [3, 4, 5], "user_id": [7, 2, 5], "age": [30, 20, 40]})
    >>> [is_numbering(name, table) for name in table.column_names]
    [True, True, False]
    """
    column = source.column(name)
    n = len(column)
    if not pa.types.is_integer(column.type) or column.null_count or n < 3:
        return False
    if run_of(unchunked(column)).counts:
        return True
    return is_called_id(name) and pc.count_distinct(column).as_py() == n


def _from_array(data: Any, y: Any, trusted: Any) -> Inputs:
    X = data if sparse.issparse(data) or isinstance(data, np.ndarray) else _array(data)
    if X.ndim != 2:
        what = f"of shape {X.shape}" if X.ndim else f"a {type(data).__name__}"
        one = ": one column of numbers is X.reshape(-1, 1), or X.to_frame()" if X.ndim == 1 else ""
        raise ValueError(f"X must be a table with rows and columns, not {what}{one}")
    if X.dtype.kind == "c":
        raise ValueError("X holds complex numbers: make columns of their real and imaginary parts")
    given = _labels_in_rows(y, X.shape[0])
    source = None
    if not sparse.issparse(X):
        names, columns = arrow_columns(X)
        source = pa.table([*columns, from_objects("label", given)], names=[*names, "label"])
    return Inputs(X, given, "label", trusted, Shape(default_backend(), None, source))


def _array(data: Any) -> NDArray[Any]:
    plain = np.asarray(data)
    return np.asarray(data, dtype=object) if plain.dtype.kind in "US" else plain


def _labels_in_rows(y: Any, n: int) -> NDArray[Any]:
    from misnomer.classifiers import labels

    if y is None:
        raise ValueError("which column holds the labels? say label=..., or pass y")
    column = labels.column(y)
    if len(column) != n:
        raise ValueError(f"X has {n} rows but y has {len(column)} labels")
    return column


def _backend(frame: Any) -> str:
    name = str(frame.implementation.value if hasattr(frame, "implementation") else "pandas")
    return name if name in BACKENDS else default_backend()


def _index(data: Any) -> Any:
    return data.index if hasattr(data, "iloc") and hasattr(data, "index") else None


def check_column(name: str, names: Sequence[str]) -> None:
    """Refuse a column that is not there, and name the nearest ones.

    Examples
    --------
    >>> check_column("lable", ["age", "label"])
    Traceback (most recent call last):
    ...
    ValueError: there is no column 'lable'; did you mean 'label'?
    """
    if name in names:
        return
    if len(names) == 1 and name in names[0]:
        raise ValueError(
            f"there is no column {name!r}, and only one column, {names[0]!r}: if that is a line of "
            "a file, say what stands between its cells (--sep)"
        )
    lower = {other.lower(): other for other in names}
    if f"column {name}" in names:  # of a file without a header
        raise ValueError(f"there is no column {name!r}; did you mean {f'column {name}'!r}?")
    near = [lower[found] for found in get_close_matches(name.lower(), lower, n=3, cutoff=0.6)]
    if near:
        raise ValueError(
            f"there is no column {name!r}; did you mean {' or '.join(map(repr, near))}?"
        )
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise ValueError(f"there is no column {name!r}; there are {shown}")


def labels_of(source: pa.Table, label: str) -> NDArray[Any]:
    """Read the label column with its own type: strings, whole numbers, flags; None is missing."""
    column = source.column(label)
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        held = type_in_words(kind)
        raise ValueError(f"the label column {label!r} holds {held}: labels are words or numbers")
    if pa.types.is_temporal(kind):
        column = column.cast(pa.string())
    values = [None if _is_gap(value) else value for value in column.to_pylist()]
    seen = [value for value in values if value is not None]
    if seen and all(isinstance(value, float) and value.is_integer() for value in seen):
        values = [None if value is None else int(value) for value in values]
    if len(seen) < len(values) or pa.types.is_string(column.type):
        return np.array(values, dtype=object)
    return np.array(values)


def _is_gap(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _mask(source: pa.Table, trusted: Any, shape: Shape) -> Any:
    """Take the rows that are known to be right, or the column that says so."""
    if not isinstance(trusted, str):
        return trusted
    try:
        return flags_of(source, trusted)
    except ValueError as error:
        raise ValueError(shape.found_by_name(str(error))) from None


def flags_of(source: pa.Table, name: str) -> NDArray[np.bool_]:
    """Read a column of yes and no; empty is no."""
    return yes_or_no(source.column(name), name, numbered=True)
