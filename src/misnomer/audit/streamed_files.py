"""A streamed audit into a folder: every row by batches, the rest as ever."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from misnomer.audit.origin import Origin, options_of, origin_of
from misnomer.audit.saving import save_audit
from misnomer.audit.streamed import StreamedAudit
from misnomer.audit.streaming import audit_stream
from misnomer.audit.wide_result import FILES
from misnomer.audit.wide_stream import issues_of
from misnomer.rows.files.dialect import known_of, said_of
from misnomer.store.folders import MANIFEST, filling
from misnomer.store.models import model_bytes
from misnomer.store.spreadsheet import write_csv

_GROUP = 1 << 20  # rows that are written at once


def save_stream(
    source: Any,
    label: str | None,
    folder: str | Path,
    *,
    force: bool = False,
    audited: Callable[..., Any] = audit_stream,
    **options: Any,
) -> tuple[Any, dict[str, Path]]:
    """Audit a file of any size and write the answer into a folder, all of it or nothing.

    ``rows.parquet`` holds every row, ``issues.csv`` the worst flagged ones; the folder ``sample``
    is a complete audit of the random sample that the report shows. ``options`` are those of
    whoever audits: `audit_stream`, or `audit_crowd` for several annotators.
    """
    names = ["report.html", "issues.csv", "audit.json", "rows.parquet", "model.safetensors"]
    names.append(MANIFEST)
    origin = _origin(source, label, options)
    with filling(folder, force=force) as inside:
        every = inside / "rows.parquet"
        found = audited(source, label, rows_to=lambda rows: write_tables(rows, every), **options)
        found = replace(found, origin=origin)
        if not isinstance(found, StreamedAudit):
            found.write_beside(inside, issues_of(found, every))
            return found, {name: Path(folder) / name for name in FILES}
        if found.is_whole:
            every.unlink()
            save_audit(found, inside, force=True)
        else:
            save_audit(found, inside / "sample")
            names.append("sample")
            page: str = import_module("misnomer.reports.html").to_html(found)
            said = import_module("misnomer.reports.json").to_json(found)
            (inside / "report.html").write_text(page, encoding="utf-8", errors="replace")
            text = json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False)
            (inside / "audit.json").write_text(text + "\n", encoding="utf-8", errors="replace")
            write_csv(found.worst, inside / "issues.csv", marked=True)
            (inside / "model.safetensors").write_bytes(model_bytes(found.classifier))
    return found, {name: Path(folder) / name for name in names}


def _origin(source: Any, label: str | None, options: dict[str, Any]) -> Origin | None:
    """Take down which file this is; a scan that somebody else made has no name."""
    if not isinstance(source, str | Path):
        return None
    chosen = getattr(options.get("classifier"), "families", "auto")
    try:
        said = {"label": label, "families": chosen, "reading": said_of(known_of(source))}
        return origin_of(source, options_of({**said, **options}))
    except (OSError, ValueError):
        return None  # whoever reads it says what is wrong with it


def write_tables(rows: Iterator[pa.Table], path: Path) -> None:
    """Write tables one behind the other, in row groups of a fair size."""
    writer: Any = None
    waiting: list[pa.Table] = []
    try:
        for table in rows:
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            waiting.append(table)
            if sum(part.num_rows for part in waiting) >= _GROUP or _bytes(waiting) > 1 << 25:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if writer is not None and waiting:
            writer.write_table(pa.concat_tables(waiting))
    finally:
        if writer is not None:
            writer.close()


def _bytes(tables: list[pa.Table]) -> int:
    return sum(table.nbytes for table in tables)
