"""Fitting rows that need not fit in memory: the same model, from a scan instead of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from misnomer import kernels
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.choose import solve, warn_of_search
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.classifiers.terms import RowTerms, Terms, understand
from misnomer.engines import local
from misnomer.engines.stream import Stream
from misnomer.rows.scan import Scan, scan
from misnomer.table import Batch, Fold, numbered

MEMORY = 1 << 30  # bytes of compact rows that stay in memory, unless told otherwise


def fit_rows(
    classifier: NoisyLabelEstimator,
    terms: Terms,
    batches: Sequence[Batch],
    fold: Fold[Any] = local.fold,
) -> NoisyLabelEstimator:
    """Find the model of compact rows, wherever they are; the solver is the same."""
    task = classifier._posed(terms.schema, batches, fold, terms.naming)
    if terms.checked is not None:
        task = replace(task, checked=terms.checked.sampled)
    with kernels.using(threads=classifier._threads()):
        solver = classifier._solver(len(terms.groups))
        classifier._keep(solve(solver, task), terms.naming)
    names = [column.name for column in terms.schema.columns]
    classifier.n_features_in_ = len(names)
    classifier.feature_names_in_ = np.array(names, dtype=object)
    if not classifier.converged_:
        warn_of_search(classifier.solver, classifier.n_iter_)
    return classifier


def fit_stream(
    source: Any,
    label: str,
    *,
    classifier: NoisyLabelEstimator | None = None,
    ignore: Sequence[str] = (),
    trusted: str | None = None,
    memory: int = MEMORY,
    skip_bad: bool = False,
    wrap: Callable[[Fold[Any]], Fold[Any]] | None = None,
) -> NoisyLabelEstimator:
    """Fit a classifier to a file of any size.

    Parameters
    ----------
    source : path, address or Scan
        CSV, TSV, JSON lines (also gzipped), Parquet, Arrow or Feather: a file, a folder with or
        without hive partitions, a pattern.
    label : str
        The column of the given labels; an empty cell is no label.
    classifier : NoisyLabelEstimator, optional
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
    NoisyLabelEstimator
        The model that ``fit`` on the whole table gives, to the last digits.
    """
    found = source if isinstance(source, Scan) else scan(source, skip_bad=skip_bad)
    classifier = NoisyLabelClassifier() if classifier is None else classifier
    terms = understand(found, label, classifier, ignore=ignore, trusted=trusted, skip_bad=skip_bad)
    rows = Stream(compact(found, terms), memory=memory)
    fold: Fold[Any] = local.fold if wrap is None else wrap(local.fold)
    return fit_rows(classifier, terms, rows, fold)


def compact(found: Scan, terms: RowTerms) -> Iterator[Batch]:
    """Put all rows into compact form, while the next ones are read."""
    read = found.batches(terms.columns, [] if terms.skip_bad else None)
    for batch in numbered(map(terms.batch, read)):
        yield terms.with_checked(batch)
