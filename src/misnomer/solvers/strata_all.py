"""Groups among many rows: found on rows drawn for it, then fitted to all, pass by pass.

Each step of EM needs the expected right and wrong labels of every group and class, and these are
sums over batches, wherever the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from misnomer.kernels import softmax
from misnomer.solvers.pool_average import Average
from misnomer.solvers.pool_candidates import Field
from misnomer.solvers.pool_judge import Judge
from misnomer.solvers.pool_rows import labels
from misnomer.solvers.strata import Seen, expected, improved, seen
from misnomer.solvers.strata_columns import Members
from misnomer.solvers.strata_fit import Varied, after
from misnomer.solvers.strata_groups import Groups, class_shares, moved, regrouped
from misnomer.solvers.strata_pool import Asked
from misnomer.solvers.strata_search import Labels
from misnomer.solvers.task import Task
from misnomer.stats import Sums
from misnomer.table import Batch

Array = NDArray[np.float64]

_ROUNDS = 12  # over all rows; the rows drawn before have found most of it
_SETTLED = 1e-3  # of a rate or a class share


def numbered_groups(
    task: Task, groups: NDArray[np.intp] | Members | None
) -> tuple[Task, Members | None]:
    """Let the rows bring the numbers of their groups along, where they do not yet."""
    if groups is None or isinstance(groups, Members):
        return task, groups
    if len(groups) != task.extent[0]:
        raise ValueError(
            f"{len(groups):,} groups were given for {task.extent[0]:,} rows: "
            "give the group of every row"
        )
    if not isinstance(task.batches, list):
        raise ValueError("rows that are read by batches bring the numbers of their groups along")
    own = np.asarray(groups, np.int32)
    batches = [replace(b, group=own[b.start : b.start + len(b)]) for b in task.batches]
    return replace(task, batches=batches), Members("group", int(own.max(initial=-1)) + 2)


def of_groups(
    task: Task, varied: Varied, members: Members, judge: Judge, found: Field, answer: Average
) -> Varied:
    """Fit the groups of a sample to all rows; what they are tested by is of the rows drawn last.

    Where rows are not judged by groups, only the latter.
    """
    rows, asked = found.rows, Asked.of(found.rows, answer)
    drawn = replace(asked.labels, channel=found.best.pooled.channel)
    code, place = members.codes(rows.batch)[asked.at], rows.place[asked.at]
    if not varied.found or varied.groups is None:
        return replace(varied, evidence={"labels": drawn, "group": code, "place": place})
    begin = regrouped(varied.groups, drawn, code)
    if len(rows) == task.extent[0]:
        return Varied.by_groups(members, begin, drawn, code, place)
    groups, (right, wrong, joint, _) = _climbed(task, Expected.of(begin, members, judge, drawn))
    mass = (right + wrong).sum(axis=1)
    rate = 1.0 - right.sum(axis=1) / np.maximum(mass, 1e-9)
    joint = joint + 1e-9 + 1e-9 * np.eye(len(joint))
    return replace(
        Varied.by_groups(members, groups, drawn, code, place),
        mean=joint / joint.sum(axis=0),
        rates=(rate,),
        masses=(mass,),
    )


@dataclass(frozen=True, eq=False)
class Expected:
    """A step of a fold: what groups of this kind let one expect of the labels of a batch.

    The sums are the right and the wrong labels by group and true class, (G, K) each, the labels by
    label and true class, (K, K), and P(true | x), (K,).

    Attributes
    ----------
    groups, members, judge
        What the groups are like, which rows belong to them, and who scores the rows.
    one : Seen
        No row, seen through one channel for all.
    channel : (K, K) array
        That channel.
    """

    groups: Groups
    members: Members
    judge: Judge
    one: Seen
    channel: Array

    @classmethod
    def of(cls, groups: Groups, members: Members, judge: Judge, drawn: Labels) -> Expected:
        """Leave the rows out that the groups were found on."""
        nobody = np.zeros(0, np.intp)
        none = Labels(drawn.share[:0], nobody, np.zeros(0), nobody, drawn.channel)
        light = replace(groups, height=np.zeros(0), margin=replace(groups.margin, level=nobody))
        return cls(light, members, judge, none.seen(nobody, members.count), drawn.channel)

    @property
    def rates(self) -> Array:
        """The error rates of the groups, (G, K)."""
        return self.one.one if self.groups.rates is None else self.groups.rates.values

    def __call__(self, batch: Batch) -> Sums:
        """Judge the labels in question, and add."""
        label, trusted = labels(batch, len(self.channel))
        weight = np.ones(len(batch)) if batch.weight is None else batch.weight
        at = np.flatnonzero((label >= 0) & ~trusted & (weight > 0))
        label, weight, group = label[at], weight[at], self.members.codes(batch)[at]
        share = softmax(self.judge.scores(batch))[0][at]
        usual = weight @ share
        share = moved(share, self.groups.ratio[group])
        rows = seen(share, label, weight, self.channel, group, self.members.count)
        judged = after(share, self.groups.channels[group], label, np.zeros(len(at), bool))
        joint = np.zeros_like(self.channel)
        np.add.at(joint, label, judged * weight[:, None])
        return Sums((*expected(rows, self.rates), joint, usual))

    def better(self, right: Array, wrong: Array, usual: Array) -> Expected:
        """Take the rates and class shares that explain what was expected."""
        groups = self.groups
        if groups.rates is not None and groups.tied is not None:
            rates = improved(groups.rates, self.one.rates, right, wrong, tied=groups.tied)
            groups = replace(groups, rates=rates, channels=self.one.channels(rates.values))
        if groups.own:
            usual = np.maximum(usual / usual.sum(), 1e-9)
            groups = replace(groups, ratio=class_shares(right + wrong, usual) / usual)
        return replace(self, groups=groups)

    def far(self, other: Expected) -> float:
        """Tell how far rates and ratios of class shares are from others at most."""
        rates = np.abs(self.rates - other.rates).max()
        return float(max(rates, np.abs(self.groups.ratio - other.groups.ratio).max()))


def _climbed(task: Task, step: Expected) -> tuple[Groups, tuple[Array, ...]]:
    """Climb until nothing moves; also what is expected there."""
    begin = step.groups
    for _ in range(_ROUNDS):
        right, wrong, _, usual = task.fold(step, task.batches).arrays
        before, step = step, step.better(right, wrong, usual)
        if step.far(before) < _SETTLED:
            break
    found = replace(step.groups, height=begin.height, margin=begin.margin)
    return found, task.fold(step, task.batches).arrays
