"""What batches say of their rows, added up: the totals, a sample, the worst."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit.numbers import ROWS
from misnomer.audit.result import places
from misnomer.audit.shape import answer_columns, renamed
from misnomer.classifiers import NoisyLabelEstimator
from misnomer.classifiers.terms import RowTerms
from misnomer.engines import joined
from misnomer.posterior import Posterior
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import Scan
from misnomer.solvers.task import Details
from misnomer.table import Batch, CheckedRows

Array = NDArray[np.float64]

SAMPLE = 50_000  # rows that a report looks at, of wide tables fewer
SAMPLE_CELLS = 1 << 20
WORST = 10_000  # flagged rows that are listed


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """What is known about some rows."""

    given: NDArray[np.int64]  # -1 where there is none
    trusted: NDArray[np.bool_]
    shares: Posterior
    wrong: Array  # (n,) P(the label is wrong), 0 where there is none
    flagged: NDArray[np.bool_]


def judge_rows(classifier: NoisyLabelEstimator, batch: Batch, posterior: Any = None) -> JudgedRows:
    """Judge some rows, by the solver's own posterior where it has one."""
    labels, classes = tuple(classifier.labels_.tolist()), tuple(classifier.classes_.tolist())
    home, L = places(labels, classes), len(labels)
    trusted = batch.given > L
    back = {k: y for y, k in enumerate(home.tolist()) if k >= 0}
    label_of = np.array([back.get(k, -1) for k in range(len(classes))])
    given = np.where(batch.given == L, -1, batch.given).astype(np.int64)
    given[trusted] = label_of[batch.given[trusted] - L - 1]
    shares = Posterior.of(classifier.model_.posterior(batch) if posterior is None else posterior)
    wrong = np.where(trusted | (given < 0), 0.0, shares.other_than(home[given]))
    shares = shares.knowing(np.flatnonzero(trusted), home[given[trusted]])
    flagged = (given >= 0) & ~trusted & (shares.best != home[given])
    return JudgedRows(given, trusted, shares, wrong, flagged)


def row_columns(classifier: NoisyLabelEstimator, found: JudgedRows, start: int) -> pa.Table:
    """List what is known about each row, with its place in the input."""
    names = classifier.labels_.tolist(), classifier.classes_.tolist()
    known = answer_columns(*names, found.given, found.shares.best, found.wrong, found.flagged)
    return pa.table({"row": np.arange(start, start + len(found.given)), **known})


