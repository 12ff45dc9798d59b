"""All rows of an audit that was made by batches: on disk, read where somebody looks or searches."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from misnomer.audit.frames import Shape
from misnomer.audit.result import places
from misnomer.classifiers.annotators.groups import codes_of
from misnomer.estimate import Estimate
from misnomer.evidence import Explanation, explained, without_itself
from misnomer.head.rates import judged
from misnomer.review.ledger import ReviewError
from misnomer.review.ranking import Ranking
from misnomer.review.rows import index
from misnomer.rows import read_like
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


Array = NDArray[np.float64]

_N_AUDIT_COLUMNS = 6  # columns of rows.parquet that are the audit's
_MAX_ROW_GROUPS = 4  # row groups that stay in memory
_BATCH_ROWS = 1 << 16


class LargeRows:
    """What a review needs of an audit, for more rows than fit in memory.

    Parameters
    ----------
    folder : Path
        The audit's folder, with ``rows.parquet`` and the folder ``sample``.
    sample : Audit
        The audit of the sample: it has the model and all that is not of single rows.
    """

    sources = annotators = groups = None

    def __init__(self, folder: Path, sample: Audit) -> None:
        self.folder, self.sample = folder, sample
        self.path = folder / "rows.parquet"
        self.label, self.labels, self.classes = sample.label, sample.labels, sample.classes
        self.verdict, self.fitted, self.origin = sample.verdict, sample.fitted, sample.origin
        self.classifier = sample.classifier
        self.shape = Shape(sample.shape.backend, id=sample.shape.id)  # rows go by their positions
        said = json.loads((folder / "audit.json").read_text())["error_count"]
        self.error_count = Estimate(said["value"], said["low"], said["high"], said["confidence"])
        self.data = pa.table({})  # never all of it
        self.metadata = pq.ParquetFile(self.path).metadata
        names = self.metadata.schema.to_arrow_schema().names[_N_AUDIT_COLUMNS:]
        self.names = dict(zip(names, sample.data.column_names, strict=True))
        trusted = self._trusted()
        self.index = index.open_index(self.path, list(self.labels), list(self.classes), trusted)
        self.given, self.suggested = self.index.given, self.index.suggested
        self.error_probability, self.is_label_issue = self.index.wrong, self.index.flagged
        sizes = [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]
        self.starts = np.cumsum([0, *sizes])
        self._groups: OrderedDict[int, pa.Table] = OrderedDict()
        self._lock = Lock()

    def _trusted(self) -> str | None:
        """Find the column of rows known to be right, as it is called in ``rows.parquet``."""
        named = None if self.origin is None else self.origin.asked.get("trusted")
        return next((ours for ours, name in self.names.items() if name == named), None)

    def ranking(self, version: int = 0) -> Ranking:
        """Rank the rows as the audit has them."""
        index: Any = self.index
        orders = {"probability": (index.probability,), "information": (index.information,)}
        return Ranking(
            version, index.wrong, index.given, index.suggested, index.judged, index.flagged, orders
        )

    def fingerprint(self, sample: str) -> str:
        """Digest how many rows of each label there are, and the rows of the sample."""
        counts = np.zeros(len(self.labels) + 1, np.int64)
        for at in range(0, len(self.given), 1 << 22):
            part = np.asarray(self.given[at : at + (1 << 22)]) + 1
            counts += np.bincount(part, minlength=len(counts))
        said = repr((sample, counts.tolist(), list(self.names.values())))
        return hashlib.sha256(said.encode()).hexdigest()

    def given_label(self, row: int) -> Any:
        """Return the given label of a row; None where there is none."""
        return self.labels[self.given[row]] if self.given[row] >= 0 else None

    def row(self, at: int) -> pa.Table:
        """Read the input's columns of one row."""
        group = int(np.searchsorted(self.starts, at, side="right")) - 1
        with self._lock:
            if group not in self._groups:
                file = pq.ParquetFile(self.path, metadata=self.metadata)
                self._groups[group] = file.read_row_group(group, columns=list(self.names))
            self._groups.move_to_end(group)
            while len(self._groups) > _MAX_ROW_GROUPS:
                self._groups.popitem(last=False)
            table = self._groups[group]
        return table.slice(at - int(self.starts[group]), 1).rename_columns(
            list(self.names.values())
        )

    def parts(self, columns: list[str] | None = None) -> Iterator[tuple[int, pa.Table]]:
        """Go through all rows, some at a time, with the place of the first of them."""
        file = pq.ParquetFile(self.path, metadata=self.metadata)
        start = 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
            yield start, pa.Table.from_batches([batch])
            start += batch.num_rows

    def named(self, table: pa.Table) -> pa.Table:
        """Take the input's columns of some rows, under their own names."""
        some = table.select([name for name in self.names if name in table.column_names])
        return some.rename_columns([self.names[name] for name in some.column_names])

    def shares(self, at: int) -> Array:
        """Return P(true class) of one row, (K,)."""
        batch = self.batch(self.row(at), [self.given[at]])
        return np.asarray(self.posterior(self.classifier.model_, batch)[0])

    def batch(self, table: pa.Table, given: Any) -> Batch:
        """Put some rows into the terms of the model."""
        schema, L = self.classifier.model_.schema, len(self.labels)
        codes = np.where(np.asarray(given) < 0, L, given).astype(np.int32)
        blocks = read_like(table, schema) if schema.columns else ()
        sources = self.sample.sources
        if sources is None or sources.groups is None:
            return Batch(blocks, codes)
        name = sources.asked["noise_groups"]
        group = codes_of(sources.answers.annotators.tolist(), name, table.column(name))
        return Batch(blocks, codes, group=group)

    def posterior(self, model: Any, batch: Batch) -> Array:
        """Judge rows by a model, and where groups judge, by what their channels say beyond it."""
        share: Array = model.posterior(batch)
        if batch.group is None or not self.verdict.tests.get("groups_judge_rows"):
            return share
        at = np.flatnonzero((batch.given < len(self.labels)) & (batch.group >= 0))
        label, matrix = batch.given[at], model.channel.matrix
        channels: Array = self.sample.sources.channels  # type: ignore[union-attr]
        own = channels[batch.group[at], label] / np.maximum(matrix[label], 1e-9)
        share[at] = judged(share[at], own)
        return share

    def explain_at(self, at: int) -> Explanation:
        """Say why the label of a row looks wrong or right, as `Audit.explain_at` does."""
        batch, this = self.batch(self.row(at), [self.given[at]]), int(self.suggested[at])
        model = self.classifier.model_
        order = np.argsort(-self.posterior(model, batch)[0], kind="stable")
        home = int(places(self.labels, self.classes)[self.given[at]]) if self.given[at] >= 0 else -1
        other = home if home >= 0 and home != this else next(int(k) for k in order if k != this)
        wrong = None if self.given[at] < 0 else float(self.error_probability[at])
        label, pair = self.given_label(at), (this, other)
        evidence = model.evidence(batch)[0]
        if batch.group is not None and batch.group[0] >= 0 and self.given[at] >= 0:
            channel = self.sample.sources.channels[batch.group[0]]  # type: ignore[union-attr]
            evidence = replace(evidence, label=np.log(np.maximum(channel[self.given[at]], 1e-300)))
        if len(self.classes) == 2 and home >= 0 and wrong is not None and 0.0 < wrong < 1.0:
            share = np.full(2, wrong)
            share[home] = 1.0 - wrong
            evidence = without_itself(evidence, share)
        return explained(evidence, at, label, self.classes, pair, wrong)

    def judged_by(self, classifier: Any, ranking: Ranking) -> LargeRows:
        """Return the same rows with another model and what it says of them."""
        other = copy(self)
        other.classifier = classifier
        now: Any = ranking
        other.error_probability, other.suggested = now.wrong, now.suggested
        other.is_label_issue = now.flagged
        return other


