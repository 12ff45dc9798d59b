"""Weights and channel that fit the given labels: logistic regression behind a channel.

    sum_i w_i log sum_z R[y_i, z] softmax(scores(phi(x_i)))_z - penalty / 2 |weights|^2 + log P(R)

With s(x) the scores of the classes, q = softmax(s) and R the channel,

    log P(y | x) = log sum_z R[y, z] q[z] = log sum_z exp(s[z] + log R[y, z]) - log sum_z exp(s[z])

whose derivative by s is P(z | x, y) - q[z]. A row without a label has R = 1: it says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from misnomer.channel import Channel
from misnomer.kernels.reference import softmax
from misnomer.model import Model
from misnomer.solvers.em import starts
from misnomer.solvers.features import Features, measure
from misnomer.solvers.network import (
    Layers,
    Network,
    NoiseLayer,
    backward,
    blank,
    flat,
    forward,
    ignorant,
    shaped,
)
from misnomer.solvers.task import Details, Fit, Progress, Task
from misnomer.table import Batch, Fold, Schema

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Slope:
    """What one pass leaves behind: a value, its gradient, and who was taken for what."""

    value: float  # the (expected) conditional log likelihood
    # (R, K): weight of the rows by evidence code and true class; its logarithmic derivative by R
    joint: Array
    gradient: Layers  # by the layers

    def __add__(self, other: Slope) -> Slope:
        gradient = tuple(a + b for a, b in zip(self.gradient, other.gradient, strict=True))
        return Slope(self.value + other.value, self.joint + other.joint, gradient)


@dataclass(frozen=True, eq=False)
class Step:
    """Look at a batch: the value of the layers there, and its gradient.

    ``sum_i w_i log P(y_i | x_i)``; or, with the layers ``before`` an M-step, what it maximises,
    ``sum_i w_i sum_z P(z | x_i, y_i; before) log q_i[z]``.
    """

    layers: Layers
    table: Array  # (R, K) log P(evidence | true class)
    before: Layers | None = None

    def __call__(self, batch: Batch) -> Slope:
        """Look at one batch."""
        out = forward(batch, self.layers)
        scores = out[-1]
        now = scores if self.before is None else forward(batch, self.before)[-1]
        share, height = softmax(now + self.table[batch.given])
        plain, base = softmax(scores)
        reached = height if self.before is None else (share * scores).sum(axis=1)
        weight = labeled(batch, self.table)
        joint = by_code(weight[:, None] * share, batch, len(self.table))
        gradient = backward(batch, self.layers, out, weight[:, None] * (share - plain))
        return Slope(float(weight @ (reached - base)), joint, gradient)


def labeled(batch: Batch, table: Array) -> Array:
    """Weigh the rows; those without a label weigh nothing, (n,)."""
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    return np.where(batch.given == len(table) - table.shape[1] - 1, 0.0, weight)


def by_code(share: Array, batch: Batch, codes: int) -> Array:
    """Add the shares up by evidence code, (R, K)."""
    columns = [np.bincount(batch.given, column, minlength=codes) for column in share.T]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows, what is seen of them, and how large weights are paid for."""

    # the rows, and who adds over them
    batches: Sequence[Batch]
    fold: Fold[Any]
    features: Features  # how statistics become features
    penalty: float  # cost of the squared weights of features, halved; intercepts are free
    rows: float  # weight of the labeled rows

    def folded(self, layers: Layers) -> Layers:
        """Say the first layer in terms of t(x)."""
        return (*self.features.fold(layers[0], layers[1]), *layers[2:])

    def observed(self, layers: Layers, channel: Channel) -> Slope:
        """Take the penalised log likelihood of the given labels, with its gradient."""
        step = Step(self.folded(layers), evidence_table(channel))
        return self._paid(self.fold(step, self.batches), layers, channel)

    def expected(self, layers: Layers, before: Layers, channel: Channel) -> Slope:
        """Take the penalised objective of an M-step, with its gradient."""
        step = Step(self.folded(layers), evidence_table(channel), self.folded(before))
        return self._paid(self.fold(step, self.batches), layers, channel)

    def _paid(self, slope: Slope, layers: Layers, channel: Channel) -> Slope:
        """Add the penalty and the channel's prior; say the gradient in terms of phi(x)."""
        gradient = [self.features.pull(*slope.gradient[:2]), *slope.gradient[1:]]
        value = slope.value + channel.log_prior()
        for place in range(0, len(layers), 2):
            gradient[place] = gradient[place] - self.penalty * layers[place]
            value -= 0.5 * self.penalty * float(np.sum(layers[place] ** 2))
        return Slope(value, slope.joint, tuple(gradient))


def evidence_table(channel: Channel) -> Array:
    """List ``log P(evidence | z)`` for every evidence code a row can have, (R, K)."""
    return channel.table(np.ones(channel.n_classes))


def problem(
    schema: Schema, batches: Sequence[Batch], fold: Fold[Any], channel: Channel, penalty: Any
) -> Problem:
    """Look at the rows once or twice: how many are labeled, the centers and the scales."""
    if isinstance(penalty, str) or not (np.isfinite(penalty) and penalty >= 0):
        raise ValueError(f'the penalty must be 0 or more, not {penalty!r}; or say "auto"')
    table = evidence_table(channel)
    rows = float(fold(lambda batch: float(labeled(batch, table).sum()), batches))
    if rows <= 0:
        raise ValueError(
            "no row has a label: the conditional solver learns from labels only; "
            'use solver="em" to find classes without them'
        )
    return Problem(batches, fold, measure(schema, batches, fold), float(penalty), rows)


CELLS_PER_PENALTY = 2000.0  # measured on 500 flags: best for 400 rows at 100, for 4000 at 1000
M_STEP_ITERATIONS = 3  # of an M-step: it need not reach its end, every step up is a step of EM


@dataclass(frozen=True)
class Conditional:
    """A solver: ``Conditional(penalty=10.0)(task)``."""

    # cost of the squared weights of the features, halved; the intercept is free. "auto" is
    # `usual_penalty`.
    penalty: float | str = "auto"
    steps: str = "gradient"  # a free channel is found with the weights, or ("em") in turns
    # units of each hidden layer (tanh); none makes a linear model, which explains itself
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
    details = Details(class_shares=shares)
    reached, penalty = end.history[-1], rows.penalty
    return ConditionalFit(model, reached, end.history, end.converged, details, penalty=penalty)
