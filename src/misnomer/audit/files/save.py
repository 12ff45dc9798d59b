"""An audit -> a folder: for people (html, csv, json), for programs (parquet, safetensors)."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from misnomer.audit.files.parts import written_index, written_numbers, written_sources
from misnomer.audit.frames import renamed, row_columns
from misnomer.audit.pipeline import run
from misnomer.audit.request import Request
from misnomer.audit.result import Audit
from misnomer.reports.html import to_html
from misnomer.reports.json import to_json
from misnomer.store.container import pack
from misnomer.store.folders import MANIFEST, filling
from misnomer.store.models import model_bytes
from misnomer.store.writing import write_csv, write_parquet

#: What a saved audit consists of: for people, then for programs.
FILES = (
    "report.html", "issues.csv", "confusions.csv", "audit.json", "rows.parquet",
    "model.safetensors",
)  # fmt: skip
ARRAYS = "audit.safetensors"
CHECKED = "checked.csv"  # rows that a person has checked, where there are any


def save_audit(audit: Audit, folder: str | Path, *, force: bool = False) -> dict[str, Path]:
    """Write an audit into a folder, all of it or nothing.

    Parameters
    ----------
    audit : Audit
        What to write.
    folder : str or Path
        Where; it is made. A folder with something in it is refused unless ``force``.
    force : bool
        Replace files of the same names; other files in the folder stay.

    Returns
    -------
    dict of str to Path
        Where each file is, by its name.
    """
    with filling(folder, force=force) as inside:
        if audit.is_whole:
            _save_whole(audit, inside, folder)
        else:
            _write_all_rows(audit, inside / "rows.parquet")
            _save_sample(audit, inside, folder)
    return _written(audit, folder)


def _save_whole(audit: Audit, inside: Path, folder: str | Path) -> None:
    every, changed = row_table(audit)
    _write_words(audit, inside, folder)
    write_csv(issue_table(audit, every), inside / "issues.csv", marked=True)
    pq.write_table(every, inside / "rows.parquet", compression="zstd")
    (inside / "model.safetensors").write_bytes(model_bytes(audit.classifier, whole=False))
    (inside / ARRAYS).write_bytes(audit_bytes(audit, changed))
    if audit.checks is not None:
        write_csv(checked_table(audit.checks), inside / CHECKED)


def _write_all_rows(audit: Audit, path: Path) -> None:
    """Read and judge the rows again, and write them."""
    assert audit.all_rows is not None
    if audit.all_rows.read is None:
        raise ValueError(
            "the rows of a cluster are not written from here: write audit.rows where they are, "
            "such as audit.rows.to_parquet(...)"
        )
    write_parquet(audit.all_rows.read(), path)


def checked_table(checks: Any) -> pa.Table:
    """Lay checked rows out as they were handed in, answers as words."""
    words = [
        None if one is None or one != one else str(one) for one in checks.columns["true_label"]
    ]
    return pa.table({**checks.columns, "true_label": pa.array(words, pa.string())})


def row_table(audit: Audit) -> tuple[pa.Table, dict[str, str]]:
    """List every row with what is known about it and the input's columns, in the input's order.

    An input column that is called like one of ours gets " (input)" behind its name; which ones did
    is returned beside the table.
    """
    own, source = row_columns(audit), audit.data
    names = renamed(source.column_names, [*own.column_names, "row", "line"])
    pairs = zip(source.column_names, names, strict=True)
    changed = {name: fresh for name, fresh in pairs if name != fresh}
    columns = [*own.columns, *source.columns]
    return pa.table(columns, names=[*own.column_names, *names]), changed


def issue_table(audit: Audit, every: pa.Table) -> pa.Table:
    """Take the flagged rows, worst first, with their positions in the input."""
    order = audit.ranking.astype(np.int64)
    flagged = every.take(pa.array(order)).drop_columns(["is_label_issue"])
    if audit.shape.lines is not None:
        flagged = flagged.add_column(0, "line", pa.array(audit.shape.lines[order]))
    return flagged.add_column(0, "row", pa.array(order))


def audit_bytes(audit: Audit, changed: dict[str, str]) -> bytes:
    """Turn the numbers and words of an audit into bytes, the model and the rows apart."""
    arrays = {**written_numbers(audit), "prior": audit.prior}
    arrays |= {"prior_low": audit.prior_low, "prior_high": audit.prior_high}
    arrays |= {"given": audit.given, "trusted": audit.trusted.astype(np.uint8)}
    if audit.batch.brought is not None:
        arrays["brought"] = audit.batch.brought
    if audit.shape.source is None:
        matrix = audit.batch.blocks[0].matrix  # type: ignore[union-attr]
        arrays |= {
            "words.data": matrix.data.astype(np.float64),
            "words.indices": matrix.indices.astype(np.int64),
            "words.indptr": matrix.indptr.astype(np.int64),
        }
    about = {
        "label": audit.label,
        "error_rate": asdict(audit.error_rate),
        "error_count": asdict(audit.error_count),
        "level": audit.verdict.level,
        "sentences": list(audit.verdict.sentences),
        "tests": {str(name): _plain(value) for name, value in audit.verdict.tests.items()},
        "fitted": _plain(asdict(audit.fitted)),
        "warnings": list(audit.warnings),
        "id": audit.shape.id,
        "renamed": changed,
        "random_state": _seed(audit.classifier),
    }
    index, named = written_index(audit.shape.index)
    arrays |= index
    about |= named
    if audit.shape.lines is not None:
        arrays["lines"] = audit.shape.lines
    if audit.origin is not None:
        about["origin"] = asdict(audit.origin)
    if audit.sources is not None:
        more, about["sources"] = written_sources(audit.sources)
        arrays |= more
    return pack("audit", arrays, about)


def _seed(classifier: Any) -> int | None:
    """Take the seed of a classifier; a generator of random numbers cannot be told again."""
    seed = classifier.get_params().get("random_state")
    return int(seed) if isinstance(seed, int | np.integer) else None


def _plain(value: Any) -> Any:
    """Turn a result into what JSON can hold; a number that is not finite becomes None."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def save_run(
    request: Request, folder: str | Path, *, force: bool = False
) -> tuple[Audit, dict[str, Path]]:
    """Audit what was asked for and write the answer into a folder, all of it or nothing.

    Rows that are read by batches are written while they are judged.
    """
    if not request.by_batches:
        found = run(request)
        return found, found.save(folder, force=force)
    with filling(folder, force=force) as inside:
        every = inside / "rows.parquet"
        audit = run(request, rows_to=lambda rows: write_parquet(rows, every))
        if audit.is_whole:
            every.unlink()
            _save_whole(audit, inside, folder)
        else:
            _save_sample(audit, inside, folder)
    return audit, _written(audit, folder)


