"""Weights that fit the given labels through the channel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from misnomer import channel as channels
from misnomer.engines import fold
from misnomer.rows import read
from misnomer.smoothing import automatic
from misnomer.solvers.conditional import Conditional, alternate, climb, problem
from misnomer.solvers.network import blank
from misnomer.solvers.task import Task
from misnomer.table import Batch
from tests.solvers.rows import (
    SHARP,
    balanced,
    categories,
    channels_to_differentiate,
    emptied,
    mixed_table,
    parts,
    spoiled,
    task_of,
)


@pytest.mark.parametrize("K", [2, 5])
def test_identity_channel_is_logistic_regression(K):
    codes, z, _ = categories(400, K, seed=K)
    penalty = 1.3
    task = task_of(codes, z, channels.identity(K), **SHARP)
    fit = Conditional(penalty)(task)
    # With two classes scikit-learn has one weight vector, the difference of ours: half the cost.
    C = 1 / penalty if K > 2 else 2 / penalty
    plain = LogisticRegression(C=C, tol=1e-10, max_iter=5000)
    onehot = OneHotEncoder(sparse_output=False).fit_transform(codes)
    expected = plain.fit(onehot, z).predict_proba(onehot)
    batch = task.batches[0]
    unknown = batch.judged_by(np.full(len(batch), K, np.int32))
    np.testing.assert_allclose(fit.model.posterior(unknown), expected, atol=1e-4)
    assert fit.converged


@pytest.mark.parametrize("K", [2, 5])
@pytest.mark.parametrize("steps", ["gradient", "em"])
def test_planted_noise_is_undone(K, steps):
    codes, z, rng = balanced(3000, K, seed=K)
    matrix = np.eye(K) * 0.65 + 0.35 * np.roll(np.eye(K), 1, axis=0)
    if K == 2:
        matrix = np.array([[0.9, 0.4], [0.1, 0.6]])
    given = spoiled(z, matrix, rng)
    train, test = slice(0, 1500), slice(1500, None)
    fit = Conditional(1.0, steps)(task_of(codes[train], given[train], channels.free(K)))
    _, blocks = read(codes[test], "categorical")
    unknown = Batch(blocks, np.full(1500, K, np.int32))
    ours = np.mean(fit.model.posterior(unknown).argmax(axis=1) == z[test])
    onehot = OneHotEncoder(sparse_output=False).fit_transform(codes)
    plain = LogisticRegression(max_iter=1000).fit(onehot[train], given[train])
    theirs = np.mean(plain.predict(onehot[test]) == z[test])
    assert ours > theirs + 0.02
    assert abs(fit.model.channel.matrix - matrix).max() < 0.12
    assert abs(matrix - 0.8 * np.eye(K)).max() > 0.12  # the start would not have passed


def test_a_known_channel_is_better_than_none():
    codes, z, rng = categories(3000, 3, seed=5, strength=2.0)
    matrix = np.array([[0.6, 0.0, 0.1], [0.4, 1.0, 0.0], [0.0, 0.0, 0.9]])
    given = spoiled(z, matrix, rng)
    told = task_of(codes, given, channels.fixed(matrix))
    fit, naive = Conditional()(told), Conditional()(replace(told, channel=channels.identity(3)))
    unknown = told.batches[0].judged_by(np.full(3000, 3, np.int32))
    hits = [np.mean(f.model.posterior(unknown).argmax(axis=1) == z) for f in (fit, naive)]
    assert hits[0] > hits[1] + 0.03
    assert np.array_equal(fit.model.channel.matrix, matrix)


@pytest.mark.parametrize("channel", ["free", "flips", "uniform", "fixed"])
def test_gradient_and_em_climb_the_same_hill(channel):
    codes, z, rng = categories(300, 3, seed=2)
    given = spoiled(z, np.eye(3) * 0.7 + 0.1, rng)
    task = task_of(codes, given, channels_to_differentiate()[channel])
    rows = problem(task.schema, task.batches, fold, task.channel, 2.0)
    start = blank((task.schema.statistics, 3), rng)
    at_once = climb(rows, start, task.channel, **SHARP)
    in_turns = alternate(rows, start, task.channel, max_iter=600, tol=1e-8)
    assert at_once.history[-1] == pytest.approx(in_turns.history[-1], abs=1e-3)
    assert (np.diff(in_turns.history) >= -1e-9).all()
    assert (np.diff(at_once.history) >= -1e-9).all()
    np.testing.assert_allclose(at_once.channel.matrix, in_turns.channel.matrix, atol=5e-3)


@pytest.mark.parametrize(
    "solver", [Conditional(), Conditional(steps="em"), Conditional(hidden=(3,))]
)
def test_objective_is_that_of_the_model(solver):
    schema, batch = mixed_table(n=80)
    channel = channels.free(3, counts=0.9 * np.eye(3) + 0.1)
    fit = solver(Task(schema, [batch], fold, channel, automatic(), max_iter=15, tol=1e-9))
    unknown = batch.judged_by(np.full(len(batch), 3, np.int32))
    q = fit.model.posterior(unknown)
    evidence = np.concatenate([fit.model.channel.matrix, np.ones((1, 3)), np.eye(3)])
    likelihood = batch.weight @ np.log((q * evidence[batch.given]).sum(axis=1))
    paid = likelihood + fit.model.channel.log_prior() - fit.objective
    assert paid > 0  # what is left is the penalty
    if not solver.hidden:
        again = problem(schema, [batch], fold, channel, 0.0)
        linear = np.linalg.lstsq(_change(again.features).T, fit.model.weights.T, rcond=None)[0]
        assert paid == pytest.approx(0.5 * np.sum(linear**2), rel=1e-3)


def _change(features):
    """The matrix C of phi = C t, less what is taken off."""
    return features.fold(np.eye(len(features.share)), np.zeros(len(features.share)))[0]


@pytest.mark.parametrize("steps", ["gradient", "em"])
def test_three_batches_are_one(steps):
    schema, batch = mixed_table(n=91)
    channel = channels.free(3)
    task = Task(schema, [batch], fold, channel, automatic(), max_iter=8)
    whole, split = (Conditional(2.0, steps)(replace(task, batches=parts(batch, k))) for k in (1, 3))
    assert whole.objective == pytest.approx(split.objective, abs=1e-10)
    np.testing.assert_allclose(whole.model.weights, split.model.weights, atol=1e-10)
    np.testing.assert_allclose(whole.model.channel.matrix, split.model.channel.matrix, atol=1e-10)


@pytest.mark.parametrize("hidden", [(), (3,)])
def test_weight_zero_is_an_absent_row_and_two_is_twice(hidden):
    schema, batch = mixed_table(n=60)
    weight = np.tile([0.0, 1.0, 2.0], 20)
    task = Task(schema, [replace(batch, weight=weight)], fold, channels.free(3), automatic(), 10)
    rows = np.repeat(np.arange(60), weight.astype(int))
    copied = replace(task, batches=[replace(batch.take(rows), weight=None)])
    one, other = Conditional(hidden=hidden)(task), Conditional(hidden=hidden)(copied)
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=1e-7)


def test_trusted_rows_are_believed_through_a_useless_channel():
    codes, z, _ = categories(400, 3, seed=8)
    useless = channels.fixed(np.full((3, 3), 1 / 3))
    trusted = Conditional()(task_of(codes, z + 4, useless, **SHARP)).model
    plain = Conditional()(task_of(codes, z, channels.identity(3), **SHARP)).model
    np.testing.assert_allclose(trusted.weights, plain.weights, atol=1e-4)
    nothing = Conditional()(task_of(codes, z, useless)).model
    np.testing.assert_allclose(nothing.weights, 0.0, atol=1e-12)


def test_explanations_add_up_and_missing_cells_say_nothing():
    schema, batch = mixed_table(n=50, gaps=0.4)
    fit = Conditional()(Task(schema, [batch], fold, channels.free(3), automatic()))
    total = np.stack([evidence.total for evidence in fit.model.evidence(batch)])
    np.testing.assert_allclose(total, fit.model.log_joint(batch), atol=1e-9)
    empty = Batch(
        tuple(emptied(block) for block in batch.take(slice(0, 1)).blocks), np.array([3], np.int32)
    )
    np.testing.assert_allclose(fit.model.posterior(empty)[0], fit.model.prior, atol=1e-12)
    assert fit.details.class_shares.sum() == pytest.approx(1.0)


def test_more_starts_are_no_worse():
    codes, z, rng = categories(300, 3, seed=6)
    given = spoiled(z, np.eye(3) * 0.4 + 0.2, rng)
    task = task_of(codes, given, channels.free(3), tol=1e-9)
    once, often = Conditional()(task), Conditional()(replace(task, n_init=4))
    assert often.objective >= once.objective - 1e-9


def test_hidden_layers_learn_what_no_line_can():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (600, 2))
    z = X[:, 0] ^ X[:, 1]
    given = np.where(rng.random(600) < 0.2, 1 - z, z)
    task = task_of(X, given, channels.free(2), n_init=3)
    unknown = task.batches[0].judged_by(np.full(600, 2, np.int32))
    deep, shallow = Conditional(0.1, hidden=(8,))(task), Conditional(0.1)(task)
    assert np.mean(deep.model.posterior(unknown).argmax(axis=1) == z) == 1.0
    assert np.mean(shallow.model.posterior(unknown).argmax(axis=1) == z) < 0.8
    with pytest.raises(ValueError, match="hidden layers"):
        deep.model.evidence(unknown)
    with pytest.raises(ValueError, match="hidden layers"):
        deep.model.expect(unknown)


def test_structural_zeros_survive():
    codes, z, rng = categories(500, 2, seed=3)
    given = np.where((z == 1) & (rng.random(500) < 0.5), 0, z)
    for steps in ("gradient", "em"):
        task = task_of(codes, given, channels.positive_unlabeled(0.7))
        matrix = Conditional(1.0, steps)(task).model.channel.matrix
        np.testing.assert_allclose(matrix[:, 0], [1.0, 0.0])
        assert 0.3 < matrix[1, 1] < 0.75


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Conditional(-1.0), "penalty must be 0 or more, not -1"),
        (Conditional(float("nan")), "penalty must be 0 or more"),
        (Conditional(steps="sgd"), "steps must be"),
        (Conditional(hidden=(0,)), "at least one unit"),
    ],
)
def test_bad_settings_are_named(solver, message):
    codes, z, _ = categories(50, 2, seed=0)
    with pytest.raises(ValueError, match=message):
        solver(task_of(codes, z, channels.identity(2)))


def test_no_label_at_all_is_refused():
    codes, _, _ = categories(50, 2, seed=0)
    with pytest.raises(ValueError, match="no row has a label"):
        Conditional()(task_of(codes, np.full(50, 2), channels.identity(2)))
