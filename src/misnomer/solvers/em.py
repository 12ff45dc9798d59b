"""Expectation maximization for any channel, with Anderson acceleration that cannot do harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from misnomer.model import Model
from misnomer.solvers.starts import starts
from misnomer.solvers.task import Fit, Task
from misnomer.stats import Stats

Array = NDArray[np.float64]

_DEPTH = 5  # passes that an extrapolation looks back on
_SHORT = 8  # passes of a trial run of each start; the best goes on to the end


def em(task: Task) -> Fit:
    """Run EM from several starts and keep the best end."""
    candidates = starts(task)
    if len(candidates) > 1:
        trials = [
            climb(replace(task, max_iter=_SHORT, progress=None), model, virtual)
            for model, virtual in candidates
        ]
        best = max(range(len(trials)), key=lambda i: trials[i].objective)
        candidates = [(trials[best].model, candidates[best][1])]
    return climb(task, *candidates[0])


def climb(task: Task, start: Model, virtual: Array, *, accelerate: bool = True) -> Fit:
    """Alternate ``expect`` (one pass over the rows) and ``maximise`` until the gain is small.

    Every pass yields the objective of the model it started from. A plain step cannot lower it;
    an extrapolated one can, and is then taken back: the search goes on from the last plain step.
    """
    classes = task.smoothing.classes
    memory = _Memory()
    model, plain, best = start, start, -np.inf
    history: list[float] = []
    for _ in range(task.max_iter):
        stats = task.fold(model.expect, task.batches)
        objective = stats.loglik + model.log_prior(virtual, classes)
        history.append(objective)
        if task.progress is not None:
            task.progress(len(history), objective)
        if objective < best and model is not plain:  # the extrapolation overshot
            memory.clear()
            model = plain
            continue
        gain, best = objective - best, objective
        if gain <= task.tol * stats.rows:
            return Fit(model, objective, tuple(history), True, {"virtual": virtual})
        plain = model.maximise(stats, virtual, classes)
        ahead = memory.extrapolate(stats) if accelerate else None
        model = plain if ahead is None else plain.maximise(ahead, virtual, classes)
    return Fit(plain, best, tuple(history), False, {"virtual": virtual})


class _Memory:
    """Anderson acceleration of the fixed point ``sums -> sums``.

    The expected sums determine the next model, so EM is a map from sums to sums. A combination of
    sums whose weights add up to one keeps every linear law: the classes still add up to the table.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.taken: Stats | None = None  # the sums that made the current model
        self.inputs: list[Array] = []
        self.outputs: list[Array] = []

    def extrapolate(self, out: Stats) -> Stats | None:
        """Combine the last passes so that the predicted change is least; None without memory."""
        previous, self.taken = self.taken, out
        if previous is None:
            return None
        self.inputs.append(_flat(previous))
        self.outputs.append(_flat(out))
        del self.inputs[: -_DEPTH - 1], self.outputs[: -_DEPTH - 1]
        if len(self.inputs) < 2:
            return None
        residual = np.stack(self.outputs, axis=1) - np.stack(self.inputs, axis=1)
        last = self.outputs[-1]
        residual = residual / _spread(last)[:, None]
        steps = residual[:, :-1] - residual[:, -1:]
        share = np.linalg.lstsq(steps, -residual[:, -1], rcond=1e-10)[0]
        ahead = last + np.stack([b - last for b in self.outputs[:-1]], axis=1) @ share
        self.taken = _shaped(_held(last, ahead), out)
        return self.taken


def _spread(sums: Array) -> Array:
    """Tell in what unit a change of a sum is small: as of a count, ``sqrt(sum)``.

    Without it the most frequent values alone would say where to go. A small sum is no reason to
    look closer than a thousandth of the mean one.

    Examples
    --------
    >>> _spread(np.array([4.0, -9.0, 0.0])).round(3).tolist()
    [2.0, 3.0, 0.066]
    """
    size = np.abs(sums)
    least = max(1e-3 * float(size.mean()), np.finfo(np.float64).tiny)
    return np.sqrt(np.maximum(size, least))


def _held(last: Array, ahead: Array) -> Array:
    """Keep what is positive positive: no sum may fall under a tenth of its last value.

    What has underflowed to zero stays there: a hair below it, a mass would have no logarithm.
    """
    held = np.maximum(ahead, 0.1 * last)
    return np.where(last > 0, held, np.where(last == 0, 0.0, ahead))


def _flat(stats: Stats) -> Array:
    return np.concatenate([stats.joint.ravel(), stats.sums.ravel()])


def _shaped(flat: Array, like: Stats) -> Stats:
    cut = like.joint.size
    joint, sums = flat[:cut].reshape(like.joint.shape), flat[cut:].reshape(like.sums.shape)
    return replace(like, joint=joint, sums=sums)
