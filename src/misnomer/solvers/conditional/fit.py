"""Weights that maximize the likelihood of the given labels, through the channel.

    sum_i w_i log sum_z R[y_i, z] softmax(b + phi(x_i) . V)_z - penalty / 2 |V|^2

Logistic regression behind a noisy channel: the same model as naive Bayes, another solver. The
channel is fixed, or found with the weights: all at once by gradient (a noise adaptation layer),
or in turns by EM (a noisy-label network). Both climb the same objective.

The intercept becomes the model's prior: P(true class) of a row of which *nothing is known*. It is
no share of classes; ``Fit.details["class_shares"]`` holds those of the labeled rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from misnomer.channel import Channel
from misnomer.model import Model
from misnomer.solvers.conditional.network import (
    Layers,
    Network,
    NoiseLayer,
    blank,
    flat,
    ignorant,
    shaped,
)
from misnomer.solvers.conditional.objective import Problem, problem
from misnomer.solvers.em import starts
from misnomer.solvers.task import Fit, Progress, Task
from misnomer.table import Schema

Array = NDArray[np.float64]
CELLS_PER_PENALTY = 2000.0  # measured on 500 flags: best for 400 rows at 100, for 4000 at 1000
M_STEP_ITERATIONS = 3  # of an M-step: it need not reach its end, every step up is a step of EM


@dataclass(frozen=True)
class Conditional:
    """A solver: ``Conditional(penalty=10.0)(task)``.

    Attributes
    ----------
    penalty : float or "auto"
        Cost of the squared weights of the features, halved; the intercept is free. "auto" is
        `usual_penalty`.
    steps : {"gradient", "em"}
        How a channel with free cells is found: with the weights, or in turns.
    hidden : tuple of int
        Units of each hidden layer (tanh); none makes a linear model, which explains itself.
    """

    penalty: float | str = "auto"
    steps: str = "gradient"
    hidden: tuple[int, ...] = ()

    def __call__(self, task: Task) -> Fit:
        """Find the model."""
        if self.steps not in ("gradient", "em"):
            raise ValueError(f'steps must be "gradient" or "em", not {self.steps!r}')
        if any(units < 1 for units in self.hidden):
            raise ValueError(f"a hidden layer needs at least one unit, not {self.hidden}")
        penalty = self.penalty if self.penalty != "auto" else usual_penalty(task)
        rows = problem(task.schema, task.batches, task.fold, task.channel, penalty)
        search = climb if self.steps == "gradient" else alternate
        limits: dict[str, Any] = {"max_iter": task.max_iter, "tol": task.tol}
        ends = [
            search(rows, layers, channel, progress=task.progress, **limits)
            for layers, channel in self._starts(task)
        ]
        return _fit(rows, max(ends, key=lambda end: end.history[-1]), task.schema)

    def _starts(self, task: Task) -> Iterator[tuple[Layers, Channel]]:
        """Begin at every channel that is to be tried, and at random where layers are hidden."""
        rng = np.random.default_rng(task.seed)
        sizes = (task.schema.statistics, *self.hidden, task.channel.n_classes)
        tried: list[Channel] = []
        channels = [model.channel for model, _ in starts(task)] if task.n_init > 1 else []
        for channel in channels or [task.channel]:
            if self.hidden or all(channel is not one for one in tried):
                yield blank(sizes, rng), channel
            tried.append(channel)


conditional = Conditional()


def usual_penalty(task: Task) -> float:
    """Compute ``rows x columns / 2000``, 1 at least; texts do not count.

    Behind a noisy channel, weights that are nearly free learn the wrong labels by heart, more so
    the more columns there are, and the channel then finds nothing left to explain. The words of a
    text are scaled by its length, so that a light penalty is heavy enough.
    """
    single = [column for column in task.schema.columns if column.width == 1]
    columns = sum(column.kind not in ("ignored", "text") for column in single)
    return max(1.0, task.whole.rows * columns / CELLS_PER_PENALTY)


@dataclass(frozen=True, eq=False)
class Climb:
    """Where a search ended, and the objectives on the way."""

    layers: Layers
    channel: Channel
    history: tuple[float, ...]
    converged: bool


def climb(
    rows: Problem,
    layers: Layers,
    channel: Channel,
    *,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Climb:
    """Follow the gradient of the weights and of the free cells of the channel together."""
    noise = NoiseLayer(channel)
    size = flat(layers).size

    def objective(vector: Array) -> tuple[float, Array]:
        slope = rows.observed(shaped(vector, layers), noise.at(vector[size:]))
        by_channel = noise.gradient(vector[size:], slope.joint[: channel.n_labels])
        return slope.value, np.concatenate([flat(slope.gradient), by_channel])

    begin = np.concatenate([flat(layers), noise.start()])
    end, history = _ascend(objective, begin, rows.rows, max_iter, tol, progress)
    here = noise.at(end.x[size:])
    return Climb(shaped(end.x, layers), here, history, end.status != 1)


def alternate(
    rows: Problem,
    layers: Layers,
    channel: Channel,
    *,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Climb:
    """Share the rows out over the classes, then refit weights and channel, in turns (EM)."""
    history: list[float] = []
    while True:
        slope = rows.observed(layers, channel)
        history.append(slope.value)
        if progress is not None:
            progress(len(history), slope.value)
        done = len(history) > 1 and history[-1] - history[-2] <= tol * rows.rows
        if done or len(history) >= max_iter:
            return Climb(layers, channel, tuple(history), done)
        layers = _m_step(rows, layers, channel)
        channel = channel.refit(slope.joint[: channel.n_labels])


def _m_step(rows: Problem, before: Layers, channel: Channel) -> Layers:
    """Move the weights toward the shares: logistic regression on soft targets, a few steps."""

    def objective(vector: Array) -> tuple[float, Array]:
        slope = rows.expected(shaped(vector, before), before, channel)
        return slope.value, flat(slope.gradient)

    end, _ = _ascend(objective, flat(before), rows.rows, M_STEP_ITERATIONS, 0.0, None)
    return shaped(end.x, before)


def _ascend(
    objective: Callable[[Array], tuple[float, Array]],
    begin: Array,
    rows: float,
    max_iter: int,
    tol: float,
    progress: Progress | None,
) -> tuple[OptimizeResult, tuple[float, ...]]:
    """Maximize by L-BFGS, in nats per row; list the objective at the start and at every step."""
    values: list[float] = []
    history: list[float] = []

    def loss(vector: Array) -> tuple[float, Array]:
        value, gradient = objective(vector)
        values.append(value)
        return -value / rows, -gradient / rows

    def note(intermediate_result: OptimizeResult) -> None:
        history.append(-float(intermediate_result.fun) * rows)
        if progress is not None:
            progress(len(history), history[-1])

    options = {"maxiter": max_iter, "maxfun": 4 * max_iter + 20, "ftol": tol, "gtol": 0.1 * tol}
    end = minimize(loss, begin, jac=True, method="L-BFGS-B", callback=note, options=options)
    return end, (values[0], *history)


@dataclass(frozen=True, eq=False)
class ConditionalFit(Fit):
    """A fit of the labels rather than of the columns, and the ``penalty`` that it paid."""

    penalty: float = field(kw_only=True)


def _fit(rows: Problem, end: Climb, schema: Schema) -> ConditionalFit:
    """Say the end of a search as a model of the table's own statistics."""
    layers = rows.folded(end.layers)
    shares = rows.observed(end.layers, end.channel).joint.sum(axis=0) / rows.rows
    model: Model
    if len(layers) > 2:
        model = Network(ignorant(layers), end.channel, layers[0], schema, layers=layers)
    else:
        model = Model(ignorant(layers), end.channel, layers[0], schema)
    details = {"class_shares": shares}
    reached, penalty = end.history[-1], rows.penalty
    return ConditionalFit(model, reached, end.history, end.converged, details, penalty=penalty)