_MOST_VALUES = 200  # of a column that are offered


def columns(audit: Audit | LargeRows) -> list[str]:
    """Name the input's columns."""
    if isinstance(audit, LargeRows):
        return list(audit.names.values())
    return list(audit.data.column_names)


def input_parts(audit: Audit | LargeRows, names: list[str]) -> Iterator[tuple[int, pa.Table]]:
    """Go through the input, of what is on disk these columns, with the place of each first row."""
    if not isinstance(audit, LargeRows):
        yield 0, audit.data
        return
    stored = [ours for ours, name in audit.names.items() if name in names]
    for start, table in audit.parts(stored):
        yield start, audit.named(table)


def input_row(audit: Audit | LargeRows, at: int) -> pa.Table:
    """Read the input's columns of one row."""
    return audit.row(at) if isinstance(audit, LargeRows) else audit.data.slice(at, 1)


def find_id(audit: Audit | LargeRows, text: str) -> int | None:
    """Find a row by the value of its id column."""
    name = audit.shape.id
    if name is None or name not in columns(audit):
        return None
    for start, table in input_parts(audit, [name]):
        at = pc.index(table.column(table.column_names.index(name)).cast(pa.string()), text).as_py()
        if at >= 0:
            return start + int(at)
    return None


def matching(
    audit: Audit | LargeRows, column: str | None, value: str | None, words: str | None
) -> NDArray[np.bool_]:
    """Tell which rows hold a value in a column, and some words anywhere, (n,).

    Each word is found in some cell, whatever its case; words in quotation marks stand together. A
    value is compared as text, and an empty one finds the empty cells.
    """
    if column is not None and column not in columns(audit):
        raise ReviewError(f"there is no column {column!r}")
    wanted = columns(audit) if words or column is None else [column]
    parts = [_found(table, column, value, words) for _, table in input_parts(audit, wanted)]
    return np.concatenate(parts) if parts else np.zeros(0, bool)


