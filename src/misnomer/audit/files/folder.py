"""An audit <-> a folder: for people (html, csv, json), for programs (parquet, safetensors)."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

from misnomer.audit.files.origin import Origin
from misnomer.audit.files.parts import (
    read_index,
    read_shares,
    read_sources,
    written_index,
    written_numbers,
    written_sources,
)
from misnomer.audit.numbers import Fitted
from misnomer.audit.request import Request, run
from misnomer.audit.result import Audit, places
from misnomer.audit.shape import Shape, default_backend, renamed, row_columns
from misnomer.classifiers import NoisyLabelEstimator
from misnomer.estimate import Estimate
from misnomer.kernels.blocks import Block, Words
from misnomer.reports.html import to_html
from misnomer.reports.json import to_json
from misnomer.rows import read_like
from misnomer.rows.scan import read_table
from misnomer.store import load_model, model_bytes, noise_of, validate
from misnomer.store.container import (
    MANIFEST,
    DamagedError,
    check_whole,
    filling,
    pack,
    read_bytes,
    reading,
    unpack,
)
from misnomer.store.writing import write_csv, write_parquet
from misnomer.table import Batch
from misnomer.verdict import Verdict

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


def load_audit(folder: str | Path) -> Audit:
    """Read an audit back; refuse one that is damaged, foreign or newer, in one sentence.

    The frames come back as pandas (pyarrow where that is not installed). Rows have the index of the
    pandas frame that was audited, if it held whole numbers or names; else they go by position.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}")
    name = str(folder / ARRAYS)
    with reading(folder):
        classifier = load_model(folder / "model.safetensors")
        arrays, about = unpack("audit", read_bytes(name), name)
        rows = _stored_rows(folder / "rows.parquet")
        check_whole(folder, ("model.safetensors", ARRAYS, "rows.parquet"))
    try:
        audit = _audit(classifier, arrays, about, rows)
        return audit if not (folder / CHECKED).exists() else _with_checks(audit, folder / CHECKED)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, pa.ArrowException) as e:
        why = f" ({e})" if isinstance(e, validate.ContradictionError) else ""
        raise DamagedError(f"{name}: the audit does not fit its rows or its model{why}") from None


def _stored_rows(path: Path) -> pa.Table:
    """Read the rows with exactly the types that they were written with."""
    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}") from None
    except (pa.ArrowException, OSError, ValueError):
        raise DamagedError(f"{path}: this is no Parquet file, or it is damaged") from None
    return table


def _audit(
    classifier: NoisyLabelEstimator,
    arrays: dict[str, NDArray[Any]],
    about: dict[str, Any],
    rows: pa.Table,
) -> Audit:
    n, K, L = len(rows), len(classifier.classes_), len(classifier.labels_)
    names = ("prior", "prior_low", "prior_high")
    numbers: dict[str, Any] = {name: validate.array(arrays, name, (K,)) for name in names}
    numbers |= {"shares": read_shares(arrays, n, K), "noise": noise_of(arrays, L, K)}
    given = validate.array(arrays, "given", (n,), np.int64)
    trusted = validate.array(arrays, "trusted", (n,), np.uint8).astype(bool)
    if n and (given.min() < -1 or given.max() >= L or (given[trusted] < 0).any()):
        raise validate.ContradictionError("a row has a label that the model does not know")
    if about.get("random_state") is not None:
        classifier.random_state = validate.number(about["random_state"])
    source = _source(rows, about["renamed"]) if "words.data" not in arrays else None
    blocks = _blocks(classifier, arrays, source, n)
    lines = validate.array(arrays, "lines", (n,), np.int64) if "lines" in arrays else None
    return Audit(
        error_rate=_estimate(about["error_rate"]),
        error_count=_estimate(about["error_count"]),
        verdict=Verdict(about["level"], tuple(about["sentences"]), about["tests"]),
        label=about["label"],
        labels=tuple(classifier.labels_.tolist()),
        classes=tuple(classifier.classes_.tolist()),
        given=given,
        trusted=trusted,
        **numbers,
        fitted=_fitted(about["fitted"]),
        warnings=tuple(validate.strings(about["warnings"])),
        classifier=classifier,
        batch=Batch(blocks, _codes(classifier, given, trusted), brought=_brought(arrays, n, K)),
        shape=Shape(default_backend(), read_index(arrays, about, n), source, about["id"], lines),
        sources=read_sources(arrays, about, classifier.labels_, n),
        origin=_origin(about.get("origin")),
    )


