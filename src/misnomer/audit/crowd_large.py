"""audit() with several annotators of what is not read at once: files by batches, Dask frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from misnomer.audit.crowd_inputs import Asked
from misnomer.audit.crowd_judging import Known
from misnomer.audit.crowd_stream import audit_crowd, check_said, heeded
from misnomer.audit.large import joined_cluster
from misnomer.audit.several import prepared
from misnomer.audit.streamed import StreamedAudit, answers, row_columns
from misnomer.audit.streamed_judging import lightened
from misnomer.classifiers.annotators.crowd import CrowdNB
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.table import Batch


def audit_crowd_large(
    data: Any,
    label: Any,
    *,
    text: Any,
    families: Any,
    ignore: Any,
    trusted: Any,
    random_state: Any,
    classifier: Any,
    cluster: Any,
    **options: Any,
) -> StreamedAudit:
    """Take the arguments of `audit` to whoever can go about it."""
    known = dict.fromkeys([text] if isinstance(text, str) else text, "text")
    if known:
        families = {**(families if isinstance(families, Mapping) else {}), **known}
    if trusted is not None and not isinstance(trusted, str):
        raise ValueError("of rows that are read by batches, trusted must name a column")
    crowd = prepared(classifier, families, random_state)
    options["ignore"] = [ignore] if isinstance(ignore, str) else list(ignore)
    options["trusted"] = trusted
    if not isinstance(data, str | Path):
        with joined_cluster(cluster if cluster is not None else "current") as found:
            return audit_frame(data, label, found, crowd, **options)
    with joined_cluster(cluster) as found:
        return audit_crowd(data, label, cluster=found, classifier=crowd, **options)


def audit_frame(
    data: Any,
    label: Any,
    cluster: Any,
    crowd: CrowdNB,
    *,
    annotators: Any,
    long: Any,
    noise_groups: Any,
    knowledge: Any,
    memory: Any,
    checkpoint: Any,
    skip_bad: bool,
    **where: Any,
) -> StreamedAudit:
    """Audit a Dask data frame, or a bag of Arrow tables; its partitions stay where they are.

    With a column per annotator ``rows`` is a lazy frame with the input's index and partitions; with
    a line per answer rows are no partition's own, and ``rows`` is of the sample.
    """
    from misnomer.audit.clustered import scan_dask
    from misnomer.engines.dask_frames import lazily_beside

    check_said(label, [annotators, long, noise_groups], checkpoint)
    if hasattr(data, "rechunk"):
        raise ValueError("annotators are named by columns: pass a frame or a file, not an array")
    asked = Asked(annotators, long, **{**where, "ignore": tuple(where["ignore"])})
    found = heeded(scan_dask(data, None, cluster), asked, crowd, knowledge, memory, cluster)
    if long is not None or not hasattr(data, "divisions"):
        return found.audit
    step = partial(known_frame, lightened(found.audit.classifier))
    none = Known(np.zeros(0, np.int32), np.zeros((0, len(found.audit.classes))))
    lazy = lazily_beside(data, step, found.known, step(data._meta, none))
    return replace(found.audit, lazy=lazy)


def known_frame(classifier: NoisyLabelEstimator, frame: Any, known: Known) -> Any:
    """List what is known of the rows of one partition; its index stays."""
    found = answers(classifier, Batch((), known.codes), known.share)
    out = row_columns(classifier, found, 0).drop_columns(["row"]).to_pandas()
    return out.set_axis(frame.index, axis=0)
