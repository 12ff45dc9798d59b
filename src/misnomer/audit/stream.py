"""Auditing rows that do not fit in memory, here by batches or on a cluster by parts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from misnomer import engines
from misnomer.answers import Answers
from misnomer.audit import learn, numbers
from misnomer.audit.checked import checked_rows
from misnomer.audit.collector import (
    Collector,
    Judging,
    RowsTo,
    StoredPosterior,
    judge_batch,
    judge_rows,
    row_columns,
    without_details,
)
from misnomer.audit.crowds import group_rates_of, with_groups
from misnomer.audit.inputs import check_column, written_by_misnomer, written_note
from misnomer.audit.learn import classifier_of, with_knowledge, with_knowledge_note
from misnomer.audit.numbers import leaks
from misnomer.audit.request import Request
from misnomer.audit.result import AllRows, Audit
from misnomer.audit.shape import Shape, default_backend
from misnomer.classifiers import NoisyLabelEstimator
from misnomer.classifiers.inputs import naming_of
from misnomer.classifiers.terms import RowTerms, Terms, compact, fit_rows, understand
from misnomer.engines import Journal, Stream, joined
from misnomer.rows.frames import arrow_columns
from misnomer.rows.labels import with_clean_labels
from misnomer.rows.parts import TablePart, conform, unified
from misnomer.rows.scan import Scan, scan
from misnomer.solvers.conditional import Slope
from misnomer.stats import Stats, Sums
from misnomer.table import Fold


def join_cluster(request: Request) -> Any:
    """Join the cluster that was named, or the one where a Dask collection is; else none."""
    said = "current" if request.cluster is None and request.is_lazy else request.cluster
    if said is None:
        return nullcontext()
    try:
        from misnomer.engines.dask import Cluster
    except ImportError:
        raise ValueError("a cluster needs Dask: pip install 'misnomer[dask]'") from None
    return nullcontext(said) if isinstance(said, Cluster) else Cluster(said)


def with_lazy_rows(request: Request, audit: Audit, judging: Judging, sizes: Sequence[int]) -> Audit:
    """Let the rows of a Dask data frame be a lazy frame with its index and its partitions.

    Lines that are answers are no rows.
    """
    data = request.data
    if request.long is not None or not hasattr(data, "divisions"):
        return audit
    from misnomer.engines.dask import lazily, lazily_beside

    judge, known = judging.classifier.fit_.details.judge, judging.known
    light = without_details(audit.classifier)
    step = partial(judge_frame, light, judging.terms, judging.rows.schema, judge)
    if known is None:
        return replace(audit, lazy=lazily(data, step, step(data._meta, 0)))
    none = known.parts([0])[0]
    return replace(
        audit, lazy=lazily_beside(data, step, known.parts(sizes), step(data._meta, none))
    )


def scan_dask(data: Any, y: Any, cluster: Any) -> Scan:
    """Find the partitions of a collection, and the types of their columns."""
    from misnomer.engines.dask import pieces, then

    split = pieces(data, y)
    schemas = cluster.map(_schema, split)
    schema = unified([(f"partition {i}", one) for i, one in enumerate(schemas)])
    return Scan(schema, tuple(then(_part, piece, schema) for piece in split))


def _schema(piece: Any) -> pa.Schema:
    return table_of(piece).schema


def _part(piece: Any, schema: pa.Schema) -> TablePart:
    table = table_of(piece)
    return TablePart(pa.Table.from_batches([conform(table, schema, schema.names)]))


def table_of(piece: Any) -> pa.Table:
    """Turn a partition into a table: a frame, some Arrow tables, or an array and its labels."""
    if isinstance(piece, pa.Table):
        return piece
    if isinstance(piece, tuple):
        names, columns = arrow_columns(piece[0])
        return pa.table([*columns, pa.array(piece[1].tolist())], names=[*names, "label"])
    if isinstance(piece, list):
        empty = pa.table({})
        return pa.concat_tables(piece, promote_options="permissive") if piece else empty
    names, columns = arrow_columns(piece)
    return pa.table(columns, names=names)


def judge_frame(
    classifier: NoisyLabelEstimator, terms: RowTerms, schema: pa.Schema, judge: Any, frame: Any,
    place: int | StoredPosterior,
) -> Any:  # fmt: skip
    """Judge the rows of one partition; its index stays.

    ``place`` is the number of its first row, or what has been found of its rows already.
    """
    rows = conform(table_of(frame), schema, schema.names)
    start, known = (place, None) if isinstance(place, int) else (0, place)
    batch = replace(terms.batch(rows), start=start)
    found = judge_rows(classifier, *judge_batch(batch, terms, judge, known, start))
    out = row_columns(classifier, found, 0).drop_columns(["row"]).to_pandas()
    return out.set_axis(frame.index, axis=0)


WORKING = 352 << 20  # bytes for reading and judging, beside the compact rows


def compact_memory(memory: int) -> int:
    """Share a cap on memory out: what compact rows may take of it."""
    return max(0, (memory - resident() - WORKING) * 3 // 4)


def resident() -> int:
    """Bytes of memory that this process has now (its most so far, where that is not told)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def audit_batches(request: Request, cluster: Any, rows_to: RowsTo | None) -> Any:
    """Audit rows of any number, in bounded memory, here or where they are."""
    started, classifier = perf_counter(), classifier_of(request)
    mapped: Any = map if cluster is None else cluster.map
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = scan_request(request, cluster, [request.label])
        terms = _understand(found, request, classifier, mapped)
        classifier, terms = by_knowledge(classifier, terms, request.knowledge)
        if request.checked is not None:
            terms = replace(terms, checked=checked_rows(request.checked, terms.naming.classes))
        rows = kept_rows(found, terms, request.memory_bytes, cluster)
        fit_rows(classifier, terms, rows, _fold(found, request, terms, classifier, cluster))
    check_groups(classifier, terms)
    classifier.set_params(progress=None)
    sizes = rows.rows_of_parts if cluster is not None else []
    del rows  # their room is needed
    notes = [*notes_of(terms), *learn._doubtful(classifier.labels_)]
    notes += [str(one.message) for one in caught]
    judging = Judging(found, classifier, terms)
    audit, totals = judge_and_conclude(request, cluster, rows_to, judging, sizes, notes, started)
    return with_lazy_rows(request, with_group_rates(audit, totals, terms), judging, sizes)


