"""Auditing rows that do not fit in memory, here by batches or on a cluster by parts."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from misnomer.audit.checked import finished
from misnomer.audit.inputs import check_column, written_by_misnomer, written_note
from misnomer.audit.known import noted
from misnomer.audit.streamed_groups import by_knowledge, check_groups, grouped
from misnomer.audit.streamed_judging import judged_here, judged_there
from misnomer.audit.streamed_numbers import put_together
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.classifiers.streaming import compact, fit_rows
from misnomer.classifiers.terms import Terms, understand
from misnomer.engines import local
from misnomer.engines.checkpoint import Journal
from misnomer.engines.stream import Stream
from misnomer.rows.columns.labels import with_clean_labels
from misnomer.rows.files.paths import files_of, free_memory, unpacked_size
from misnomer.rows.scan import Scan, scan
from misnomer.solvers.conditional.objective import Slope
from misnomer.stats import Stats, Sums
from misnomer.table import Fold

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_IN_MEMORY = 8  # times its size on disk that a file takes while it is audited in memory
WORKING = 288 << 20  # bytes for reading and judging, beside the compact rows


@dataclass(frozen=True, eq=False)
class Asked:
    """What the user said, beside the rows."""

    label: str
    ignore: tuple[str, ...] = ()
    id: str | None = None
    trusted: str | None = None
    skip_bad: bool = False
    group: str | None = None


def bytes_of(said: str | int) -> int:
    """Read an amount of memory.

    Examples
    --------
    >>> bytes_of("4GB"), bytes_of("1.5 MiB"), bytes_of(1000)
    (4000000000, 1572864, 1000)
    """
    if isinstance(said, int):
        return said
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?)b?\s*", said.lower())
    if found is None:
        raise ValueError(f"an amount of memory is written like 4GB or 512MB, not {said!r}")
    number, unit, binary = found.groups()
    power = list(_UNITS).index(unit)
    return int(float(number) * (1024**power if binary else _UNITS[unit]))


def too_large(path: str | Path) -> bool:
    """Tell whether a file should rather be streamed: an address, a pattern, or a large one."""
    if str(path) == "-":
        return False
    if "://" in str(path) or not Path(path).exists():
        return True
    try:
        files, _ = files_of(path)
    except ValueError:
        return False  # whoever reads it at once says what is wrong with it
    most = free_memory() // _IN_MEMORY
    return sum(unpacked_size(file, most) for file in files) > most


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


def audit_stream(
    source: Any,
    label: str,
    *,
    ignore: Sequence[str] = (),
    id: str | None = None,
    trusted: str | None = None,
    classifier: NoisyLabelEstimator | None = None,
    memory: str | int = "2GB",
    skip_bad: bool = False,
    checkpoint: str | Path | None = None,
    cluster: Any = None,
    rows_to: Callable[[Iterator[pa.Table]], None] | None = None,
    noise_groups: str | None = None,
    knowledge: Any = None,
    ignore_case: bool = False,
) -> Any:
    """Audit a file of any size, in bounded memory.

    Returns a `StreamedAudit`; a `WideAudit` where labels and words are too many for dense weights.

    Parameters
    ----------
    source : path, address or Scan
        The rows.
    label, ignore, id, trusted, classifier, noise_groups, knowledge, ignore_case
        As in `audit`; columns by name.
    memory : str or int
        What the process may use, such as "4GB".
    skip_bad : bool
        Leave out what cannot be read, and say what it was.
    checkpoint : path, optional
        A folder for sums: the same call, after a crash, goes on where it was.
    cluster : Cluster, optional
        Who reads and computes instead of this process.
    rows_to : callable, optional
        Takes the judged rows, table after table, as they come.
    """
    started = perf_counter()
    if classifier is None:
        classifier = NoisyLabelClassifier(random_state=0)
    mapped: Any = map if cluster is None else cluster.map
    asked = Asked(label, tuple(ignore), id, trusted, skip_bad, noise_groups)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = source
        if not isinstance(source, Scan):
            found = scan(source, skip_bad=skip_bad, mapped=mapped)
            found = with_clean_labels(found, [label], ignore_case)
        terms = _understood(found, asked, classifier, mapped)
        classifier, terms = by_knowledge(classifier, terms, knowledge)
        fold: Fold[Any] = local.fold if cluster is None else cluster.fold
        if checkpoint is not None:
            about = _about(found, asked, classifier)
            fold = Journal(checkpoint, about, (Stats, Slope, Sums)).wrap(fold)
        rows = _kept(found, terms, memory, cluster)
        if cluster is None and _is_wide(terms, classifier):
            from misnomer.audit.wide_stream import audit_wide_stream

            told: dict[str, Any] = {
                "notes": [str(one.message) for one in caught],
                "rows_to": rows_to,
            }
            return audit_wide_stream(
                found, terms, rows, id=id, progress=classifier.progress, started=started, **told
            )
        fit_rows(classifier, terms, rows, fold)
    check_groups(classifier, terms)
    classifier.set_params(progress=None)
    if cluster is not None:
        sizes = rows.rows_of_parts
        collector = judged_there(cluster, found, sizes, terms, classifier, rows_to)
    else:
        del rows  # their room is needed
        pa.default_memory_pool().release_unused()
        collector = judged_here(found, terms, classifier, rows_to)
    said = [str(one.message) for one in caught]
    audit = put_together(collector, terms, id, said, perf_counter() - started)
    audit = grouped(audit if knowledge is None else noted(audit, knowledge), collector, terms)
    return finished(audit, None)


def _understood(found: Scan, asked: Asked, classifier: NoisyLabelEstimator, mapped: Any) -> Terms:
    """Check what the user said against the columns, and look at all rows once."""
    named = [one for one in (asked.id, asked.trusted, asked.group) if one]
    for name in (asked.label, *asked.ignore, *named):
        check_column(name, found.names)
    apart = [asked.label, *asked.ignore, *named]
    written = [name for name in written_by_misnomer(found.names) if name not in apart]
    for note in written_note(written, asked.label):
        warnings.warn(note, stacklevel=2)
    return understand(
        found,
        asked.label,
        classifier,
        ignore=[*asked.ignore, *([asked.id] if asked.id else []), *written],
        trusted=asked.trusted,
        group=asked.group,
        skip_bad=asked.skip_bad,
        numbering=True,
        mapped=mapped,
    )


def _kept(found: Scan, terms: Terms, memory: str | int, cluster: Any) -> Any:
    """Put all rows into compact form, here or where they are."""
    if cluster is not None:
        return cluster.keep(terms.batches, found.parts)
    rows = Stream(compact(found, terms), memory=compact_memory(bytes_of(memory)))
    pa.default_memory_pool().release_unused()
    return rows


def _is_wide(terms: Terms, classifier: NoisyLabelEstimator) -> bool:
    from misnomer.audit.wide import _is_default, is_wide

    size = terms.rows, len(terms.naming.labels), terms.schema.statistics
    return _is_default(classifier) and is_wide(*size)


def _about(found: Scan, asked: Asked, classifier: NoisyLabelEstimator) -> dict[str, Any]:
    """Say what the sums of a fit depend on."""
    from misnomer.version import __version__

    options = {n: v for n, v in classifier.get_params().items() if n not in ("progress", "n_jobs")}
    return {
        "version": __version__,
        "parts": [part.name for part in found.parts],
        "bytes": found.bytes,
        "schema": str(found.schema),
        "asked": str(asked),
        "options": {name: repr(value) for name, value in options.items()},
    }
