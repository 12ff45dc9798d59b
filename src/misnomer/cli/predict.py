"""``misnomer predict``: a stored model, new rows, their true classes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from misnomer.audit.inputs import described
from misnomer.audit.request import is_large
from misnomer.posterior import Posterior
from misnomer.rows.encode import unseen
from misnomer.rows.files.excel import write_workbook
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import read_table, scan
from misnomer.store.container import reading
from misnomer.store.models import load_model
from misnomer.store.writing import print_tables, replacing, with_column, write_tables
from misnomer.table import Batch

_MAX_PROBA = 1_000  # classes that have a column each
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
    if out is not None:
        _check_writable(out, large=is_large(file), force=force)
    tables = _predicted(_loaded(model), file, proba)
    if out is None:
        print_tables(tables, sys.stdout)
        return
    with replacing(out) as temporary:
        if out.suffix.lower() == ".xlsx":
            write_workbook(pa.concat_tables(tables), temporary)
        else:
            write_tables(tables, temporary, out.suffix.lower())
    print(f"wrote {out}", file=sys.stderr)


def _predicted(classifier: Any, file: str, proba: bool) -> Iterator[pa.Table]:
    """Classify the rows of a file, a large one by batches, and say what the model does not know."""
    if proba and len(classifier.classes_) > _MAX_PROBA:
        raise ValueError(
            f"the model has {len(classifier.classes_):,} classes: leave --proba out, the most "
            "probable class comes with its probability"
        )
    unknown = Unknown(classifier)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in _parts(file):
            try:
                batch = classifier._batch(rows)
                table = classified(classifier, rows, batch, proba=proba)
            except ValueError as error:
                raise ValueError(f"{file}: {error}") from None
            unknown.add(rows, batch)
            yield table
    for note in dict.fromkeys([*(str(one.message) for one in caught), *unknown.notes()]):
        print(f"misnomer: note: {note}", file=sys.stderr)


def _parts(file: str) -> Iterator[pa.Table]:
    """Read a file at once, or a large one by batches."""
    if not is_large(file):
        yield read_table(file)
        return
    part, every = None, scan(file)
    for part in every.batches(every.names):
        yield decoded_table(part)
    if part is None:
        raise ValueError(f"{file}: the table has no rows")


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
        return load_model(model)
    with reading(model):
        return load_model(model / "model.safetensors")


class Unknown:
    """What a model does not know of some rows, added up: categories, and rows that tell nothing."""

    def __init__(self, classifier: Any) -> None:
        self.classifier, self.empty = classifier, 0
        self.cells: dict[str, int] = {}
        self.some: dict[str, list[Any]] = {}

    def add(self, rows: pa.Table, batch: Batch) -> None:
        """Go through more rows."""
        for column in self.classifier.model_.schema.columns:
            if column.kind == "categorical" and column.name in rows.column_names:
                cells = unseen(column, rows.column(column.name))
                name = column.name
                self.cells[name] = self.cells.get(name, 0) + len(cells)
                self.some[name] = list(dict.fromkeys([*self.some.get(name, []), *cells]))[:3]
        self.empty += int(batch.empty.sum())

    def notes(self) -> list[str]:
        """Say it in sentences."""
        notes = []
        for name, count in self.cells.items():
            cell = "1 cell holds" if count == 1 else f"{count:,} cells hold"
            some = ", ".join(map(repr, self.some[name]))
            if count:
                notes.append(
                    f"column {name!r}: {cell} a category that the model has not seen "
                    f"(such as {some}), which says nothing"
                )
        if self.empty:
            row = "1 row holds" if self.empty == 1 else f"{self.empty:,} rows hold"
            notes.append(f"{row} no value that the model knows: the class shares are their answer")
        return notes


def classified(classifier: Any, rows: pa.Table, batch: Batch, *, proba: bool) -> pa.Table:
    """Classify some rows of a file, in compact form."""
    shares = Posterior.of(classifier.model_.posterior(batch))
    return predicted(rows, classifier.classes_, shares, proba=proba)


def predicted(rows: pa.Table, classes: Any, shares: Posterior, *, proba: bool) -> pa.Table:
    """Put the most probable class and its probability behind the rows' own columns.

    Examples
    --------
    >>> rows = pa.table({"age": [30]})
    >>> import numpy as np
    >>> shares = Posterior.of(np.array([[0.25, 0.75]]))
    >>> predicted(rows, np.array(["no", "yes"]), shares, proba=False).to_pylist()
    [{'age': 30, 'predicted_class': 'yes', 'probability': 0.75}]
    """
    columns = {
        "predicted_class": pa.array(classes[shares.best].tolist()),
        "probability": pa.array(shares.share.max(axis=1)),
    }
    if proba:
        for name, share in zip(classes.tolist(), shares.array.T, strict=True):
            columns[f"P({name})"] = pa.array(share)
    for name, column in columns.items():
        rows = with_column(rows, name, column)
    return rows