def judge_and_conclude(
    request: Request, cluster: Any, rows_to: RowsTo | None, judging: Judging, sizes: Sequence[int],
    notes: list[str], started: float,
) -> tuple[Audit, Collector]:  # fmt: skip
    """Judge all rows, and put the audit together; ``sizes`` are the rows of each part."""
    pa.default_memory_pool().release_unused()
    found = judging.collected(cluster, sizes, rows_to)
    classifier, terms, n, labeled = judging.classifier, judging.terms, found.n, found.labeled
    batch, some, source = found.sampled()
    drawn = joined(found.bootstrap)
    ends = numbers.intervals(classifier, drawn, found.count / labeled, labeled, n)
    smallest = float(classifier.model_.prior.min() * n)
    tests = {
        "rows_of_the_smallest_class": smallest, "certainty_of_the_columns": found.certainty / n,
    }  # fmt: skip
    close = leaks(classifier.model_.schema, batch, terms.label, len(classifier.labels_))
    audit = learn.put_together(
        classifier,
        ends,
        numbers.verdict_of(classifier, drawn, ends.rate, labeled, tests),
        found.count,
        learn._fitted(classifier, perf_counter() - started, n, labeled, found.trusted),
        label=terms.label,
        given=some.given,
        trusted=some.trusted,
        shares=some.shares,
        warnings=(*notes, *close, *sample_note(found)),
        batch=batch,
        shape=shape_of(found, source, terms.id),
        left_out=terms.left_out,
        all_rows=all_rows_of(found, None if request.is_lazy else judging.read_again),
    )
    return audit if request.knowledge is None else with_knowledge_note(
        audit, request.knowledge
    ), found


def notes_of(terms: RowTerms) -> list[str]:
    """Say what is not learned from, and what could not be read."""
    numbers = [f"column {name!r} only numbers the rows: it is ignored" for name in terms.numbering]
    return [*numbers, *(f"left out: {one}" for one in terms.left_out)]


def all_rows_of(found: Collector, read: Any) -> AllRows | None:
    """Take down what is known of all rows; nothing where the audit lists all of them."""
    if len(found.sample) == found.n:
        return None
    worst = found.ranked() if found.worst else pa.table({})
    return AllRows(found.flagged, worst, read, found.sample)


def shape_of(found: Collector, source: pa.Table, id: str | None) -> Shape:
    """Hand rows out as frames; those of a sample are named by their places in the input."""
    index = None
    if len(found.sample) < found.n and default_backend() == "pandas":
        import pandas as pd  # type: ignore[import-untyped]

        index = pd.Index(found.sample)
    return Shape(default_backend(), index, source, id)


def sample_note(found: Collector) -> list[str]:
    """Say that rows are shown of a sample only, where they are."""
    if len(found.sample) == found.n:
        return []
    return [
        f"{found.n:,} rows were judged, {found.flagged:,} labels flagged; what is shown row by "
        f"row is a random sample of {len(found.sample):,} rows, and the list of issues holds the "
        "worst of all"
    ]


