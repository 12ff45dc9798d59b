"""Auditing a Dask collection: the model from sums of its partitions, the rows as a lazy frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from misnomer.audit.streamed import StreamedAudit, answers, row_columns
from misnomer.audit.streamed_judging import lightened
from misnomer.audit.streaming import audit_stream
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.terms import Terms
from misnomer.engines.dask import Cluster
from misnomer.engines.dask_frames import lazily, pieces, then
from misnomer.rows.files.formats import unified
from misnomer.rows.frames import arrow_columns
from misnomer.rows.parts import TablePart, conform
from misnomer.rows.scan import Scan


def audit_dask(
    data: Any,
    label: Any,
    *,
    cluster: Cluster,
    classifier: NoisyLabelEstimator | None = None,
    ignore: Sequence[str] = (),
    id: str | None = None,
    trusted: str | None = None,
    noise_groups: str | None = None,
    knowledge: Any = None,
) -> StreamedAudit:
    """Audit a Dask data frame, a bag of Arrow tables, or an array with its labels in another.

    The partitions are read where they are; their compact form stays on the workers; sums travel.
    For a data frame ``rows`` is a lazy frame with its index and its partitions.
    """
    named = label if isinstance(label, str) else "label"
    found = scan_dask(data, None if isinstance(label, str) else label, cluster)
    audit = audit_stream(
        found,
        named,
        ignore=ignore,
        id=id,
        trusted=trusted,
        classifier=classifier,
        cluster=cluster,
        noise_groups=noise_groups,
        knowledge=knowledge,
    )
    if not hasattr(data, "map_partitions") or not hasattr(data, "divisions"):
        return audit
    groups = () if audit.sources is None else tuple(audit.sources.answers.annotators.tolist())
    schema, naming = audit.classifier.model_.schema, audit.classifier._naming
    terms = Terms(schema, named, naming, trusted, group=noise_groups, groups=groups)
    judge = audit.classifier.fit_.details.get("judge")
    step = partial(judged_frame, lightened(audit.classifier), terms, found.schema, judge)
    return replace(audit, lazy=lazily(data, step, step(data._meta, 0)))


def scan_dask(data: Any, y: Any, cluster: Cluster) -> Scan:
    """Find the partitions of a collection, and the types of their columns."""
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
    found = answers(classifier, batch, None if judge is None else judge.posterior(batch))
    out = row_columns(classifier, found, 0).drop_columns(["row"]).to_pandas()
    return out.set_axis(frame.index, axis=0)
