"""Files by batches, Dask collections by partitions: who computes, and the rows as a lazy frame."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from misnomer.audit.batches.collector import answers, lightened, row_columns
from misnomer.audit.request import Request
from misnomer.audit.result import Audit
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.terms import Terms
from misnomer.rows.files.formats import unified
from misnomer.rows.frames import arrow_columns
from misnomer.rows.parts import TablePart, conform
from misnomer.rows.scan import Scan


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
    from misnomer.engines.collections import lazily

    judge = audit.classifier.fit_.details.get("judge")
    step = partial(judged_frame, lightened(audit.classifier), terms, schema, judge)
    return replace(audit, lazy=lazily(data, step, step(data._meta, 0)))


def scan_dask(data: Any, y: Any, cluster: Any) -> Scan:
    """Find the partitions of a collection, and the types of their columns."""
    from misnomer.engines.collections import pieces, then

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
    share = None if judge is None else judge.posterior(terms.told(batch))
    found = answers(classifier, batch, share)
    out = row_columns(classifier, found, 0).drop_columns(["row"]).to_pandas()
    return out.set_axis(frame.index, axis=0)
