"""Auditing rows that do not fit in memory, here by batches or on a cluster by parts."""

from __future__ import annotations

import os
import warnings
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from misnomer.answers import Answers
from misnomer.audit.batches.collector import (
    Collector,
    RowsTo,
    answers,
    judging,
    lightened,
    row_columns,
)
from misnomer.audit.batches.totals import put_together
from misnomer.audit.checked import checked_rows
from misnomer.audit.crowds.groups import group_rates_of, with_groups
from misnomer.audit.inputs import check_column, written_by_misnomer, written_note
from misnomer.audit.known import knowing, noted
from misnomer.audit.learn import prepared
from misnomer.audit.request import DEFAULT_MEMORY, Request, bytes_of
from misnomer.audit.result import Audit
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.inputs import named
from misnomer.classifiers.streaming import Terms, compact, fit_rows, understand
from misnomer.engines import local
from misnomer.engines.journal import Journal
from misnomer.engines.stream import Stream
from misnomer.rows.columns.labels import with_clean_labels
from misnomer.rows.files.formats import unified
from misnomer.rows.frames import arrow_columns
from misnomer.rows.parts import TablePart, conform
from misnomer.rows.scan import Scan, scan
from misnomer.solvers.conditional.fit import Slope
from misnomer.stats import Stats, Sums
from misnomer.table import Fold


def joined_cluster(request: Request) -> Any:
    """Join the cluster that was named, or the one where a Dask collection is; else none."""
    said = "current" if request.cluster is None and request.is_lazy else request.cluster
    if said is None:
        return nullcontext()
    try:
        from misnomer.engines.dask import Cluster
    except ImportError:
        raise ValueError("a cluster needs Dask: pip install 'misnomer[dask]'") from None
    return nullcontext(said) if isinstance(said, Cluster) else Cluster(said)


def with_lazy_rows(data: Any, audit: Audit, terms: Terms, schema: pa.Schema) -> Audit:
    """Let the rows of a Dask data frame be a lazy frame with its index and its partitions."""
    if not hasattr(data, "map_partitions") or not hasattr(data, "divisions"):
        return audit
    from misnomer.engines.dask import lazily

    judge = audit.classifier.fit_.details.judge
    step = partial(judged_frame, lightened(audit.classifier), terms, schema, judge)
    return replace(audit, lazy=lazily(data, step, step(data._meta, 0)))


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


def judged_frame(
    classifier: NoisyLabelEstimator,
    terms: Terms,
    schema: pa.Schema,
    judge: Any,
    frame: Any,
    start: int,
) -> Any:
    """Judge the rows of one partition that begins at a row number; its index stays."""
    rows = conform(table_of(frame), schema, schema.names)
    batch = replace(terms.batch(rows.select(terms.columns)), start=start)
    share = None if judge is None else judge.posterior(terms.with_checked(batch))
    found = answers(classifier, batch, share)
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
    started, classifier = perf_counter(), prepared(request)
    mapped: Any = map if cluster is None else cluster.map
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = scanned(request, cluster, [request.label])
        terms = _understood(found, request, classifier, mapped)
        classifier, terms = by_knowledge(classifier, terms, request.knowledge)
        if request.checked is not None:
            terms = replace(terms, checked=checked_rows(request.checked, terms.naming.classes))
        rows = _kept(found, terms, request, cluster)
        fit_rows(classifier, terms, rows, _fold(found, request, terms, classifier, cluster))
    check_groups(classifier, terms)
    classifier.set_params(progress=None)
    judge = judging(found, terms, classifier)
    if cluster is not None:
        sizes = rows.rows_of_parts
        collector = judge.there(cluster, sizes, [None] * len(sizes), rows_to)
    else:
        del rows  # their room is needed
        pa.default_memory_pool().release_unused()
        collector = judge.here(rows_to)
    said = [str(one.message) for one in caught]
    read = None if request.is_lazy else judge.read_again
    audit = put_together(collector, terms, request.id, said, perf_counter() - started, read)
    audit = audit if request.knowledge is None else noted(audit, request.knowledge)
    audit = grouped(audit, collector, terms)
    return with_lazy_rows(request.data, audit, terms, found.schema) if request.is_lazy else audit


def scanned(request: Request, cluster: Any, labels: list[Any]) -> Scan:
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


def _understood(
    found: Scan, request: Request, classifier: NoisyLabelEstimator, mapped: Any
) -> Terms:
    """Check what the user said against the columns, and look at all rows once."""
    label = request.label if isinstance(request.label, str) else "label"
    named = [one for one in (request.id, request.trusted, request.noise_groups) if one]
    for name in (label, *request.ignore, *named):
        check_column(name, found.names)
    apart = [label, *request.ignore, *named]
    written = [name for name in written_by_misnomer(found.names) if name not in apart]
    for note in written_note(written, label):
        warnings.warn(note, stacklevel=2)
    return understand(
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


def _kept(found: Scan, terms: Terms, request: Request, cluster: Any) -> Any:
    """Put all rows into compact form, here or where they are."""
    if cluster is not None:
        return cluster.keep(terms.batches, found.parts, terms.with_checked)
    memory = DEFAULT_MEMORY if request.memory is None else request.memory
    rows = Stream(compact(found, terms), memory=compact_memory(bytes_of(memory)))
    pa.default_memory_pool().release_unused()
    return rows


def _fold(
    found: Scan, request: Request, terms: Terms, classifier: NoisyLabelEstimator, cluster: Any
) -> Fold[Any]:
    """Choose who adds, with a journal where a checkpoint is asked for."""
    fold: Fold[Any] = local.fold if cluster is None else cluster.fold
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
    known = knowing(classifier, knowledge, terms.naming.labels)
    return known, replace(terms, naming=named(terms.naming.labels, known.channel, terms.rows))


def check_groups(classifier: NoisyLabelEstimator, terms: Terms) -> None:
    """Refuse rows of which the default can learn nothing: groups need it."""
    if terms.group is not None and classifier.fit_.details.groups is None:
        why = "; ".join(classifier.fit_.details.notes)
        raise ValueError(
            f"groups cannot be told apart by batches here: {why} Leave memory, skip_bad, "
            "checkpoint and cluster out to audit the rows at once"
        )


def grouped(audit: Audit, found: Collector, terms: Terms) -> Audit:
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
