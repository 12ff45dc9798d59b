"""The one way through: a request, its rows and labels, who learns, the audit, its conclusion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from misnomer.audit.checked import finished
from misnomer.audit.files.origin import Origin, origin_of
from misnomer.audit.request import Request
from misnomer.audit.result import Audit

RowsTo = Callable[[Iterator[pa.Table]], None]


def run(request: Request, rows_to: RowsTo | None = None) -> Audit:
    """Audit what was asked for, take checked rows in, and end in a verdict with a next step.

    Parameters
    ----------
    request : Request
        What, and how.
    rows_to : callable, optional
        Takes the judged rows of a file that is read by batches, table after table, as they come.
    """
    origin = _origin(request)
    audit = _audited(request, rows_to)
    concluded: Audit = finished(replace(audit, origin=origin), request.checked)
    return concluded


def _audited(request: Request, rows_to: RowsTo | None) -> Any:
    """Hand the request to whoever knows such rows and such labels."""
    if request.by_batches:
        from misnomer.audit.stream import joined_cluster

        with joined_cluster(request) as cluster:
            if request.is_crowd:
                from misnomer.audit.crowds.run import audit_batches as audited
            else:
                from misnomer.audit.stream import audit_batches as audited
            return audited(request, cluster, rows_to)
    if request.is_crowd or request.is_grouped:
        from misnomer.audit.crowds.run import audit_sources

        return audit_sources(request)
    from misnomer.audit.learn import audit_table

    return audit_table(request)


def _origin(request: Request) -> Origin | None:
    """Take down which file this is, before it is read; frames are never digested."""
    if not request.is_file:
        return None
    try:
        return origin_of(request.data, request.asked())
    except (OSError, ValueError):
        return None  # whoever reads it says what is wrong with it
