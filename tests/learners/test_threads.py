"""Threads change when an answer comes, never the answer."""

import numpy as np
import pytest

from misnomer import NoisyLabelClassifier
from misnomer.kernels import using
from misnomer.kernels.threads import each, threads


def table(n=600, seed=4):
    """Reals and categories of three classes, which decide together, some mislabeled."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, (2, n))
    z = (a + b) % 3
    X = np.column_stack([a, b, rng.normal(size=(n, 3)) + z[:, None]])
    return X, np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), z)


@pytest.mark.parametrize("learners", ["auto", ["naive_bayes"]])
def test_two_threads_find_the_same_digits_as_one(learners):
    X, y = table()
    one, two = (NoisyLabelClassifier(learners, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.lower_bound_ == two.lower_bound_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.noise_matrix_, two.noise_matrix_)


def test_steps_come_back_in_their_order_and_have_one_thread_each():
    with using(threads=3):
        assert each(lambda i: (i, threads()), range(7)) == [(i, 1) for i in range(7)]
    assert each(lambda i: (i, threads()), range(2)) == [(0, 1), (1, 1)]


def test_an_error_in_a_step_is_not_lost():
    with using(threads=2), pytest.raises(ZeroDivisionError):
        each(lambda i: 1 / i, [1, 0, 2])