def _found(
    table: pa.Table, column: str | None, value: str | None, words: str | None
) -> NDArray[np.bool_]:
    kept = np.ones(len(table), bool)
    if column is not None:
        kept &= _equal(table.column(table.column_names.index(column)), value or "")
    if words:
        texts = [as_text(cells) for cells in table.columns]
        for word in _words(words):
            kept &= np.logical_or.reduce([_holds(cells, word) for cells in texts])
    return kept


def _words(said: str) -> list[str]:
    """List the words of a search; what stands in quotation marks is one.

    Examples
    --------
    >>> _words('late "my order" 5"')
    ['late', 'my order', '5"']
    """
    return [together or word for together, word in re.findall(r'"([^"]+)"|(\S+)', said)]


def _equal(cells: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    texts = as_text(cells)
    same = pc.equal(pc.fill_null(texts, ""), value)
    return np.asarray(same.to_numpy(), bool)


def _holds(texts: pa.ChunkedArray, word: str) -> NDArray[np.bool_]:
    matches = pc.match_substring(texts, word, ignore_case=True)
    return np.asarray(pc.fill_null(matches, False).to_numpy(), bool)


def as_text(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write cells as the page does: one that Arrow cannot write is written by Python."""
    if pa.types.is_dictionary(cells.type):
        cells = cells.cast(cells.type.value_type)
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        return cells
    texts = [None if cell is None else str(cell) for cell in cells.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def values(audit: Audit | LargeRows, column: str) -> list[str]:
    """List the values of a column, the most frequent first; none where nearly all differ."""
    if column not in columns(audit):
        raise ReviewError(f"there is no column {column!r}")
    data: Any = audit.sample.data if isinstance(audit, LargeRows) else audit.data
    cells = pc.fill_null(as_text(data.column(data.column_names.index(column))), "")
    counts = pc.value_counts(cells).to_pylist()
    if len(counts) > max(_MOST_VALUES, len(data) // 2):
        return []
    counts.sort(key=lambda one: (-one["counts"], one["values"]))
    return [one["values"] for one in counts[:_MOST_VALUES] if len(one["values"]) <= 200]
