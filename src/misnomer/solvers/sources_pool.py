"""Groups through the default: the pool first, then a channel for each group on top of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from misnomer import channel
from misnomer.solvers.pool import Pool
from misnomer.solvers.sources import SourcesFit, SourcesTask
from misnomer.solvers.strata_fit import Varied, after
from misnomer.solvers.strata_groups import moved
from misnomer.solvers.task import Fit, Task
from misnomer.sources import Answers
from misnomer.table import Batch

Array = NDArray[np.float64]

_HELD = 10.0  # virtual rows that hold the rates of a group


def learn_groups(task: SourcesTask) -> SourcesFit | None:
    """Learn from one label a row, each group with errors of its own; None where nothing can be.

    A row of weight zero is judged by what the others have taught.
    """
    answers = task.answers
    assert task.schema is not None and task.batch is not None
    group, given = codes_of(answers), evidence_codes(answers, task.truth)
    kept = np.ones(len(group), bool) if task.weight is None else task.weight > 0
    weight = None if task.weight is None else task.weight[kept]
    rows = replace(task.batch.judged_by(given).take(kept), weight=weight)
    free = channel.auto(answers.n_labels)
    asked = Task(task.schema, [rows], _fold, free, task.smoothing, seed=task.seed)
    found = Pool(groups=group[kept])(asked)
    varied = found.details.get("groups")
    if varied is None:
        return None
    share = np.empty((len(group), answers.n_labels))
    share[kept] = found.details["posterior"]
    if not kept.all():
        others = task.batch.judged_by(given).take(~kept)
        share[~kept] = _judged(found, varied, others, group[~kept], given[~kept])
    return _fit(found, varied, share, np.flatnonzero(kept), answers)


def codes_of(answers: Answers) -> NDArray[np.intp]:
    """Number the group of each row, (n,); -1 where there is none.

    Examples
    --------
    >>> from misnomer.sources import from_groups
    >>> codes_of(from_groups(["a", None, "b", "a"], ["x", None, "y", "x"])).tolist()
    [0, -1, 1, 0]
    """
    out = np.full(answers.n_rows, -1, np.intp)
    out[answers.row] = answers.annotator
    return out


def evidence_codes(answers: Answers, truth: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Number what is known of each row: its label, L for none, L + 1 + k for a known class k."""
    L = answers.n_labels
    given = np.full(answers.n_rows, L, np.int32)
    given[answers.row] = answers.label
    return given if truth is None else np.where(truth >= 0, L + 1 + truth, given).astype(np.int32)


def _fold(step: Callable[[Batch], Any], batches: Iterable[Batch]) -> Any:
    return reduce(add, map(step, batches))


def _judged(
    found: Fit, varied: Varied, batch: Batch, group: NDArray[np.intp], given: NDArray[np.int32]
) -> Array:
    """Judge rows that took no part, by their columns and the channel of their group, (n, K)."""
    L = len(varied.mean)
    share = found.model.posterior(batch.judged_by(np.full(len(batch), L, np.int32)))
    cell = np.where(group < 0, len(varied.channels) - 1, group)
    if varied.ratio is not None:
        share = moved(share, varied.ratio[cell])
    label = np.where(given > L, given - L - 1, np.where(given == L, -1, given)).astype(np.intp)
    return after(share, varied.channels[cell], label, given > L)


def _fit(
    found: Fit, varied: Varied, share: Array, kept: NDArray[np.intp], answers: Answers
) -> SourcesFit:
    labels = varied.evidence["labels"]
    usual = np.maximum(labels.weight @ labels.share / labels.weight.sum(), 1e-9)
    scores = np.full_like(share, np.nan)  # of many rows only some are scored out of fold
    at = kept[varied.evidence["place"]]
    scores[at] = np.log(np.maximum(labels.share, 1e-300) / usual)
    prior = np.asarray(found.details["class_shares"])
    channels = varied.channels[: answers.n_annotators]
    return SourcesFit(
        share,
        np.log(np.maximum(share, 1e-300)),
        prior,
        channels,
        found.objective,
        found.passes,
        True,
        trust=1.0,
        model=found.model.with_shares(prior),
        scores=scores,
        centers=channels,
        strength=_HELD,
    )
