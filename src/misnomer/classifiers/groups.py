"""Groups of rows that err in their own way: who belongs to which, and what is learned of each.

What is refused of groups is said here, once, for rows in memory and rows that are read by batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from misnomer import channel
from misnomer.answers import Answers, check_group_sizes
from misnomer.engines.local import fold
from misnomer.head.rates import HELD_ROWS, judged
from misnomer.head.solve import GroupRates, Head
from misnomer.posterior import Posterior
from misnomer.rows.encode import codes, one_zero
from misnomer.rows.notation import plain
from misnomer.solvers.annotators.fit import SourcesFit, SourcesTask
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch, Column, Schema

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
class Counted:
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


def learn_groups(task: SourcesTask, schema: Schema, batch: Batch) -> SourcesFit | None:
    """Learn from one label a row, each group with errors of its own; None where nothing can be.

    A row of weight zero is judged by what the others have taught.
    """
    answers, L = task.answers, task.answers.n_labels
    group, said = answers.by_row(answers.annotator), answers.by_row(answers.label)
    given = answers.by_row(answers.label, L)
    if task.truth is not None:
        given = np.where(task.truth >= 0, L + 1 + task.truth, given).astype(np.int32)
    kept = np.ones(len(group), bool) if task.weight is None else task.weight > 0
    weight = None if task.weight is None else task.weight[kept]
    rows = replace(batch.judged_by(given), group=group, said=said)
    some = replace(rows.take(np.flatnonzero(kept)), weight=weight)
    asked = Task(schema, [some], fold, channel.auto(L), task.smoothing, seed=task.seed)
    found = Head(groups=answers.n_annotators)(asked)
    rates, posterior, prior = (
        found.details.groups, found.details.posterior, found.details.class_shares,
    )  # fmt: skip
    if not isinstance(rates, GroupRates) or posterior is None or prior is None:
        return None
    share = np.empty((len(group), answers.n_labels))
    share[kept] = Posterior.of(posterior).array
    if not kept.all():
        share[~kept] = _judged(found, rates, rows.take(np.flatnonzero(~kept)))
    return _fit(found, rates, prior, share, np.flatnonzero(kept), answers)


def _judged(found: Fit, rates: GroupRates, batch: Batch) -> Array:
    """Judge rows that took no part, by their columns and the channel of their group, (n, K)."""
    L = found.model.channel.n_labels
    share = found.model.posterior(batch.judged_by(np.full(len(batch), L, np.int32)))
    label, known = batch.labels(L)
    stratum = rates.strata.of(batch, share)
    seen = np.where((label >= 0)[:, None], rates.strata.channels[stratum, label], 1.0)
    sure = known >= 0
    seen[sure] = np.eye(L)[known[sure]]
    return judged(share * rates.strata.ratio[stratum], seen)


def _fit(
    found: Fit, rates: GroupRates, prior: Array, share: Array, kept: NDArray[np.intp],
    answers: Answers,
) -> SourcesFit:  # fmt: skip
    rows = rates.rows
    usual = np.maximum(rows.weight @ rows.share / rows.weight.sum(), 1e-9)
    scores = np.full_like(share, np.nan)  # of many rows only some are scored out of fold
    if len(rates.batch) == len(kept):
        scores[kept[rates.places]] = np.log(np.maximum(rows.share, 1e-300) / usual)
    channels = rates.strata.channels[: answers.n_annotators]
    return SourcesFit(
        share,
        np.log(np.maximum(share, 1e-300)),
        prior,
        channels,
        found.objective,
        found.passes,
        True,
        trust=1.0,
        model=found.model,
        scores=scores,
        centers=channels,
        strength=HELD_ROWS,
    )
