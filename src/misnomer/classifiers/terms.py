"""What the rows of a scan are to be read as, found in one look at all, and the model of them.

Groups of rows that err in their own way are refused here, once, for rows in memory, too.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer import engines, kernels
from misnomer.answers import check_group_sizes
from misnomer.classifiers import NoisyLabelEstimator, inputs
from misnomer.classifiers.choose import solve, warn_of_search
from misnomer.rows import _kinds, discover, read_like
from misnomer.rows.encode import codes, one_zero
from misnomer.rows.notation import plain
from misnomer.rows.parts import Part
from misnomer.rows.scan import Scan
from misnomer.table import Batch, CheckedRows, Column, Fold, Schema, numbered

Array = NDArray[np.float64]

_MAX_GROUPS = 1_000_000  # groups that are remembered


@dataclass(frozen=True, eq=False)
class Groups:
    """Labels by group of some consecutive rows; it adds.

    Examples
    --------
    >>> both = Groups(2, Counter(a=2)) + Groups(3, Counter(a=1, b=1), stray=1)
    >>> both.rows, both.labels, both.stray
    (5, Counter({'a': 3, 'b': 1}), 3)
    """

    rows: int  # how many rows there are
    # how many labels each group has; None where groups are too many to remember
    labels: Counter[Any] | None
    stray: int = -1  # the first row that has a label but no group; -1 where there is none

    def __add__(self, other: Groups) -> Groups:
        labels = _joined(self.labels, other.labels)
        after = self.rows + other.stray if other.stray >= 0 else -1
        return Groups(self.rows + other.rows, labels, self.stray if self.stray >= 0 else after)


def _joined(one: Counter[Any] | None, two: Counter[Any] | None) -> Counter[Any] | None:
    if one is None or two is None:
        return None
    large, small = (one, two) if len(one) >= len(two) else (two, one)
    total = large.copy()  # quick, however many there are
    total.update(small)
    return total if len(total) <= _MAX_GROUPS else None


@dataclass(frozen=True)
class GroupCount:
    """Counts the labels of each group among some rows."""

    label: str
    group: str

    def __call__(self, rows: pa.RecordBatch) -> Groups:
        """Count them."""
        kind = rows.schema.field(self.group).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise ValueError(
                f"the group column {self.group!r} holds {kind}: groups are strings or numbers"
            )
        said = pc.is_valid(_named(rows.column(self.label)))
        group = _named(rows.column(self.group))
        stray = np.asarray(pc.and_(said, pc.is_null(group)))
        found = pc.value_counts(pc.drop_null(group.filter(said)))
        names, counts = found.field(0).to_pylist(), found.field(1).to_pylist()
        first = int(stray.argmax()) if stray.any() else -1
        return Groups(len(stray), Counter(dict(zip(names, counts, strict=True))), first)


def _named(values: Any) -> pa.Array:
    return one_zero(plain(as_written(values)))


def as_written(values: Any) -> Any:
    """Take a label or a group as it is written: a date is a name, too."""
    return values.cast(pa.string()) if pa.types.is_temporal(values.type) else values


def names_of(found: Groups, name: str) -> tuple[Any, ...]:
    """Name the groups that have labels, sorted; refuse groups that can teach nothing."""
    check_stray(found.stray, name)
    if found.labels is None:
        raise ValueError(
            f"{name!r} holds over a million groups in {found.rows:,} rows: use a column with fewer "
            "values"
        )
    check_group_sizes(np.fromiter(found.labels.values(), np.int64, len(found.labels)))
    check_several(len(found.labels), name)
    names = sorted(found.labels)
    if all(isinstance(one, float) and one.is_integer() for one in names):
        names = [int(one) for one in names]
    return tuple(names)


def codes_of(names: Sequence[Any], name: str, values: Any) -> NDArray[np.int32]:
    """Number the group of each row, (n,); -1 where there is none.

    Examples
    --------
    >>> codes_of(["a", "b"], "site", pa.array(["b", None, "a"])).tolist()
    [1, -1, 0]
    """
    found = codes(Column(name, "categorical", tuple(names)), as_written(values))
    return np.where(found < len(names), found.astype(np.int64), -1).astype(np.int32)


def check_stray(row: int, name: str) -> None:
    """Refuse a row that has a label but no group; -1 is no row."""
    if row >= 0:
        raise ValueError(f"row {row} has a label but no group in {name!r}: name its group")


def check_several(groups: int, name: str) -> None:
    """Refuse a single group."""
    if groups < 2:
        raise ValueError(f"{name!r} holds one group only: leave it out, there is none to compare")


_NO_COLUMN = "no column is left to learn from: the label needs others beside it"
_YES, _NO = ("true", "yes", "y", "t", "1", "1.0"), ("false", "no", "n", "f", "0", "0.0")


@dataclass(frozen=True, eq=False, kw_only=True)
class RowTerms:
    """What the columns of a scan are to be read as; small, so that it can travel elsewhere."""

    schema: Schema  # the columns to learn from
    label: str = "label"  # what the given labels are called
    id: str | None = None  # the column that names the rows
    skip_bad: bool = False  # whether to leave out what cannot be read
    rows: int = 0  # how many rows there are
    left_out: tuple[str, ...] = ()  # what could not be read
    numbering: tuple[str, ...] = ()  # columns that only number the rows
    groups: tuple[Any, ...] = ()  # the names of the groups that may err in their own way, sorted
    checked: CheckedRows | None = None  # rows that a person was asked about

    @property
    def columns(self) -> list[str]:
        """What must be read."""
        return [column.name for column in self.schema.columns if column.kind != "ignored"]

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """Put some rows into compact form."""
        used = tuple(column for column in self.schema.columns if column.kind != "ignored")
        table = pa.table(rows.columns, names=rows.schema.names)
        like = replace(self.schema, columns=used)
        blocks = read_like(table.select([column.name for column in used]), like) if used else ()
        return Batch(blocks, np.zeros(rows.num_rows, np.int32))

    def with_checked(self, batch: Batch) -> Batch:
        """Put what a person has said of its rows into a batch, where labels are learned from."""
        return batch

    def batches(self, part: Part) -> Iterator[Batch]:
        """Put the rows of a part into compact form, batch by batch."""
        for rows in part.batches(self.columns, [] if self.skip_bad else None):
            if rows.num_rows:
                yield self.batch(rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Terms(RowTerms):
    """What the rows of a scan are to be read as, one label each."""

    naming: inputs.Naming  # the labels, the classes, and the channel between them
    trusted: str | None = None  # the column that says whose label is known to be right
    group: str | None = None  # the column of the groups

    @property
    def columns(self) -> list[str]:
        """What must be read: the label first."""
        extra = [name for name in (self.trusted, self.group) if name]
        return list(dict.fromkeys([self.label, *extra, *super().columns]))

    def batch(self, rows: pa.RecordBatch) -> Batch:
        """Put some rows into compact form, their labels and groups beside them."""
        given = self._given(rows.column(self.label))
        group = None
        if self.group is not None:  # the group of a row without a label says nothing
            group = codes_of(self.groups, self.group, rows.column(self.group))
            group[given == len(self.naming.labels)] = -1
        if self.trusted is not None:
            sure = yes_or_no(rows.column(self.trusted), self.trusted)
            given = self._sure(given, sure)
        return replace(super().batch(rows), given=given, group=group)

    def with_checked(self, batch: Batch) -> Batch:
        """Put what a person has said of its rows into a batch that knows their numbers."""
        return (
            batch if self.checked is None else self.checked.put_into(batch, len(self.naming.labels))
        )

    def _given(self, values: Any) -> NDArray[np.int32]:
        known = Column(self.label, "categorical", tuple(self.naming.labels.tolist()))
        return codes(known, as_written(values)).astype(np.int32)

    def _sure(self, given: NDArray[np.int32], sure: NDArray[np.bool_]) -> NDArray[np.int32]:
        L = len(self.naming.labels)
        home = {name: k for k, name in enumerate(self.naming.classes.tolist())}
        place = np.array([home.get(name, -1) for name in self.naming.labels.tolist()] + [-1])
        sure = sure & (given < L) & (place[given] >= 0)
        return np.where(sure, L + 1 + place[given], given).astype(np.int32)


def yes_or_no(values: Any, name: str, *, numbered: bool = False) -> NDArray[np.bool_]:
    """Read a column of yes and no; empty is no. ``numbered``: these are the rows from the first.

    Examples
    --------
    >>> yes_or_no(pa.array(["Yes", None, "0"]), "checked").tolist()
    [True, False, False]
    """
    said = pc.utf8_lower(pc.utf8_trim_whitespace(plain(values).cast(pa.string())))
    place = pc.index_in(said, value_set=pa.array([*_YES, *_NO]), skip_nulls=True)
    odd = np.asarray(pc.and_(pc.is_null(place), pc.is_valid(said)))
    if odd.any():
        row = int(odd.argmax())
        where = f"row {row} holds" if numbered else "holds"
        raise ValueError(
            f"column {name!r} should say which rows are trusted, but {where} "
            f"{values[row].as_py()!r}: write true or false"
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
    excluded = [label, *ignore, *(name for name in (trusted, group) if name)]
    for name in excluded:
        if name not in found.names:
            raise ValueError(f"there is no column {name!r}; there are {_few(found.names)}")
    if not {*found.names} - {*excluded}:
        raise ValueError(_NO_COLUMN)
    own = {label: "categorical", **({group: "categorical"} if group else {})}
    count = GroupCount(label, group) if group else None
    looked, rows = understand_columns(
        found, excluded, classifier.families, own, skip_bad=skip_bad, numbering=numbering,
        mapped=mapped, extra=count,
    )  # fmt: skip
    if not rows.schema.columns:
        raise ValueError(_NO_COLUMN)
    known = {part.name: getattr(rows, part.name) for part in fields(rows)} | {"label": label}
    naming = _naming_of(looked, label, classifier)
    known["groups"] = names_of(looked.extra, group) if group else ()
    return Terms(naming=naming, trusted=trusted, group=group, **known)


def understand_columns(
    found: Scan,
    excluded: Sequence[str],
    families: Any,
    own: Mapping[str, str] | None = None,
    *,
    skip_bad: bool,
    numbering: bool = True,
    mapped: Any = map,
    extra: Any = None,
) -> tuple[discover.Discovery, RowTerms]:
    """Look at all rows once: what the columns are, but for those ``excluded``.

    ``own`` are those of them to be looked at all the same; ``extra`` is asked of all rows as well.
    """
    names = [name for name in found.names if name not in excluded]
    kinds = dict(zip(names, _kinds(families, names), strict=True))
    asked = {**(own or {}), **kinds}
    if not asked:
        nothing = RowTerms(schema=Schema(()), skip_bad=skip_bad, left_out=found.left_out)
        return discover.Discovery(0, {}, {}), nothing
    looked = discover.discover(found.parts, asked, skip_bad=skip_bad, mapped=mapped, extra=extra)
    if not looked.rows:
        raise ValueError("the table has no rows")
    numbers = [name for name in names if numbering and looked.numbering(name)]
    kept = [name for name in names if name not in numbers]
    schema = Schema(tuple(discover.column(looked, name, kinds[name]) for name in kept))
    left_out = (*found.left_out, *looked.left_out)
    return looked, RowTerms(
        schema=schema, skip_bad=skip_bad, rows=looked.rows, left_out=left_out,
        numbering=tuple(numbers),
    )  # fmt: skip


def _naming_of(
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
        return inputs.naming_of(np.array(values), classifier.channel, looked.rows)


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")


def fit_rows(
    classifier: NoisyLabelEstimator,
    terms: Terms,
    batches: Sequence[Batch],
    fold: Fold[Any] = engines.fold,
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


def compact(found: Scan, terms: RowTerms) -> Iterator[Batch]:
    """Put all rows into compact form, while the next ones are read."""
    read = found.batches(terms.columns, [] if terms.skip_bad else None)
    for batch in numbered(map(terms.batch, read)):
        yield terms.with_checked(batch)