def _brought(arrays: dict[str, NDArray[Any]], n: int, K: int) -> NDArray[np.float64] | None:
    """Take the probabilities that somebody brought, where there were any."""
    if "brought" not in arrays:
        return None
    share = validate.array(arrays, "brought", (n, K))
    validate.shares_by_row(share, "probabilities")
    return share


def _with_checks(audit: Audit, path: Path) -> Audit:
    """Read the checked rows back; the numbers of the audit are those they led to already."""
    if len(audit.given) < audit.fitted.rows:  # a sample: its numbers say all that is left
        return audit
    from misnomer.audit.checked import table_of
    from misnomer.checks.result import Checks
    from misnomer.checks.sheet import read_sheet

    columns, table = dict(read_table(path).to_pydict()), table_of(audit)
    checks = Checks(read_sheet(columns, table), table, columns, audit.error_rate.value)
    return replace(audit, checks=checks)


def _estimate(said: dict[str, Any]) -> Estimate:
    """Take an estimate whose numbers are finite."""
    return Estimate(**{name: validate.real(value) for name, value in said.items()})


def _origin(said: Any) -> Origin | None:
    """Take what is said of the audited file; what was asked is shown, never run."""
    if said is None:
        return None
    names = ("path", "modified", "stamp", "digest", "method")
    path, modified, stamp, digest, method = validate.strings([said[name] for name in names])
    files, size = validate.number(said["files"]), validate.number(said["size"])
    asked = said.get("asked", {})
    if not isinstance(asked, dict):
        raise validate.ContradictionError("it was asked for in no known way")
    (audited,) = validate.strings([said.get("audited", "")])
    return Origin(path, files, size, modified, stamp, digest, method, asked, audited)


def _fitted(said: dict[str, Any]) -> Fitted:
    return Fitted(**{**said, "notes": tuple(validate.strings(said["notes"]))})


def _source(rows: pa.Table, renamed: dict[str, str]) -> pa.Table:
    """Take the input's own columns, under their own names."""
    back = {fresh: name for name, fresh in renamed.items()}
    names = rows.column_names[_own(rows.column_names) :]
    return rows.select(names).rename_columns([back.get(name, name) for name in names])


def _own(names: list[str]) -> int:
    """Count the columns of rows.parquet that are the audit's."""
    return 7 if names[5:7] == ["near_duplicate", "is_outlier"] else 5


def _blocks(
    classifier: NoisyLabelEstimator, arrays: dict[str, NDArray[Any]], source: Any, n: int
) -> tuple[Block, ...]:
    schema = classifier.model_.schema
    if not schema.columns:
        return ()
    if source is not None:
        return read_like(source, schema)
    parts = [arrays[f"words.{part}"] for part in ("data", "indices", "indptr")]
    matrix = sparse.csr_array(tuple(parts), shape=(n, schema.width))
    matrix.check_format(full_check=True)
    return (Words(matrix),)


def _codes(
    classifier: NoisyLabelEstimator, given: NDArray[np.int64], trusted: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Turn labels and trust back into evidence codes: L is no label, L + 1 + k is sure of k."""
    L = len(classifier.labels_)
    home = places(tuple(classifier.labels_.tolist()), tuple(classifier.classes_.tolist()))
    codes = np.where(given < 0, L, given)
    codes[trusted] = L + 1 + home[given[trusted]]
    return codes.astype(np.int32)
