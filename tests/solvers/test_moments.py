"""Closed forms are exact on exact distributions, and add over batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from misnomer.channel import flips, unlabeled
from misnomer.engines import fold
from misnomer.papers import NBCCCN, NBUNL, PUNB
from misnomer.rows import read
from misnomer.simulate import BinaryTarget, all_cells, draw_binary_target
from misnomer.smoothing import none
from misnomer.solvers.flip_rates import moments, roots
from misnomer.solvers.moments import (
    contrast,
    feature_map,
    pair_sums,
    pairs_of,
    products,
    project,
    unmix_components,
)
from misnomer.solvers.task import Task
from misnomer.solvers.unlabeled import third_moments
from misnomer.table import Batch

TARGET = BinaryTarget(0.35, [0.9, 0.2, 0.6, 0.7], [0.3, 0.7, 0.1, 0.65])
CELLS = all_cells(4)
ROWS = 1e9  # so many that no probability is floored


def exact(noise):
    """Every cell with both labels, weighted by its exact probability."""
    joint = TARGET.joint() @ np.asarray(noise).T  # (cells, given)
    return np.repeat(CELLS, 2, axis=0), np.tile([0, 1], len(CELLS)), ROWS * joint.ravel()


def flags_of(clf):
    d = TARGET.d
    return np.exp(clf.model_.weights[:, :d] + clf.model_.weights[:, d:])


@pytest.mark.parametrize("estimator", ["least-squares", "literal"])
@pytest.mark.parametrize("rates", [(0.2, 0.5), (0.0, 0.3), (0.1, 0.0), (0.45, 0.45)])
def test_flip_rates_are_exact_on_an_exact_distribution(estimator, rates):
    X, y, weight = exact([[1 - rates[0], rates[1]], [rates[0], 1 - rates[1]]])
    clf = NBCCCN(estimator=estimator, families="bernoulli").fit(X, y, weight)
    np.testing.assert_allclose(clf.flip_rates_, rates, atol=1e-6)
    np.testing.assert_allclose(clf.class_prior_[1], TARGET.prior, atol=1e-6)
    np.testing.assert_allclose(flags_of(clf), [TARGET.negative, TARGET.positive], atol=1e-6)
    assert clf.alpha_ > clf.beta_
    assert clf.projection_ < 1e-6


def test_categories_give_what_flags_give():
    X, y, weight = exact([[0.8, 0.5], [0.2, 0.5]])
    as_words = np.array(["off", "on"], dtype=object)[X]
    one = NBCCCN(families="bernoulli").fit(X, y, weight)
    two = NBCCCN(families="categorical").fit(as_words, y, weight)
    np.testing.assert_allclose(two.flip_rates_, one.flip_rates_, atol=1e-9)
    np.testing.assert_allclose(two.predict_proba(as_words), one.predict_proba(X), atol=1e-9)


def test_unlabeled_rows_are_enough_for_three_columns():
    weight = ROWS * TARGET.joint().sum(axis=1)
    clf = NBUNL(families="bernoulli").fit(CELLS, sample_weight=weight)
    order = np.argsort(clf.class_prior_)[::-1]
    np.testing.assert_allclose(clf.class_prior_[order], [0.65, 0.35], atol=1e-6)
    np.testing.assert_allclose(flags_of(clf)[order], [TARGET.negative, TARGET.positive], atol=1e-6)


def test_third_moments_of_categories_agree_with_flags():
    weight = ROWS * TARGET.joint().sum(axis=1)
    as_words = np.array(["off", "on"], dtype=object)[CELLS]
    one = NBUNL(families="bernoulli").fit(CELLS, sample_weight=weight)
    two = NBUNL(families="categorical").fit(as_words, sample_weight=weight)
    np.testing.assert_allclose(np.sort(two.class_prior_), np.sort(one.class_prior_), atol=1e-6)


@pytest.mark.parametrize("estimator", ["closed-form", "em"])
def test_positive_share_is_exact_in_two_samples(estimator):
    joint = TARGET.joint()
    weight = ROWS * np.concatenate([joint[:, 1] / TARGET.prior, joint.sum(axis=1)])
    y = np.repeat([1, 0], len(CELLS))
    clf = PUNB(estimator=estimator, families="bernoulli")
    clf.fit(np.concatenate([CELLS, CELLS]), y, weight)
    np.testing.assert_allclose(clf.class_prior_[1], TARGET.prior, atol=1e-5)
    np.testing.assert_allclose(
        clf.predict_proba(CELLS), joint / joint.sum(axis=1, keepdims=True), atol=1e-4
    )


@pytest.mark.parametrize("estimator", ["closed-form", "em"])
def test_positive_share_is_exact_in_one_sample(estimator):
    joint, labeled = TARGET.joint(), 0.3
    weight = ROWS * np.concatenate(
        [labeled * joint[:, 1], joint[:, 0] + (1 - labeled) * joint[:, 1]]
    )
    y = np.concatenate([np.ones(len(CELLS)), np.full(len(CELLS), np.nan)])  # missing = unlabeled
    clf = PUNB(estimator=estimator, design="one-sample", families="bernoulli")
    clf.fit(np.concatenate([CELLS, CELLS]), y, weight)
    np.testing.assert_allclose(clf.class_prior_[1], TARGET.prior, atol=1e-5)
    np.testing.assert_allclose(clf.noise_matrix_[1, 1], labeled, atol=1e-4)


def mixed_table(rng, n=300):
    X = np.empty((n, 4), dtype=object)
    y = rng.integers(2, size=n).astype(np.int32)
    X[:, 0] = rng.normal(y, 1.0)
    X[:, 1] = np.array(["a", "b", "c"], dtype=object)[rng.integers(3, size=n)]
    X[:, 2] = rng.random(n) < 0.3 + 0.4 * y
    X[:, 3] = rng.normal(0.0, 1.0 + y)
    X[rng.random((n, 4)) < 0.1] = None
    return X, y


def task_of(X, y, kinds, channel, parts=1):
    import pandas as pd

    frame = pd.DataFrame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    schema, blocks = read(frame, {f"c{j}": kind for j, kind in enumerate(kinds)})
    whole = Batch(blocks, y.astype(np.int32))
    batches = [whole.take(rows) for rows in np.array_split(np.arange(len(y)), parts)]
    return Task(schema, batches, fold, channel, none())


KINDS = ("gaussian", "categorical", "bernoulli", "gaussian")


def test_pair_sums_agree_with_the_table_of_pairs():
    rng = np.random.default_rng(0)
    X, y = mixed_table(rng)
    task = task_of(X, y, KINDS, flips([0.2, 0.2]))
    sides = task.by_label
    found = feature_map(task.schema, sides.sums.sum(axis=0), sides.rows)
    u = contrast(found, sides.sums[1] / sides.mass[1], sides.sums[0] / sides.mass[0])
    (batch,) = task.batches
    fast, table = pair_sums(found, u, batch, y, 2), products(found, batch, y, 2)
    apart = found.owner[:, None] != found.owner[None, :]
    slow = (table.second * apart * np.outer(u, u)).sum(axis=(1, 2))
    np.testing.assert_allclose(fast.second, slow)
    c = np.bincount(found.owner, u * u)
    minus, plus = fast.first / fast.mass[:, None]
    np.testing.assert_allclose(plus - minus, c)
    np.testing.assert_allclose(pairs_of(c), (np.outer(u * u, u * u) * apart).sum())


@pytest.mark.parametrize(
    "solver, channel", [(moments, flips([0.2, 0.2])), (third_moments, unlabeled(2))]
)
def test_batches_add_up_to_the_whole(solver, channel):
    X, y = mixed_table(np.random.default_rng(1))
    y = y if channel.n_labels else np.zeros_like(y)
    one = solver(task_of(X, y, KINDS, channel)).model
    three = solver(task_of(X, y, KINDS, channel, parts=3)).model
    np.testing.assert_allclose(three.prior, one.prior)
    np.testing.assert_allclose(three.weights, one.weights)


def test_real_columns_are_unmixed():
    rng = np.random.default_rng(2)
    true = rng.random(40_000) < 0.4
    X = rng.normal(np.where(true[:, None], [2.0, -1.0, 1.0], 0.0), [1.0, 2.0, 0.5])
    given = np.where(rng.random(len(true)) < np.where(true, 0.4, 0.1), ~true, true)
    clf = NBCCCN().fit(X, given)
    np.testing.assert_allclose(clf.flip_rates_, [0.1, 0.4], atol=0.03)
    (group,) = clf.model_.schema.groups
    mean, variance = group.family.moments(clf.model_.weights)
    np.testing.assert_allclose(mean, [[0, 0, 0], [2, -1, 1]], atol=0.1)
    np.testing.assert_allclose(np.sqrt(variance), [[1, 2, 0.5]] * 2, atol=0.15)


def test_words_of_a_text_pair_with_each_other():
    from scipy import sparse

    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(30), size=2)
    true = rng.integers(2, size=8000)
    lengths = rng.integers(1, 40, size=len(true))
    X = np.array([rng.multinomial(m, p[z]) for m, z in zip(lengths, true, strict=True)])
    given = np.where(rng.random(len(true)) < np.where(true, 0.4, 0.1), 1 - true, true)
    clf = NBCCCN().fit(sparse.csr_array(X), given)
    np.testing.assert_allclose(clf.flip_rates_, [0.1, 0.4], atol=0.03)
    np.testing.assert_allclose(np.exp(clf.model_.weights), p, atol=0.01)


def test_trusted_rows_do_not_bend_the_flip_rates():
    X, y, weight = exact([[0.8, 0.5], [0.2, 0.5]])
    true = np.repeat([0, 1], len(CELLS))
    both = np.concatenate([weight, 0.1 * ROWS * TARGET.joint().T.ravel()])
    trusted = np.arange(len(both)) >= len(weight)
    clf = NBCCCN(families="bernoulli")
    clf.fit(np.concatenate([X, CELLS, CELLS]), np.concatenate([y, true]), both, trusted)
    np.testing.assert_allclose(clf.flip_rates_, [0.2, 0.5], atol=1e-6)


def test_roots_choose_the_pair_nearest_the_gap():
    for alpha, beta in [(0.9, 0.6), (0.9, 0.2), (0.4, 0.1)]:
        found = roots(alpha * (1 - alpha), beta * (1 - beta), (alpha - beta) ** 2)
        np.testing.assert_allclose([found.alpha, found.beta], [alpha, beta])
    assert roots(-0.1, 0.3, 0.2).clamped == pytest.approx(0.1)


def test_projection_says_how_far_it_went():
    X, y = mixed_table(np.random.default_rng(4), n=40)
    task = task_of(X, y, KINDS, flips([0.2, 0.2]))
    mean = task.by_label.sums / task.by_label.mass[:, None]
    pushed = unmix_components(mean[0], mean[1], 0.55, 0.45)
    inside, moved = project(task.schema, pushed, task.whole.sums[0] / 40, 40)
    assert moved > 0
    again, still = project(task.schema, inside, task.whole.sums[0] / 40, 40)
    assert still < 0.03  # floors and renormalization nearly commute
    assert np.isfinite(again).all()
    for group in task.schema.groups:
        assert np.isfinite(
            group.family.weights(40 * inside[:, group.span], 0 * inside[:, group.span])
        ).all()


def test_bad_input_is_explained():
    y = np.array([0, 1] * 10)
    with pytest.raises(ValueError, match=r"two columns whose means differ.*1 feature\(s\)"):
        NBCCCN().fit(np.arange(20.0)[:, None], y)
    with pytest.raises(ValueError, match="0 of 2 columns differ"):
        NBCCCN(families="bernoulli").fit(np.ones((20, 2)), y)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        NBCCCN().fit(np.random.default_rng(0).normal(size=(21, 3)), np.arange(21) % 3)
    task = task_of(*mixed_table(np.random.default_rng(5)), KINDS, flips([0.2] * 3))
    with pytest.raises(ValueError, match="use INB"):
        moments(replace(task))
    with pytest.raises(ValueError, match="three columns at least"):
        NBUNL().fit(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(ValueError, match="no three columns vary"):
        NBUNL(families="bernoulli").fit(np.ones((20, 3)))
    for nothing in (np.zeros(20, int), np.full(20, np.nan)):
        with pytest.raises(ValueError, match="no row is labeled positive"):
            PUNB().fit(np.random.default_rng(0).normal(size=(20, 3)), nothing)


def test_constant_columns_tell_no_classes_apart():
    with pytest.raises(ValueError, match="no real solution"):
        NBUNL().fit(np.full((50, 3), 0.1))


def test_few_negatives_are_not_taken_for_few_positives():
    target = draw_binary_target(10, 501)  # P(y = 1) = 0.996: both samples look alike
    X, true = target.draw(3000, random_state=0)
    rows = np.concatenate([X[true == 1][:500], X[-500:]])
    clf = PUNB(families="bernoulli").fit(rows, np.repeat([1, 0], 500))
    assert abs(clf.class_prior_[1] - target.prior) < 0.1
    assert len(clf.fit_.objectives) == 3
