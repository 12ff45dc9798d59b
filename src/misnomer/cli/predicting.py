"""``misnomer predict``: a stored model, new rows, their true classes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from misnomer.audit.streaming import too_large
from misnomer.classifiers.wide import WideModel
from misnomer.cli import large
from misnomer.readers.files import read_table
from misnomer.store.spreadsheet import print_csv, write_csv
from misnomer.store.wide_models import load_predictor
from misnomer.store.writing import replacing


def run(model: Path, file: str, out: Path | None, *, proba: bool, force: bool) -> None:
    """Classify the rows of a file and write them with their predicted class."""
    if out is not None and out.is_file() and not force:
        raise FileExistsError(f"{str(out)!r} exists: use --force to replace it")
    classifier = load_predictor(model / "model.safetensors" if model.is_dir() else model)
    if too_large(file):
        large.predict(classifier, file, out, proba=proba)
        return
    rows = read_table(file)
    table = classified(classifier, rows, file, proba=proba)
    if out is None:
        print_csv(table, sys.stdout)
        return
    with replacing(out) as temporary:
        _write(table, temporary, out.suffix.lower())
    print(f"wrote {out}", file=sys.stderr)


def _write(table: pa.Table, path: Path, suffix: str) -> None:
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, compression="zstd")
    else:
        write_csv(table, path)


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
