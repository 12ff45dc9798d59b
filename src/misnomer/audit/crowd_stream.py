"""Auditing rows with several annotators that do not fit in memory, here or on a cluster.

The answers and P(true class) of the rows live here: people gave them, so they are not too many.
The columns stay by batches, in memory or on disk, or with the workers of a cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import pyarrow as pa

from misnomer.audit.checked import finished
from misnomer.audit.crowd_inputs import Asked, Gathered, gathered
from misnomer.audit.crowd_judging import Known, judged_here, judged_there
from misnomer.audit.crowd_numbers import put_together
from misnomer.audit.crowd_room import check_room
from misnomer.audit.crowd_rows import Reading, trusted_rows, understood
from misnomer.audit.known import noted, parts_of
from misnomer.audit.several_results import judged_rows, told_of
from misnomer.audit.streamed import StreamedAudit
from misnomer.audit.streamed_judging import RowsTo
from misnomer.audit.streaming import bytes_of, compact_memory, resident
from misnomer.classifiers.annotators.crowd import CrowdNB
from misnomer.classifiers.annotators.streaming import fit_crowd
from misnomer.engines.beside import Here
from misnomer.engines.stream import Stream
from misnomer.rows.columns.labels import with_clean_labels
from misnomer.rows.scan import Scan, scan


@dataclass(frozen=True, eq=False)
class Heeded:
    """An audit, and what was found of every row, part by part."""

    audit: StreamedAudit
    known: list[Known]


def audit_crowd(
    source: Any,
    label: None = None,
    *,
    annotators: Any = None,
    long: Any = None,
    noise_groups: None = None,
    ignore: Sequence[str] = (),
    id: str | None = None,
    trusted: str | None = None,
    classifier: CrowdNB | None = None,
    knowledge: Any = None,
    memory: str | int | None = None,
    skip_bad: bool = False,
    checkpoint: Any = None,
    cluster: Any = None,
    rows_to: RowsTo | None = None,
    ignore_case: bool = False,
) -> StreamedAudit:
    """Audit rows with several labels each, in bounded memory.

    Parameters
    ----------
    source : path, address or Scan
        The rows, or with ``long`` the answers.
    annotators, long, ignore, id, trusted, knowledge, ignore_case
        As in `audit`; columns by name.
    classifier : CrowdNB, optional
        An unfitted classifier, with its options.
    memory, skip_bad, cluster, rows_to
        As in `audit_stream`.
    label, noise_groups, checkpoint
        Refused: they go with one label a row.
    """
    check_said(label, [annotators, long, noise_groups], checkpoint)
    asked = Asked(annotators, long, tuple(ignore), id, trusted, skip_bad, ignore_case)
    crowd = CrowdNB() if classifier is None else classifier
    audit = heeded(source, asked, crowd, knowledge, memory, cluster, rows_to).audit
    concluded: StreamedAudit = finished(audit, None)
    return concluded


def heeded(
    source: Any,
    asked: Asked,
    crowd: CrowdNB,
    knowledge: Any = None,
    memory: str | int | None = None,
    cluster: Any = None,
    rows_to: RowsTo | None = None,
) -> Heeded:
    """Gather the answers, learn, and put what was found beside the rows."""
    started, used = perf_counter(), resident()
    mapped: Any = map if cluster is None else cluster.map
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = source
        if not isinstance(source, Scan):
            found = scan(source, skip_bad=asked.skip_bad, mapped=mapped)
            found = with_clean_labels(found, asked.label_columns, asked.ignore_case)
        said = gathered(found, asked, mapped)
        pa.default_memory_pool().release_unused()
        told = told_of(said.answers, _trusted(said, asked, mapped))
        room = check_room(said.answers, memory, used)
        reading, notes = understood(
            said.rows, said.apart, crowd.families, skip_bad=asked.skip_bad, mapped=mapped
        )
        if knowledge is not None:
            crowd.set_params(knowledge=parts_of(knowledge, said.answers.labels.tolist()))
        truth = told.truth(said.answers.labels)
        _fitted(crowd, said, reading, truth, bytes_of(memory or "2GB") - room, cluster)
    share, judge = judged_rows(crowd, told)
    known = Known(told.codes(said.answers.n_labels), share)
    if cluster is None:
        collector = judged_here(said, reading, judge, known, rows_to)
    else:
        collector = judged_there(cluster, said, reading, judge, known, rows_to)
    notes += [str(one.message) for one in caught]
    audit = put_together(collector, said, reading, crowd, told, share, notes, started)
    return Heeded(audit if knowledge is None else noted(audit, knowledge), known.parts(said.sizes))


def _trusted(said: Gathered, asked: Asked, mapped: Any) -> Any:
    if asked.trusted is None:
        return None
    return trusted_rows(said.rows, asked.trusted, skip_bad=asked.skip_bad, mapped=mapped)


def check_said(label: Any, said: list[Any], checkpoint: Any) -> None:
    """Refuse what does not go with several annotators, or not by batches."""
    if label:
        raise ValueError("the label columns are those of the annotators: leave label= out")
    if sum(one is not None for one in said) != 1:
        raise ValueError("say one of annotators=, long= and noise_groups=")
    if checkpoint is not None:
        raise ValueError(
            "several annotators are compared in this process, answer by answer, which a "
            "checkpoint of sums over rows does not hold: leave checkpoint out"
        )


def _fitted(
    crowd: CrowdNB, said: Gathered, reading: Reading, truth: Any, memory: int, cluster: Any
) -> None:
    """Put the columns into compact form, here or where they are, and learn."""
    if not reading.used:
        fit_crowd(crowd, said.answers, None, [], Here(), truth)
    elif cluster is None:
        read = said.rows.batches([c.name for c in reading.used], [] if reading.skip_bad else None)
        rows = Stream(map(reading.batch, read), memory=compact_memory(memory))
        pa.default_memory_pool().release_unused()
        _check_rows(said, rows.rows)
        fit_crowd(crowd, said.answers, reading.schema, rows, Here(), truth)
    else:
        from misnomer.engines.dask_beside import There

        kept = cluster.keep(reading.batches, said.rows.parts)
        _check_rows(said, kept.rows)
        fit_crowd(crowd, said.answers, reading.schema, kept, There(cluster), truth)


def _check_rows(said: Gathered, rows: int) -> None:
    if rows != said.answers.n_rows:
        raise ValueError(
            f"there were {said.answers.n_rows:,} rows, and now there are {rows:,}: was the file "
            "changed?"
        )
