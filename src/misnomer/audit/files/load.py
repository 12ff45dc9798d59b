"""A folder written by save_audit -> the Audit it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy import sparse

from misnomer.audit.files.origin import Origin
from misnomer.audit.files.parts import read_index, read_shares, read_sources
from misnomer.audit.files.save import ARRAYS, CHECKED
from misnomer.audit.frames import Shape, default_backend
from misnomer.audit.numbers import Fitted
from misnomer.audit.result import Audit, places
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.estimate import Estimate
from misnomer.kernels.blocks import Block, Words
from misnomer.rows import read_like
from misnomer.rows.files.tables import read_table
from misnomer.store import checks
from misnomer.store.container import DamagedError, read_bytes, unpack
from misnomer.store.folders import check_whole, reading
from misnomer.store.models import load_model
from misnomer.store.sparse import noise_of
from misnomer.table import Batch
from misnomer.verdict import Verdict


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
        why = f" ({e})" if isinstance(e, checks.ContradictionError) else ""
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
    numbers: dict[str, Any] = {name: checks.array(arrays, name, (K,)) for name in names}
    numbers |= {"shares": read_shares(arrays, n, K), "noise": noise_of(arrays, L, K)}
    given = checks.array(arrays, "given", (n,), np.int64)
    trusted = checks.array(arrays, "trusted", (n,), np.uint8).astype(bool)
    if n and (given.min() < -1 or given.max() >= L or (given[trusted] < 0).any()):
        raise checks.ContradictionError("a row has a label that the model does not know")
    if about.get("random_state") is not None:
        classifier.random_state = checks.number(about["random_state"])
    source = _source(rows, about["renamed"]) if "words.data" not in arrays else None
    blocks = _blocks(classifier, arrays, source, n)
    lines = checks.array(arrays, "lines", (n,), np.int64) if "lines" in arrays else None
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
        warnings=tuple(checks.strings(about["warnings"])),
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
    share = checks.array(arrays, "brought", (n, K))
    checks.shares_by_row(share, "probabilities")
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
    return Estimate(**{name: checks.real(value) for name, value in said.items()})


def _origin(said: Any) -> Origin | None:
    """Take what is said of the audited file; what was asked is shown, never run."""
    if said is None:
        return None
    names = ("path", "modified", "stamp", "digest", "method")
    path, modified, stamp, digest, method = checks.strings([said[name] for name in names])
    files, size = checks.number(said["files"]), checks.number(said["size"])
    asked = said.get("asked", {})
    if not isinstance(asked, dict):
        raise checks.ContradictionError("it was asked for in no known way")
    (audited,) = checks.strings([said.get("audited", "")])
    return Origin(path, files, size, modified, stamp, digest, method, asked, audited)


def _fitted(said: dict[str, Any]) -> Fitted:
    return Fitted(**{**said, "notes": tuple(checks.strings(said["notes"]))})


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
