"""audit() of what is not read at once: files by batches, Dask collections by partitions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from misnomer.audit.learn import prepared
from misnomer.audit.streamed import StreamedAudit
from misnomer.audit.streaming import audit_stream


def audit_large(
    data: Any,
    label: Any,
    *,
    text: Any,
    families: Any,
    ignore: Any,
    id: str | None,
    trusted: Any,
    random_state: Any,
    classifier: Any,
    progress: Any,
    memory: Any,
    skip_bad: bool,
    checkpoint: Any,
    cluster: Any,
    noise_groups: Any = None,
    knowledge: Any = None,
    ignore_case: bool = False,
    learners: Any = None,
) -> StreamedAudit:
    """Take the arguments of `audit` to whoever can go about it."""
    known = dict.fromkeys([text] if isinstance(text, str) else text, "text")
    if known:
        families = {**(families if isinstance(families, Mapping) else {}), **known}
    if trusted is not None and not isinstance(trusted, str):
        raise ValueError("of rows that are read by batches, trusted must name a column")
    if noise_groups is not None and not isinstance(noise_groups, str):
        raise ValueError("of rows that are read by batches, noise_groups must name a column")
    options: dict[str, Any] = {
        "classifier": prepared(classifier, families, random_state, progress, learners),
        "ignore": [ignore] if isinstance(ignore, str) else list(ignore),
        "id": id,
        "trusted": trusted,
        "noise_groups": noise_groups,
        "knowledge": knowledge,
    }
    if not isinstance(data, str | Path):
        from misnomer.audit.clustered import audit_dask

        with joined_cluster(cluster if cluster is not None else "current") as found:
            return audit_dask(data, label, cluster=found, **options)
    if not isinstance(label, str):
        raise ValueError("which column holds the labels? say label=...")
    with joined_cluster(cluster) as found:
        return audit_stream(
            data,
            label,
            memory=memory or "2GB",
            skip_bad=skip_bad,
            checkpoint=checkpoint,
            cluster=found,
            ignore_case=ignore_case,
            **options,
        )


def joined_cluster(said: Any) -> Any:
    """Join the cluster that was named; none is no cluster."""
    if said is None:
        return nullcontext()
    try:
        from misnomer.engines.dask import Cluster
    except ImportError:
        raise ValueError("a cluster needs Dask: pip install 'misnomer[dask]'") from None
    return nullcontext(said) if isinstance(said, Cluster) else Cluster(said)
