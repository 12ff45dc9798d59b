"""Variational Bayes: a bound that rises, stays a bound, and agrees with what is known exactly."""

from __future__ import annotations

from itertools import product
from typing import cast

import numpy as np
import pytest
from scipy.special import gammaln

from misnomer import NoisyLabelNB
from misnomer.channel import flips, free, identity, uniform
from misnomer.classifiers.papers import VBNB
from misnomer.engines.local import fold
from misnomer.readers import read
from misnomer.simulate import draw_zeng, make_noisy_labels, matched_target
from misnomer.smoothing import additive
from misnomer.solvers.counts import from_counts
from misnomer.solvers.dirichlet import expected_channel, prior_counts
from misnomer.solvers.em import climb
from misnomer.solvers.task import Task
from misnomer.solvers.variational import Belief, variational
from misnomer.table import Batch

NOISE = [[0.8, 0.5], [0.2, 0.5]]


def task_of(X, y, channel, **options):
    schema, blocks = read(X, "bernoulli")
    return Task(schema, [Batch(blocks, y.astype(np.int32))], fold, channel, additive(1), **options)


def first_belief(task):
    model, virtual = from_counts(task.schema, task.by_label, task.channel, task.smoothing)
    seen = task.fold(model.expect, task.batches)
    counts = prior_counts(task.channel)
    return Belief(model, virtual, counts, seen, 1.0).maximise(seen, virtual), virtual


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
    """Log P(X, z) exactly, with uniform priors."""
    total = beta(1 + (z == 0).sum(), 1 + (z == 1).sum()) - beta(1, 1)
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
    assert len(clf.elbos_) == 3  # two error rates and the closed form
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
