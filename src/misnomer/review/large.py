"""All rows of an audit that was made by batches: on disk, read where somebody looks or searches."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from misnomer.audit.shape import Shape
from misnomer.classifiers.terms import codes_of
from misnomer.engines import joined
from misnomer.estimate import Estimate
from misnomer.evidence import Explanation, explained, without_itself
from misnomer.head.rates import judged
from misnomer.posterior import Posterior
from misnomer.review.ranking import Ranking, open_index
from misnomer.review.refit import (
    REVIEWER_ERROR,
    beliefs,
    copies_of,
    solve_task,
    solver_of,
    task_of,
    with_fit,
)
from misnomer.review.rows import Part, Refit, Rows, fingerprint
from misnomer.rows import read_like
from misnomer.solvers.sparse import SparseModel
from misnomer.solvers.task import Details, Fit
from misnomer.table import Batch

if TYPE_CHECKING:
    from misnomer.audit.result import Audit


Array = NDArray[np.float64]

_N_AUDIT_COLUMNS = 6  # columns of rows.parquet that are the audit's
_MAX_ROW_GROUPS = 4  # row groups that stay in memory
_BATCH_ROWS = 1 << 16
N_WORST_ROWS = 20_000  # which are judged anew


#: What the page says of it.
SENTENCE = (
    "This audit was made by batches: a fit learns from its random sample of {sample:,} rows and "
    "from your decisions, and ranks the {window:,} worst rows anew; all others stay as the audit "
    "ranked them."
)


class LargeRows(Rows):
    """More rows than fit in memory: those of ``rows.parquet``, read where they are asked for.

    Parameters
    ----------
    folder : Path
        The audit's folder, with ``rows.parquet`` and the folder ``sample``.
    sample : Audit
        The audit of the sample: it has the model and all that is not of single rows.
    """

    in_memory = False

    def __init__(self, folder: Path, sample: Audit) -> None:
        self.folder, self.sample = folder, sample
        self.path = folder / "rows.parquet"
        self.classifier = sample.classifier
        said = json.loads((folder / "audit.json").read_text())["error_count"]
        self.audit = replace(
            sample,
            error_count=Estimate(said["value"], said["low"], said["high"], said["confidence"]),
            shape=Shape(sample.shape.backend, id=sample.shape.id),  # rows go by their positions
            sources=None,  # the answers of the sample's rows
        )
        self.metadata = pq.ParquetFile(self.path).metadata
        names = self.metadata.schema.to_arrow_schema().names[_N_AUDIT_COLUMNS:]
        self.names = dict(zip(names, sample.data.column_names, strict=True))
        labels, classes = list(sample.labels), list(sample.classes)
        self.index = open_index(self.path, labels, classes, self._trusted_column())
        self.given, self.suggested = self.index.given, self.index.suggested
        self.wrong: Any = self.index.wrong
        window = min(N_WORST_ROWS, len(self.index.probability))
        self.learning = SENTENCE.format(sample=len(sample.given), window=window)
        sizes = [self.metadata.row_group(i).num_rows for i in range(self.metadata.num_row_groups)]
        self.starts = np.cumsum([0, *sizes])
        self._groups: OrderedDict[int, pa.Table] = OrderedDict()
        self._lock = Lock()

    def _trusted_column(self) -> str | None:
        """Find the column of rows known to be right, as it is called in ``rows.parquet``."""
        named = None if self.audit.origin is None else self.audit.origin.asked.get("trusted")
        return next((ours for ours, name in self.names.items() if name == named), None)

    @property
    def columns(self) -> list[str]:
        """The names of the input's columns."""
        return list(self.names.values())

    def ranking(self, version: int = 0) -> Ranking:
        """Rank the rows as the audit has them."""
        index: Any = self.index
        orders = {"probability": (index.probability,), "information": (index.information,)}
        return Ranking(
            version, index.wrong, index.given, index.suggested, index.judged, index.flagged, orders
        )

    def fingerprint(self) -> str:
        """Digest how many rows of each label there are, and the rows of the sample."""
        counts = np.zeros(len(self.audit.labels) + 1, np.int64)
        for at in range(0, len(self.given), 1 << 22):
            part = np.asarray(self.given[at : at + (1 << 22)]) + 1
            counts += np.bincount(part, minlength=len(counts))
        said = repr((fingerprint(self.sample), counts.tolist(), self.columns))
        return hashlib.sha256(said.encode()).hexdigest()

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
        return table.slice(at - int(self.starts[group]), 1).rename_columns(self.columns)

    def input_parts(self, names: list[str]) -> Iterator[tuple[int, pa.Table]]:
        """Go through these columns, some rows at a time."""
        stored = [ours for ours, name in self.names.items() if name in names]
        return ((start, self.named(table)) for start, table in self.parts(stored))

    def judged_parts(self) -> Iterator[Part]:
        """Go through all rows as ``rows.parquet`` has them."""
        for start, table in self.parts():
            wrong = table.column("error_probability").to_numpy()
            yield Part(
                self.named(table),
                start,
                table.column("given_label").to_pylist(),
                table.column("suggested_label").to_pylist(),
                np.nan_to_num(wrong, nan=-1.0),
                table.column("is_label_issue").to_numpy(),
            )

    def _some(self, column: str) -> pa.Table:
        """Return the sample: it is in memory."""
        return self.sample.data

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
        return Posterior.of(self.posterior(self.classifier.model_, batch)).array[0]

    def batch(self, table: pa.Table, given: Any) -> Batch:
        """Put some rows into the terms of the model."""
        schema, L = self.classifier.model_.schema, len(self.audit.labels)
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
        if batch.group is None or not self.audit.verdict.tests.get("groups_judge_rows"):
            return share
        at = np.flatnonzero((batch.given < len(self.audit.labels)) & (batch.group >= 0))
        label, matrix = batch.given[at], model.channel.matrix
        channels: Array = self.sample.sources.channels  # type: ignore[union-attr]
        own = channels[batch.group[at], label] / np.maximum(matrix[label], 1e-9)
        share[at] = judged(share[at], own)
        return share

    def explain_at(self, at: int) -> Explanation:
        """Say why the label of a row looks wrong or right, as `Audit.explain_at` does."""
        batch, this = self.batch(self.row(at), [self.given[at]]), int(self.suggested[at])
        model, classes = self.classifier.model_, self.audit.classes
        order = np.argsort(-self.shares(at), kind="stable")
        home = int(self.audit.class_of_label[self.given[at]]) if self.given[at] >= 0 else -1
        other = home if home >= 0 and home != this else next(int(k) for k in order if k != this)
        wrong = None if self.given[at] < 0 else float(self.wrong[at])
        label, pair = self.given_label(at), (this, other)
        evidence = model.evidence(batch)[0]
        if batch.group is not None and batch.group[0] >= 0 and self.given[at] >= 0:
            channel = self.sample.sources.channels[batch.group[0]]  # type: ignore[union-attr]
            evidence = replace(evidence, label=np.log(np.maximum(channel[self.given[at]], 1e-300)))
        if len(classes) == 2 and home >= 0 and wrong is not None and 0.0 < wrong < 1.0:
            share = np.full(2, wrong)
            share[home] = 1.0 - wrong
            evidence = without_itself(evidence, share)
        return explained(evidence, at, label, classes, pair, wrong)

    def judged_by(self, classifier: Any, ranking: Ranking) -> LargeRows:
        """Return the same rows with another model and what it says of them."""
        other = copy(self)
        other.classifier = classifier
        other.wrong, other.suggested = ranking.wrong, ranking.suggested
        return other

    def refit(self, error: float) -> Refit:
        """Fit the sample with what was decided, and rank the worst rows anew."""
        return LargeRefit(self, error=error)


