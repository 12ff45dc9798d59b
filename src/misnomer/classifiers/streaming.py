"""Rows that need not fit in memory: what they are to be read as, and the fit of them.

Columns and labels are found in one look at all rows; the model is that of the same table in memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer import kernels
from misnomer.classifiers import inputs
from misnomer.classifiers.annotators import groups
from misnomer.classifiers.base import NoisyLabelEstimator
from misnomer.classifiers.choose import solve, warn_of_search
from misnomer.classifiers.noisy import NoisyLabelClassifier
from misnomer.engines import local
from misnomer.engines.stream import Stream
from misnomer.rows.columns import discover
from misnomer.rows.columns.encode import codes
from misnomer.rows.columns.notation import plain
from misnomer.rows.parts import Part
from misnomer.rows.read import _kinds, read_like
from misnomer.rows.scan import Scan, scan
from misnomer.table import Batch, CheckedRows, Column, Fold, Schema, numbered

MEMORY = 1 << 30  # bytes of compact rows that stay in memory, unless told otherwise
_YES, _NO = ("true", "yes", "y", "t", "1", "1.0"), ("false", "no", "n", "f", "0", "0.0")


@dataclass(frozen=True, eq=False)
class Terms:
    """What the rows of a scan are to be read as; small, so that it can travel to other machines."""

    schema: Schema  # the columns to learn from
    label: str  # the column of the given labels
    naming: inputs.Naming  # the labels, the classes, and the channel between them
    trusted: str | None = None  # the column that says whose label is known to be right
    skip_bad: bool = False  # whether to leave out what cannot be read
    rows: int = 0  # how many rows there are
    left_out: tuple[str, ...] = ()  # what could not be read
    numbering: tuple[str, ...] = ()  # columns that only number the rows
    group: str | None = None  # the column of the groups that may err each in their own way
    groups: tuple[Any, ...] = ()  # their names, sorted
    checked: CheckedRows | None = None  # rows that a person was asked about

    @property
    def columns(self) -> list[str]:
        """What must be read: the label first."""
        wanted = [c.name for c in self.schema.columns if c.kind != "ignored"]
        beside = [name for name in (self.trusted, self.group) if name]
        return list(dict.fromkeys([self.label, *beside, *wanted]))

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """Put some rows into compact form."""
        table = pa.table(rows.columns, names=rows.schema.names)
        used = [c for c in self.schema.columns if c.kind != "ignored"]
        blocks = read_like(table, replace(self.schema, columns=tuple(used))) if used else ()
        given = self._given(table.column(self.label))
        group = None
        if self.group is not None:  # the group of a row without a label says nothing
            group = groups.codes_of(self.groups, self.group, table.column(self.group))
            group[given == len(self.naming.labels)] = -1
        if self.trusted is not None:
            sure = yes_or_no(table.column(self.trusted), self.trusted)
            given = self._sure(given, sure)
        return Batch(blocks, given, group=group)

    def with_checked(self, batch: Batch) -> Batch:
        """Put what a person has said of its rows into a batch that knows their numbers."""
        return (
            batch if self.checked is None else self.checked.put_into(batch, len(self.naming.labels))
        )

    def _given(self, values: Any) -> NDArray[np.int32]:
        known = Column(self.label, "categorical", tuple(self.naming.labels.tolist()))
        return codes(known, groups.as_written(values)).astype(np.int32)

    def _sure(self, given: NDArray[np.int32], sure: NDArray[np.bool_]) -> NDArray[np.int32]:
        L = len(self.naming.labels)
        home = {name: k for k, name in enumerate(self.naming.classes.tolist())}
        place = np.array([home.get(name, -1) for name in self.naming.labels.tolist()] + [-1])
        sure = sure & (given < L) & (place[given] >= 0)
        return np.where(sure, L + 1 + place[given], given).astype(np.int32)

    def batches(self, part: Part) -> Iterator[Batch]:
        """Put the rows of a part into compact form, batch by batch."""
        for rows in part.batches(self.columns, [] if self.skip_bad else None):
            if rows.num_rows:
                yield self.batch(rows)


def yes_or_no(values: Any, name: str) -> NDArray[np.bool_]:
    """Read a column of yes and no; empty is no.

    Examples
    --------
    >>> yes_or_no(pa.array(["Yes", None, "0"]), "checked").tolist()
    [True, False, False]
    """
    said = pc.utf8_lower(pc.utf8_trim_whitespace(plain(values).cast(pa.string())))
    place = pc.index_in(said, value_set=pa.array([*_YES, *_NO]), skip_nulls=True)
    odd = np.asarray(pc.and_(pc.is_null(place), pc.is_valid(said)))
    if odd.any():
        value = said[int(odd.argmax())].as_py()
        raise ValueError(
            f"column {name!r} should say which rows are trusted, but holds {value!r}: write true "
            "or false"
        )
    return np.asarray(pc.less(pc.fill_null(place, len(_YES)), len(_YES)))


def understand(
    found: Scan,
    label: str,
    classifier: NoisyLabelEstimator,
    *,
    ignore: Sequence[str] = (),
    trusted: str | None = None,
    group: str | None = None,
    skip_bad: bool = False,
    numbering: bool = False,
    mapped: Any = map,
) -> Terms:
    """Look at all rows once: which columns, labels and groups there are."""
    apart = [label, *ignore, *(name for name in (trusted, group) if name)]
    for name in apart:
        if name not in found.names:
            raise ValueError(f"there is no column {name!r}; there are {_few(found.names)}")
    names = [name for name in found.names if name not in apart]
    if not names:
        raise ValueError("no column is left to learn from: the label needs others beside it")
    kinds = dict(zip(names, _kinds(classifier.families, names), strict=True))
    asked = {label: "categorical", **({group: "categorical"} if group else {}), **kinds}
    count = groups.Counted(label, group) if group else None
    looked = discover.discover(found.parts, asked, skip_bad=skip_bad, mapped=mapped, beside=count)
    if not looked.rows:
        raise ValueError("the table has no rows")
    numbers = [name for name in names if numbering and looked.numbering(name)]
    kept = [name for name in names if name not in numbers]
    if not kept:
        raise ValueError("no column is left to learn from: the label needs others beside it")
    schema = Schema(tuple(discover.column(looked, name, kinds[name]) for name in kept))
    return Terms(
        schema,
        label,
        _named(looked, label, classifier),
        trusted,
        skip_bad,
        looked.rows,
        (*found.left_out, *looked.left_out),
        tuple(numbers),
        group,
        groups.names_of(looked.beside, group) if group else (),
    )


def _named(
    looked: discover.Discovery, label: str, classifier: NoisyLabelEstimator
) -> inputs.Naming:
    summary = looked.summaries[label]
    if not summary.seen:
        raise ValueError(f"column {label!r} holds no label at all: every cell is empty")
    if summary.distinct is None:
        raise ValueError(
            f"column {label!r} has over a million different labels in {summary.seen:,} rows: it is "
            "most likely an identifier or a measurement; name the column of the classes"
        )
    values = summary.distinct.to_pylist()
    if summary.whole and pa.types.is_floating(summary.type):
        values = [int(value) for value in values]
    with warnings.catch_warnings():  # each name stands here once, however many rows bear it
        warnings.filterwarnings("ignore", "The number of unique classes")
        return inputs.named(np.array(values), classifier.channel, looked.rows)


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


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


def compact(found: Scan, terms: Terms) -> Iterator[Batch]:
    """Put all rows into compact form, while the next ones are read."""
    read = found.batches(terms.columns, [] if terms.skip_bad else None)
    for batch in numbered(map(terms.batch, read)):
        yield terms.with_checked(batch)
