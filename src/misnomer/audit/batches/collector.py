"""What batches say of their rows, added up: the totals, a sample, the worst."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from misnomer.audit.frames import known_columns, renamed
from misnomer.audit.result import places
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.streaming import Terms
from misnomer.engines.stream import joined
from misnomer.posterior import Posterior
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import Scan
from misnomer.solvers.task import Details
from misnomer.table import Batch, CheckedRows

Array = NDArray[np.float64]

SAMPLE = 50_000  # rows that a report looks at, of wide tables fewer
SAMPLE_CELLS = 1 << 20
WORST = 10_000  # flagged rows that are listed
BOOTSTRAP = 5_000  # rows of which the intervals are drawn


@dataclass(frozen=True, eq=False)
class Answers:
    """What is known about some rows."""

    given: NDArray[np.int64]  # -1 where there is none
    trusted: NDArray[np.bool_]
    shares: Posterior
    wrong: Array  # (n,) P(the label is wrong), 0 where there is none
    flagged: NDArray[np.bool_]


def answers(classifier: NoisyLabelEstimator, batch: Batch, posterior: Any = None) -> Answers:
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
    return Answers(given, trusted, shares, wrong, flagged)


def row_columns(classifier: NoisyLabelEstimator, found: Answers, start: int) -> pa.Table:
    """List what is known about each row, with its place in the input."""
    names = classifier.labels_.tolist(), classifier.classes_.tolist()
    known = known_columns(*names, found.given, found.shares.best, found.wrong, found.flagged)
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
        self.sample = _chosen(n, min(SAMPLE, max(SAMPLE_CELLS // columns, 5_000)), 1)
        if checked is not None:
            self.sample = np.union1d(self.sample, checked.row[checked.row < n])
        self.drawn = _chosen(n, BOOTSTRAP, 0)
        self.kept: list[tuple[Batch, Answers, pa.Table]] = []
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

    def take(self, batch: Batch, source: pa.Table, posterior: Any) -> pa.Table:
        """Judge some rows, the next in the input's order; return them with their own columns."""
        rows = slice(self.start, self.start + len(batch))
        found = answers(self.classifier, batch, posterior)
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
            self.kept.append((batch.take(some), _picked(found, some), source.take(pa.array(some))))
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

    def _remember(self, table: pa.Table, found: Answers) -> None:
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

    def sampled(self) -> tuple[Batch, Answers, pa.Table]:
        """Put the sample together."""
        batches, found, tables = zip(*self.kept, strict=True)
        return joined(batches), _joined(found), pa.concat_tables(tables).combine_chunks()


def _joined(found: Sequence[Answers]) -> Answers:
    """Put answers one under another."""
    names = ("given", "trusted", "wrong", "flagged")
    own = {name: np.concatenate([getattr(one, name) for one in found]) for name in names}
    return Answers(shares=Posterior.joined([one.shares for one in found]), **own)


def _picked(found: Answers, rows: NDArray[np.intp]) -> Answers:
    return Answers(
        found.given[rows],
        found.trusted[rows],
        found.shares.take(rows),
        found.wrong[rows],
        found.flagged[rows],
    )


def _by_group(found: Answers, group: NDArray[np.int32], groups: int) -> Array:
    """Count the wrong labels, and the labels, of each group, (2, G)."""
    at = np.flatnonzero((found.given >= 0) & (group >= 0))
    wrong = np.bincount(group[at], found.wrong[at], minlength=groups)
    return np.stack([wrong, np.bincount(group[at], minlength=groups)])


def _chosen(n: int, most: int, seed: int) -> NDArray[np.int64]:
    """Choose rows at random, all where there are few; sorted."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


RowsTo = Callable[[Iterator[pa.Table]], None]


Begun = tuple[Collector, Iterator[pa.Table]]
Begin = Callable[[Iterable[pa.RecordBatch], int, NoisyLabelEstimator, Any], Begun]


@dataclass(frozen=True, eq=False)
class Judging:
    """Reads rows with all of their columns and judges them as they come, here or where they are."""

    rows: Scan
    classifier: NoisyLabelEstimator
    # begin(batches, first row, classifier, what is known of them): a collector, and the tables that
    # fill it as they are read
    begin: Begin
    known: Any = None  # of all rows
    skip_bad: bool = False

    def read_again(self) -> Iterator[pa.Table]:
        """Read and judge every row, and yield it beside its own columns, table after table."""
        return self._begun()[1]

    def here(self, rows_to: RowsTo | None) -> Collector:
        """Read and judge every row; whoever asked for the rows gets them table by table."""
        collector, tables = self._begun()
        drain(tables, rows_to)
        return collector

    def there(
        self, cluster: Any, sizes: list[int], known: list[Any], rows_to: RowsTo | None
    ) -> Collector:
        """Judge the parts where they are, each of so many rows with what is known of them.

        Rows come here only where somebody asked for them, part after part.
        """
        begin, names, skip_bad = self.begin, self.rows.names, self.skip_bad
        light, wanted = lightened(self.classifier), rows_to is not None

        def go(item: tuple[Any, int, Any]) -> tuple[Collector, list[pa.Table]]:
            part, start, own = item
            read = part.batches(names, [] if skip_bad else None)
            collector, tables = begin(read, start, light, own)
            kept = list(tables) if wanted else []
            drain(tables, None)
            return collector, kept

        collectors: list[Collector] = []

        def in_order() -> Iterator[pa.Table]:
            starts = (np.cumsum(sizes) - sizes).tolist()
            items = list(zip(self.rows.parts, starts, known, strict=True))
            for collector, tables in cluster.in_turn(go, items):
                collectors.append(collector)
                yield from tables

        drain(in_order(), rows_to)
        total = reduce(add, collectors)
        total.classifier = self.classifier
        return total

    def _begun(self) -> Begun:
        read = self.rows.batches(self.rows.names, [] if self.skip_bad else None)
        return self.begin(read, 0, self.classifier, self.known)


def drain(tables: Iterator[pa.Table], rows_to: RowsTo | None) -> None:
    """Hand tables to whoever asked for them, or just go through them."""
    deque(tables, maxlen=0) if rows_to is None else rows_to(tables)


def judging(found: Scan, terms: Terms, classifier: NoisyLabelEstimator) -> Judging:
    """Judge rows of one label each, by the solver's own judge where it has one."""
    judge = classifier.fit_.details.judge
    return Judging(found, classifier, partial(begin, terms, judge), skip_bad=terms.skip_bad)


def begin(
    terms: Terms,
    judge: Any,
    batches: Iterable[pa.RecordBatch],
    start: int,
    classifier: NoisyLabelEstimator,
    _: Any,
) -> Begun:
    """Begin to judge rows, the first of which is number ``start``."""
    collector = Collector(classifier, terms.rows, start, len(terms.groups), terms.checked)
    return collector, judged(batches, terms, collector, judge)


def judged(
    batches: Iterable[pa.RecordBatch], terms: Terms, collector: Collector, judge: Any
) -> Iterator[pa.Table]:
    """Judge rows with all of their columns, by the solver's own judge where it has one."""
    for rows in batches:
        if rows.num_rows:
            batch = replace(terms.batch(rows.select(terms.columns)), start=collector.start)
            share = None if judge is None else judge.posterior(terms.with_checked(batch))
            yield collector.take(batch, decoded_table(rows), share)


def lightened(classifier: NoisyLabelEstimator) -> NoisyLabelEstimator:
    """Leave out what the solver found of each row: it does not travel with the model."""
    light = copy(classifier)
    light.fit_ = replace(classifier.fit_, details=Details())
    return light
