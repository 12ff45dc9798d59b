"""``misnomer predict``: a stored model, new rows, their true classes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from misnomer.audit.files.save import write_tables
from misnomer.audit.inputs import described
from misnomer.audit.request import is_large
from misnomer.classifiers.wide import WideModel
from misnomer.rows.columns.encode import unseen
from misnomer.rows.files.excel import write_workbook
from misnomer.rows.files.tables import read_table
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import scan
from misnomer.store.folders import reading
from misnomer.store.models import load_predictor
from misnomer.store.writing import print_csv, replacing, write_csv

FORMS = (".csv", ".parquet", ".xlsx")  # in which predictions are written


def run(
    model: Path,
    file: str,
    out: Path | None,
    *,
    proba: bool,
    force: bool,
    reading: dict[str, Any] | None = None,
) -> None:
    """Classify the rows of a file and write them with their predicted class."""
    file = described(file, reading or {})
    large = is_large(file)
    if out is not None:
        _check_writable(out, large=large, force=force)
    classifier = _loaded(model)
    if large:
        _by_batches(classifier, file, out, proba=proba)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = read_table(file)
        table = classified(classifier, rows, file, proba=proba)
    for note in [*(str(one.message) for one in caught), *unknown(classifier, rows)]:
        print(f"misnomer: note: {note}", file=sys.stderr)
    if out is None:
        print_csv(table, sys.stdout, exact=True)
        return
    with replacing(out) as temporary:
        _write(table, temporary, out.suffix.lower())
    print(f"wrote {out}", file=sys.stderr)


def _check_writable(out: Path, *, large: bool, force: bool) -> None:
    """Refuse a name that says another form than what would be written, before any work is done."""
    if out.is_file() and not force:
        raise FileExistsError(f"{str(out)!r} exists: use --force to replace it")
    if out.exists() and not out.is_file():
        return  # a pipe or a device; a folder is refused where it is opened
    forms = FORMS[:-1] if large else FORMS
    if out.suffix.lower() not in forms:
        many = "for so many rows, " if large else ""
        raise ValueError(f"{str(out)!r}: {many}let the name end in {' or '.join(forms)}")


def _loaded(model: Path) -> Any:
    if not model.is_dir():
        return load_predictor(model)
    with reading(model):
        return load_predictor(model / "model.safetensors")


def _write(table: pa.Table, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, compression="zstd")
    elif suffix == ".xlsx":
        write_workbook(table, path)
    else:
        write_csv(table, path, exact=True)


def unknown(classifier: Any, rows: pa.Table) -> list[str]:
    """Say which categories the model has not seen, and how many rows tell it nothing at all."""
    if isinstance(classifier, WideModel):
        return []
    notes = []
    for column in classifier.model_.schema.columns:
        if column.kind == "categorical" and column.name in rows.column_names:
            cells = unseen(column, rows.column(column.name))
            if cells:
                some = ", ".join(map(repr, list(dict.fromkeys(cells))[:3]))
                cell = "1 cell holds" if len(cells) == 1 else f"{len(cells):,} cells hold"
                notes.append(
                    f"column {column.name!r}: {cell} a category that the model has not seen "
                    f"(such as {some}), which says nothing"
                )
    empty = int(classifier._batch(rows).empty.sum())
    if empty:
        row = "1 row holds" if empty == 1 else f"{empty:,} rows hold"
        notes.append(f"{row} no value that the model knows: the class shares are their answer")
    return notes


def classified(classifier: Any, rows: pa.Table, file: str, *, proba: bool) -> pa.Table:
    """Classify some rows of a file."""
    if proba and isinstance(classifier, WideModel):
        raise ValueError(
            f"the model has {len(classifier.classes_):,} classes: leave --proba out, the most "
            "probable class comes with its probability"
        )
    try:
        if isinstance(classifier, WideModel):
            place, chance = classifier.best(rows)
            return _beside(rows, _answer(classifier.classes_, place, chance))
        share = classifier.predict_proba(rows)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return predicted(rows, classifier.classes_, share, proba=proba)


def predicted(rows: pa.Table, classes: Any, share: Any, *, proba: bool) -> pa.Table:
    """Put the most probable class and its probability behind the rows' own columns.

    Examples
    --------
    >>> rows = pa.table({"age": [30]})
    >>> predicted(rows, np.array(["no", "yes"]), np.array([[0.25, 0.75]]), proba=False).to_pylist()
    [{'age': 30, 'predicted_class': 'yes', 'probability': 0.75}]
    """
    best = share.argmax(axis=1)
    columns = _answer(classes, best, share[np.arange(len(share)), best])
    if proba:
        columns |= {f"P({name})": pa.array(share[:, k]) for k, name in enumerate(classes.tolist())}
    return _beside(rows, columns)


def _answer(classes: Any, place: Any, chance: Any) -> dict[str, pa.Array]:
    names = pa.array(classes[place].tolist())
    return {"predicted_class": names, "probability": pa.array(chance)}


def _beside(rows: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    """Put columns behind the rows' own; a name that is taken gets a longer one."""
    for name, column in columns.items():
        while name in rows.column_names:
            name += " (misnomer)"
        rows = rows.append_column(name, column)
    return rows


def _by_batches(classifier: Any, file: str, out: Path | None, *, proba: bool) -> None:
    """Classify a file by batches, and write each as it comes."""
    rows = _Rows(_predicted(classifier, file, proba))
    if out is None:
        print_csv(rows, sys.stdout, exact=True)
        return
    with replacing(out) as temporary:
        if out.suffix.lower() == ".parquet":
            write_tables(rows.tables(), temporary)
        else:
            with temporary.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                print_csv(rows, stream, exact=True)
    print(f"wrote {out}", file=sys.stderr)


def _predicted(classifier: Any, file: str, proba: bool) -> Iterator[pa.Table]:
    found = scan(file)
    for batch in found.batches(found.names):
        yield classified(classifier, decoded_table(batch), file, proba=proba)


class _Rows:
    """Tables that come one after the other, as one that is written by batches."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        first = next(tables, None)
        if first is None:
            raise ValueError("the table has no rows")
        self._first, self._others = first, tables
        self.column_names = first.column_names

    def tables(self) -> Iterator[pa.Table]:
        """Yield the tables, once."""
        return chain([self._first], self._others)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        for table in self.tables():
            yield from table.to_batches(max_chunksize=max_chunksize)
