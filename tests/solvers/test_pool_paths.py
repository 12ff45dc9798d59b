"""Twins of many classes begin where no search can lead them astray."""

import numpy as np
from sklearn.datasets import load_digits

from misnomer import NoisyLabelNB
from misnomer.simulate import make_noisy_labels, pair_noise
from misnomer.solvers.pool_channel import even
from misnomer.solvers.pool_refit import refit
from misnomer.solvers.pool_scores import out_of_fold
from misnomer.solvers.pool_search import first_starts, problem, search
from misnomer.solvers.pool_twin import basis, cross_fit
from tests.solvers.pooled import clouds, rows_of


def digits(seed: int, n: int = 1200):
    """Three in ten digits bear the label of the next one."""
    X, true = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(true))
    train, test = order[:n], order[n:]
    given = make_noisy_labels(true[train], pair_noise(10, 0.3), random_state=seed)
    return X[train], given, X[test], true[test]


def test_ten_classes_behind_a_channel_of_ten_by_ten():
    """Counts alone lead into a valley with 85 per cent of these right."""
    X, given, unseen, true = digits(2)
    found = NoisyLabelNB(random_state=0).fit(X, given)
    assert (found.predict(unseen) == true).mean() > 0.9
    assert np.abs(found.noise_matrix_ - pair_noise(10, 0.3)).mean() < 0.02


def test_one_impossible_row_does_not_blind_the_search():
    """A column that is constant but for one row puts that row out of all bounds."""
    X, given, *_ = digits(0)
    rows = rows_of(X, given, 10)
    source = out_of_fold(rows, rows.hard * rows.weight[:, None])
    first = search(rows, source.scores, None, first_starts(10), free=True)
    end, source = refit(rows, first, source, None, full=False, rounds=4)
    task = problem(rows, source.scores, None, free=True)
    slope = np.abs(task(end.vector)[1]).max()
    assert slope < 5.0  # thousands where rounding has the word
    assert np.abs(source.weights).max() < 1e12


def test_variances_have_a_floor_where_few_rows_count():
    """The floor is a share of the variance of all rows, whichever of them are counted."""
    X = np.zeros((60, 2))
    X[:, 0] = np.random.default_rng(0).normal(size=60)
    X[7, 1] = 4.0
    label = np.arange(60) % 2
    rows = rows_of(X, label, 2)
    share = rows.hard.copy()
    share[rows.place == 7] = 0.0
    weights = out_of_fold(rows, share).weights
    assert np.isfinite(weights).all()
    assert np.abs(weights).max() < 1e12


def test_scores_that_tell_nothing_leave_a_twin_its_own_units():
    X, given, _ = clouds(90)
    rows = rows_of(X, given, 3)
    twin = cross_fit(rows, basis(rows), even(3, 0.98), 10.0, np.zeros((90, 3)))
    assert twin.factor == 1.0
    assert np.abs(twin.scores).max() > 0.0
