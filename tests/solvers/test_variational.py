"""Variational Bayes: a bound that rises, stays a bound, and agrees with what is known exactly."""

from __future__ import annotations

from itertools import product
from typing import cast

import numpy as np
import pytest
from scipy.special import gammaln

from misnomer import NoisyLabelNB
from misnomer.channel import flips, free, identity, uniform
from misnomer.engines import fold
from misnomer.papers import VBNB
from misnomer.rows import read
from misnomer.simulate import draw_binary_target, draw_zeng, make_noisy_labels, matched_target
from misnomer.smoothing import additive
from misnomer.solvers.counts import from_counts
from misnomer.solvers.em import climb
from misnomer.solvers.task import Task
from misnomer.solvers.variational import (
    Belief,
    aligned_chance,
    average,
    averages,
    expected_channel,
    prior_counts,
    shares,
    variational,
)
from misnomer.stats import Stats
from misnomer.table import Batch

NOISE = [[0.8, 0.5], [0.2, 0.5]]


def task_of(X, y, channel, **options):
    schema, blocks = read(X, "bernoulli")
    return Task(schema, [Batch(blocks, y.astype(np.int32))], fold, channel, additive(1), **options)


def first_belief(task):
    model, virtual = from_counts(task.schema, task.by_label, task.channel, task.smoothing)
    seen = task.fold(model.expect, task.batches)
    counts = prior_counts(task.channel)
    return Belief(model, virtual, counts, seen, 2.0).maximise(seen, virtual), virtual


@pytest.mark.parametrize("channel", [free(2), flips([0.2, 0.2]), uniform(2)])
def test_the_bound_never_falls(channel):
    X, true = matched_target(0.9, f_value=0.903).draw(200, random_state=0)
    given = make_noisy_labels(true, NOISE, random_state=1)
    task = task_of(X, given, channel, max_iter=60, tol=0.0)
    belief, virtual = first_belief(task)
    history = climb(task, cast("object", belief), virtual, accelerate=False).history
    assert np.diff(history).min() > -1e-8


def beta(a, b):
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def log_known(X, z):
    """Log P(X, z) exactly: Beta(2, 2) for the class prior, uniform ones for the columns."""
    total = beta(2 + (z == 0).sum(), 2 + (z == 1).sum()) - beta(2, 2)
    for k in (0, 1):
        on = X[z == k].sum(axis=0)
        total += np.sum(beta(1 + on, 1 + (z == k).sum() - on) - beta(1, 1))
    return total


def log_evidence(X, y, counts):
    """Log P(X, y) exactly: sum over all true labels, parameters integrated out."""
    terms = []
    for z in product([0, 1], repeat=len(y)):
        z = np.array(z)
        total = log_known(X, z)
        for k in (0, 1):
            seen = [((y == label) & (z == k)).sum() for label in (0, 1)]
            prior = counts[:, k]
            total += beta(prior[0] + seen[0], prior[1] + seen[1]) - beta(*prior)
        terms.append(total)
    return np.logaddexp.reduce(terms)


def test_the_bound_is_a_bound():
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(8, 3)).astype(np.uint8), np.array([0, 1] * 4)
    task = task_of(X, y, flips([0.2, 0.2]), max_iter=500, tol=1e-12)
    fit = variational(task)
    exact = log_evidence(X, y, prior_counts(task.channel))
    assert fit.objective < exact


def test_the_bound_is_tight_where_classes_are_known():
    rng = np.random.default_rng(1)
    X, z = rng.integers(2, size=(20, 3)).astype(np.uint8), rng.integers(2, size=20)
    task = task_of(X, z + 3, flips([0.2, 0.2]))  # every row trusted
    assert variational(task).objective == pytest.approx(log_known(X, z))


