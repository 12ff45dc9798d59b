"""What keeps the pool from believing too much: strict refits, tests of belief, naive Bayes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from misnomer import NoisyLabelNB
from misnomer.classifiers.papers import VBNB
from misnomer.simulate import make_noisy_labels, uniform_noise
from misnomer.solvers.pool_average import average
from misnomer.solvers.pool_belief import confirmed, independent, named_alike
from misnomer.solvers.pool_candidates import Search
from misnomer.solvers.pool_channel import even
from misnomer.solvers.pool_generative import generative
from misnomer.solvers.pool_guard import doubt_of_gain, leaning
from misnomer.solvers.pool_intervals import quantiles
from misnomer.solvers.pool_pairs import Said, pairs_z, squared_correlations
from misnomer.solvers.pool_refit import chained, refit, unseen
from misnomer.solvers.pool_scores import out_of_fold
from misnomer.solvers.pool_search import first_starts, search
from misnomer.solvers.pool_twin import basis, cross_fit, without_two
from tests.solvers.pooled import rows_of, target


def flipped(rows, fold):
    """The same rows with other labels in one fold."""
    label = rows.label.copy()
    label[rows.folds[fold]] = 1 - label[rows.folds[fold]]
    return replace(rows, label=label)


def begun(rows):
    source = out_of_fold(rows, rows.hard)
    return source, search(rows, source.scores, None, first_starts(rows.classes), free=False)


def test_the_chain_of_all_rows_scores_like_out_of_fold():
    X, given, _ = target(80)
    rows = rows_of(X, given, 2)
    share = np.random.default_rng(0).dirichlet(np.ones(2), len(rows))
    chains = np.arange(len(rows.folds) + 1)
    scores, weights, bias = chained(rows, np.stack([share] * len(chains)), chains)
    source = out_of_fold(rows, share)
    np.testing.assert_allclose(scores[-1], source.scores, atol=1e-10)
    np.testing.assert_allclose(weights, source.weights)
    np.testing.assert_allclose(bias, source.bias)


def test_scores_of_a_fold_do_not_know_what_is_believed_of_it():
    X, given, _ = target(80)
    rows = rows_of(X, given, 2)
    chains = np.arange(len(rows.folds) + 1)
    shares = np.random.default_rng(0).dirichlet(np.ones(2), (len(chains), len(rows)))
    other = shares.copy()
    for place, fold in enumerate(rows.folds):
        other[place, fold] = 1.0 - other[place, fold]
    one, two = (unseen(rows, chained(rows, some, chains)[0]) for some in (shares, other))
    np.testing.assert_allclose(one, two, atol=1e-10)


@pytest.mark.parametrize("full", [False, True])
def test_labels_of_a_fold_do_not_reach_its_own_scores(full):
    X, given, _ = target(80)
    rows = rows_of(X, given, 2)
    _, end = begun(rows)
    other = flipped(rows, 0)
    ends = []
    for some in (rows, other):  # temper and channel held: they rest on all labels
        chain = out_of_fold(some, some.hard)
        ends.append(refit(some, end, chain, None, full=full, rounds=1)[1].scores[rows.folds[0]])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)
    loose = refit(other, end, out_of_fold(other, other.hard), None, full=full, rounds=2)[1]
    assert loose.chains is not None and len(loose.chains) == len(rows.folds) + 1


def test_a_refit_of_many_rows_has_one_chain():
    X, given, _ = target(80)
    rows = rows_of(X, given, 2)
    source, end = begun(rows)
    _, found = refit(rows, end, source, None, full=True, rounds=2, strict=False)
    assert found.chains is not None and len(found.chains) == 1
    np.testing.assert_array_equal(found.scores, found.chains[0])


def test_twins_without_two_folds_do_not_know_either():
    X, given, _ = target(80)
    rows = rows_of(X, given, 2)
    on, like = basis(rows), out_of_fold(rows, rows.hard).scores
    twin = cross_fit(rows, on, even(2, 0.8), 2.0, like)
    one = without_two(rows, on, twin)
    two = without_two(flipped(rows, 1), on, twin)
    outside = rows.without(1)
    np.testing.assert_allclose(one[1, outside], two[1, outside], atol=1e-6)
    assert np.abs(one[0] - two[0]).max() > 1e-3


def test_pairs_tell_dependent_columns_that_cancel():
    rng = np.random.default_rng(3)
    n = 400
    true = rng.integers(2, size=n)
    X = (rng.random((n, 8)) < np.where(true[:, None], 0.7, 0.3)).astype(int)
    twice = np.column_stack([X, X[:, 0], 1 - X[:, 1]])  # one repeats, one is opposed
    for table, alike in ((X, True), (twice, False)):
        rows = rows_of(table, true, 2)
        _, _, share = generative(rows, even(2, 0.8))
        assert (pairs_z(rows, share) < 2.0) == alike
        assert independent(rows, share) == alike


def test_pairs_of_categories_add_up_to_pearsons_chi_squared():
    rng = np.random.default_rng(0)
    n = 200
    first, second = rng.integers(3, size=n), rng.integers(4, size=n)
    table = np.column_stack([np.eye(3)[first], np.eye(4)[second]])
    said = Said(table, np.repeat([0, 1], [3, 4]), np.ones(7, bool))
    square, worth = squared_correlations(said, np.full(n, 1 / n))
    seen = np.eye(3)[first].T @ np.eye(4)[second]
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    np.testing.assert_allclose(n * worth @ square, ((seen - expected) ** 2 / expected).sum())
    np.testing.assert_allclose(worth.sum(), 6.0)  # (3 - 1)(4 - 1) degrees of freedom


def test_names_may_be_swapped_by_chance_and_labels_unrelated():
    assert named_alike(np.array([[40.0, 12.0, 3.0], [9.0, 11.0, 2.0], [1.0, 5.0, 9.0]]))
    assert not named_alike(np.array([[40.0, 1.0, 3.0], [2.0, 4.0, 9.0], [1.0, 8.0, 3.0]]))
    assert not confirmed(np.array([[25.0, 25.0], [24.0, 26.0]]))


def test_few_rows_of_independent_columns_are_read_as_variational_bayes_reads_them():
    gaps = []
    for seed in range(3):
        X, given, true = target(300, seed=seed, flips=(0.2, 0.5))
        ours, theirs = NoisyLabelNB(random_state=0).fit(X, given), VBNB().fit(X, given)
        gaps.append(float((ours.predict(X) == true).mean() - (theirs.predict(X) == true).mean()))
    assert np.mean(gaps) > -0.02


def test_right_labels_are_not_doubted_for_columns_that_know_nothing():
    rng = np.random.default_rng(0)
    flagged = []
    for _ in range(3):
        X, y = rng.integers(2, size=(150, 10)), rng.integers(2, size=150)
        clf = NoisyLabelNB(random_state=0).fit(X, y)
        flagged.append(float((clf.fit_.details["posterior"].argmax(axis=1) != y).mean()))
        assert clf.fit_.details["verdict"].level == "cannot tell"
    assert np.mean(flagged) < 0.2


def test_an_unproven_gain_leans_on_naive_bayes():
    X, given, _ = target(120)
    rows = rows_of(X, given, 2)
    plain = out_of_fold(rows, rows.hard)
    share = np.exp(plain.scores) / np.exp(plain.scores).sum(axis=1, keepdims=True)
    assert doubt_of_gain(rows, np.full((len(rows), 2), 0.5), plain.scores) > 0.9
    assert doubt_of_gain(rows, 0.98 * rows.hard + 0.01, plain.scores) < 0.01
    weights, bias = leaning(1.0, plain, share, np.ones_like(plain.weights), np.ones(2))
    whole = rows.stats @ weights.T + bias
    counted = rows.stats @ plain.weights.T + plain.bias
    np.testing.assert_array_equal(whole.argmax(axis=1), counted.argmax(axis=1))


def test_trusted_rows_prove_nothing():
    X, given, _ = target(60)
    rows = rows_of(X, given, 2)
    sure = replace(rows, trusted=np.ones(len(rows), bool))
    assert doubt_of_gain(sure, rows.hard, out_of_fold(rows, rows.hard).scores) == 0.0


def test_where_the_joint_model_is_believed_nothing_leans():
    X, given, _ = target(300)
    found = Search()(rows_of(X, given, 2))
    answer = average(found)
    assert found.believed and len(answer.parts) == 1
    only = found.best
    np.testing.assert_allclose(answer.weights, only.pooled.scale * only.source.weights)


def test_quantiles_leave_a_twentieth_on_each_side():
    low, high = quantiles(np.arange(1000.0)[:, None], np.full(1000, 0.001))
    assert (low.item(), high.item()) == (50.0, 950.0)


def test_columns_that_are_independent_anyway_hold_no_clusters():
    """A balance, every combination of whose weights and distances occurs once."""
    X = np.array(list(itertools.product(range(5), repeat=4)))
    left, right = (1 + X[:, :2]).prod(axis=1), (1 + X[:, 2:]).prod(axis=1)
    true = np.sign(left - right) + 1
    at = np.random.default_rng(1).permutation(len(true))[:437]
    given = make_noisy_labels(true[at], uniform_noise(3, 0.4), random_state=1)
    rows = rows_of(X[at].astype(str).astype(object), given, 3)
    found = Search()(rows)
    assert not found.believed
    assert pairs_z(rows, 0.5 * rows.hard + 1 / 6, together=True) < 0.0