def _save_sample(audit: Audit, inside: Path, folder: str | Path) -> None:
    """Write an audit that keeps a sample of its rows beside the ``rows.parquet`` of all of them.

    ``issues.csv`` lists the worst flagged ones; the folder ``sample`` is a complete audit of the
    random sample that the report shows.
    """
    assert audit.all_rows is not None
    with filling(inside / "sample") as sample:
        _save_whole(audit, sample, folder)
    _write_words(audit, inside, folder)
    write_csv(audit.all_rows.worst, inside / "issues.csv", marked=True)
    (inside / "model.safetensors").write_bytes(model_bytes(audit.classifier))


def _write_words(audit: Audit, inside: Path, folder: str | Path) -> None:
    """Write what people and other programs read: the report with the next step, the numbers."""
    write_csv(audit.confusions, inside / "confusions.csv")
    page = to_html(replace(audit, verdict=audit.verdict.in_folder(str(folder))))
    (inside / "report.html").write_text(page, encoding="utf-8", errors="replace")
    text = json.dumps(to_json(audit), indent=1, ensure_ascii=False, allow_nan=False)
    (inside / "audit.json").write_text(text + "\n", encoding="utf-8", errors="replace")


def _written(audit: Audit, folder: str | Path) -> dict[str, Path]:
    """Name the files of a folder."""
    names = [*FILES, MANIFEST, *([ARRAYS] if audit.is_whole else ["sample"])]
    if audit.checks is not None:
        names.append(CHECKED)
    return {name: Path(folder) / name for name in names}