class LargeRefit:
    """Fits the sample with and without the decisions, and moves the model by the difference.

    The model of many labels is sums of rows: to those the decided rows are added.

    Parameters
    ----------
    rows : LargeRows
        The audit as it was made.
    error : float
        The assumed share of wrong decisions.
    """

    def __init__(self, rows: LargeRows, *, error: float = REVIEWER_ERROR) -> None:
        self.rows, self.error = rows, error
        self._before: Fit | None = None
        self._worst_rows: tuple[NDArray[np.intp], Batch] | None = None

    def __call__(self, decided: Mapping[int, int], version: int) -> tuple[LargeRows, Ranking]:
        """Fit with what was decided, and rank the worst rows anew."""
        classifier = self._shift_model(self._trusted_copies(decided))
        ranking = self._ranked(classifier.model_, version)
        return self.rows.judged_by(classifier, ranking), ranking

    def _shift_model(self, trusted: Batch) -> Any:
        """Move the model of all rows by what rows of a known class change."""
        classifier, sample = self.rows.classifier, self.rows.sample
        model: Any = classifier.model_
        if isinstance(model, SparseModel):  # it is sums: no fit can tell more of them
            added: Any = model.with_rows(trusted)
            return with_fit(classifier, replace(classifier.fit_, model=added))
        solver = solver_of(sample)
        if self._before is None:
            self._before = solve_task(solver, task_of(sample, sample.batch))
        after = solve_task(solver, task_of(sample, joined([sample.batch, trusted])))
        moved = model.shifted(self._before.model, after.model)
        return with_fit(classifier, replace(after, model=moved, details=Details()))

    def _trusted_copies(self, decided: Mapping[int, int]) -> Batch:
        """Read the decided rows, as trusted copies that weigh as much as they are believed.

        Their given labels are left out: the sample stands for those already, and rows chosen for
        being odd would make the labels look worse than they are.
        """
        rows = np.fromiter(decided, np.intp, len(decided))
        true = np.fromiter(decided.values(), np.intp, len(decided))
        table = pa.concat_tables([self.rows.row(int(row)) for row in rows])
        judged = self.rows.batch(table, self.rows.given[rows])
        share = Posterior.of(self.rows.posterior(self.rows.classifier.model_, judged))
        copies = copies_of(np.arange(len(rows)), beliefs(share.array, true, self.error))
        blank = self.rows.batch(table, np.full(len(rows), -1)).take(copies.row)
        codes = (len(self.rows.audit.labels) + 1 + copies.true).astype(np.int32)
        return replace(blank.judged_by(codes), weight=copies.weight)

    def _worst(self) -> tuple[NDArray[np.intp], Batch]:
        """Read the worst rows, once: in one pass over the file."""
        if self._worst_rows is None:
            rows = self.rows
            wanted = np.asarray(rows.index.probability[:N_WORST_ROWS], np.intp)
            order, parts = np.sort(wanted), []
            for start, table in rows.parts(list(rows.names)):
                cut = np.searchsorted(order, [start, start + len(table)])
                some = order[slice(*cut)]
                if len(some):
                    taken = rows.named(table).take(pa.array(some - start))
                    parts.append(rows.batch(taken, rows.given[some]))
            self._worst_rows = (order, joined(parts))
        return self._worst_rows

    def _ranked(self, model: Any, version: int) -> Ranking:
        """Judge the worst rows by a model, and put them in their new order before the others."""
        rows, (order, batch) = self.rows, self._worst()
        first = rows.ranking(version)
        shares = Posterior.of(rows.posterior(model, batch))
        home, best = rows.audit.class_of_label[rows.given[order]], shares.best
        wrong = shares.other_than(home)
        head = order[np.argsort(shares.at(home), kind="stable")]
        tail: Any = rows.index.probability[len(order) :]
        return replace(
            first,
            wrong=Patched(first.wrong, order, wrong),
            suggested=Patched(first.suggested, order, best),
            flagged=Patched(first.flagged, order, best != home),
            orders={**first.orders, "probability": (head, tail)},
        )


