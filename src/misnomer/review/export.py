"""The table with its labels corrected: in its order, with its types, and who decided what."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from misnomer.review.decisions import Decision, Decisions
from misnomer.review.ledger import ReviewError
from misnomer.review.origin import fingerprint
from misnomer.review.session import FILE, Review
from misnomer.store.writing import replacing

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

KINDS = ("table", "label-studio", "argilla")


def run(
    audit: Audit,
    folder: Path,
    out: Path,
    *,
    probability: float | None = None,
    log: Path | None = None,
    kind: str = "table",
) -> str:
    """Write what the command line asks for, and say what was written."""
    if kind not in KINDS:
        raise ReviewError(f"there is no format {kind!r}; there are {', '.join(KINDS)}")
    for path in (out, log):
        if path is not None and path.exists():
            raise FileExistsError(f"{str(path)!r} exists: no file is ever replaced, name a new one")
    if kind == "table" and out.suffix.lower() not in (".csv", ".parquet"):
        raise ReviewError(f"{str(out)!r}: the name must end in .csv or .parquet")
    decisions = Decisions(folder / FILE, fingerprint(audit))
    try:
        said = _written(audit, folder, decisions, out, kind, probability)
        if log is not None:
            write_log(decisions, log)
    finally:
        decisions.close()
    return f"wrote {out}: {said}"


def _written(
    audit: Audit,
    folder: Path,
    decisions: Decisions,
    out: Path,
    kind: str,
    probability: float | None,
) -> str:
    if kind != "table":
        from misnomer.review import formats

        return formats.write(audit, decisions, out, kind)
    judged = audit
    if probability is not None and decisions.standing():
        judged = _latest(audit, folder)
    table = corrected(judged, {one.row: one for one in decisions.standing()}, probability)
    with replacing(out) as temporary:
        write_table(table, temporary, out.suffix.lower())
    who = table.column(table.column_names[-2]).to_pylist()
    changed = sum(a != b for a, b in _pairs(audit, table))
    people, model = who.count("person"), who.count("model")
    return f"{changed} labels changed ({people} rows decided by people, {model} by the model)"


def _pairs(audit: Audit, table: pa.Table) -> Any:
    before, after = table.column(table.column_names[-3]), table.column(audit.label)
    return zip(before.to_pylist(), after.to_pylist(), strict=True)


def _latest(audit: Audit, folder: Path) -> Audit:
    """Judge the undecided rows by a model that knows the decisions."""
    review = Review(audit, folder / FILE, refit=False)
    try:
        review.refit_now()
        return review.judged
    finally:
        review.close()


def corrected(
    audit: Audit, decided: Mapping[int, Decision], probability: float | None = None
) -> pa.Table:
    """Put the right labels into the label column, the given ones and who decided behind it.

    Parameters
    ----------
    audit : Audit
        The rows, and what the model thinks of them.
    decided : mapping of int to Decision
        What people decided, by row.
    probability : float, optional
        Also take the model's suggestion where the label is wrong with at least this probability.

    Returns
    -------
    pyarrow.Table
        The input's columns, then ``given_label``, ``decided_by`` ("person", "model" or
        "untouched") and ``decided_at``. A row that nobody could tell stays untouched.
    """
    given = [audit.given_label(row) for row in range(len(audit.given))]
    labels, who = list(given), ["untouched"] * len(given)
    when: list[str | None] = [None] * len(given)
    if probability is not None:
        wrong = np.nan_to_num(audit.error_probability, nan=-1.0)
        for row in np.flatnonzero((wrong >= probability) & audit.is_label_issue).tolist():
            if row not in decided:
                labels[row], who[row] = audit.classes[audit.suggested[row]], "model"
    for row, one in decided.items():
        if one.action != "unsure":
            labels[row], who[row], when[row] = one.label, "person", one.at
    return _extended(audit, labels, given, who, when)


def _extended(
    audit: Audit, labels: list[Any], given: list[Any], who: list[str], when: list[str | None]
) -> pa.Table:
    table = audit.data
    names = table.column_names
    if audit.label in names:
        at = names.index(audit.label)
        before = table.column(at)
        fresh = _changed(before, labels, given)
        table = table.set_column(at, pa.field(audit.label, fresh.type), fresh)
    else:
        before = pa.array(given)
        table = pa.table({**dict(zip(names, table.columns, strict=True)), audit.label: labels})
    own = {
        "given_label": before,
        "decided_by": pa.array(who),
        "decided_at": pa.array(when, pa.string()),
    }
    for name, column in own.items():
        while name in table.column_names:
            name += " (misnomer)"
        table = table.append_column(name, column)
    return table


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


def write_table(table: pa.Table, path: Path, suffix: str) -> None:
    """Write Parquet, or CSV whose cells are exactly the table's (nothing is escaped)."""
    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path, compression="zstd")
        return
    with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        lines.writerow(table.column_names)
        for batch in table.to_batches(max_chunksize=10_000):
            columns = [column.to_pylist() for column in batch.columns]
            for cells in zip(*columns, strict=True):
                lines.writerow([_cell(cell) for cell in cells])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date | datetime) else value


def write_log(decisions: Decisions, path: Path) -> None:
    """Write the whole log as JSON lines, undone decisions and undoings included."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for one in decisions.entries():
            stream.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")
