"""audit() of so many labels and words that classes x words, or rows x classes, is too much."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from misnomer.audit.batches.collector import RowsTo, renamed
from misnomer.audit.checked import with_checks
from misnomer.audit.frames import Shape, default_backend
from misnomer.audit.frames import row_columns as answers
from misnomer.audit.inputs import Inputs
from misnomer.audit.learn import _check_labels, _doubtful
from misnomer.audit.request import Request
from misnomer.audit.result import Fitted
from misnomer.audit.wide import WideAudit, wide_verdict
from misnomer.classifiers import labels
from misnomer.classifiers.inputs import checked_trusted
from misnomer.classifiers.terms import Terms
from misnomer.classifiers.wide import wide_model
from misnomer.engines.local import joined
from misnomer.estimate import Estimate, normal_quantile
from misnomer.kernels.blocks import Block
from misnomer.rows import read
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import Scan
from misnomer.solvers.sparse.naive_bayes import SparseFit, chance_of_right, fit_sparse
from misnomer.solvers.sparse.rows import cuts_of, tokens
from misnomer.table import Schema

_CELLS = 1 << 27  # classes times statistics: a gigabyte of weights
_ROOM = 4 << 30  # bytes that dense arrays may take
_COPIES = 4  # weights, sums, virtual examples, and what is in between
_LOOKED_AT = 20_000  # rows that a dense search looks at again and again
_STEPS = 4e8  # rows times pairs of classes: about a minute
_MANY = 200  # labels from which a frame is looked at


def is_wide(rows: int, classes: int, statistics: int) -> bool:
    """Tell whether dense weights, or a dense share per row and class, would be too large or slow.

    Examples
    --------
    >>> is_wide(200_000, 20, 100_000), is_wide(200_000, 5_000, 1_000_000)
    (False, True)
    >>> is_wide(1_000, 300, 20), is_wide(20_000, 300, 20)
    (False, True)
    """
    if classes < _MANY:
        return False
    large = 8 * _COPIES * classes * max(statistics, rows, classes) > _ROOM
    slow = min(rows, _LOOKED_AT) * classes**2 > _STEPS
    return classes * statistics > _CELLS or large or slow


def found_wide(inputs: Inputs, classifier: Any, started: float) -> WideAudit | None:
    """Audit a table that is wide; None where it is not, or where the user said how to fit it."""
    if not _is_default(classifier):
        return None
    gaps = labels.missing(inputs.y)
    if not has_many(inputs.y[~gaps]):
        return None
    _check_labels(inputs)
    names = labels.distinct(inputs.y, gaps)
    width = inputs.features.shape[1] if sparse.issparse(inputs.features) else None
    if width is not None and not is_wide(len(inputs.y), len(names), width):
        return None
    schema, blocks = read(inputs.features, classifier.families)
    if not is_wide(len(inputs.y), len(names), schema.statistics):
        return None
    label = labels.encode(inputs.y, names, gaps).astype(np.intp)
    label[gaps] = -1
    mask = checked_trusted(inputs.trusted, len(label))
    notes = (*inputs.notes, *_doubtful(names))
    return audit_blocks(
        schema,
        blocks,
        label,
        names,
        trusted=mask,
        name=inputs.label,
        shape=inputs.shape,
        notes=notes,
        progress=classifier.progress,
        started=started,
    )


def has_many(y: NDArray[Any]) -> bool:
    """Tell whether there are so many different labels that dense arrays may be too large."""
    if y.dtype.kind in "iu" and len(y) and int(y.max()) - int(y.min()) < _MANY:
        return False
    found = np.unique(y) if y.dtype.kind in "biufU" else {*y.tolist()}
    return len(found) >= _MANY


def _is_default(classifier: Any) -> bool:
    """Tell whether nothing was said of channel, smoothing, solver or learners."""
    said = classifier.get_params()
    names = ("channel", "smoothing", "solver", "learners")
    return all(said.get(name, "auto") == "auto" for name in names)


def audit_blocks(
    schema: Schema,
    blocks: tuple[Block, ...],
    label: NDArray[np.intp],
    names: NDArray[Any],
    *,
    trusted: NDArray[np.bool_] | None,
    name: str,
    shape: Shape,
    notes: tuple[str, ...] = (),
    progress: Any = None,
    started: float | None = None,
) -> WideAudit:
    """Fit compact rows and put the answers together."""
    started = perf_counter() if started is None else started
    cuts = cuts_of(blocks)
    rows = tokens(blocks, cuts)
    fit = fit_sparse(rows, label, len(names), trusted=trusted, progress=progress)
    sure = np.zeros(len(label), bool) if trusted is None else trusted & (label >= 0)
    right = chance_of_right(fit.found, fit.judged.share, label)
    wrong = np.where(sure | (label < 0), 0.0, np.clip(1.0 - right, 0.0, 1.0))
    count, labeled = float(wrong.sum()), int((label >= 0).sum())
    rate = _rate(count / labeled, labeled)
    ends = min(count, rate.low * labeled), max(count, rate.high * labeled)
    return WideAudit(
        error_rate=rate,
        error_count=Estimate(count, *ends, rate.confidence),
        verdict=wide_verdict(fit, label),
        label=name,
        labels=tuple(names.tolist()),
        given=label.astype(np.int64),
        trusted=sure,
        fit=fit,
        fitted=_fitted(schema, fit, label, sure, perf_counter() - started),
        warnings=notes,
        shape=shape,
        model=wide_model(schema, names, cuts, fit),
    )


def _rate(rate: float, labeled: int) -> Estimate:
    """Give the rate the interval of a share of so many rows; the model's own error is not in it."""
    reach = normal_quantile(0.90) * float(np.sqrt(max(rate * (1.0 - rate), 0.0) / labeled))
    return Estimate(rate, max(rate - reach, 0.0), min(rate + reach, 1.0))