def test_known_labels_give_the_counts_of_laplace():
    X, true = matched_target(0.9, f_value=0.903).draw(100, random_state=0)
    task = task_of(X, true, identity(2))
    found = variational(task).model
    plain = NoisyLabelNB(channel="identity", smoothing="laplace", families="bernoulli")
    np.testing.assert_allclose(found.weights, plain.fit(X, true).model_.weights, atol=1e-9)


def test_fixed_cells_are_known_exactly():
    channel = free(2).restrict([(1, 0)])
    table = expected_channel(channel, np.array([[3.0, 1.0], [1.0, 2.0]]))
    assert table[1, 0] == -1e6
    assert table[0, 0] == pytest.approx(0.0)


def test_several_starts_and_the_best_is_kept():
    X, true = matched_target(0.9, f_value=0.903).draw(500, random_state=0)
    given = make_noisy_labels(true, NOISE, random_state=1)
    clf = VBNB().fit(X, given)
    assert len(clf.elbos_) == 6  # two error rates, two closed forms, one class or the other
    assert clf.lower_bound_ == clf.elbos_.max()
    assert clf.score(X, true) > 0.87


def test_many_classes_and_missing_labels():
    run = draw_zeng(1400, diagonal=(0.6, 0.7), random_state=0)
    X, given = run.X[:400], run.given[:400].astype(float)
    given[::5] = np.nan
    clf = VBNB(max_iter=50, tol=1e-3).fit(X, given)
    np.testing.assert_allclose(clf.noise_matrix_.sum(axis=0), 1.0)
    plain = NoisyLabelNB(channel="identity", smoothing="laplace").fit(X, run.given[:400])
    X, true = run.X[400:], run.true[400:]
    assert clf.score(X, true) > plain.score(X, true) + 0.05


def test_real_columns_take_the_plug_in():
    rng = np.random.default_rng(0)
    true = rng.integers(2, size=600)
    X = rng.normal(2.0 * true[:, None], 1.0, size=(600, 3))
    given = np.where(rng.random(600) < 0.25, 1 - true, true)
    assert NoisyLabelNB(solver="variational").fit(X, given).score(X, true) > 0.95  # Bayes: 0.958


def test_two_explanations_as_good_as_each_other_are_averaged():
    X, true = draw_binary_target(10, 93).draw(100, random_state=0)
    given = make_noisy_labels(true, NOISE, random_state=1)
    task = task_of(X, given, flips([0.2, 0.2]), max_iter=300)
    fit = variational(task)
    (one, *_), bounds = shares(fit.objectives), fit.objectives
    assert bounds.max() == fit.objective
    assert 0.0 < one < 1.0  # neither end has all of the weight
    np.testing.assert_allclose(fit.model.channel.matrix.sum(axis=0), 1.0)


def test_an_end_with_the_names_exchanged_is_read_the_other_way_round():
    joint = np.array([[10.0, 90.0], [90.0, 10.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    stats = Stats(joint, np.array([[1.0], [2.0]]))
    chance = aligned_chance(joint[:2])
    assert chance < 1e-6
    turned = average([(-3.0, stats, chance)])
    np.testing.assert_allclose(turned.joint, joint[:, ::-1], atol=1e-3)
    np.testing.assert_allclose(turned.sums, [[2.0], [1.0]], atol=1e-5)


def test_trusted_rows_name_the_classes_so_that_nothing_is_averaged():
    joint = np.zeros((5, 2))
    assert averages(flips([0.2, 0.2]), Stats(joint, np.zeros((2, 1))))
    joint[3, 0] = 1.0
    assert not averages(flips([0.2, 0.2]), Stats(joint, np.zeros((2, 1))))
    assert not averages(free(3), Stats(joint, np.zeros((2, 1))))


def test_the_chance_that_flip_rates_add_up_to_less_than_one():
    joint = np.array([[8.0, 3.0], [4.0, 5.0]])
    rng = np.random.default_rng(0)
    drawn = rng.beta(5, 3, 200_000) > rng.beta(4, 8, 200_000)
    assert aligned_chance(joint) == pytest.approx(drawn.mean(), abs=0.005)
