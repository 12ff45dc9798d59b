"""What two commands do: ``misnomer audit`` reads, fits, shows, writes; ``misnomer predict``."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.markup import escape

from misnomer.audit.files.folder import save_run
from misnomer.audit.inputs import describe_path
from misnomer.audit.request import Request, bytes_of, is_large, run
from misnomer.posterior import Posterior
from misnomer.rows.encode import unseen
from misnomer.rows.files.excel import write_workbook
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import read_table, scan
from misnomer.store import load_model
from misnomer.store.container import check_vacant, reading
from misnomer.store.writing import print_tables, replacing, with_column, write_tables
from misnomer.table import Batch


def run_audit(
    request: Request, out: Path | None, *, quiet: bool, as_json: bool, force: bool
) -> None:
    """Audit a file; print the answer and, if there is a folder for it, write it down."""
    if out is not None:
        check_vacant(out, force=force)
    _refuse_little(request)
    with _progress(quiet) as say, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit remembers them: they are part of the answer
        say(f"reading {request.data}")
        request = replace(
            _with_own_checks(request, out), progress=lambda step, _: say(f"fitting: pass {step}")
        )
        written: dict[str, Path] = {}
        if out is None:
            audit = run(request)
        else:
            audit, written = save_run(request, out, force=force)
    if quiet:
        return
    if as_json:
        from misnomer.reports.json import to_json

        print(json.dumps(to_json(audit), indent=1, ensure_ascii=False, allow_nan=False))
    else:
        from misnomer.reports.text import render

        said = audit.verdict
        said = said.without_folder() if out is None else said.in_folder(str(out))
        audit = replace(audit, verdict=said)
        render(audit, Console())
    _print_paths(written, Console(stderr=as_json, soft_wrap=True))


def _with_own_checks(request: Request, out: Path | None) -> Request:
    """Take the checks that the folder holds already, where none are named."""
    if request.checked is not None or out is None:
        return request
    from misnomer.audit.files.checks import CheckFolder

    if not (out / "checks" / "answers.jsonl").exists():
        return request
    return replace(request, checked=out) if CheckFolder(out).answers() else request


def _refuse_little(request: Request) -> None:
    """Refuse a cap that this process exceeds by more than a fifth before a row is kept."""
    if request.memory is None or request.cluster is not None:
        return
    from misnomer.audit.stream import WORKING, resident

    least = int((resident() + WORKING) / 1.2 / 1e6) + 1
    if bytes_of(request.memory) < least * 10**6:
        raise ValueError(
            f"--memory {request.memory} is too little: Python, its libraries and the rows being "
            f"read take more; the least that works is {least}MB"
        )


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what is going on; elsewhere stay silent."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    with console.status("misnomer") as status:
        yield lambda words: status.update(escape(words))


def _print_paths(written: dict[str, Path], console: Any) -> None:
    """Say where each file is."""
    if not written:
        return
    console.print()
    for path in written.values():
        console.print(f"wrote {path}", markup=False, highlight=False)


_MAX_PROBA = 1_000  # classes that have a column each
FORMS = (".csv", ".parquet", ".xlsx")  # in which predictions are written


def run_predict(
    model: Path,
    file: str,
    out: Path | None,
    *,
    proba: bool,
    force: bool,
    reading: dict[str, Any] | None = None,
) -> None:
    """Classify the rows of a file and write them with their predicted class."""
    file = describe_path(file, reading or {})
    if out is not None:
        _check_writable(out, large=is_large(file), force=force)
    tables = _predictions(_load(model), file, proba)
    if out is None:
        print_tables(tables, sys.stdout)
        return
    with replacing(out) as temporary:
        if out.suffix.lower() == ".xlsx":
            write_workbook(pa.concat_tables(tables), temporary)
        else:
            write_tables(tables, temporary, out.suffix.lower())
    print(f"wrote {out}", file=sys.stderr)


def _predictions(classifier: Any, file: str, proba: bool) -> Iterator[pa.Table]:
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
                table = classify(classifier, rows, batch, proba=proba)
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


def _load(model: Path) -> Any:
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


def classify(classifier: Any, rows: pa.Table, batch: Batch, *, proba: bool) -> pa.Table:
    """Classify some rows of a file, in compact form."""
    shares = Posterior.of(classifier.model_.posterior(batch))
    return with_predictions(rows, classifier.classes_, shares, proba=proba)


def with_predictions(rows: pa.Table, classes: Any, shares: Posterior, *, proba: bool) -> pa.Table:
    """Put the most probable class and its probability behind the rows' own columns.

    Examples
    --------
    >>> rows = pa.table({"age": [30]})
    >>> import numpy as np
    >>> shares = Posterior.of(np.array([[0.25, 0.75]]))
    >>> with_predictions(rows, np.array(["no", "yes"]), shares, proba=False).to_pylist()
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
