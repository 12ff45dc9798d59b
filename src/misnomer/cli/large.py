"""``misnomer audit`` of what does not fit: by batches, or on a cluster."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from misnomer.audit.streamed import StreamedAudit
    from misnomer.cli.auditing import Wanted


@dataclass(frozen=True)
class Large:
    """How to go about a file that is large, or damaged, or far away."""

    memory: str | None = None
    cluster: str | None = None
    checkpoint: Path | None = None
    skip_bad: bool = False

    def wanted(self, file: str) -> bool:
        """Tell whether to stream: where one of these was said, or the file is too large."""
        from misnomer.audit.streaming import too_large

        said = any((self.memory, self.cluster, self.checkpoint, self.skip_bad))
        if said and file == "-":
            raise ValueError("standard input is read once: save it to a file to stream it")
        return said or too_large(file)


def found(
    file: str, wanted: Wanted, large: Large, out: Path | None, force: bool, say: Any
) -> tuple[StreamedAudit, dict[str, Path]]:
    """Audit a file by batches; write while it is read."""
    from misnomer.audit.inputs import described

    _refuse_little(large)
    from misnomer.audit.large import joined_cluster
    from misnomer.audit.streamed_files import save_stream
    from misnomer.audit.streaming import audit_stream

    with joined_cluster(large.cluster) as cluster, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the audit remembers them: they are part of the answer
        options: dict[str, Any] = {
            "classifier": _classifier(wanted, say),
            "ignore": wanted.ignore,
            "id": wanted.id,
            "trusted": wanted.trusted,
            "memory": large.memory or "2GB",
            "skip_bad": large.skip_bad,
            "checkpoint": large.checkpoint,
            "cluster": cluster,
            "ignore_case": wanted.ignore_case,
            **wanted.sources,
        }
        if wanted.reading:
            file = described(file, wanted.reading)
        audited: Callable[..., Any] = audit_stream
        if {"annotators", "long"} & {*wanted.sources}:
            from misnomer.audit.crowd_stream import audit_crowd as audited

            options |= {"classifier": _crowd(wanted), "memory": large.memory}
        if out is None:
            return audited(file, wanted.label, **options), {}
        return save_stream(file, wanted.label, out, force=force, audited=audited, **options)


def _refuse_little(large: Large) -> None:
    """Refuse a cap that this process exceeds by more than a fifth before a row is kept."""
    from misnomer.audit.streaming import WORKING, bytes_of, resident

    if large.memory is None or large.cluster is not None:
        return
    least = int((resident() + WORKING) / 1.2 / 1e6) + 1
    if bytes_of(large.memory) < least * 10**6:
        raise ValueError(
            f"--memory {large.memory} is too little: Python, its libraries and the rows being read "
            f"take more; the least that works is {least}MB"
        )


def _crowd(wanted: Wanted) -> Any:
    from misnomer.classifiers.annotators.crowd import CrowdNB
    from misnomer.cli.auditing import families_of

    families = {**families_of(wanted.families), **dict.fromkeys(wanted.text, "text")}
    return CrowdNB(families=families or "auto", random_state=wanted.seed)


def _classifier(wanted: Wanted, say: Callable[[str], None]) -> Any:
    from misnomer.classifiers.noisy import NoisyLabelClassifier
    from misnomer.cli.auditing import families_of

    families = {**families_of(wanted.families), **dict.fromkeys(wanted.text, "text")}
    return NoisyLabelClassifier(
        families=families or "auto",
        random_state=wanted.seed,
        progress=lambda step, _: say(f"fitting: pass {step}"),
    )


def predict(classifier: Any, file: str, out: Path | None, *, proba: bool) -> None:
    """Classify a file by batches, and write each as it comes."""
    from misnomer.audit.streamed_files import write_tables
    from misnomer.store.spreadsheet import print_csv
    from misnomer.store.writing import replacing

    rows = _Rows(_predicted(classifier, file, proba))
    if out is None:
        print_csv(rows, sys.stdout, exact=True)
        return
    with replacing(out) as temporary:
        if out.suffix.lower() == ".parquet":
            write_tables(rows.tables(), temporary)
        else:
            with temporary.open("w", encoding="utf-8", errors="replace", newline="") as stream:
                print_csv(rows, stream, exact=True)
    print(f"wrote {out}", file=sys.stderr)


def _predicted(classifier: Any, file: str, proba: bool) -> Iterator[pa.Table]:
    from misnomer.cli.predicting import classified
    from misnomer.rows.parts import decoded_table
    from misnomer.rows.scan import scan

    found = scan(file)
    for batch in found.batches(found.names):
        yield classified(classifier, decoded_table(batch), file, proba=proba)


class _Rows:
    """Tables that come one after the other, as one that is written by batches."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        first = next(tables, None)
        if first is None:
            raise ValueError("the table has no rows")
        self._first, self._others = first, tables
        self.column_names = first.column_names

    def tables(self) -> Iterator[pa.Table]:
        """Yield the tables, once."""
        return chain([self._first], self._others)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        for table in self.tables():
            yield from table.to_batches(max_chunksize=max_chunksize)
