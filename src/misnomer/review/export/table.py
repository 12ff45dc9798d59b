"""The table with its labels corrected: in its order, with its types, and who decided what."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from misnomer.audit.streamed_files import write_tables
from misnomer.review.export.correct import Done, Part, Wish, corrected
from misnomer.review.log.decisions import Decisions
from misnomer.review.log.ledger import ReviewError
from misnomer.review.log.notes import notes
from misnomer.review.rows.large import LargeRows
from misnomer.review.rows.origin import fingerprint
from misnomer.review.session import FILE, Review
from misnomer.store.writing import replacing

if TYPE_CHECKING:
    from misnomer.audit.result import Audit

KINDS = ("table", "label-studio", "argilla")


def run(
    audit: Audit | LargeRows,
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
    with writable(folder / FILE) as file:
        decisions = Decisions(file, fingerprint(audit))
        try:
            said = _written(audit, file, decisions, out, kind, probability)
            if log is not None:
                write_log(decisions, log)
        finally:
            decisions.close()
    return f"wrote {out}: {said}"


@contextmanager
def writable(file: Path) -> Iterator[Path]:
    """Name the decisions; a copy of them where the folder may only be read."""
    if os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK)):
        yield file
        return
    with TemporaryDirectory(prefix="misnomer-") as place:
        for one in file.parent.glob(file.name + "*"):
            if one.name in (file.name, f"{file.name}-wal"):
                shutil.copyfile(one, Path(place) / one.name)
        yield Path(place) / file.name


def _written(
    audit: Audit | LargeRows,
    file: Path,
    decisions: Decisions,
    out: Path,
    kind: str,
    probability: float | None,
) -> str:
    if kind != "table":
        if isinstance(audit, LargeRows):
            raise ReviewError(
                f"an audit by batches is exported as a table only: for {kind}, export its sample, "
                f"{str(audit.folder / 'sample')!r}"
            )
        from misnomer.review.export import formats

        return formats.write(audit, decisions, out, kind)
    decided = {one.row: one for one in decisions.standing()}
    wish = Wish(audit.label, audit.annotators is not None, decided, probability)
    if isinstance(audit, LargeRows):
        return written_by_parts(audit, wish, out)
    judged = audit
    if decided and wish.model_helps:
        judged = _latest(audit, file)
    table, done = corrected(whole(judged), wish)
    with replacing(out) as temporary:
        write_table(table, temporary, out.suffix.lower())
    return done.words(voted=wish.voted)


def _latest(audit: Audit, file: Path) -> Audit:
    """Judge the undecided rows by a model that knows the decisions."""
    review = Review(audit, file, refit=False)
    try:
        review.refit_now()
        return review.judged
    finally:
        review.close()


def written_by_parts(rows: LargeRows, wish: Wish, out: Path) -> str:
    """Write all rows of an audit by batches, some at a time, by what it says of them."""
    total = Done()

    def tables() -> Iterator[pa.Table]:
        nonlocal total
        for start, part in rows.parts():
            table, done = corrected(part_of(rows, part, start), wish)
            total += done
            yield table

    with replacing(out) as temporary:
        write_table(tables(), temporary, out.suffix.lower())
    return total.words(voted=wish.voted)


def part_of(rows: LargeRows, table: pa.Table, start: int) -> Part:
    """Take some rows as ``rows.parquet`` has them."""
    wrong = table.column("error_probability").to_numpy()
    return Part(
        rows.named(table),
        start,
        table.column("given_label").to_pylist(),
        table.column("suggested_label").to_pylist(),
        np.nan_to_num(wrong, nan=-1.0),
        table.column("is_label_issue").to_numpy(),
    )


def whole(audit: Audit) -> Part:
    """Take all rows of an audit at once."""
    given = [audit.given_label(row) for row in range(len(audit.given))]
    suggested = [audit.classes[place] for place in audit.suggested]
    wrong = np.nan_to_num(audit.error_probability, nan=-1.0)
    return Part(audit.data, 0, given, suggested, wrong, audit.is_label_issue)


def write_table(tables: pa.Table | Iterable[pa.Table], path: Path, suffix: str) -> None:
    """Write Parquet, or CSV whose cells are exactly the tables' (nothing is escaped)."""
    parts = iter([tables] if isinstance(tables, pa.Table) else tables)
    if suffix == ".parquet":
        write_tables(parts, path)
        return
    with path.open("w", encoding="utf-8", errors="replace", newline="") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        for nth, table in enumerate(parts):
            if not nth:
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
    """Write the whole log as JSON lines, undone decisions and undoings included, then the notes."""
    said = [asdict(one) for one in decisions.entries()]
    said += [asdict(note) for note in notes(decisions).values()]
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for one in said:
            stream.write(json.dumps(one, ensure_ascii=False) + "\n")
