"""Fitting rows that need not fit in memory: the same model, from a scan instead of a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from misnomer import kernels
from misnomer.classifiers.base import NoisyLabelNB
from misnomer.classifiers.choose import _chosen, solve
from misnomer.classifiers.sizes import check_size
from misnomer.classifiers.terms import Terms, understand
from misnomer.engines import local
from misnomer.engines.stream import Stream
from misnomer.readers.scan import Scan, scan
from misnomer.smoothing import resolve
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Fold

HELD = 1 << 26  # shares, rows times classes, that the pool may hold: half a gigabyte
POOLED = 200_000  # rows that it looks at where they would be more, drawn at random
MEMORY = 1 << 30  # bytes of compact rows that stay in memory, unless told otherwise


def fit_rows(
    classifier: NoisyLabelNB, terms: Terms, batches: Sequence[Batch], fold: Fold[Any] = local.fold
) -> NoisyLabelNB:
    """Find the model of compact rows, wherever they are; the solver is the same."""
    check_size(len(terms.naming.classes), terms.schema.statistics)
    seed = check_random_state(classifier.random_state).randint(np.iinfo(np.int32).max)
    task = Task(
        terms.schema,
        batches,
        fold,
        terms.naming.channel,
        resolve(classifier.smoothing),
        max_iter=classifier.max_iter,
        tol=classifier.tol,
        n_init=classifier.n_init,
        seed=seed,
        progress=classifier.progress,
    )
    with kernels.using(threads=classifier._threads()):
        classifier._keep(_solved(classifier.solver, task, terms.rows), terms.naming)
    names = [column.name for column in terms.schema.columns]
    classifier.n_features_in_ = len(names)
    classifier.feature_names_in_ = np.array(names, dtype=object)
    if not classifier.converged_:
        warnings.warn(
            f"EM has not converged after {classifier.n_iter_} passes: raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return classifier


def _solved(solver: Any, task: Task, n: int) -> Fit:
    """Solve the task as in memory; the pool, which judges every row, only where that has room.

    Of more rows it looks at a sample, by their number and the seed alone: not by batches, parts or
    memory.
    """
    pooled = solver == "pool" or (solver == "auto" and _chosen(task, False) == "pool")
    if not pooled or n * task.channel.n_classes <= HELD:
        return solve(solver, task)
    rng = np.random.default_rng(task.seed)
    drawn = np.sort(rng.choice(n, POOLED, replace=False))
    rows: Any = task.batches
    fit = solve("pool", replace(task, batches=[rows.take(drawn)], fold=local.fold))
    note = (
        f"The model was found on {POOLED:,} of the {n:,} rows, drawn at random; every row is "
        "judged by it."
    )
    details = {**fit.details, "notes": (*fit.details.get("notes", ()), note)}
    details.pop("posterior", None)  # of the drawn rows alone
    return replace(fit, details=details)


def fit_stream(
    source: Any,
    label: str,
    *,
    classifier: NoisyLabelNB | None = None,
    ignore: Sequence[str] = (),
    trusted: str | None = None,
    memory: int = MEMORY,
    skip_bad: bool = False,
    wrap: Callable[[Fold[Any]], Fold[Any]] | None = None,
) -> NoisyLabelNB:
    """Fit a classifier to a file of any size.

    Parameters
    ----------
    source : path, address or Scan
        CSV, TSV, JSON lines (also gzipped), Parquet, Arrow or Feather: a file, a folder with or
        without hive partitions, a pattern.
    label : str
        The column of the given labels; an empty cell is no label.
    classifier : NoisyLabelNB, optional
        An unfitted classifier, with its options; it is fitted and returned.
    ignore : sequence of str
        Columns that must not be learned from.
    trusted : str, optional
        A column of yes and no: rows whose label is known to be right.
    memory : int
        Bytes of compact rows that may stay in memory; the rest goes to a temporary file.
    skip_bad : bool
        Leave out what cannot be read, instead of raising.
    wrap : callable, optional
        Changes who adds over the batches, as a checkpoint does.

    Returns
    -------
    NoisyLabelNB
        The model that ``fit`` on the whole table gives, to the last digits; where the solver is
        the pool and rows times classes are over 67 million, that of 200,000 rows drawn at random.
    """
    found = source if isinstance(source, Scan) else scan(source, skip_bad=skip_bad)
    classifier = NoisyLabelNB() if classifier is None else classifier
    terms = understand(found, label, classifier, ignore=ignore, trusted=trusted, skip_bad=skip_bad)
    rows = Stream(compact(found, terms), memory=memory)
    fold: Fold[Any] = local.fold if wrap is None else wrap(local.fold)
    return fit_rows(classifier, terms, rows, fold)


def compact(found: Scan, terms: Terms) -> Iterator[Batch]:
    """Put all rows into compact form, while the next ones are read."""
    for rows in found.batches(terms.columns, [] if terms.skip_bad else None):
        yield terms.batch(rows)
