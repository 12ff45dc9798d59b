"""A streamed audit into a folder: every row by batches, the rest as ever."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from misnomer.audit.saving import save_audit
from misnomer.audit.streamed import StreamedAudit
from misnomer.audit.streaming import audit_stream
from misnomer.store.models import model_bytes
from misnomer.store.spreadsheet import write_csv
from misnomer.store.writing import filling

_GROUP = 1 << 20  # rows that are written at once


def save_stream(
    source: Any, label: str, folder: str | Path, *, force: bool = False, **options: Any
) -> tuple[StreamedAudit, dict[str, Path]]:
    """Audit a file of any size and write the answer into a folder, all of it or nothing.

    ``rows.parquet`` holds every row, ``issues.csv`` the worst flagged ones; the folder ``sample``
    is a complete audit of the random sample that the report shows. ``options`` are those of
    `audit_stream`.
    """
    names = ["report.html", "issues.csv", "audit.json", "rows.parquet", "model.safetensors"]
    with filling(folder, force=force) as inside:
        every = inside / "rows.parquet"
        found = audit_stream(
            source, label, rows_to=lambda rows: write_tables(rows, every), **options
        )
        if found.is_whole:
            every.unlink()
            save_audit(found, inside, force=True)
        else:
            save_audit(found, inside / "sample")
            names.append("sample")
            page: str = import_module("misnomer.reports.html").to_html(found)
            said = import_module("misnomer.reports.json").to_json(found)
            said["rows"]["flagged"] = found.flagged
            (inside / "report.html").write_text(page, encoding="utf-8", errors="replace")
            text = json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False)
            (inside / "audit.json").write_text(text + "\n", encoding="utf-8", errors="replace")
            write_csv(found.worst, inside / "issues.csv")
            (inside / "model.safetensors").write_bytes(model_bytes(found.classifier))
    return found, {name: Path(folder) / name for name in names}


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