def _fitted(
    schema: Schema, fit: SparseFit, label: NDArray[np.intp], sure: Any, seconds: float
) -> Fitted:
    K, M = fit.pairs.labels, fit.found.classes.shape[1]
    note = (
        f"{K:,} labels and {schema.statistics:,} words and values are too many for dense weights: "
        f"sums are kept where something was counted, and of each row the {M} best classes."
    )
    return Fitted(
        families={column.name: column.kind for column in schema.columns},
        solver="sparse",
        iterations=fit.judged.passes,
        seconds=seconds,
        converged=fit.judged.settled,
        rows=len(label),
        labeled=int((label >= 0).sum()),
        trusted=int(sure.sum()),
        notes=(note,),
    )


def is_wide_default(terms: Terms, classifier: Any) -> bool:
    """Tell whether rows read by batches are too wide, and nothing was said of how to fit them."""
    size = terms.rows, len(terms.naming.labels), terms.schema.statistics
    return _is_default(classifier) and is_wide(*size)


def audit_wide_stream(
    found: Scan, terms: Terms, rows: Any, request: Request, notes: list[str],
    rows_to: RowsTo | None, started: float,
) -> WideAudit:  # fmt: skip
    """Audit compact rows, which must fit in memory; the table itself need not.

    ``rows_to`` takes every row with its own columns, read once more, table after table.
    """
    batch = joined(list(rows))
    label, sure = _labels(batch.given, terms)
    audit = audit_blocks(
        terms.schema,
        batch.blocks,
        label,
        terms.naming.labels,
        trusted=sure,
        name=terms.label,
        shape=Shape(default_backend(), None, None, request.id),
        notes=(*notes, *(f"left out: {one}" for one in terms.left_out)),
        progress=request.progress,
        started=started,
    )
    if rows_to is not None:
        told: Any = audit if request.checked is None else with_checks(audit, request.checked)  # type: ignore[arg-type]
        rows_to(_beside(found, terms, told))
    return audit


def _labels(given: NDArray[np.int32], terms: Terms) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Turn evidence codes into labels, -1 where there is none, and which of them are known."""
    L = len(terms.naming.labels)
    sure = given > L
    label = np.where(sure, given - L - 1, np.where(given == L, -1, given))
    return label.astype(np.intp), sure


def _beside(found: Scan, terms: Terms, audit: WideAudit) -> Iterator[pa.Table]:
    """Yield what is known of each row beside its own columns."""
    every, start = answers(audit), 0  # type: ignore[arg-type]
    for batch in found.batches(found.names, [] if terms.skip_bad else None):
        source = decoded_table(batch)
        n = source.num_rows
        some = every.slice(start, n).add_column(0, "row", pa.array(np.arange(start, start + n)))
        for name, own in zip(renamed(source.column_names), source.columns, strict=True):
            some = some.append_column(name, own)
        yield some
        start += n


def issues_of(audit: WideAudit, file: Any) -> pa.Table:
    """Take the flagged rows out of the file of all, the worst first."""
    import pyarrow.parquet as pq

    order = audit.ranking.astype(np.int64)
    with pq.ParquetFile(file) as every:
        kept, start = [], 0
        for batch in every.iter_batches(1 << 16):
            own = np.sort(order[(order >= start) & (order < start + batch.num_rows)]) - start
            kept.append(pa.Table.from_batches([batch]).take(pa.array(own)))
            start += batch.num_rows
    place = np.searchsorted(np.sort(order), order)
    return pa.concat_tables(kept).take(pa.array(place)).drop_columns(["is_label_issue"])