class Collector:
    """Adds up what batches say, and keeps a sample, the checked and the worst of their rows.

    ``start`` is the place of its first row among all ``n``; collectors of consecutive rows add.
    """

    def __init__(
        self,
        classifier: NoisyLabelEstimator,
        n: int,
        start: int = 0,
        groups: int = 0,
        checked: CheckedRows | None = None,
    ) -> None:
        self.classifier, self.n, self.start, self.checked = classifier, n, start, checked
        self.by_group = np.zeros((2, groups))  # wrong labels, and labels
        self.count = self.certainty = 0.0
        self.labeled = self.trusted = self.flagged = 0
        columns = max(len(classifier.model_.schema.columns), 1)
        self.sample = _choose_rows(n, min(SAMPLE, max(SAMPLE_CELLS // columns, 5_000)), 1)
        if checked is not None:
            self.sample = np.union1d(self.sample, checked.row[checked.row < n])
        self.drawn = _choose_rows(n, ROWS, 0)
        self.kept: list[tuple[Batch, JudgedRows, pa.Table]] = []
        self.bootstrap: list[Batch] = []
        self.worst: list[pa.Table] = []

    def __add__(self, other: Collector) -> Collector:
        groups = self.by_group.shape[1]
        total = Collector(self.classifier, self.n, other.start, groups, self.checked)
        for name in ("count", "certainty", "labeled", "trusted", "flagged", "by_group"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        for name in ("kept", "bootstrap", "worst"):
            setattr(total, name, [*getattr(self, name), *getattr(other, name)])
        total._trim()
        return total

    def take(self, batch: Batch, posterior: Any, source: pa.Table) -> pa.Table:
        """Judge some rows, the next in the input's order; return them with their own columns."""
        rows = slice(self.start, self.start + len(batch))
        found = judge_rows(self.classifier, batch, posterior)
        self.count += float(found.wrong.sum())
        self.labeled += int((found.given >= 0).sum())
        self.trusted += int(found.trusted.sum())
        self.flagged += int(found.flagged.sum())
        if posterior is None:  # else the solver has a verdict of its own
            self.certainty += self._certainty(batch)
        if batch.group is not None:
            self.by_group += _by_group(found, batch.group, self.by_group.shape[1])
        some = self.sample[np.searchsorted(self.sample, rows.start) :]
        some = some[: np.searchsorted(some, rows.stop)] - rows.start
        if len(some):
            self.kept.append((batch.take(some), _take(found, some), source.take(pa.array(some))))
        draw = self.drawn[np.searchsorted(self.drawn, rows.start) :]
        draw = draw[: np.searchsorted(draw, rows.stop)] - rows.start
        if len(draw):
            self.bootstrap.append(batch.take(draw))
        table = row_columns(self.classifier, found, rows.start)
        names = renamed(source.column_names, table.column_names)
        for name, own in zip(names, source.columns, strict=True):
            table = table.append_column(name, own)
        self._remember(table, found)
        self.start = rows.stop
        return table

    def _certainty(self, batch: Batch) -> float:
        unlabeled = np.full(len(batch), len(self.classifier.labels_), np.int32)
        alone = self.classifier.model_.posterior(batch.judged_by(unlabeled))
        return float(alone.max(axis=1).sum())

    def _remember(self, table: pa.Table, found: JudgedRows) -> None:
        flagged = np.flatnonzero(found.flagged)
        if not len(flagged):
            return
        home = places(
            tuple(self.classifier.labels_.tolist()), tuple(self.classifier.classes_.tolist())
        )[found.given[flagged]]
        right = found.shares.take(flagged).at(home)
        bad = table.take(pa.array(flagged)).append_column("\0right", pa.array(right))
        self.worst.append(bad)
        self._trim()

    def _trim(self) -> None:
        if sum(part.num_rows for part in self.worst) > 2 * WORST:
            self.worst = [self.ranked(keep=True)]

    def ranked(self, *, keep: bool = False) -> pa.Table:
        """Sort the worst rows, the worst first, those of one rank in the input's order."""
        every = pa.concat_tables(self.worst)
        order = [("\0right", "ascending"), ("row", "ascending")]
        worst = every.sort_by(order).slice(0, WORST).combine_chunks()
        return worst if keep else worst.drop_columns(["\0right", "is_label_issue"])

    def sampled(self) -> tuple[Batch, JudgedRows, pa.Table]:
        """Put the sample together."""
        batches, found, tables = zip(*self.kept, strict=True)
        return joined(batches), _join(found), pa.concat_tables(tables).combine_chunks()


def _join(found: Sequence[JudgedRows]) -> JudgedRows:
    """Put judged rows one under another."""
    names = ("given", "trusted", "wrong", "flagged")
    own = {name: np.concatenate([getattr(one, name) for one in found]) for name in names}
    return JudgedRows(shares=Posterior.joined([one.shares for one in found]), **own)


def _take(found: JudgedRows, rows: NDArray[np.intp]) -> JudgedRows:
    return JudgedRows(
        found.given[rows],
        found.trusted[rows],
        found.shares.take(rows),
        found.wrong[rows],
        found.flagged[rows],
    )


def _by_group(found: JudgedRows, group: NDArray[np.int32], groups: int) -> Array:
    """Count the wrong labels, and the labels, of each group, (2, G)."""
    at = np.flatnonzero((found.given >= 0) & (group >= 0))
    wrong = np.bincount(group[at], found.wrong[at], minlength=groups)
    return np.stack([wrong, np.bincount(group[at], minlength=groups)])


def _choose_rows(n: int, most: int, seed: int) -> NDArray[np.int64]:
    """Choose rows at random, all where there are few; sorted."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


RowsTo = Callable[[Iterator[pa.Table]], None]


@dataclass(frozen=True, eq=False)
class StoredPosterior:
    """What a search over all rows has found of each: evidence codes, (n,), and P(true class)."""

    codes: NDArray[np.int32]
    share: Array  # (n, K)

    def parts(self, sizes: Sequence[int]) -> list[StoredPosterior]:
        """Split it into parts of so many rows."""
        ends = np.cumsum([0, *sizes]).tolist()
        return [StoredPosterior(self.codes[a:b], self.share[a:b]) for a, b in pairwise(ends)]

    def of(self, batch: Batch, first: int) -> tuple[Batch, Array]:
        """Look up the next rows; ``first`` is the number of the first one that it holds."""
        rows = slice(batch.start - first, batch.start - first + len(batch))
        if rows.stop > len(self.codes):
            raise ValueError(self._changed("more"))
        return batch.judged_by(self.codes[rows]), self.share[rows]

    def check_all(self, rows: int) -> None:
        """Refuse fewer rows than there were."""
        if rows < len(self.codes):
            raise ValueError(self._changed("fewer"))

    def _changed(self, now: str) -> str:
        n = len(self.codes)
        return f"there were {n:,} rows, and now there are {now}: was the file changed?"


@dataclass(frozen=True, eq=False)
class Judging:
    """Reads rows with all of their columns and judges them as they come, here or where they are."""

    rows: Scan
    classifier: NoisyLabelEstimator
    terms: RowTerms
    known: StoredPosterior | None = None  # of all rows, where each has been judged already

    def read_again(self) -> Iterator[pa.Table]:
        """Read and judge every row, and yield it beside its own columns, table after table."""
        return self._start()[1]

    def collected(self, cluster: Any, sizes: Sequence[int], rows_to: RowsTo | None) -> Collector:
        """Judge every row; whoever asked for the rows gets them table by table.

        On a cluster they are judged where they are, in parts of so many rows, and come here only
        where somebody asked for them, part after part.
        """
        if cluster is None:
            collector, tables = self._start()
            drain(tables, rows_to)
            return collector
        collectors: list[Collector] = []
        drain(self._in_order(cluster, sizes, rows_to is not None, collectors), rows_to)
        total = reduce(add, collectors)
        total.classifier = self.classifier
        return total

    def _in_order(
        self, cluster: Any, sizes: Sequence[int], wanted: bool, collectors: list[Collector]
    ) -> Iterator[pa.Table]:
        """Judge the parts where they are; yield their rows, and remember what they add up to."""
        terms, judge, names = self.terms, self._judge, self.rows.names
        light = without_details(self.classifier)

        def go(item: tuple[Any, int, Any]) -> tuple[Collector, list[pa.Table]]:
            part, start, own = item
            read = part.batches(names, [] if terms.skip_bad else None)
            collector, tables = start_judging(read, start, terms, light, judge, own)
            kept = list(tables) if wanted else []
            drain(tables, None)
            return collector, kept

        starts = (np.cumsum(sizes) - sizes).tolist()
        known = [None] * len(sizes) if self.known is None else self.known.parts(sizes)
        items = list(zip(self.rows.parts, starts, known, strict=True))
        for collector, tables in cluster.in_turn(go, items):
            collectors.append(collector)
            yield from tables

    @property
    def _judge(self) -> Any:
        """The solver's own judge, where it has one."""
        return self.classifier.fit_.details.judge

    def _start(self) -> tuple[Collector, Iterator[pa.Table]]:
        read = self.rows.batches(self.rows.names, [] if self.terms.skip_bad else None)
        return start_judging(read, 0, self.terms, self.classifier, self._judge, self.known)


def drain(tables: Iterator[pa.Table], rows_to: RowsTo | None) -> None:
    """Hand tables to whoever asked for them, or just go through them."""
    deque(tables, maxlen=0) if rows_to is None else rows_to(tables)


def start_judging(
    batches: Iterable[pa.RecordBatch], start: int, terms: RowTerms,
    classifier: NoisyLabelEstimator, judge: Any, known: StoredPosterior | None,
) -> tuple[Collector, Iterator[pa.Table]]:  # fmt: skip
    """Begin to judge rows, the first of which is number ``start``: going through them adds up."""
    collector = Collector(classifier, terms.rows, start, len(terms.groups), terms.checked)
    return collector, judge_in_turn(batches, terms, collector, judge, known)


def judge_in_turn(
    batches: Iterable[pa.RecordBatch], terms: RowTerms, collector: Collector, judge: Any,
    known: StoredPosterior | None,
) -> Iterator[pa.Table]:  # fmt: skip
    """Judge rows with all of their columns: as they were judged already, or by the model."""
    first = collector.start
    for rows in batches:
        if rows.num_rows:
            batch = replace(terms.batch(rows), start=collector.start)
            yield collector.take(
                *judge_batch(batch, terms, judge, known, first), decoded_table(rows)
            )
    if known is not None:
        known.check_all(collector.start - first)


def judge_batch(
    batch: Batch, terms: RowTerms, judge: Any, known: StoredPosterior | None, first: int
) -> tuple[Batch, Any]:
    """Find P(true class) of some rows; None where the model is to say it."""
    if known is not None:
        return known.of(batch, first)
    return batch, None if judge is None else judge.posterior(terms.with_checked(batch))


def without_details(classifier: NoisyLabelEstimator) -> NoisyLabelEstimator:
    """Leave out what the solver found of each row: it does not travel with the model."""
    light = copy(classifier)
    light.fit_ = replace(classifier.fit_, details=Details())
    return light
