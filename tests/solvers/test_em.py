"""EM: it rises, it recovers, and acceleration changes the way but not the end."""

from dataclasses import replace

import numpy as np
import pytest

from misnomer.channel import free, unlabeled
from misnomer.engines import fold
from misnomer.smoothing import Smoothing, additive, automatic, m_estimate
from misnomer.solvers.em import climb, em, starts
from misnomer.solvers.task import Task
from tests.contracts import random_model


def a_task(name="categorical", n=600, smoothing=None, seed=0, **kwargs):
    model = random_model(name, seed=seed)
    batch, z = model.draw(n, np.random.default_rng(seed + 1))
    smoothing = smoothing or additive(1.0)
    channel = kwargs.pop("channel", free(3))
    return Task(model.schema, [batch], fold, channel, smoothing, **kwargs), model, z


@pytest.mark.parametrize("name", ["categorical", "bernoulli", "gaussian", "count", "mixed"])
@pytest.mark.parametrize("smoothing", [additive(0.5), m_estimate(2), automatic()])
def test_the_objective_rises_at_every_plain_step(name, smoothing):
    task, _, _ = a_task(name, n=200, smoothing=replace(smoothing, extra=0.0), max_iter=25, tol=0)
    fit = climb(task, *starts(task)[0], accelerate=False)
    assert (np.diff(fit.history) >= -1e-9 * abs(fit.history[0])).all()
    assert len(fit.history) > 3


def test_acceleration_reaches_the_same_end_in_fewer_passes():
    task, _, _ = a_task(n=3000, max_iter=2000, tol=1e-10)
    start = starts(task)[0]
    plain = climb(task, *start, accelerate=False)
    fast = climb(task, *start)
    assert plain.converged and fast.converged
    assert fast.objective == pytest.approx(plain.objective, abs=1e-3)
    assert fast.passes < 0.7 * plain.passes


def test_a_known_channel_is_recovered():
    task, model, z = a_task("mixed", n=8000)
    fit = em(task)
    assert fit.converged
    np.testing.assert_allclose(fit.model.channel.matrix, model.channel.matrix, atol=0.04)
    np.testing.assert_allclose(fit.model.prior, model.prior, atol=0.03)
    blind = task.batches[0].judged_by(np.full(len(z), 3, np.int32))
    best = (model.posterior(blind).argmax(axis=1) == z).mean()
    assert (fit.model.posterior(blind).argmax(axis=1) == z).mean() > best - 0.01


def test_unlabeled_rows_teach():
    gains = [_gain_from_unlabeled(seed) for seed in range(6)]
    assert np.mean(gains) > 0.01


def _gain_from_unlabeled(seed):
    task, _, z = a_task("bernoulli", n=2000, seed=seed)
    batch = task.batches[0]
    rest = np.where(np.arange(2000) < 60, batch.given, 3).astype(np.int32)
    alone = em(replace(task, batches=[batch.take(slice(0, 60))])).model
    both = em(replace(task, batches=[batch.judged_by(rest)])).model
    blind = batch.judged_by(np.full(2000, 3, np.int32))
    right = [(m.posterior(blind).argmax(axis=1) == z).mean() for m in (alone, both)]
    return right[1] - right[0]


def test_a_row_of_weight_zero_is_absent_and_of_weight_two_counts_twice():
    task, _, _ = a_task(n=120, max_iter=5, tol=0)
    batch = task.batches[0]
    twice = np.concatenate([np.arange(100), np.arange(50)])
    weight = np.concatenate([np.full(50, 2.0), np.ones(50), np.zeros(20)])
    repeated = climb(replace(task, batches=[batch.take(twice)]), *_same_start(task, batch, twice))
    weighted = replace(batch, weight=weight)
    light = climb(replace(task, batches=[weighted]), *_same_start(task, weighted, slice(None)))
    np.testing.assert_allclose(light.model.weights, repeated.model.weights, rtol=1e-8)


def _same_start(task, batch, rows):
    return starts(replace(task, batches=[batch.take(rows)]))[0]


def test_a_trusted_row_keeps_its_class_and_leaves_the_channel_alone():
    task, _, z = a_task(n=400)
    batch = task.batches[0]
    trusted = (4 + z).astype(np.int32)
    fit = em(replace(task, batches=[batch.judged_by(trusted)]))
    posterior = fit.model.posterior(batch.judged_by(trusted))
    assert (posterior[np.arange(400), z] == 1.0).all()
    np.testing.assert_array_equal(fit.model.channel.matrix, task.channel.matrix)


def test_without_labels_classes_are_clusters():
    model = random_model("gaussian", classes=2, seed=5)
    batch, z = model.draw(2000, np.random.default_rng(0))
    nothing = batch.judged_by(np.zeros(2000, np.int32))
    task = Task(model.schema, [nothing], fold, unlabeled(2), Smoothing(shrink=1.0), n_init=5)
    fit = em(task)
    guess = fit.model.posterior(nothing).argmax(axis=1)
    assert max((guess == z).mean(), (guess != z).mean()) > 0.9


def test_too_few_passes_are_reported():
    task, _, _ = a_task(max_iter=2, tol=0)
    assert not em(task).converged


def test_progress_is_called_for_every_pass():
    seen = []
    task, _, _ = a_task(max_iter=4, tol=0, progress=lambda step, value: seen.append((step, value)))
    fit = em(task)
    assert [step for step, _ in seen] == [1, 2, 3, 4]
    assert [value for _, value in seen] == list(fit.history)


@pytest.mark.parametrize("seed", range(8))
def test_more_starts_never_end_worse(seed):
    """Only the best after eight passes went on, from where it stood: others may overtake it."""
    task, _, _ = a_task("gaussian", n=80, seed=seed)
    ends = [em(replace(task, n_init=n)).objective for n in (1, 2, 4, 8)]
    assert (np.diff(ends) >= 0).all()