class Patched:
    """An array with some of its values replaced, read where it is asked for."""

    def __init__(self, base: Any, rows: NDArray[np.intp], values: NDArray[Any]) -> None:
        self.base, self.rows, self.values = base, rows, values

    def __len__(self) -> int:
        return len(self.base)

    def __getitem__(self, asked: Any) -> Any:
        """Read one row, a slice, or rows by their places.

        Examples
        --------
        >>> some = Patched(np.zeros(5), np.array([1, 3]), np.array([7.0, 9.0]))
        >>> some[1:4].tolist(), some[np.array([3, 0])].tolist(), float(some[1])
        ([7.0, 0.0, 9.0], [9.0, 0.0], 7.0)
        """
        if isinstance(asked, slice):
            return self[np.arange(*asked.indices(len(self)))]
        places_asked = np.atleast_1d(asked)
        values = np.array(self.base[places_asked])
        at = np.minimum(np.searchsorted(self.rows, places_asked), len(self.rows) - 1)
        there = self.rows[at] == places_asked
        values[there] = self.values[at[there]]
        return values if np.ndim(asked) else values[0]

    def sum(self) -> float:
        """Add up, some at a time."""
        parts = range(0, len(self), 1 << 22)
        return float(sum(self[at : at + (1 << 22)].sum() for at in parts))
