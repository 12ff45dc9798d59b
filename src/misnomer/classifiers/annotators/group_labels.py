"""One label a row, groups that err in their own way: the head first, then a channel each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer import channel
from misnomer.answers import Answers
from misnomer.engines.local import fold
from misnomer.head.rates import HELD_ROWS, judged
from misnomer.head.solve import GroupRates, Head
from misnomer.solvers.annotators.fit import SourcesFit, SourcesTask
from misnomer.solvers.task import Fit, Task
from misnomer.table import Batch

Array = NDArray[np.float64]


def learn_groups(task: SourcesTask) -> SourcesFit | None:
    """Learn from one label a row, each group with errors of its own; None where nothing can be.

    A row of weight zero is judged by what the others have taught.
    """
    answers = task.answers
    assert task.schema is not None and task.batch is not None
    group, given = groups_of(answers), evidence_codes(answers, task.truth)
    kept = np.ones(len(group), bool) if task.weight is None else task.weight > 0
    weight = None if task.weight is None else task.weight[kept]
    rows = replace(task.batch.judged_by(given), group=group, said=labels_of(answers))
    free = channel.auto(answers.n_labels)
    some = replace(rows.take(np.flatnonzero(kept)), weight=weight)
    asked = Task(task.schema, [some], fold, free, task.smoothing, seed=task.seed)
    found = Head(groups=answers.n_annotators)(asked)
    rates = found.details.get("groups")
    if rates is None:
        return None
    share = np.empty((len(group), answers.n_labels))
    share[kept] = found.details["posterior"]
    if not kept.all():
        share[~kept] = _judged(found, rates, rows.take(np.flatnonzero(~kept)))
    return _fit(found, rates, share, np.flatnonzero(kept), answers)


def groups_of(answers: Answers) -> NDArray[np.int32]:
    """Number the group of each row, (n,); -1 where there is none.

    Examples
    --------
    >>> from misnomer.answers import from_groups
    >>> groups_of(from_groups(["a", None, "b", "a"], ["x", None, "y", "x"])).tolist()
    [0, -1, 1, 0]
    """
    out = np.full(answers.n_rows, -1, np.int32)
    out[answers.row] = answers.annotator
    return out


def labels_of(answers: Answers) -> NDArray[np.int32]:
    """Number the label of each row, (n,); -1 where there is none."""
    out = np.full(answers.n_rows, -1, np.int32)
    out[answers.row] = answers.label
    return out


def evidence_codes(answers: Answers, truth: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Number what is known of each row: its label, L for none, L + 1 + k for a known class k."""
    L = answers.n_labels
    given = np.full(answers.n_rows, L, np.int32)
    given[answers.row] = answers.label
    return given if truth is None else np.where(truth >= 0, L + 1 + truth, given).astype(np.int32)


def _judged(found: Fit, rates: GroupRates, batch: Batch) -> Array:
    """Judge rows that took no part, by their columns and the channel of their group, (n, K)."""
    L = found.model.channel.n_labels
    share = found.model.posterior(batch.judged_by(np.full(len(batch), L, np.int32)))
    label, known = batch.labels(L)
    stratum = rates.strata.of(batch, share)
    seen = np.where((label >= 0)[:, None], rates.strata.channels[stratum, label], 1.0)
    told = known >= 0
    seen[told] = np.eye(L)[known[told]]
    return judged(share * rates.strata.ratio[stratum], seen)


def _fit(
    found: Fit, rates: GroupRates, share: Array, kept: NDArray[np.intp], answers: Answers
) -> SourcesFit:
    rows = rates.rows
    usual = np.maximum(rows.weight @ rows.share / rows.weight.sum(), 1e-9)
    scores = np.full_like(share, np.nan)  # of many rows only some are scored out of fold
    if len(rates.batch) == len(kept):
        scores[kept[rates.places]] = np.log(np.maximum(rows.share, 1e-300) / usual)
    prior = np.asarray(found.details["class_shares"])
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
