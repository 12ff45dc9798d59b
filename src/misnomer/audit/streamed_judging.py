"""Judging all rows once more with all of their columns, here or where they are read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from misnomer.audit.streamed import Collector
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.terms import Terms
from misnomer.rows.parts import decoded_table
from misnomer.rows.scan import Scan

RowsTo = Callable[[Iterator[pa.Table]], None]


def judged_here(
    found: Scan, terms: Terms, classifier: NoisyLabelEstimator, rows_to: RowsTo | None
) -> Collector:
    """Read and judge every row; whoever asked for the rows gets them table by table."""
    collector = Collector(classifier, terms.rows, groups=len(terms.groups))
    read = found.batches(found.names, [] if terms.skip_bad else None)
    tables = judged(read, terms, collector, classifier.fit_.details.get("judge"))
    deque(tables, maxlen=0) if rows_to is None else rows_to(tables)
    return collector


def judged_there(
    cluster: Any,
    found: Scan,
    sizes: list[int],
    terms: Terms,
    classifier: NoisyLabelEstimator,
    rows_to: RowsTo | None,
) -> Collector:
    """Judge the parts where they are read, and add up what was found.

    Rows come here only where somebody asked for them, part after part.
    """
    n, names = sum(sizes), found.names
    starts = (np.cumsum(sizes) - sizes).tolist()
    judge, light = classifier.fit_.details.get("judge"), lightened(classifier)

    def begin(item: tuple[Any, int]) -> tuple[Collector, Iterator[pa.Table]]:
        part, start = item
        own = Collector(light, n, start, len(terms.groups))
        return own, judged(part.batches(names, [] if terms.skip_bad else None), terms, own, judge)

    return collected(
        cluster, begin, list(zip(found.parts, starts, strict=True)), rows_to, classifier
    )


def collected(
    cluster: Any,
    begin: Callable[[Any], tuple[Collector, Iterator[pa.Table]]],
    items: list[Any],
    rows_to: RowsTo | None,
    classifier: NoisyLabelEstimator,
) -> Collector:
    """Go over parts where they are, and add up what their collectors have found.

    ``begin`` makes the collector of a part, and the tables that fill it as they are read.
    """
    wanted = rows_to is not None

    def go(item: Any) -> tuple[Collector, list[pa.Table]]:
        own, tables = begin(item)
        if wanted:
            return own, list(tables)
        deque(tables, maxlen=0)
        return own, []

    collectors: list[Collector] = []

    def in_order() -> Iterator[pa.Table]:
        for own, tables in cluster.in_turn(go, items):
            collectors.append(own)
            yield from tables

    deque(in_order(), maxlen=0) if rows_to is None else rows_to(in_order())
    total = reduce(add, collectors)
    total.classifier = classifier
    return total


def judged(
    batches: Iterable[pa.RecordBatch], terms: Terms, collector: Collector, judge: Any
) -> Iterator[pa.Table]:
    """Judge rows with all of their columns, by the solver's own judge where it has one."""
    for rows in batches:
        if rows.num_rows:
            batch = replace(terms.batch(rows.select(terms.columns)), start=collector.start)
            share = None if judge is None else judge.posterior(batch)
            yield collector.take(batch, decoded_table(rows), share)


def lightened(classifier: NoisyLabelEstimator) -> NoisyLabelEstimator:
    """Leave out what the solver found of each row: it does not travel with the model."""
    light = copy(classifier)
    light.fit_ = replace(classifier.fit_, details={})
    return light