def scan_request(request: Request, cluster: Any, labels: list[Any]) -> Scan:
    """Find the parts of a file or of a Dask collection, and the types of their columns."""
    if isinstance(request.data, Scan):
        return request.data
    if request.is_lazy:
        named = isinstance(request.label, str) or request.label is None
        return scan_dask(request.data, None if named else request.label, cluster)
    mapped: Any = map if cluster is None else cluster.map
    found = scan(request.data, skip_bad=request.skip_bad, mapped=mapped)
    return with_clean_labels(
        found, labels, request.ignore_case, skip_bad=request.skip_bad, mapped=mapped
    )


def _understand(
    found: Scan, request: Request, classifier: NoisyLabelEstimator, mapped: Any
) -> Terms:
    """Check what the user said against the columns, and look at all rows once."""
    label = request.label if isinstance(request.label, str) else "label"
    named = [one for one in (request.id, request.trusted, request.noise_groups) if one]
    for name in (label, *request.ignore, *named):
        check_column(name, found.names)
    excluded = [label, *request.ignore, *named]
    written = [name for name in written_by_misnomer(found.names) if name not in excluded]
    for note in written_note(written, label):
        warnings.warn(note, stacklevel=2)
    terms = understand(
        found,
        label,
        classifier,
        ignore=[*request.ignore, *([request.id] if request.id else []), *written],
        trusted=request.trusted,
        group=request.noise_groups,
        skip_bad=request.skip_bad,
        numbering=True,
        mapped=mapped,
    )
    return replace(terms, id=request.id)


def kept_rows(found: Scan, terms: RowTerms, memory: int, cluster: Any) -> Any:
    """Put all rows into compact form, here or where they are."""
    if cluster is not None:
        return cluster.keep(terms.batches, found.parts, terms.with_checked)
    rows = Stream(compact(found, terms), memory=compact_memory(memory))
    pa.default_memory_pool().release_unused()
    return rows


def _fold(
    found: Scan, request: Request, terms: Terms, classifier: NoisyLabelEstimator, cluster: Any
) -> Fold[Any]:
    """Choose who adds, with a journal where a checkpoint is asked for."""
    fold: Fold[Any] = engines.fold if cluster is None else cluster.fold
    if request.checkpoint is None:
        return fold
    about = _about(found, request, classifier)
    if terms.checked is not None:
        known = terms.checked
        about["checked"] = [known.row.tolist(), known.true.tolist(), known.design.tolist()]
    return Journal(request.checkpoint, about, (Stats, Slope, Sums)).wrap(fold)


def _about(found: Scan, request: Request, classifier: NoisyLabelEstimator) -> dict[str, Any]:
    """Say what the sums of a fit depend on."""
    from misnomer.version import __version__

    options = {n: v for n, v in classifier.get_params().items() if n not in ("progress", "n_jobs")}
    asked = {
        name: value for name, value in request.asked().items() if name not in ("memory", "cluster")
    }
    return {
        "version": __version__,
        "parts": [part.name for part in found.parts],
        "bytes": found.bytes,
        "schema": str(found.schema),
        "asked": asked,
        "options": {name: repr(value) for name, value in options.items()},
    }


def by_knowledge(
    classifier: NoisyLabelEstimator, terms: Terms, knowledge: Any
) -> tuple[NoisyLabelEstimator, Terms]:
    """Let the classifier start from what is known of the errors, where that was said."""
    if knowledge is None:
        return classifier, terms
    known = with_knowledge(classifier, knowledge, terms.naming.labels)
    return known, replace(terms, naming=naming_of(terms.naming.labels, known.channel, terms.rows))


def check_groups(classifier: NoisyLabelEstimator, terms: Terms) -> None:
    """Refuse rows of which the default can learn nothing: groups need it."""
    if terms.group is not None and classifier.fit_.details.groups is None:
        why = "; ".join(classifier.fit_.details.notes)
        raise ValueError(
            f"groups cannot be told apart by batches here: {why} Leave memory, skip_bad, "
            "checkpoint and cluster out to audit the rows at once"
        )


def with_group_rates(audit: Audit, found: Collector, terms: Terms) -> Audit:
    """Add what was found of the groups, where they were named; the rows listed are a sample."""
    if terms.group is None:
        return audit
    varied = group_rates_of(audit.classifier)
    assert varied is not None and audit.batch.group is not None
    row = np.flatnonzero(audit.given >= 0).astype(np.int32)
    answers = Answers(
        row,
        audit.batch.group[row],
        audit.given[row].astype(np.int32),
        len(audit.given),
        np.array(terms.groups),
        np.array(audit.labels),
    )
    asked = {"label": terms.label, "noise_groups": terms.group}
    return with_groups(audit, answers, varied, found.by_group, asked)
