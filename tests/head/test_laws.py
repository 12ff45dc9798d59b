"""The same audit for any names of classes, any order of columns, copies, constants and weights.

Sums in another order round differently, and a search magnifies that up to its tolerance. With
naive Bayes alone and a small ``tol`` the answer is the same to six digits. Logistic regression ends
within a tolerance of its own: with it the rate moves by less than a fiftieth of its interval.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from misnomer import NoisyLabelClassifier, audit
from misnomer.head.explain import Search, even
from misnomer.head.objective import Problem, Typical
from misnomer.learners.learner import View
from misnomer.learners.naive_bayes import NaiveBayes
from tests.head.tables import planted
from tests.learners.tables import as_rows, mixed_frame

EXACT = {"learners": [], "tol": 1e-12, "max_iter": 2000, "random_state": 0}


def fitted(options, frame, given, weight=None):
    return NoisyLabelClassifier(**options).fit(frame, given, sample_weight=weight)


def renamed(frame, given):
    names = {"ash": "z", "birch": "a", "cedar": "m"}
    order = [names[name] for name in ("ash", "birch", "cedar")]
    return frame, np.array([names[name] for name in given], object), np.argsort(np.argsort(order))


def moved(frame, given):
    return frame[["town", "r2", "kind", "r0", "r3", "r1"]], given, np.arange(3)


def copied(frame, given):
    return frame.assign(again=frame["kind"], r9=frame["r1"]), given, np.arange(3)


def constant(frame, given):
    return frame.assign(same="x", one=2.5), given, np.arange(3)


CHANGES = [renamed, moved, copied, constant]


@pytest.fixture(scope="module")
def exact():
    frame, given, _ = planted(150)
    return frame, given, fitted(EXACT, frame, given)


@pytest.fixture(scope="module")
def usual():
    """Enough rows for trees."""
    frame, given, _ = planted(520)
    return frame, given, audit(frame, given).error_rate


@pytest.mark.filterwarnings("ignore:column .* has the same value in every row:UserWarning")
@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_what_tells_nothing_changes_nothing(change, exact):
    frame, given, before = exact
    other, labels, order = change(frame, given)
    after = fitted(EXACT, other, labels)
    np.testing.assert_allclose(
        after.noise_matrix_[np.ix_(order, order)], before.noise_matrix_, atol=1e-6
    )
    np.testing.assert_allclose(after.class_prior_[order], before.class_prior_, atol=1e-6)
    np.testing.assert_allclose(
        after.fit_.details.posterior[:, order], before.fit_.details.posterior, atol=1e-5
    )


@pytest.mark.filterwarnings("ignore:column .* has the same value in every row:UserWarning")
@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_with_all_learners_the_rate_hardly_moves(change, usual):
    frame, given, before = usual
    table, labels, _ = change(frame, given)
    after = audit(table, labels).error_rate
    assert abs(after.value - before.value) < (before.high - before.low) / 50


def test_weight_two_is_a_row_twice_and_zero_is_absent():
    frame, given, _ = planted(150)
    weight = np.ones(150)
    weight[:60], weight[60:80] = 2.0, 0.0
    one = fitted(EXACT, frame, given, weight)
    keep = np.r_[np.arange(60), np.arange(80, 150), np.arange(60)]
    longer = pd.concat([frame.iloc[keep]], ignore_index=True)
    two = fitted(EXACT, longer, given[keep])
    np.testing.assert_allclose(one.noise_matrix_, two.noise_matrix_, atol=1e-6)
    np.testing.assert_allclose(one.class_prior_, two.class_prior_, atol=1e-6)
    intervals = [clf.fit_.details.intervals["error_rate"] for clf in (one, two)]
    assert intervals[0].value == pytest.approx(intervals[1].value, abs=1e-6)
    assert intervals[0].high == pytest.approx(intervals[1].high, abs=2e-3)  # scanned more coarsely


def test_seeds_and_threads():
    frame, given, _ = planted(120)

    def posterior(learners=(), **options):
        clf = NoisyLabelClassifier(learners, **options).fit(frame, given)
        return clf.fit_.details.posterior

    def matrix_low(**options):
        clf = NoisyLabelClassifier(random_state=0, **options).fit(frame, given)
        return clf.fit_.details.intervals["noise_matrix"][0]

    one = posterior(random_state=0)
    np.testing.assert_array_equal(matrix_low(n_jobs=2), matrix_low())
    np.testing.assert_array_equal(posterior(random_state=0), one)
    np.testing.assert_array_equal(posterior(random_state=0, n_jobs=2), one)
    assert (posterior(random_state=1) != one).any()


def test_steps_and_tolerance_mean_what_they_say():
    frame, given, _ = planted(150)
    with pytest.warns(ConvergenceWarning):
        hasty = NoisyLabelClassifier([], max_iter=2, random_state=0).fit(frame, given)
    assert not hasty.converged_
    assert NoisyLabelClassifier([], random_state=0).fit(frame, given).converged_


def test_a_smaller_tolerance_climbs_higher():
    frame, y = mixed_frame()
    rows = as_rows(frame, y)
    scored = [*NaiveBayes().cross_fit(rows, View(np.eye(3), 0.4))]
    problem = Problem(rows, scored, np.full(3, 1 / 3))
    start, cost = problem.write(even(3, 0.2)), {}
    for tol in (1e-3, 1e-6, 1e-12):
        found = Search(tol=tol, max_iter=2000).climb(problem, start, Typical(0.2))
        assert found.converged
        cost[tol] = problem(problem.write(found.point.channel, found.point), found.typical)[0]
    assert cost[1e-3] > cost[1e-6] > cost[1e-12]
    assert cost[1e-6] - cost[1e-12] < 1e-2
    few = Search(max_iter=3).climb(problem, start, Typical(0.2))
    assert not few.converged


def test_progress_is_told_and_never_falls():
    told = []
    frame, given, _ = planted(150)
    clf = NoisyLabelClassifier([], progress=lambda step, value: told.append((step, value)))
    clf.fit(frame, given)
    assert [step for step, _ in told] == [1, 2, 3]
    assert [value for _, value in told] == clf.history_.tolist() == sorted(clf.history_)


def test_two_distinct_rows_are_answered():
    """Where most rows equal others they are dealt one by one, and teach each other."""
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": np.tile([1.5, 2.5], 20)})
    given = np.array(["no", "yes"] * 20, object)
    given[:2] = ["yes", "no"]
    found = audit(frame, given)
    assert found.error_rate.low <= 0.05 <= found.error_rate.high


def test_trusted_rows_cost_nothing_among_many_classes():
    """Six to a class teach far less alone than all rows do, and take nothing away from them."""
    rng, K = np.random.default_rng(0), 20
    centers, true = 1.6 * rng.normal(size=(K, 6)), rng.integers(K, size=3200)
    X = rng.normal(size=(3200, 6)) + centers[true]
    given = np.where(rng.random(1200) < 0.3, (true[:1200] + 1) % K, true[:1200])
    sure = rng.random(1200) < 0.1
    right = np.where(sure, true[:1200], given)

    def score(rows, labels, trusted=None):
        clf = NoisyLabelClassifier().fit(X[:1200][rows], labels[rows], trusted=trusted)
        return clf.score(X[1200:], true[1200:])

    every = np.arange(1200)
    without, told, alone = score(every, given), score(every, right, sure), score(sure, right)
    assert told > without - 0.01
    assert told > alone + 0.05
